"""The prompts to agents: one text for each turn.

Our own headings begin with the turn's mark, which cannot be guessed. Words of others are quoted
line by line, with their author. So the words of one author cannot look like those of another, and
our own words, when an agent repeats them, cannot look like its signal.
"""

from __future__ import annotations

import json
from datetime import UTC
from typing import TYPE_CHECKING, Any, NamedTuple

from gatebell.domain.enums import SignalStatus
from gatebell.domain.runs.signals import STATUSES
from gatebell.domain.text.display import inert_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

    from gatebell.domain.runs.signals import Signal

OURS = "[turn "
_MAX_NAME_LENGTH = 200
_MAX_OF_ONE = 4_000
_MAX_IN_ALL = 40_000
_ALL_AGAIN = (
    "So here is everything again. The work that you had begun may be done, half done or not done: "
    "check before you do anything again."
)


class Said(NamedTuple):
    """The result of an earlier call of the run."""

    path: str
    who: str
    """A role, or a person."""
    what: str


class Exchange(NamedTuple):
    """An agent's question to a person, and the answer."""

    question: str
    context: str
    answer: str
    who: str
    when: datetime


def describe_signal(signal: Signal) -> str:
    """Return the text about a signal for other agents."""
    return f"{signal.status}: {signal.own_words}" if signal.own_words else signal.status


def mark(turn_id: str) -> str:
    """Return the mark of our own headings, which is also searched for in a session's log."""
    return f"{OURS}{turn_id}]"


def first(
    turn_id: str,
    *,
    role: str,
    instructions: str = "",
    run_prompt: str = "",
    since: Sequence[Said] = (),
    prompt: str = "",
    signal_file: str = "",
    context_path: str = "",
    schema: dict[str, Any] | None = None,
    statuses: Sequence[str] = STATUSES,
    exchanges: Sequence[Exchange] = (),
    again: bool = False,
) -> str:
    """Return the first prompt of a call. Only the first turn of a session has instructions.

    Args:
        again: The agent's earlier session, which had all of this, is lost.
    """
    greeting = (
        f"You are {_format_name(role)!r}, one of several who work on the same task. Only headings "
        "that begin with exactly this mark are the workflow's own. Lines that begin with > are "
        "the words of others, under their names."
    )
    parts = [(greeting, "")]
    if again:
        parts.append(("The session in which you worked before is lost.", _ALL_AGAIN))
    if instructions:
        parts.append(("Your role:", instructions))
    if run_prompt:
        parts.append(("The task:", run_prompt))
    if since:
        parts.append(("Results since your last turn:", _format_summaries(since, context_path)))
    if prompt != run_prompt or not prompt:
        parts.append(("Your work now:", prompt or "Do your part of the task."))
    if exchanges:
        parts.append(("Your earlier questions:", "\n".join(map(_format_exchange, exchanges))))
    parts.append(("How to report:", _explain_report(signal_file, schema, statuses)))
    return _join_parts(turn_id, parts)


def build_answer_prompt(
    turn_id: str, exchange: Exchange, signal_file: str = "", changed: Sequence[str] = ()
) -> str:
    """Return the prompt with the answer to an agent's question, and the changes in its folder."""
    parts = [("## Human Response to Your Question", _format_exchange(exchange))]
    if changed:
        parts.append(("Your folder is not as you left it:", "\n".join(map(quote, changed))))
    parts.append(("Please continue the task using this guidance.", _remind_to_report(signal_file)))
    return _join_parts(turn_id, parts)


def _format_exchange(exchange: Exchange) -> str:
    question, context, answer, who, when = exchange
    at = when.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    parts = [
        f"**Question asked:**\n{quote(question)}",
        *([f"**Context:**\n{quote(context)}"] if context else []),
        f"**Human's answer:** (of {_format_name(who)}, {at})\n{quote(answer)}",
    ]
    return "\n".join(parts)


def asked_back(turn_id: str, message: str, who: str, signal_file: str = "") -> str:
    """Return the prompt with a person's message about a question. It decides nothing."""
    reply = (
        "Report NEEDS_HUMAN once more, with your reply as its message, and with the current "
        f"question.\n{_remind_to_report(signal_file)}"
    )
    return _join_parts(
        turn_id,
        [
            (
                "Before your question is answered, you are asked:",
                _attribute(f"From {who}", message),
            ),
            ("Reply, and do nothing else: your question is still open.", reply),
        ],
    )


def build_interrupted_prompt(turn_id: str, old_turn_id: str, signal_file: str = "") -> str:
    """Return the prompt after a turn that was interrupted at an unknown point."""
    care = (
        "The work that you had begun may be done, half done or not done: check before you do "
        f"anything again. Then go on where you stopped.\n{_remind_to_report(signal_file)}"
    )
    return _join_parts(turn_id, [(f"You were interrupted in the turn {old_turn_id}.", care)])


def try_again(turn_id: str, faults: Iterable[str], signal_file: str = "") -> str:
    """Return the prompt after a value that does not fit the schema."""
    return _join_parts(
        turn_id,
        [
            ("Your value does not fit:", "\n".join(map(quote, faults))),
            ("Report again, with the whole value corrected.", _remind_to_report(signal_file)),
        ],
    )


def context_file(said: Iterable[Said]) -> str:
    """Return all results of a run as Markdown."""
    parts = [
        f"## Call {_format_name(one.path)}: {_format_name(one.who)}\n\n{quote(one.what)}\n"
        for one in said
    ]
    return "\n".join(["# Results in this run\n", *parts])


def _join_parts(turn_id: str, parts: Iterable[tuple[str, str]]) -> str:
    begin = mark(turn_id)
    return "\n\n".join(f"{begin} {head}\n{body}".rstrip() for head, body in parts) + "\n"


def _format_summaries(since: Sequence[Said], context_path: str) -> str:
    kept: list[str] = []
    room = _MAX_IN_ALL
    for one in reversed(since):
        room -= min(len(one.what), _MAX_OF_ONE)
        if room < 0:
            break
        kept.append(_attribute(f"Call {one.path}, {one.who}", _cut(one.what)))
    whole = f" All of them are in {context_path}." if context_path else ""
    left_out = len(since) - len(kept)
    head = [f"({left_out} earlier ones are left out.{whole})"] if left_out else []
    return "\n".join([*head, *reversed(kept)])


def _cut(text: str) -> str:
    rest = len(text) - _MAX_OF_ONE
    return f"{text[:_MAX_OF_ONE]}\n… ({rest} more characters)" if rest > 0 else text


def _attribute(head: str, words: str) -> str:
    return f"{_format_name(head)}:\n{quote(words)}"


def _format_name(text: str) -> str:
    """Return one line; it is not quoted, so it must not look like a signal."""
    return inert_line(text, _MAX_NAME_LENGTH).replace("{", "(")


def quote(words: str) -> str:
    # splitlines() knows every character that any program reads as the end of a line.
    return "\n".join(f"> {line}" for line in words.splitlines() or [""])


def _explain_report(
    signal_file: str, schema: dict[str, Any] | None, statuses: Sequence[str]
) -> str:
    value = (
        "Give the result itself as value. It must fit this JSON Schema:\n"
        f"{quote(json.dumps(schema, ensure_ascii=False, indent=2))}\n"
        if schema is not None
        else ""
    )
    known = ", ".join(statuses)
    own = ", or another word that your role asks for" if statuses == STATUSES else ""
    needs = next((one for one in statuses if one.startswith("needs_")), SignalStatus.NEEDS_HUMAN)
    # No braces here: when an agent repeats this text, it must not look like a signal.
    return (
        f"{_remind_to_report(signal_file)}\n"
        f"status is one of {known}{own}.\n"
        "summary: tell the others about your work. reason: tell why, if it is not done.\n"
        f"{value}"
        f"Use {needs} when only a person can know or decide how to go on. First try to find "
        "the answer yourself. Then give question, and options if there are some. "
        "The answer comes to you here, as your next turn."
    )


def _remind_to_report(signal_file: str) -> str:
    written = f", or write it to the file {signal_file} in one go" if signal_file else ""
    return (
        "When you are done, report once: call the tool signal with status and summary"
        f"{written}, or end your last message with it: one JSON object with the keys status "
        "and summary."
    )
