"""Programs that run the command in their words, and how to find it there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gatebell.domain.permissions.command_options import list_starts, read_words, value_of
from gatebell.domain.permissions.shell_lines import GLOB
from gatebell.domain.permissions.special_programs import FROM_INPUT
from gatebell.domain.text.late_patterns import late_pattern

if TYPE_CHECKING:
    from gatebell.domain.permissions.judgement import Judge
    from gatebell.domain.permissions.special_programs import Reason

VALUED: dict[str, frozenset[str]] = {
    name: read_words(options)
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
        "ssh-agent": "-a -E -O -P -t",
        "run0": "-u -g --user --group --chdir --unit --property --setenv",
        "pkexec": "-u --user",
        "runuser": "-u -g -G --user --group --supp-group",
        "taskset": "",
        "chrt": "",
        "unshare": "",
    }.items()
}
"""Programs that run another command, with their options that take a value."""

SKIPPED: dict[str, int] = {
    "timeout": 1, "gtimeout": 1, "flock": 1, "chroot": 1, "taskset": 1, "chrt": 1
}  # fmt: skip
"""Words before the command that are not options."""

RUN_WORDS: dict[str, frozenset[str]] = {
    name: read_words(words)
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

WRAP_VALUED = read_words("""
    --add-host --cap-add --container --context --cpus --device --directory --dns --entrypoint
    --env --env-file --env-var --exclude --expose --extra --filter --from --gpus --group
    --hostname --include --index --ipc --jobs --label --memory --mount --name --namespace
    --network --only-group --package --platform --project --publish --pull --python --restart
    --shm-size --tmpfs --ulimit --user --volume --with --with-requirements --workdir -F -c -e -h
    -j -l -m -n -p -u -v -w
""")
"""Options with a value between `docker run`, `uv run`, `kubectl exec`, … and the command."""

WRAP_FLAGS = read_words("""
    --init --privileged --rm --stdin --tty --yes -T -d -i -it -t -ti -y --detach --interactive -E
    -H -S -b -r -0 -q -s --quiet --silent --verbose --null --no-run-if-empty --foreground --frozen
    --preserve-status --locked --no-sync --isolated --all-extras --all-groups --dev --no-dev
    --offline --no-project --active --exact --no-cache --script --no-install --prefer-offline
    --no-capture-output -m -v
""")
"""Options without a value there."""

RUN_VALUED = WRAP_VALUED - {"-m", "-v", "-h", "-l", "-n"}
"""The same for programs that run no image: in `uv run` these have no value."""

_SPLIT_STRING = late_pattern(r"(?s)(?:-[0iv]*S|--s[a-z-]*=)(.*)")
_SETTING = late_pattern(r"(?s)([A-Za-z_]\w*)\+?=(.*)")


def judge_wrapper(judge: Judge, name: str, rest: list[str], text: str | None) -> Reason | None:
    """Judge the command that a wrapper runs."""
    if name == "command" and rest[:1] in (["-v"], ["-V"]):
        return None
    if name in RUN_WORDS:
        if not rest or rest[0] not in RUN_WORDS[name]:
            return judge.judge_opaque([name, *rest])
        rest = rest[1:] if name != "direnv" else rest[2:]
    if name == "env" and (code := value_of(rest, ("-S", "--split-string"))):
        return judge.judge_text(code)
    if name == "env":
        for at, word in enumerate(rest):
            if found := _SPLIT_STRING.match(word):
                return judge.judge_text(" ".join([found[1], *rest[at + 1 :]]))
    if name == "npx" and (code := value_of(rest, ("-c", "--call"))):
        return judge.judge_text(code)
    for word in rest:
        if (found := _SETTING.fullmatch(word)) and (inner := judge.judge_setting(*found.groups())):
            return inner
    if name == "xargs" and next(list_starts(rest, VALUED[name], WRAP_FLAGS), None) is None:
        # It only shows its input.
        return None
    if name in ("xargs", "parallel"):
        rest = _fill_in(rest)
    return judge_inner(judge, rest, VALUED[name], SKIPPED.get(name, 0), text)


def _fill_in(rest: list[str]) -> list[str]:
    """Return the words with marks for those that xargs adds, or puts into the places of `-I`."""
    # `{}` without quotes has the mark of a pattern.
    words = [word.replace(GLOB, "{") for word in rest]
    place = next((word[2:] for word in words if word[:2] == "-I" and word != "-I"), "{}")
    place = words[words.index("-I") + 1] if "-I" in words[:-1] else place
    return [*(FROM_INPUT if one == place else word for one, word in zip(words, rest, strict=True)),
            FROM_INPUT]  # fmt: skip


def judge_inner(
    judge: Judge, rest: list[str], valued: frozenset[str], skipped: int, text: str | None = None
) -> Reason | None:
    """Judge the command after the options; a word after an unknown option may be its value."""
    for start in list_starts(rest, valued, WRAP_FLAGS):
        inner = rest[start + skipped :]
        if inner and not skipped:
            # Packages may name their version: npx vercel@latest.
            inner = [_without_version(inner[0]), *inner[1:]]
        if found := judge.judge_words(inner, text):
            return found
    return None


def _without_version(name: str) -> str:
    """Return the name of a package without its version."""
    return name[:1] + name[1:].partition("@")[0]
