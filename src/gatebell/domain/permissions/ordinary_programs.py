"""Programs that do no gated act, and programs that run another command."""

from __future__ import annotations

ORDINARY = frozenset(
    [":", "[", "true", "false", "test", "echo", "printf", "cd", "pwd", "pushd", "popd", "dirs", "set", "shopt", "unset", "read", "sleep", "wait", "exit", "return", "break", "continue", "shift", "type", "which", "whereis", "hash", "let", "local", "declare", "typeset", "export", "readonly", "getopts", "umask", "ulimit", "jobs", "fg", "bg", "kill", "killall", "pkill", "disown", "history", "help", "man", "tldr", "info", "date", "cal", "uptime", "uname", "hostname", "whoami", "id", "groups", "who", "w", "ls", "ll", "la", "dir", "tree", "exa", "eza", "stat", "file", "cat", "bat", "less", "more", "head", "tail", "tac", "nl", "wc", "sort", "uniq", "cut", "paste", "join", "tr", "rev", "fold", "fmt", "column", "expand", "comm", "cmp", "diff", "colordiff", "delta", "vimdiff", "patch", "grep", "egrep", "fgrep", "zgrep", "rg", "ag", "ack", "sed", "jq", "yq", "xq", "gron", "basename", "dirname", "realpath", "readlink", "mkdir", "rmdir", "touch", "ln", "cp", "mv", "install", "chmod", "chown", "chgrp", "tee", "split", "csplit", "truncate", "mktemp", "tar", "zip", "unzip", "gzip", "gunzip", "zcat", "bzip2", "xz", "zstd", "7z", "md5sum", "sha1sum", "sha256sum", "sha512sum", "cksum", "base64", "xxd", "od", "hexdump", "strings", "seq", "yes", "bc", "dc", "expr", "factor", "ps", "top", "htop", "lsof", "fuser", "df", "du", "free", "vmstat", "iostat", "dmesg", "journalctl", "ss", "netstat", "ip", "ifconfig", "ping", "dig", "nslookup", "host", "traceroute", "nc", "telnet", "open", "xdg-open", "pbcopy", "pbpaste", "xclip", "clear", "reset", "tput", "stty", "pytest", "py.test", "unittest", "nosetests", "coverage", "mypy", "pyright", "ruff", "black", "isort", "flake8", "pylint", "bandit", "autopep8", "yapf", "pydocstyle", "codespell", "pip", "pip3", "pip-compile", "pip-audit", "venv", "virtualenv", "pyenv", "conda", "mamba", "json.tool", "http.server", "build", "ensurepip", "compileall", "pdb", "cProfile", "timeit", "site", "zipfile", "tarfile", "sphinx-build", "mkdocs", "jupyter", "ipython", "jest", "vitest", "mocha", "ava", "tap", "c8", "nyc", "eslint", "prettier", "stylelint", "biome", "oxlint", "tsc", "tsup", "vite", "webpack", "rollup", "esbuild", "swc", "parcel", "next", "nuxt", "astro", "svelte-kit", "playwright", "cypress", "storybook", "nodemon", "nvm", "fnm", "volta", "knip", "depcheck", "npm-check-updates", "ncu", "husky", "lint-staged", "commitlint", "gofmt", "goimports", "golangci-lint", "staticcheck", "dlv", "rustc", "rustfmt", "rustup", "clippy-driver", "gcc", "g++", "cc", "clang", "clang-format", "clang-tidy", "ld", "ar", "nm", "objdump", "cmake", "ctest", "meson", "ninja", "javac", "ktlint", "checkstyle", "scalafmt", "swiftc", "swiftlint", "rubocop", "rspec", "php-cs-fixer", "phpunit", "phpstan", "elixirc", "credo", "shellcheck", "shfmt", "hadolint", "markdownlint", "markdownlint-cli2", "yamllint", "actionlint", "vale", "typos", "pre-commit", "tflint", "tfsec", "checkov", "kubeconform", "kubeval", "helm-docs", "trivy", "grype", "syft", "semgrep", "gitleaks", "trufflehog", "cloc", "tokei", "scc", "hyperfine", "psql", "pg_dump", "pg_restore", "mysql", "sqlite3", "redis-cli", "mongosh", "createdb", "brew", "apt", "apt-get", "dnf", "yum", "apk", "pacman", "snap", "dpkg", "rpm", "nix-build", "systemd-analyze", "openssl", "gpg", "ssh-keygen", "ssh-add", "ssh-agent", "age", "sops", "wget", "aria2c", "ffmpeg", "convert", "magick", "code", "subl", "gitk", "tig", "lazygit", "asciinema", "ansible-lint", "ansible-doc", "ansible-vault", "ansible-inventory", "ansible-config", "terraform-docs", "infracost", "minikube", "kind", "k3d", "kubens", "kubectx", "stern", "k9s", "buildah", "hub-tool", "dive", "ctop", "lynx", "w3m", "fzf", "zoxide", "gate", "gatebell"]
)
"""They do none of the acts, whatever their words are."""

VALUED: dict[str, frozenset[str]] = {
    name: frozenset(options.split())
    for name, options in {
        "sudo": "-u -g -h -p -C -T -R -D -r -t -U --user --group --host --prompt --chdir --chroot",
        "doas": "-u -C",
        "env": "-u -C --unset --chdir --argv0",
        "nice": "-n --adjustment",
        "ionice": "-c -n -p --class --classdata",
        "nohup": "",
        "setsid": "",
        "stdbuf": "-i -o -e --input --output --error",
        "timeout": "-s -k --signal --kill-after",
        "gtimeout": "-s -k --signal --kill-after",
        "time": "-f -o --format --output",
        "command": "",
        "builtin": "",
        "exec": "-a",
        "coproc": "",
        "noglob": "",
        "nocorrect": "",
        "caffeinate": "-t -w",
        "xargs": "-I -n -P -L -s -d -E -a --max-args --max-procs --delimiter --replace --arg-file",
        "parallel": "-j -N -n --jobs -S --joblog --results --timeout --delay --colsep",
        "watch": "-n --interval",
        "flock": "-w -E --timeout",
        "chroot": "--userspec --groups",
        "strace": "-o -e -p -s -E",
        "unbuffer": "",
        "xvfb-run": "-s -n -e -f -w --server-args --server-num",
        "dbus-run-session": "--config-file",
        "systemd-run": "-p -u --unit --property --uid --gid",
        "npx": "-p --package -c --call -w --workspace",
        "bunx": "-p --package",
        "uvx": "--from --with -p --python --with-requirements --index-url",
        "corepack": "",
        "bundle": "",
        "direnv": "",
        "dotenv": "-f -e --file",
        "aws-vault": "-d --duration --region",
        "doppler": "-p -c --project --config",
        "op": "--env-file --account",
        "mise": "-C --cd",
        "asdf": "",
        "rbenv": "",
        "busybox": "",
        "entr": "",
        "unshare": "",
    }.items()
}
"""Programs that run another command, with their options that take a value."""

SKIPPED: dict[str, int] = {"timeout": 1, "gtimeout": 1, "flock": 1, "chroot": 1}
"""Words before the command that are not options."""

RUN_WORDS: dict[str, frozenset[str]] = {
    name: frozenset(words.split())
    for name, words in {
        "bundle": "exec",
        "direnv": "exec",
        "aws-vault": "exec",
        "doppler": "run",
        "op": "run",
        "mise": "exec x",
        "asdf": "exec",
        "rbenv": "exec",
        "dotenv": "run",
    }.items()
}
"""The subcommands with which these run a command; with others they do not."""

WRAP_VALUED = frozenset(
    ["-e", "--env", "-v", "--volume", "-w", "--workdir", "-u", "--user", "-p", "--publish", "--name", "--network", "--entrypoint", "--env-file", "--mount", "--platform", "-c", "--container", "-n", "--namespace", "--with", "--python", "--extra", "--group", "--package", "--from", "-m", "--memory", "--cpus", "-l", "--label", "--add-host", "--hostname", "-h", "--gpus", "--ipc", "--pull", "--index", "--ulimit", "--user", "--cap-add", "--device", "--dns", "--expose", "--filter", "-F", "--jobs", "-j", "--include", "--exclude", "--project", "--directory", "--with-requirements", "--only-group", "--env-var", "--shm-size", "--restart", "--tmpfs", "--context"]
)
"""Options with a value between `docker run`, `uv run`, `kubectl exec`, … and the command."""

WRAP_FLAGS = frozenset(
    ["-i", "-t", "-it", "-ti", "-d", "-T", "--rm", "--init", "--privileged", "--tty", "--stdin", "-y", "--yes"]
)
"""Options without a value there."""

SHELLS = frozenset(["sh", "bash", "zsh", "dash", "ksh", "fish", "ash"])
INTERPRETERS = frozenset(
    ["python", "python2", "python3", "py", "pypy", "pypy3", "node", "nodejs", "ruby", "perl", "php", "lua", "Rscript", "osascript", "tsx", "ts-node"]
)
"""They run code that this program does not read."""

READERS = frozenset(
    [":", "[", "true", "false", "test", "echo", "printf", "cd", "pwd", "ls", "cat", "head", "tail", "wc", "grep", "egrep", "fgrep", "rg", "sort", "uniq", "cut", "tr", "nl", "file", "stat", "du", "df", "which", "type", "date", "basename", "dirname", "realpath", "readlink", "diff", "cmp", "comm", "jq", "tree", "column", "seq"]
)
"""They only read, with any option but these."""
WRITING_OPTIONS = (
    "-o",
    "--output",
    "--pre",
    "-c",
    "--ext-diff",
    "-O",
    "-exec",
    "-delete",
    "-fprint",
    "-ok",
)
GIT_READERS = frozenset(
    ["status", "log", "diff", "show", "blame", "grep", "ls-files", "rev-parse", "describe", "shortlog"]
)
