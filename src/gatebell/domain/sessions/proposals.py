"""Proposals: outcomes that a conversation suggests for a session; a person decides.

A message with any doubt proposes nothing. A person's words count before an agent's, and newer
words before older ones.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from gatebell.domain.enums import AskKind
from gatebell.domain.sessions.approval_parser import (
    BLANK,
    LABEL,
    Reading,
    asks,
    is_courtesy,
    read_approval,
    read_choice,
    skeleton,
    statements,
)
from gatebell.domain.text.display import plain
from gatebell.domain.text.json_blocks import (
    canonical,
    decision,
    fits,
    last_block,
    shown_in,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

PERSON, AGENT = "person", "agent"

_MAX_MESSAGES = 3
_MAX_QUOTE_LENGTH = 300
# Shorter texts of ours, like `Approve?`, are recognised only as a whole message.
_FEWEST_BYTES = 20
_LEAVES = re.compile(r"\s*/(?:exit|quit)\s*")


class Said(NamedTuple):
    """One message of a conversation."""

    speaker: str
    """PERSON or AGENT."""
    text: str


class Proposal(NamedTuple):
    """An outcome that a conversation suggests."""

    value: Any
    """`approved` or `rejected`, an option or a list of them, JSON that fits, or text."""
    speaker: str
    quote: str
    """The words that it is based on, or their end."""


def propose(
    said: Sequence[Said],
    answered_as: AskKind,
    options: Sequence[str] = (),
    multiple: bool = False,
    schema: Any = None,
    injected: Sequence[str] = (),
) -> Proposal | None:
    """Return the outcome that the end of a conversation suggests; None if in doubt.

    `injected` are our own texts in it. They are never an outcome, even when they are repeated.
    """
    bones = [skeleton(text) for text in injected]
    heard = [_remove_injected(one, bones) for one in said if not _LEAVES.fullmatch(one.text)]
    if answered_as == AskKind.FORM:
        return _propose_form(heard, schema, injected)
    if answered_as == AskKind.TEXT:
        return _propose_text(heard)
    if answered_as == AskKind.CHOICE:
        return _find_spoken(
            heard, lambda at: read_choice(heard[at].text, options, multiple=multiple)
        )
    ours = {skeleton(one) for text in injected for one in (*statements(text), *text.split("\n"))}
    long = {one for one in ours if _is_long(one)}
    return _find_spoken(heard, lambda at: _read_approval(heard, at, long))


def _read_approval(heard: Sequence[Said], at: int, ours: set[str]) -> Reading:
    before = heard[at - 1] if at else Said(PERSON, "")
    return read_approval(
        heard[at].text,
        by_person=heard[at].speaker == PERSON,
        asked=before.speaker == AGENT and asks(before.text),
        ours=ours,
    )


def _find_spoken(heard: Sequence[Said], read: Callable[[int], Reading]) -> Proposal | None:
    """Return the proposal of the newest message that decides.

    A person's refusal is valid until the person takes it back. A person's approval or choice
    ends with the person's next message, or with doubts of the agent.
    """
    newest_first = range(len(heard) - 1, -1, -1)
    last = newest_first[:_MAX_MESSAGES]
    persons = [at for at in newest_first if heard[at].speaker == PERSON]
    own = next(((at, word) for at in persons if (word := read(at)).value is not None), None)
    refused = own is not None and own[1].refuses
    if own and refused and own[0] in last:
        return _build_proposal(heard[own[0]], own[1])
    of_agent: Proposal | None = None
    for at in last:
        word = read(at)
        if word.refuses:
            return _build_proposal(heard[at], word)
        if heard[at].speaker == PERSON:
            break
        if word.clouded:
            return None
        if word.value is not None:
            of_agent = of_agent or _build_proposal(heard[at], word)
    if not persons:
        return of_agent
    word = read(persons[0])
    if word.value is not None and persons[0] in last:
        agrees = of_agent is None or of_agent.value == word.value
        return _build_proposal(heard[persons[0]], word) if agrees else None
    return None if refused or word.clouded else of_agent


def _build_proposal(said: Said, word: Reading) -> Proposal:
    return Proposal(word.value, said.speaker, _quote(word.quote))


def _quote(text: str) -> str:
    return text if len(text) <= _MAX_QUOTE_LENGTH else f"…{text[1 - _MAX_QUOTE_LENGTH :]}"


def _is_long(bones: str) -> bool:
    return len(bones.encode()) >= _FEWEST_BYTES


def _remove_injected(said: Said, injected: Sequence[str]) -> Said:
    """Return the message with a placeholder for each of our texts, given as skeletons."""
    text, found = said.text, skeleton(said.text)
    for bones in filter(None, injected):
        if bones == found:
            return Said(said.speaker, BLANK)
        if _is_long(bones) and bones in found:
            text = _blank(text, bones)
            found = skeleton(text)
    return Said(said.speaker, text)


def _blank(text: str, bones: str) -> str:
    characters = [
        (one, at) for at, shown in enumerate(text) if shown.isalnum() for one in shown.lower()
    ]
    found = "".join(one for one, _ in characters)
    kept, start = [], 0
    for match in re.finditer(re.escape(bones), found):
        kept.append(text[start : characters[match.start()][1]])
        start = characters[match.end() - 1][1] + 1
    return BLANK.join((*kept, text[start:]))


def _propose_text(heard: Sequence[Said]) -> Proposal | None:
    """Return the labelled decision in the newest message, or that message; skip thanks."""
    for said in reversed(heard[-_MAX_MESSAGES:]):
        whole = said.text.replace(BLANK, " ").strip()
        if not whole or is_courtesy(whole):
            continue
        value = _find_labelled(whole.replace("**", "").split("\n")) or whole
        return Proposal(value, said.speaker, _quote(value))
    return None


def _find_labelled(lines: Sequence[str]) -> str:
    """Return the text after the last `Decision:` at the beginning of a line."""
    for at in range(len(lines) - 1, -1, -1):
        line = lines[at].strip()
        if label := LABEL.match(line.lower()):
            return "\n".join((line[label.end() :], *lines[at + 1 :])).strip()
    return ""


def _propose_form(heard: Sequence[Said], schema: Any, injected: Sequence[str]) -> Proposal | None:
    """Return the last JSON value, if it fits the schema.

    If it does not fit, nothing is proposed: it replaced the older values.
    """
    for said in reversed(heard[-_MAX_MESSAGES:]):
        if block := last_block(said.text):
            value = decision(block.value, schema)
            if value is None or not fits(schema, value):
                return None
            ours = set().union(*map(shown_in, injected))
            is_ours = {canonical(block.value), canonical(value)} & ours
            return None if is_ours else Proposal(plain(value), said.speaker, _quote(block.text))
        if said.speaker == PERSON and _objects_to(said.text):
            return None
    return None


def _objects_to(text: str) -> bool:
    word = read_approval(text, by_person=True, asked=False, ours=())
    return word.clouded or word.refuses
