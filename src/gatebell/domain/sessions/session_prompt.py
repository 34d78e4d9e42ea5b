"""The prompt for the agent of a session: the question, its context, and how to conclude."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, NamedTuple

from gatebell.domain.enums import AskKind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gatebell.domain.asks.questions import Question

PROMPT_FILE = "prompt.md"
# The tools of agents do not show longer files as a whole.
_MAX_CONTEXT_CHARACTERS = 100_000
_DECISION = "When ready to conclude, please state your decision: APPROVED or REJECTED"
_STRUCTURED = """\
When you have gathered all necessary information and the human is ready to conclude:
1. Summarize the decision/findings
2. Output the final response in this exact JSON format:
```json
{"decision": <structured_response_here>}
```"""


class SessionFiles(NamedTuple):
    """The files for the agent of a session."""

    prompt: str
    context_file: str = ""
    """The name of the file with the context, if it is too long for the prompt."""
    context: str = ""


def mark(ask_id: str) -> str:
    """Return the text by which our first message is found in a log."""
    return f"{ask_id}/{PROMPT_FILE}"


def first_words(ask_id: str, prompt_file: str) -> str:
    """Return the first message to the agent; the rest is in a file, as a command line is short."""
    return (
        f"Please read {prompt_file} first: it holds a question that we work out together. When we "
        f"have come to a conclusion, propose it with the tool `decide` (id {ask_id}); I decide."
    )


def session_files(question: Question, files_folder: str) -> SessionFiles:
    """Return the question with its context, for files in this folder."""
    text = _format_context(question.context)
    parts = [question.prompt]
    context_file = ""
    if question.context is not None:
        is_words = isinstance(question.context, str)
        if len(text) > _MAX_CONTEXT_CHARACTERS:
            context_file = "context.txt" if is_words else "context.json"
            shown = f"It is long. Read or search what you need of it: {files_folder}/{context_file}"
        else:
            shown = _fence(text, "" if is_words else "json")
        parts.append(f"## Context\n{shown}")
    parts.append(_describe_ending(question))
    return SessionFiles("\n\n".join(parts), context_file, text if context_file else "")


def list_injected(question: Question, files_folder: str, first: str) -> tuple[str, ...]:
    """Return all texts from us to the agent: a message that repeats them decides nothing."""
    made = session_files(question, files_folder)
    return tuple(text for text in (first, made.prompt, question.prompt, made.context) if text)


def _format_context(context: Any) -> str:
    if isinstance(context, str):
        return context
    return json.dumps(context, indent=2, ensure_ascii=False)


def _fence(text: str, language: str) -> str:
    """Return a fenced block that the text cannot end."""
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text}\n{fence}"


def _describe_ending(question: Question) -> str:
    if question.answered_as == AskKind.APPROVAL:
        return _DECISION
    if question.answered_as == AskKind.CHOICE:
        return f"When ready to conclude, please state what was chosen:\n{_list_options(question.options)}"
    if question.answered_as == AskKind.FORM:
        schema = _fence(json.dumps(question.schema, indent=2, ensure_ascii=False), "json")
        return f"{_STRUCTURED}\nwhere <structured_response_here> fits this schema:\n{schema}"
    return "When ready to conclude, please state the outcome in a few sentences."


def _list_options(options: Sequence[str]) -> str:
    return "\n".join(f"- {option}" for option in options)
