"""Programs that do no gated act, shells, and programs that run code."""

from __future__ import annotations

from gatebell.domain.permissions.command_options import read_words

_SHELL = read_words("""
    : [ true false test echo printf cd pwd pushd popd dirs set shopt unset read sleep wait exit
    return break continue shift type which whereis let local declare typeset export readonly
    getopts umask ulimit jobs fg bg kill killall pkill disown history help man tldr info clear
    reset tput stty
""")
_SYSTEM = read_words("""
    date cal uptime uname hostname whoami id groups who w ps top htop lsof fuser df du free vmstat
    iostat dmesg journalctl ss netstat ip ifconfig ping dig nslookup host traceroute nc telnet
    open xdg-open pbcopy pbpaste xclip systemd-analyze
""")
_FILES = read_words("""
    ls ll la dir tree exa eza stat file cat bat less more head tail tac nl wc sort uniq cut paste
    join tr rev fold fmt column expand comm cmp diff colordiff delta vimdiff patch grep egrep
    fgrep zgrep rg ag ack jq yq xq gron basename dirname realpath readlink mkdir rmdir touch ln cp
    mv install chmod chown chgrp tee split csplit truncate mktemp tar zip unzip gzip gunzip zcat
    bzip2 xz zstd 7z md5sum sha1sum sha256sum sha512sum cksum base64 xxd od hexdump strings seq
    yes expr factor fzf zoxide cloc tokei scc
""")
_BUILDS = read_words("""
    unittest nosetests autopep8 yapf pydocstyle pip pip3 pip-compile pip-audit venv virtualenv
    pyenv json.tool http.server build ensurepip compileall timeit site zipfile tarfile
    sphinx-build jupyter alembic ava tap c8 nyc tsup vite webpack rollup esbuild swc parcel next
    nuxt astro svelte-kit playwright cypress storybook nvm fnm volta knip depcheck
    npm-check-updates ncu husky lint-staged commitlint goimports dlv rustc rustup clippy-driver
    gcc g++ cc clang clang-tidy ld ar nm objdump ctest javac checkstyle scalafmt swiftc
    php-cs-fixer elixirc credo markdownlint-cli2 vale pre-commit tflint tfsec checkov kubeconform
    kubeval helm-docs trivy grype syft semgrep gitleaks trufflehog hyperfine
""")
_OTHERS = read_words("""
    pg_dump pg_restore redis-cli mongosh createdb brew apt apt-get dnf yum apk pacman snap dpkg
    rpm nix-build openssl gpg ssh-keygen ssh-add age sops wget aria2c ffmpeg convert magick code
    subl gitk tig lazygit ansible-lint ansible-doc ansible-vault ansible-inventory ansible-config
    terraform-docs infracost minikube kind k3d kubens kubectx stern k9s hub-tool dive ctop lynx
    w3m gate gatebell
""")
CHECKERS = read_words("""
    pytest py.test mypy pyright ruff black isort flake8 pylint bandit codespell jest vitest mocha
    eslint prettier stylelint biome oxlint tsc gofmt staticcheck golangci-lint rustfmt shellcheck
    shfmt yamllint markdownlint rubocop rspec phpunit phpstan swiftlint ktlint hadolint actionlint
    typos clang-format
""")
"""They test, check or format code, and run no other program, whatever follows."""

ORDINARY = _SHELL | _SYSTEM | _FILES | _BUILDS | _OTHERS | CHECKERS
"""They do none of the acts, whatever their words are."""

SHOWN = read_words("""
    man tldr help info whereis ag ack zgrep cd mkdir rmdir touch cp mv ln chmod chown chgrp gate
    gatebell brew apt apt-get dnf yum apk pacman snap pip pip3
""")
"""Those whose words are never a command that they run; so are the words of all readers."""

SHELLS = read_words("""
    sh bash zsh dash ksh fish ash mksh rbash yash csh tcsh
""")
INTERPRETERS = read_words("""
    python python2 python3 py pypy pypy3 node nodejs ruby perl php lua Rscript osascript tsx
    ts-node
""")
"""They run code that this program does not read."""
