"""The names of programs: which ones are judged by more than their words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gatebell.domain.permissions.cloud_programs import CLOUDS
from gatebell.domain.permissions.ordinary_programs import INTERPRETERS, SHELLS
from gatebell.domain.permissions.programs import PROGRAMS
from gatebell.domain.permissions.special_programs import SPECIAL
from gatebell.domain.permissions.wrapper_programs import VALUED
from gatebell.domain.text.late_patterns import late_pattern

if TYPE_CHECKING:
    from collections.abc import Sequence

_VERSION = late_pattern(r"[-.]?v?\d[\d.]*$|\.(?:exe|cmd|bat)$")
# The tools of GNU have other names on some systems: grm.
_GNU = frozenset(["rm", "find", "xargs", "env", "nice", "nohup", "stdbuf", "sed", "tar", "sort"])


def is_listed(name: str) -> bool:
    """Return whether a program of this name is judged by more than its words."""
    return any(name in names for names in (PROGRAMS, SPECIAL, SHELLS, INTERPRETERS, VALUED, CLOUDS))


def name_program(word: str) -> str:
    """Return the name of a program without its folder and version."""
    # Zsh takes `=git` for the path of git.
    name = word.rpartition("/")[2].removeprefix("=")
    if name[:1] == "g" and name[1:] in _GNU:
        return name[1:]
    bare = _VERSION.sub("", name)
    return bare if bare != name and is_listed(bare) and not is_listed(name) else name


def names_program(words: Sequence[str]) -> bool:
    """Return whether the first word names a program that may act."""
    name = name_program(words[0]) if words else ""
    return name in PROGRAMS or name in CLOUDS or name in ("rm", "find")
