"""Words that tell what an unknown program, script or target may do."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gatebell.domain.permissions.acts import Act
from gatebell.domain.permissions.special_programs import RECURSIVE
from gatebell.domain.text.late_patterns import late_pattern

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from gatebell.domain.permissions.special_programs import Reason

# In words that run something unknown, these tell what it may do.
_TELLING = late_pattern(
    r"push|publish|deploy|release|upload|destroy|rmtree|remove_tree|rmSync|rmdirSync|rm_r|Remove-Item"
    r"|\brm\(|\brm['\", ]+-|send-pack|dcommit"
)
# As a whole word, or the end of a name such as `state.apply`.
_TELLING_VERB = late_pattern(r"(?:.*[:./])?(?:apply|delete)(?::.*)?")


def find_telling(words: Sequence[str], values: Iterable[str]) -> Reason | None:
    """Return what these words tell, the program first; `values` are those of variables in them."""
    for word in (*_drop_builds(words), *values):
        if found := _TELLING.search(word):
            return None, f"it runs something that names {found[0]!r}"
    for word in words[1:]:
        if found := _TELLING_VERB.fullmatch(word):
            return None, f"it runs something that names {found[0]!r}"
    if any(word in ("rm", "-rm") for word in words) and any(map(RECURSIVE.match, words)):
        return Act.DELETE, "it runs something that deletes a tree"
    return None


def _drop_builds(words: Sequence[str]) -> Iterator[str]:
    """Yield the words without `--release`, by which compilers name a kind of build."""
    for at, word in enumerate(words):
        before = words[at - 1] if at else ""
        is_kind = word == "release" and before in ("-c", "--configuration", "--buildtype")
        if word not in ("--release", "--buildtype=release") and not is_kind:
            yield word
