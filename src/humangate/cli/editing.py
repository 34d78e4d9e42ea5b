"""Writing an answer in the person's editor; only what stands below the line counts."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from typing import TYPE_CHECKING, Any

from humangate.cli.screen import value_text
from humangate.cli.values import meaning
from humangate.errors import InvalidAnswerError, UsageError
from humangate.service import answering

if TYPE_CHECKING:
    from humangate.domain.asks import Ask
    from humangate.domain.principals import Caller
    from humangate.doors.store import Store

_LINE = "## Your answer (write below this line; nothing above it counts)"


def in_editor(store: Store, caller: Caller, ask: Ask, start: str = "") -> Any:
    """What was written, kept as a draft until it is recorded; None when nothing was."""
    begun = start or answering.draft(store, ask.id, caller)
    written = _edited(f"{_template(ask)}\n{begun}\n")
    _, line, below = written.partition(_LINE)
    answer = below.strip()
    if not line and written.strip():
        answering.save_draft(store, ask.id, caller, written)
        raise InvalidAnswerError(
            "the line above the answer is gone, so it is unclear what counts; "
            "what you wrote is kept as a draft and comes up again"
        )
    if not answer:
        return None
    answering.save_draft(store, ask.id, caller, answer)
    several = ask.question.kind == "choice" and ask.question.multiple
    return meaning(ask, answer.splitlines() if several else [answer])


def _template(ask: Ask) -> str:
    question = ask.question
    parts = [f"# {ask.id}: {question.kind}", "", question.prompt, ""]
    parts += [f"- {option}" for option in question.options]
    if question.context is not None:
        parts += ["", "## Context", value_text(question.context), ""]
    if question.schema:
        parts += ["", "## Schema of the JSON to write", json.dumps(question.schema, indent=2), ""]
    # An agent's text must not draw the line above which nothing counts.
    return "\n".join(parts).replace(_LINE, "") + f"\n{_LINE}"


def _edited(text: str) -> str:
    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR")
    if not editor and not sys.stdin.isatty():
        raise UsageError("--edit needs a terminal, or an editor named in $VISUAL or $EDITOR")
    editor = editor or "vi"
    descriptor, path = tempfile.mkstemp(prefix="gate-", suffix=".md")
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
        ended = subprocess.run(["/bin/sh", "-c", f'{editor} "$1"', "gate", path], check=False)
        if ended.returncode:
            raise UsageError(
                f"the editor ({editor}) ended with exit code {ended.returncode}; "
                "nothing was recorded"
            )
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    finally:
        os.unlink(path)
