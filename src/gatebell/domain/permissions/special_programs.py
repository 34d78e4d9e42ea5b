"""Programs whose words need a rule of their own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gatebell.domain.permissions.acts import Act
from gatebell.domain.permissions.command_options import is_option, list_starts, value_of
from gatebell.domain.permissions.shell_lines import GLOB, QUOTED, SPLIT, is_known
from gatebell.domain.text.late_patterns import late_pattern

if TYPE_CHECKING:
    from collections.abc import Callable, Set as AbstractSet

    from gatebell.domain.permissions.judgement import Judge

# An act, or None if it may be any, and the words for people.
Reason = tuple[Act | None, str]

_LOCAL = late_pattern(r"(https?://)?(localhost|127\.0\.0\.1|\[::1\])([:/][^@]*)?")
_SSH_VALUED = frozenset(
    ["-i", "-p", "-l", "-o", "-F", "-L", "-R", "-D", "-J", "-W", "-b", "-E", "-S"]
)
_SETTINGS_PRINTER = late_pattern(
    r"""eval "?\$\((?:(?:/opt/homebrew|/usr/local|/home/linuxbrew/.linuxbrew)/bin/)?(?:(?=([a-z-]+))(?:"""
    r"ssh-agent(?: -[sck])?|direnv hook \w+|brew shellenv(?: \w+)?|(?:py|rb|nod|pl|go)env init(?: -+\w*)*"
    r"|(?:conda|micromamba) shell[. ]\w+ hook|mise activate \w+|fnm env(?: --[\w-]+)*|opam env"
    r"|(?:starship|zoxide) init \w+|register-python-argcomplete [\w-]+|pixi shell-hook|dircolors(?: -b)?"
    r"))\)\"?"
)
RECURSIVE = late_pattern(r"-[^-]*[rR]|--r")
# The command `e` and the flag `e` of sed run a text.
_SED_RUNS = late_pattern(r"(?:^|[\d;{}$!,/\s])e(?:\s|$)|\W[gpiImM\d]*e[gpiImMw\d]*\s*(?:$|[;}])")
_SED_OPTIONS = late_pattern(r"-[nErsuzi]*e?|--(?:quiet|regexp-extended|in-place|expression)")
_SENDING = ("--request", "--data", "--form", "--upload-file", "--json")
_MAKE_VALUED = ("-C", "-f", "-o", "-W", "-I", "--file", "--makefile", "--directory", "--eval")
_CURL_FLAGS = late_pattern(
    r"--(?:silent|fail|location|insecure|compressed|verbose|show-error|include|head|globoff|http[\d.]+)"
    r"|-[sSfLkvigI46]+|-[sSfLkvigI46]*X[A-Z]+|--\S+=.*"
)
_READING = ("GET", "HEAD")
# An option that sends, also after others that have no value: -sSX.
_SENDING_SHORT = late_pattern(r"-[a-zA-Z#0-9]{0,8}?[XdFT]")
_CURL_VALUED = late_pattern(r"-[a-zA-Z#0-9]*?[AbceEHKmoPQrtuUwxyYzC]")
_HTTPIE_SENDS = late_pattern(r"(?i)post|put|patch|delete|[\w-]+(?::?=|@).*")
_FIELDS = ("-f", "-F", "--field", "--raw-field", "--input")
FROM_INPUT = QUOTED * 2
"""A mark for the words that xargs and find add to a command."""
# Programs that leave their own language by these run a command.
_ESCAPES = late_pattern(
    r"(?i)\\!|(?:^|\n)\s*!|\.shell\b|\.system\b|(?:^|[\n;])\s*system\b|\bprogram\b|\\[og]\s*\||\|/"
)
# What changes a repository from outside, in an address or a query of GitHub.
_REPOSITORY = late_pattern(
    r"(?i)merge|release|dispatch|deploy|push|publish|pages|git/refs|git/tags|contents|delete|transfer"
    r"|createRef|updateRef|createCommit"
)
_FORGE = late_pattern(r"api\.github\.com|/api/v[34]/")
# Properties and targets of MSBuild that send what was built; their case does not count.
_SENDING_BUILDS = (
    "publishprofile", "publishcontainer", "publishurl", "deployonbuild", "webpublish", "registry="
)  # fmt: skip
_WINDOWS_DELETES = late_pattern(
    r"(?i)\b(?:rd|rmdir|del|erase|ri|rm)\b.*(?:/{1,2}s\b|-r(?:ec\w*)?\b)"
)
_EXECUTING = frozenset(["-exec", "-execdir", "-ok", "-okdir", "-x", "-X", "--exec", "--exec-batch"])


def _rm(judge: Judge, rest: list[str], text: str | None) -> Reason | None:
    if FROM_INPUT in rest:
        return Act.DELETE, "`rm` deletes the files of a list that only another program knows"
    options = rest[: rest.index("--")] if "--" in rest else rest
    if any(is_option(word, one) for word in options for one in ("-r", "-R", "--r*")):
        return Act.DELETE, "`rm` with -r deletes a tree"
    unknown = [word for word in options if not is_known(word)]
    may_be_option = any(word.startswith((SPLIT, "-", f"{GLOB}-")) for word in unknown)
    if may_be_option or (judge.has_value(RECURSIVE) and any(w[0] == QUOTED for w in unknown)):
        return None, "the options of rm are not known before it runs"
    return None


def _unlink(judge: Judge, rest: list[str], text: str | None) -> Reason | None:
    return (Act.DELETE, "it deletes the files of a list") if FROM_INPUT in rest else None


def _find_files(judge: Judge, rest: list[str], text: str | None) -> Reason | None:
    if "-delete" in rest:
        return Act.DELETE, "`find -delete` deletes a tree"
    found = (
        judge.judge_words([*rest[at + 1 :], FROM_INPUT])
        for at, word in enumerate(rest)
        if word in _EXECUTING
    )
    return next(filter(None, found), None)


def _eval(judge: Judge, rest: list[str], text: str | None) -> Reason | None:
    if not all(map(is_known, rest)):
        return Act.EVAL, "eval runs a text that is not known before"
    return judge.judge_text(" ".join(rest))


def prints_settings(code: str, renamed: AbstractSet[str]) -> bool:
    """Return whether it is `eval "$(…)"` of a program that prints variables for the shell.

    `renamed` are the names to which the line gives another meaning.
    """
    # Hooks are to be fast, and only this expression takes half a millisecond to compile.
    found = _SETTINGS_PRINTER.fullmatch(code) if code.startswith("eval ") else None
    return found is not None and renamed.isdisjoint([found[1], "eval"])


def _remote(judge: Judge, rest: list[str], text: str | None) -> Reason | None:
    """Judge what ssh runs on a host, or su for a user."""
    if code := value_of(rest, ("-c", "--command")):
        return judge.judge_text(code)
    if text is not None:
        return judge.judge_text(text)
    if found := judge.judge_options(rest[: rest.index("--")] if "--" in rest else rest):
        return found
    start = next(list_starts(rest, _SSH_VALUED, frozenset()), len(rest))
    if rest[start + 1 :]:
        return judge.judge_text(" ".join(rest[start + 1 :]))
    if not rest[start:] or any(
        word in ("-N", "-V", "-G", "-T", "-O", "-Q") for word in rest[:start]
    ):
        return None
    return None, "a shell on another host reads commands that the line does not show"


def _curl(judge: Judge, rest: list[str], text: str | None) -> Reason | None:
    sends = any(
        (
            word.startswith(_SENDING)
            or (_SENDING_SHORT.match(word) and not _takes_value_before(word))
        )
        and not (after in _READING or word.endswith(_READING))
        for word, after in zip(rest, (*rest[1:], ""), strict=False)
    )
    places = [
        word
        for before, word in zip(("", *rest), rest, strict=False)
        if "://" in word
        or (word[:1] != "-" and (before[:1] != "-" or _CURL_FLAGS.fullmatch(before)))
    ]
    if not sends or (places and all(map(_LOCAL.fullmatch, places))):
        return None
    forges = [word for word in places if _FORGE.search(word)]
    if named := next(filter(None, map(_REPOSITORY.search, forges)), None):
        return None, f"it changes something that is named {named[0]!r}"
    return judge.judge_opaque(["", *rest, text or ""])


def _takes_value_before(word: str) -> bool:
    """Return whether the rest of a group of short options is a value, as in `-oXd`."""
    sending, valued = _SENDING_SHORT.match(word), _CURL_VALUED.match(word)
    return bool(sending and valued and valued.end() < sending.end())


def _copy(judge: Judge, rest: list[str], text: str | None) -> Reason | None:
    """Judge scp: only a copy to another host may be an upload."""
    is_remote = ":" in rest[-1] or not is_known(rest[-1]) if rest else False
    return judge.judge_opaque(["", *rest]) if is_remote else judge.judge_options(rest)


def _run_code(judge: Judge, rest: list[str], text: str | None) -> Reason | None:
    """Judge a program that runs a file of code, such as `python -m pdb FILE`."""
    if "-m" in rest[:-1]:
        return judge.judge_words(rest[rest.index("-m") + 1 :])
    return judge.judge_opaque(["", *rest, text or ""])


def _coverage(judge: Judge, rest: list[str], text: str | None) -> Reason | None:
    return _run_code(judge, rest[1:], text) if rest[:1] == ["run"] else None


def _editor(judge: Judge, rest: list[str], text: str | None) -> Reason | None:
    """Judge an editor: without options it only shows files."""
    runs = text is not None or any(word[:1] in ("-", "+", SPLIT) for word in rest)
    return judge.judge_opaque(["", *rest, text or ""]) if runs else None


def _wget(judge: Judge, rest: list[str], text: str | None) -> Reason | None:
    sends = any(word.startswith(("--post-", "--method", "--body")) for word in rest)
    return judge.judge_opaque(["", *rest]) if sends else None


def _httpie(judge: Judge, rest: list[str], text: str | None) -> Reason | None:
    return judge.judge_opaque(["", *rest]) if any(map(_HTTPIE_SENDS.fullmatch, rest)) else None


def _awk(judge: Judge, rest: list[str], text: str | None) -> Reason | None:
    runs = any("system" in word or "|" in word or word.startswith("-f") for word in rest)
    return judge.judge_opaque(["", *rest]) if runs else None


def _sed(judge: Judge, rest: list[str], text: str | None) -> Reason | None:
    codes = [word for word in rest if not _SED_OPTIONS.fullmatch(word)]
    runs = any(_SED_RUNS.search(word) or word.startswith("-f") for word in codes)
    return judge.judge_opaque(["", *rest, text or ""]) if runs else None


def _make(judge: Judge, rest: list[str], text: str | None) -> Reason | None:
    # After an option with a value, it is that value.
    if any(
        word in ("-n", "--dry-run", "--just-print", "--recon") and before not in _MAKE_VALUED
        for before, word in zip(("", *rest), rest, strict=False)
    ):
        return None
    file = value_of(rest, ("-f", "--file", "--makefile"))
    if file.startswith((QUOTED, SPLIT)) or (file.startswith(("-", "/dev/stdin")) and text is None):
        return None, "make reads a file that is not known before"
    return judge.judge_opaque(["", *rest, text or ""])


def _build(judge: Judge, rest: list[str], text: str | None) -> Reason | None:
    """Judge the targets of ninja and meson; words after these options are folders and numbers."""
    named = [
        word
        for before, word in zip(("", *rest), rest, strict=False)
        if before not in ("-C", "-f", "-j", "-l", "-k", "--buildtype")
    ]
    return judge.judge_opaque(["", *named])


def _cmake(judge: Judge, rest: list[str], text: str | None) -> Reason | None:
    if rest[:1] == ["-E"]:
        if rest[1:2] == ["remove_directory"]:
            return Act.DELETE, "`cmake -E remove_directory` deletes a tree"
        # Its other commands have names of their own, such as make_directory.
        runs = {"rm": rest[1:], "env": rest[2:], "time": rest[2:]}
        return judge.judge_words(runs.get("".join(rest[1:2]), []))
    targets = value_of(rest, ("--target", "-t", "-P")).split()
    return judge.judge_opaque(["", *targets])


def _client(judge: Judge, rest: list[str], text: str | None) -> Reason | None:
    """Judge programs with a language of their own, from which they can run a command."""
    words = [*rest, text or ""]
    return judge.judge_opaque(["", *words]) if any(map(_ESCAPES.search, words)) else None


def judge_msbuild(judge: Judge, rest: list[str], text: str | None) -> Reason | None:
    """Judge a build of .NET: publishing to a folder is none of the acts."""
    if any(one in word.lower() for word in rest for one in _SENDING_BUILDS):
        return Act.DEPLOY, "it sends what it builds"
    return next(filter(None, map(judge.judge_inside, rest)), None)


def _cmd(judge: Judge, rest: list[str], text: str | None) -> Reason | None:
    """Judge the command of Windows that `cmd /c` runs."""
    code = " ".join(rest)
    if _WINDOWS_DELETES.search(code):
        return Act.DELETE, "it deletes a tree"
    start = next((at + 1 for at, word in enumerate(rest) if word.lower().strip("/") in "ck"), 0)
    return judge.judge_text(" ".join(rest[start:]))


def _powershell(judge: Judge, rest: list[str], text: str | None) -> Reason | None:
    options = [word.lower() for word in rest if word[:2] in ("-e", "-E")]
    if any("-encodedcommand".startswith(word) or word == "-ec" for word in options):
        return None, "it runs a text that the line does not show"
    if any(map(_WINDOWS_DELETES.search, rest)):
        return Act.DELETE, "it deletes a tree"
    return judge.judge_opaque(["", *rest, text or ""])


def judge_api(judge: Judge, rest: list[str], text: str | None) -> Reason | None:
    """Judge a request to a forge: by its method, and by the names in its address."""
    method = _find_method(rest)
    if method in ("", "GET", "HEAD"):
        return None
    if method == "DELETE":
        return None, "it deletes something of a repository"
    if "graphql" in rest:
        # Its fields are the query; a query in a file is not known.
        is_query = all(
            is_known(word) and "mutation" not in word and "query=@" not in word for word in rest
        )
        if is_query and "--input" not in rest:
            return None
        words = rest
    else:
        words = [word for before, word in zip(("", *rest), rest, strict=False)
                 if before not in _FIELDS and not word.startswith(_FIELDS)]  # fmt: skip
    named = next(filter(None, map(_REPOSITORY.search, words)), None)
    return (None, f"it changes something that is named {named[0]!r}") if named else None


def judge_alias(judge: Judge, rest: list[str], text: str | None) -> Reason | None:
    """Judge the text of a new alias of gh."""
    if rest[:1] != ["set"] or len(rest) < 3:
        return None
    code = rest[-1]
    return judge.judge_text(code[1:] if code.startswith("!") else f"gh {code}")


def _find_method(rest: list[str]) -> str:
    """Return the method of a request; empty without one and without fields."""
    for before, word in zip(("", *rest), rest, strict=False):
        if before in ("-X", "--method"):
            return word.upper()
        if word.startswith(("-X", "--method=")) and word not in ("-X", "--method"):
            return word.removeprefix("-X").removeprefix("--method=").lstrip("=").upper()
    return "POST" if any(word.startswith(_FIELDS) for word in rest) else ""


def _trap(judge: Judge, rest: list[str], text: str | None) -> Reason | None:
    words = [word for word in rest if not word.startswith("-")]
    return judge.judge_text(words[0]) if words and len(words) > 1 else None


def _go(judge: Judge, rest: list[str], text: str | None) -> Reason | None:
    return judge.judge_opaque(["", *rest]) if rest[:1] in (["run"], ["generate"]) else None


def _source(judge: Judge, rest: list[str], text: str | None) -> Reason | None:
    return judge.judge_file(rest, text) if rest else None


def _later(judge: Judge, rest: list[str], text: str | None) -> Reason | None:
    """Judge `at` and `crontab`, which run the commands of their input later."""
    if rest[:1] in (["-l"], ["-c"]):
        return None
    return (
        judge.judge_text(text) if text else (None, "it runs commands that the line does not show")
    )


SPECIAL: dict[str, Callable[[Judge, list[str], str | None], Reason | None]] = {
    "find": _find_files,
    "fd": _find_files,
    "fdfind": _find_files,
    "eval": _eval,
    "ssh": _remote,
    "su": _remote,
    "curl": _curl,
    "wget": _wget,
    **dict.fromkeys(("http", "https", "xh", "xhs"), _httpie),
    "scp": _copy,
    "coverage": _coverage,
    **dict.fromkeys(("pdb", "cProfile", "ipython", "nodemon"), _run_code),
    **dict.fromkeys(("vi", "vim", "nvim", "emacs", "nano", "ex", "micro", "hx"), _editor),
    **dict.fromkeys(("unlink", "shred"), _unlink),
    **dict.fromkeys(("rm", "srm"), _rm),
    **dict.fromkeys(("ninja", "samu", "meson"), _build),
    "cmake": _cmake,
    **dict.fromkeys(("psql", "mysql", "mariadb", "sqlite3", "ed", "red", "dc", "ftp"), _client),
    "awk": _awk,
    "gawk": _awk,
    "mawk": _awk,
    "sed": _sed,
    "make": _make,
    "gmake": _make,
    "trap": _trap,
    "go": _go,
    "source": _source,
    ".": _source,
    "at": _later,
    "batch": _later,
    "crontab": _later,
    "cmd": _cmd,
    **dict.fromkeys(("powershell", "pwsh"), _powershell),
    **dict.fromkeys(("msbuild", "MSBuild"), judge_msbuild),
}
