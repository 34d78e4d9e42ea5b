"""Programs and their subcommands: which of them push, publish, deploy or delete a tree.

A subcommand leads to an act, to `PASS` (no such act, whatever follows), to `OPAQUE` (it runs
something that the line does not show; the words decide), to `LOOKS` or to a `Program` with further
subcommands. Programs that mostly deploy name those that pass, and ask about all others.
"""

from __future__ import annotations

from typing import Any, Final

from gatebell.domain.permissions.acts import Act
from gatebell.domain.permissions.special_programs import judge_alias, judge_api, judge_msbuild
from gatebell.domain.records import NamedTuple

PASS: Final = "pass"  # noqa: S105  no secret
OPAQUE: Final = "opaque"
WRAPS: Final = "wraps"
"""The rest of the words is another command."""
INSIDE: Final = "inside"
"""The same, after the name of an image, a service or a pod."""
LOOKS: Final = "looks"
"""No such act, but its words may be texts that it runs."""


class Program(NamedTuple):
    """A program, or one of its subcommands."""

    subs: dict[str, Any]
    others: object = PASS
    """The result for a subcommand that is not listed."""
    valued: frozenset[str] = frozenset()
    """Options before the subcommand whose value is the next word."""
    flags: frozenset[str] = frozenset()
    """Options before the subcommand without a value; after others, two words may be it."""
    alone: object = PASS
    """The result without a subcommand."""
    harmless: frozenset[str] = frozenset()
    """Options with which nothing happens, such as --dry-run."""
    acting: dict[str, Act] = {}  # noqa: RUF012  it is never changed
    """Options with which it acts, such as --push."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _each(text: str, result: object) -> dict[str, object]:
    return dict.fromkeys(text.split(), result)


def _only(passing: str, act: Act, valued: str = "", **more: object) -> Program:
    """Return a program that asks about every subcommand but these."""
    subs = _each(passing, PASS) | more
    return Program(subs, act, _words(valued), harmless=_words("--help -h --version"))


_PUSH, _PUBLISH, _DEPLOY, _DELETE = Act.PUSH, Act.PUBLISH, Act.DEPLOY, Act.DELETE
_DRY = _words("--dry-run -n")
_PUBLISH_FLAGS = _words(
    "--locked --frozen --offline --allow-dirty --no-verify --all-features --workspace --quiet -q"
    " --verbose -v --provenance --json --no-git-checks"
)


def _unless_dry(act: Act) -> Program:
    """Return a subcommand that acts, unless it only shows what it would do."""
    return Program({}, act, flags=_PUBLISH_FLAGS, alone=act, harmless=frozenset(["--dry-run"]))


_GIT = Program(
    _each("push send-pack", _PUSH)
    | _each(
        "add am annotate apply blame branch bundle cat-file check-attr check-ignore"
        " checkout cherry cherry-pick column commit commit-graph commit-tree"
        " count-objects describe diff diff-files diff-index diff-tree difftool fast-export"
        " fast-import for-each-ref format-patch fsck gc grep hash-object help init"
        " interpret-trailers log ls-files ls-tree maintenance merge merge-base merge-file"
        " merge-tree mergetool mktag mktree mv name-rev notes pack-objects pack-refs prune"
        " range-diff read-tree reflog repack replace request-pull rerere reset restore"
        " rev-list rev-parse revert shortlog show show-branch show-ref sparse-checkout stage stash"
        " status stripspace switch symbolic-ref tag update-index update-ref var"
        " verify-commit verify-pack verify-tag version whatchanged write-tree",
        PASS,
    )
    | {
        "subtree": Program({"push": _PUSH}),
        "lfs": Program({"push": _PUSH}),
        "svn": Program({"dcommit": _PUSH}),
        "p4": Program({"submit": _PUSH}),
        **_each("review http-push cvsexportcommit", _PUSH),
        "annex": Program({"sync": _PUSH, "push": _PUSH}),
        "clean": Program({}, _DELETE, alone=_DELETE, harmless=_DRY),
        "rm": Program({}, PASS, flags=_words("-r -f -q"),
                      harmless=_words("--cached --dry-run -n"), acting={"-r": _DELETE}),
        "worktree": Program({"remove": Program({}, PASS, acting={"--force": _DELETE, "-f": _DELETE})}),
        "filter-branch": OPAQUE,
        "submodule": Program({"foreach": OPAQUE}),
        "grep": Program({}, acting={"-O": Act.EVAL, "--op*": Act.EVAL}),
        "difftool": Program({}, acting={"-x": Act.EVAL, "--e*": Act.EVAL}),
        **_each("fetch pull ls-remote", Program({}, LOOKS, acting={"--upl*": Act.EVAL})),
        "clone": Program({}, LOOKS, acting={"-u": Act.EVAL, "--upl*": Act.EVAL}),
        "archive": Program({}, acting={"--exec*": Act.EVAL}),
        **_each("config remote", LOOKS),
        "bisect": Program({"run": WRAPS}),
        "rebase": Program({}, acting={"-x": Act.EVAL, "--ex*": Act.EVAL}),
    },
    "it may be an alias",
    _words("-C -c --git-dir --work-tree --namespace --config-env --attr-source"),
    _words("--no-pager -P -p --paginate --bare --no-replace-objects --literal-pathspecs"
           " --no-optional-locks --glob-pathspecs --noglob-pathspecs --icase-pathspecs"),
)  # fmt: skip
_COMPOSE = Program(
    {"push": _PUBLISH, "publish": _PUBLISH, "run": INSIDE, "exec": INSIDE},
    PASS,
    _words("-f --file -p --project-name --profile --env-file --project-directory --parallel"
           " --ansi --progress"),
    acting={"--push": _PUBLISH},
)  # fmt: skip
_BUILD = Program(
    {},
    PASS,
    acting={"--push": _PUBLISH, "*type=registry*": _PUBLISH, "*push=true*": _PUBLISH},
)
_DOCKER = Program(
    {
        "push": _PUBLISH,
        "image": Program({"push": _PUBLISH, "build": _BUILD}),
        "manifest": Program({"push": _PUBLISH}),
        "plugin": Program({"push": _PUBLISH}),
        "compose": _COMPOSE,
        "build": _BUILD,
        "buildx": Program({"build": _BUILD, "bake": _BUILD, "imagetools": Program({"create": _PUBLISH})}),
        "stack": Program(_each("deploy up rm down remove", _DEPLOY)),
        "service": Program(_each("create update rm scale rollback", _DEPLOY)),
        "swarm": Program(_each("leave update init join", _DEPLOY)),
        "container": Program({"run": INSIDE, "exec": INSIDE}),
        "run": INSIDE,
        "exec": INSIDE,
    },
    PASS,
    _words("-H --host -c --context --config -l --log-level --tlscacert --tlscert --tlskey"),
)  # fmt: skip
_NPM_VALUED = _words(
    "-w --workspace --prefix --tag --registry -C --dir --filter -F --loglevel --userconfig --cwd"
    " --otp --access --cache --scope --include --omit"
)


def _starts(name: str, shortest: int) -> str:
    """Return the beginnings of a subcommand, which npm takes for it."""
    return " ".join(name[:end] for end in range(shortest, len(name) + 1))


_NPM = Program(
    _each(f"{_starts('publish', 2)} {_starts('unpublish', 3)}", _unless_dry(_PUBLISH))
    | _each(_starts("deprecate", 3), _PUBLISH)
    | _each(
        "access add adduser audit author bugs c cache ci cit completion config create dedupe diff docs"
        " doctor edit explain explore find find-dupes fund get help help-search hook i in init innit"
        " install install-ci-test install-scripts install-test issues it la link list ll ln login logout"
        " ls ogr org outdated owner pack ping pkg prefix profile prune query r rb rebuild remove repo"
        " restart rm root s sbom se search set show shrinkwrap star stars start stop t team test token tst"
        " un undeprecate uninstall unlink unstar up update upgrade v version view info why whoami",
        PASS,
    )
    | _each(_starts("dist-tags", 4), Program({"ls": PASS, "list": PASS}, _PUBLISH))
    | _each("run run-script rum urn", OPAQUE)
    | _each("exec x", WRAPS),
    OPAQUE,
    _NPM_VALUED,
)
_SCRIPTS = "add install i remove rm up update upgrade list ls why info view outdated audit init create config cache link unlink prune store pack version import dedupe set"
# In pnpm -w has no value.
_PNPM_VALUED = _NPM_VALUED - {"-w"}
_PNPM = Program(_NPM.subs | {"dlx": WRAPS} | _each(_SCRIPTS, PASS), OPAQUE, _PNPM_VALUED)
_YARN = Program(
    _PNPM.subs | {
        "npm": Program({"publish": _PUBLISH, "tag": Program({"list": PASS}, _PUBLISH)}),
        "workspaces": Program({"foreach": WRAPS, "list": PASS, "focus": PASS}, OPAQUE),
    },
    OPAQUE,
    _PNPM_VALUED,
)  # fmt: skip
_HELM = _only(
    "list ls get status history hist show inspect template lint search version env repo dependency"
    " dep pull fetch create package verify completion help diff plugin registry",
    _DEPLOY,
    "-n --namespace --kube-context --kubeconfig --kube-apiserver --kube-token --kube-as-user"
    " --registry-config --repository-cache --repository-config",
)
_KUBECTL = _only(
    "get describe logs top explain api-resources api-versions version cluster-info config diff"
    " auth wait port-forward proxy completion help events kustomize plugin options",
    _DEPLOY,
    "-n --namespace --context --kubeconfig --cluster --user -s --server --as --as-group --token"
    " --request-timeout -v --v --cache-dir --certificate-authority",
    rollout=_only("status history", _DEPLOY),
    exec=INSIDE,
)._replace(
    harmless=_words("--help -h --dry-run=client --dry-run=server"),
)
_TERRAFORM = _only(
    "plan init validate fmt version show output providers graph console get login logout test"
    " hclfmt hcl-validate validate-inputs render-json graph-dependencies -version -help",
    _DEPLOY,
    state=_only("list show pull", _DEPLOY),
    workspace=_only("list show select new", _DEPLOY),
)
_TERRAFORM.subs.update({"run-all": _TERRAFORM, "run": _TERRAFORM})
_TERRAFORM = _TERRAFORM._replace(harmless=_words("-help -h --help -version --version"))
_CARGO = Program(
    _each("yank release smart-release", _PUBLISH)
    | {
        "publish": _unless_dry(_PUBLISH),
        "workspaces": Program({"publish": _PUBLISH}),
        "ws": Program({"publish": _PUBLISH}),
    }
    | _each("run r xtask make", OPAQUE),
    PASS,
    _words("--manifest-path --config -Z -C --color"),
)
_GH = Program(
    {
        "release": Program(_each("create upload delete edit delete-asset", _PUBLISH)),
        "pr": Program({"merge": _PUSH}),
        "mr": Program(_each("merge accept", _PUSH)),
        "repo": Program({"delete": _DELETE, "sync": _PUSH}, acting={"--push": _PUSH}),
        "workflow": Program({"run": OPAQUE}),
        "extension": Program({"exec": OPAQUE}),
        "alias": judge_alias,
        "api": judge_api,
        **_each(
            "auth browse codespace gist issue org project run ci cache secret variable ssh-key"
            " gpg-key label search ruleset attestation config status completion help version"
            " preview agent-task",
            PASS,
        ),
    },
    OPAQUE,
    _words("-R --repo --hostname"),
)
_RELEASERS = {"upload": _PUBLISH, "publish": _PUBLISH, "release": _PUBLISH, "push": _PUSH}
_PUSHERS = {"push": _PUSH}
_PACKAGES = {"push": _PUBLISH, "yank": _PUBLISH}

TEXTUAL = frozenset(
    ["git", "gh", "glab", "hg", "jj", "sl", "svn", "bzr", "fossil", "darcs", "arc", "gt"]
)
"""Their words are often texts for people, such as messages of commits."""

PROGRAMS: dict[str, Program] = {
    "git": _GIT,
    "git-push": Program({}, _PUSH, alone=_PUSH),
    **dict.fromkeys(("hg", "bzr", "fossil", "darcs", "sl", "dvc", "git-lfs"), Program(_PUSHERS)),
    "jj": Program({"git": Program(_PUSHERS)}, OPAQUE, _words("-R --repository --config")),
    **dict.fromkeys(("gh", "glab"), _GH),
    **dict.fromkeys(("docker", "podman", "nerdctl"), _DOCKER),
    "svn": Program(_each("commit ci", _PUSH)),
    "arc": Program({"land": _PUSH}),
    "gt": Program(_each("submit ship ss", _PUSH)),
    "buildah": Program({"push": _PUBLISH, "manifest": Program({"push": _PUBLISH})}),
    **dict.fromkeys(("skopeo", "regctl"), Program({"copy": _PUBLISH, "sync": _PUBLISH,
                                                  "image": Program({"copy": _PUBLISH})})),
    "ko": _only("version login deps", _PUBLISH),
    **dict.fromkeys(("docker-compose", "podman-compose"), _COMPOSE),
    "npm": _NPM,
    "pnpm": _PNPM,
    "yarn": _YARN,
    "bun": Program(_NPM.subs | {"build": PASS} | _each(_SCRIPTS, PASS), OPAQUE, _NPM_VALUED),
    "lerna": Program({"publish": _PUBLISH, "version": _PUSH, "run": OPAQUE, "exec": WRAPS}),
    **dict.fromkeys(
        ("semantic-release", "release-it", "np", "npmpub", "release-please"),
        Program({}, _PUBLISH, alone=_PUBLISH, harmless=_words("--dry-run -d --noop --print --help --version")),
    ),
    "goreleaser": Program(
        {"release": Program({}, _PUBLISH, alone=_PUBLISH, harmless=_words("--snapshot --skip=publish"))}
        | _each("publish announce", _PUBLISH),
        alone=_PUBLISH,
        harmless=_words("--snapshot --skip=publish --help -h --version -v"),
    ),
    **dict.fromkeys(
        ("twine", "flit", "maturin", "vsce", "ovsx", "jsr", "anaconda", "stack", "cabal", "shadow-cljs",
         "changeset"), Program(_RELEASERS)
    ),
    "poetry": Program({"publish": _unless_dry(_PUBLISH), "run": WRAPS}, valued=_words("-C --directory -P --project")),
    "hatch": Program({"publish": _PUBLISH, "run": WRAPS}, valued=_words("-e --env -p --project --data-dir")),
    "pdm": Program({"publish": _PUBLISH, "run": WRAPS}, OPAQUE, _words("-p --project -c --config")),
    "uv": Program({"publish": _unless_dry(_PUBLISH), "run": WRAPS, "tool": Program({"run": WRAPS})},
                  valued=_words("--directory --project --config-file --cache-dir --color")),
    "rye": Program({"publish": _PUBLISH, "run": WRAPS}),
    "pipenv": Program({"run": WRAPS}),
    "pipx": Program({"run": WRAPS}),
    "cargo": _CARGO,
    "gem": Program(_PACKAGES),
    "nuget": Program(_PACKAGES),
    "pod": Program(_each("trunk repo", Program({"push": _PUBLISH}))),
    "dotnet": Program({"nuget": Program({"push": _PUBLISH}), "run": OPAQUE, "tool": PASS,
                       **_each("publish build pack msbuild", judge_msbuild)}),
    "deno": Program({"publish": _PUBLISH, "deploy": _DEPLOY, "run": OPAQUE, "task": OPAQUE, "eval": OPAQUE}),
    **dict.fromkeys(("oras", "crane"), Program(_PACKAGES | _each("copy cp append", _PUBLISH))),
    **dict.fromkeys(("conda", "mamba", "micromamba"), Program({"upload": _PUBLISH, "run": WRAPS}, LOOKS)),
    "asciinema": Program({"upload": _PUBLISH}, LOOKS),
    "mkdocs": Program({"gh-deploy": _DEPLOY}, LOOKS),
    "mix": Program(_each("test compile format deps.get credo dialyzer docs", PASS), OPAQUE),
    "bazel": Program(_each("build test query cquery aquery clean info version help fetch", PASS), OPAQUE),
    "helm": _HELM,
    **dict.fromkeys(("kubectl", "oc", "k", "kubecolor"), _KUBECTL),
    **dict.fromkeys(("terraform", "tofu", "terragrunt"), _TERRAFORM),
    "pulumi": _only("preview pre config whoami login logs version about install new plugin schema",
                    _DEPLOY, "-C --cwd -s --stack", stack=_only("ls select output history", _DEPLOY)),
    "ansible-playbook": Program({}, _DEPLOY, _words("-i --inventory -e --extra-vars -l --limit -t --tags -u --user"),
                                harmless=_words("--check -C --syntax-check --list-hosts --list-tasks --list-tags --version --help -h")),
    "ansible": Program({}, _DEPLOY, harmless=_words("--list-hosts --check -C --version --help -h")),
    "ansible-galaxy": Program({}, OPAQUE),
    **dict.fromkeys(("fly", "flyctl"), _only("status logs version auth info doctor help ping checks releases platform dashboard open docs services", _DEPLOY, "-a --app -c --config -t --access-token", apps=_only("list ls", _DEPLOY), config=_only("show validate", _DEPLOY))),
    **dict.fromkeys(("vercel", "vc"), _only("dev build pull ls list inspect logs login logout whoami link help init", _DEPLOY, "-t --token -S --scope --cwd -A --local-config", env=_only("ls list pull", _DEPLOY))._replace(alone=_DEPLOY)),
    "wrangler": _only("dev types tail whoami login logout init generate docs", _DEPLOY, "-c --config -e --env --cwd", d1=_only("list info insights", _DEPLOY), secret=_only("list", _DEPLOY), versions=_only("list view", _DEPLOY), pages=_only("dev", _DEPLOY), deployments=_only("list status", _DEPLOY))._replace(harmless=_words("--dry-run --help -h --version -v")),
    **dict.fromkeys(("netlify", "ntl"), _only("dev build status login logout link open init help logs env:list functions:list functions:serve sites:list serve", _DEPLOY, "--site -s --auth --filter")),
    "firebase": _only("emulators:start emulators:exec emulators:export serve login logout use projects:list init help functions:log apps:list functions:list functions:shell", _DEPLOY, "-P --project --config -c --token --account"),
    "heroku": _only("logs apps ps config releases info local login logout auth:whoami auth:login git:remote addons pg:info help version open features labs access domains status", _DEPLOY, "-a --app -r --remote", run=WRAPS),
    **dict.fromkeys(("serverless", "sls"), _only("package info print offline logs plugin login", _DEPLOY, "-s --stage -r --region -c --config", invoke=_only("local", _DEPLOY))),
    "sam": _only("build validate local init logs list", _DEPLOY),
    **dict.fromkeys(("cdk", "aws-cdk", "cdktf"), _only("synth synthesize diff ls list doctor init docs context metadata notices", _DEPLOY, "-a --app -c --context --profile -o --output")),
    "eb": _only("list status health logs events init printenv platform", _DEPLOY),
    "railway": _only("status logs login logout whoami list link open help shell variables environment", _DEPLOY, run=WRAPS),
    "argocd": _only("version login context account", _DEPLOY, "--server --auth-token", app=_only("list get diff history logs manifests resources wait", _DEPLOY)),
    "nomad": _only("status plan version server node monitor fmt agent-info", _DEPLOY, "-address -region -namespace", job=_only("status plan validate inspect history", _DEPLOY)),
    "skaffold": _only("build diagnose render version test init", _DEPLOY),
    "kamal": _only("version config details audit docs help", _DEPLOY, "-d --destination -c --config-file"),
    "helmfile": _only("diff template lint list build status fetch deps version test", _DEPLOY,
                      "-e --environment -f --file -l --selector -n --namespace"),
    **dict.fromkeys(("kapp", "werf", "tilt", "devspace", "sst", "zappa", "amplify", "eas", "hexo", "dpl"),
                    _only("list ls inspect logs status version render build lint doctor ci dev login"
                          " logout whoami config credentials diff init metadata channel fingerprint"
                          " generate g new server s clean tail help settings", _DEPLOY)),
    **dict.fromkeys(("surge", "gh-pages", "angular-cli-ghpages", "ansible-pull", "chef-client"),
                    Program({}, _DEPLOY, alone=_DEPLOY, harmless=_words("--help -h --version --noop --check"))),
    "systemctl": Program(_each("status is-active is-enabled is-failed show cat list-units list-timers"
                               " list-unit-files list-jobs", PASS), OPAQUE),
    "puppet": Program(_each("apply agent device", _DEPLOY)),
    "fastlane": Program(_each("deliver supply pilot testflight appstore", _PUBLISH), OPAQUE),
    "nixos-rebuild": Program({}, acting={"--target-host*": _DEPLOY}),
    "jib": Program({"build": _PUBLISH}),
    "packer": _only("validate fmt inspect init version console", _DEPLOY),
    "rimraf": Program({}, _DELETE, alone=_DELETE),
    "del-cli": Program({}, _DELETE, alone=_DELETE),
    "rsync": Program({}, LOOKS, harmless=_DRY, acting={"--del*": _DELETE}),
}  # fmt: skip
"""Programs that can do a gated act by a subcommand or an option."""
