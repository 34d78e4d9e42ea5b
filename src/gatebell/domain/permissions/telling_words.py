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
    r"(?<!pre-)push|publish|deploy|release(?![-_ ]?notes)|upload|destroy|rmtree|remove_tree|rmSync|rmdirSync|rm_r|Remove-Item"
    r"|\brm\(|\brm['\", ]+-|send-pack|dcommit"
)
# As a whole word, or the end of a name such as `state.apply`.
_TELLING_VERB = late_pattern(r"(?:.*[:./])?(?:(?:apply|delete)(?::.*)?|jib(?::build)?)")
# A kind of build: `-c Release`, `--prerelease=allow`, `target/release/app`.
_KIND_OPTIONS = frozenset(["-c", "--config", "--configuration", "-configuration", "--buildtype"])
_KIND = late_pattern(
    r"(?i)--release|--pre-?releases?(?:=\w+)?"
    r"|[-/]*(?:p:|property:|D)?(?:CMAKE_)?(?:build_?type|configuration)=release"
)
_FOLDER = late_pattern(
    r"((?:^|/)(?:\.?build|target|bin|out|obj|dist)/(?:[\w.-]+/)?)[Rr]elease(?=/)"
)
# What is not done, and a test, which is named like what it tests.
_LEFT_OUT = late_pattern(r"--(?:no|skip|without)-[\w-]+")
_TEST = late_pattern(
    r"[\w./@=-]*(?:\btest_[\w-]+\.py|[\w-][._-](?:test|spec)s?\.(?:py|[cm]?[jt]sx?|rb|go|rs|exs?|php))"
    r"(?:::?[\w:.\[\]-]*)?"
)


def find_telling(words: Sequence[str], values: Iterable[str]) -> Reason | None:
    """Return what these words tell, the program first; `values` are those of variables in them."""
    for word in (*_drop_harmless(words), *values):
        if found := _TELLING.search(word):
            return None, f"it runs something that names {found[0]!r}"
    for word in words[1:]:
        if found := _TELLING_VERB.fullmatch(word):
            return None, f"it runs something that names {found[0]!r}"
    if any(word in ("rm", "-rm") for word in words) and any(map(RECURSIVE.match, words)):
        return Act.DELETE, "it runs something that deletes a tree"
    return None


def _drop_harmless(words: Sequence[str]) -> Iterator[str]:
    """Yield the words without those that name a kind of build or a test; the first is the program."""
    for at, word in enumerate(words):
        is_kind = word.lower() == "release" and at and words[at - 1] in _KIND_OPTIONS
        is_test = at and _TEST.fullmatch(word)
        if not (is_kind or is_test or _KIND.fullmatch(word) or _LEFT_OUT.fullmatch(word)):
            yield _FOLDER.sub(r"\1", word)
