"""Write an answer in the person's editor; only the text below a line counts."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from typing import TYPE_CHECKING, Any, NamedTuple

from gatebell.cli.asks.values import parse_answer
from gatebell.domain.asks.context_text import context_text
from gatebell.domain.enums import AskKind
from gatebell.domain.text.display import inert
from gatebell.errors import InvalidAnswerError, UsageError

if TYPE_CHECKING:
    from gatebell.domain.asks.asks import Ask
    from gatebell.domain.people.principals import Caller
    from gatebell.ports.backends.backend import Backend


def write_in_editor(
    backend: Backend, caller: Caller, ask: Ask, start: str = "", proposed: str = "", title: str = ""
) -> Any:
    """Return the answer that the person wrote, or None; keep it as a draft until it is recorded.

    Without a draft the editor starts with the `proposed` text, which is not a draft if unchanged.
    With the `title` of a task the answer is a response to that task.
    """
    # An agent cannot guess this line, so it cannot write the same line into its question.
    mark = os.urandom(4).hex()
    line = f"## Your answer: write below this line {mark}; nothing above it counts"
    if title:
        line = f"## Your Response (write below this line) {mark}; nothing above it counts"
    above = _format_response(ask, title) if title else _format_question(ask)
    kept = "" if start else backend.draft(ask.id, caller)
    after = edit_text(f"{above}\n{line}\n{start or kept or proposed}\n")
    above, drawn, below = after.text.partition(line)
    answer = below.strip() if drawn else above.strip()
    is_draft = answer not in ("", proposed)
    if is_draft:
        backend.save_draft(ask.id, caller, answer)
    if after.code:
        kept = "your text is kept as a draft" if is_draft else "nothing was changed"
        raise UsageError(f"the editor ended with exit code {after.code}; {kept}")
    if kept and not after.is_saved:
        raise InvalidAnswerError("nothing was saved in the editor; your draft is kept")
    if answer and not drawn:
        raise InvalidAnswerError(
            "the line above the answer is missing, so the answer is unclear; "
            "your text is kept as a draft and is shown the next time"
        )
    if not answer:
        return None
    several = ask.question.answered_as == AskKind.CHOICE and ask.question.multiple
    return parse_answer(ask, answer.splitlines() if several else [answer])


def _format_response(ask: Ask, title: str) -> str:
    head = [f"# Response to: {title}", "", "## Question", ask.question.prompt]
    return inert("\n".join([*head, *_list_context(ask)]).rstrip("\n") + "\n")


def _format_question(ask: Ask) -> str:
    head = [f"# {ask.id}: {ask.question.kind}", "", ask.question.prompt, ""]
    return inert("\n".join([*head, *_list_context(ask)]))


def _list_context(ask: Ask) -> list[str]:
    question = ask.question
    parts = [f"- {option}" for option in question.options]
    schema = None if question.schema is None else json.dumps(question.schema, indent=2)
    for title, text in (("Context", context_text(question.context)), ("Schema", schema)):
        if text:
            parts += ["", f"## {title}", text, ""]
    return parts


class Edited(NamedTuple):
    """The result of editing a text in the person's editor."""

    text: str
    code: int
    is_saved: bool
    """Whether the file was written, even if unchanged."""


def edit_text(text: str) -> Edited:
    """Open a text in the person's editor; raise UsageError without an editor."""
    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR")
    if not editor and not sys.stdin.isatty():
        raise UsageError("--edit needs a terminal; or set $VISUAL or $EDITOR")
    editor = editor or "vi"
    descriptor, path = tempfile.mkstemp(prefix="gate-", suffix=".md")
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
        before = os.stat(path)
        ended = subprocess.run(["/bin/sh", "-c", f'{editor} "$1"', "gate", path], check=False)
        with open(path, encoding="utf-8", errors="replace") as file:
            now = os.fstat(file.fileno())
            is_saved = (now.st_ino, now.st_mtime_ns) != (before.st_ino, before.st_mtime_ns)
            return Edited(file.read(), ended.returncode, is_saved)
    finally:
        os.unlink(path)
