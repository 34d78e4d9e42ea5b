"""Judge a program by its subcommand and its options."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from gatebell.domain.permissions.acts import Act
from gatebell.domain.permissions.command_options import (
    has_harmless_option,
    is_option,
    list_starts,
    value_of,
)
from gatebell.domain.permissions.ordinary_programs import ORDINARY
from gatebell.domain.permissions.program_names import names_program
from gatebell.domain.permissions.programs import (
    INSIDE,
    LOOKS,
    OPAQUE,
    PASS,
    PROGRAMS,
    TEXTUAL,
    WRAPS,
    Program,
)
from gatebell.domain.permissions.shell_lines import is_known, show_word
from gatebell.domain.permissions.wrapper_programs import (
    RUN_VALUED,
    WRAP_FLAGS,
    WRAP_VALUED,
    judge_inner,
)

if TYPE_CHECKING:
    from gatebell.domain.permissions.judgement import Judge
    from gatebell.domain.permissions.special_programs import Reason

_PACKAGE_RUNNERS = frozenset(["pnpm", "yarn", "bun"])


def judge_program(judge: Judge, program: Program, name: str, rest: list[str]) -> Reason | None:
    own = rest[: rest.index("--")] if "--" in rest else rest
    if has_harmless_option(own, program.harmless, program.flags):
        return None
    if name == "git" and any(word.lower().startswith("alias.") for word in rest):
        return None, "it defines an alias"
    if name == "git" and (found := _git_settings(judge, rest)):
        return found
    for option, act in program.acting.items():
        if any(is_option(word, option) for word in rest):
            return act, f"`{name} {option.rstrip('*')}` is a {act}"
    starts = list(list_starts(rest, program.valued, program.flags))
    if not starts:
        return _outcome(judge, program.alone, name, rest)
    subs = (_sub(judge, program, name, rest[start:]) for start in starts)
    if inner := next(filter(None, subs), None):
        return inner
    looks = rest if program.others == LOOKS else rest[: starts[0]]
    return None if name in TEXTUAL else _outcome(judge, LOOKS, name, looks)


def _image(judge: Judge, rest: list[str]) -> Reason | None:
    """Judge the program of an image, such as alpine/helm, and the one of `--entrypoint`."""
    if entry := value_of(rest, ("--entrypoint",)).split():
        words = [word for word in rest if word[:1] != "-" and word != entry[0]]
        if names_program(entry) and (found := judge.judge_words([entry[0], *words[1:]])):
            return found
    for start in list_starts(rest, WRAP_VALUED, WRAP_FLAGS):
        image = re.split("[:@]", rest[start].rpartition("/")[2])[0].removesuffix("-cli")
        if (
            "/" in rest[start]
            and names_program([image])
            and (found := judge.judge_words([image, *rest[start + 1 :]]))
        ):
            return found
    return None


def _git_settings(judge: Judge, rest: list[str]) -> Reason | None:
    """Judge values that git runs: of `-c` before the subcommand, and addresses with a command."""
    if any(word.startswith("ext::") for word in rest):
        return Act.EVAL, "git runs the command in this address"
    before = ""
    for word in rest:
        is_value = before in PROGRAMS["git"].valued
        if not is_value and not word.startswith("-"):
            break
        text = word.partition("=")[2]
        if (before == "-c" or word.startswith("-c")) and (found := judge.judge_opaque(["", text])):
            return found
        before = "" if is_value else word
    return None


def _sub(judge: Judge, program: Program, name: str, rest: list[str]) -> Reason | None:
    word = rest[0]
    if word.startswith("+"):
        return judge_program(judge, program, name, rest[1:])
    if not is_known(word) and program.subs:
        return None, f"the subcommand of {name} is not known before it runs"
    return _outcome(judge, program.subs.get(word, program.others), f"{name} {word}", rest[1:])


def _outcome(judge: Judge, result: object, name: str, rest: list[str]) -> Reason | None:
    if isinstance(result, Act):
        if rest == ["--help"]:
            return None
        return result, f"`{show_word(name)}` is a {result}"
    if isinstance(result, Program):
        return judge_program(judge, result, name, rest)
    if result == OPAQUE:
        first, _, second = name.partition(" ")
        if first in _PACKAGE_RUNNERS and second in ORDINARY:
            return judge.judge_words([second, *rest])
        return judge.judge_opaque([*name.split(" "), *rest])
    if result in (WRAPS, INSIDE):
        if "--" in rest:
            return judge.judge_words(rest[rest.index("--") + 1 :])
        if result == WRAPS and (code := value_of(rest, ("-c", "--call"))):
            return judge.judge_text(code)
        if result == INSIDE and (found := _image(judge, rest)):
            return found
        return judge_inner(
            judge, rest, RUN_VALUED if result == WRAPS else WRAP_VALUED, int(result == INSIDE)
        )
    if callable(result):
        special: Reason | None = result(judge, rest, None)
        return special
    if result == LOOKS or (result == PASS and name.partition(" ")[0] not in TEXTUAL):
        return next(filter(None, map(judge.judge_inside, rest)), None)
    return None if result == PASS else (None, f"`{show_word(name)}`: {result}")
