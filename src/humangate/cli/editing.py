"""Writing an answer in the person's editor; only what stands below the line counts."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from typing import TYPE_CHECKING, Any

from humangate.cli.values import meaning
from humangate.domain.contexts import context_text
from humangate.domain.display import inert
from humangate.errors import InvalidAnswerError, UsageError
from humangate.service import answering

if TYPE_CHECKING:
    from humangate.domain.asks import Ask
    from humangate.domain.principals import Caller
    from humangate.doors.store import Store


def in_editor(
    store: Store, caller: Caller, ask: Ask, start: str = "", proposed: str = "", title: str = ""
) -> Any:
    """What was written, kept as a draft until it is recorded; None when nothing was.

    What was `proposed` stands there where the person has nothing yet; left so, it is no draft.
    With the `title` of a task it is a response to that one.
    """
    # A line that no agent can foresee, and so none can draw a second time.
    mark = os.urandom(4).hex()
    line = f"## Your answer: write below this line {mark}; nothing above it counts"
    if title:
        line = f"## Your Response (write below this line) {mark}; nothing above it counts"
    above = _response_template(ask, title) if title else _template(ask)
    begun = start or answering.draft(store, ask.id, caller) or proposed
    written, code = edited(f"{above}\n{line}\n{begun}\n")
    above, drawn, below = written.partition(line)
    answer = below.strip() if drawn else above.strip()
    if answer and answer != proposed:
        answering.save_draft(store, ask.id, caller, answer)
    if code:
        raise UsageError(f"the editor ended with exit code {code}; what stood there is a draft now")
    if answer and not drawn:
        raise InvalidAnswerError(
            "the line above the answer is gone, so it is unclear what counts; "
            "what you wrote is kept as a draft and comes up again"
        )
    if not answer:
        return None
    several = ask.question.answered_as == "choice" and ask.question.multiple
    return meaning(ask, answer.splitlines() if several else [answer])


def _response_template(ask: Ask, title: str) -> str:
    head = [f"# Response to: {title}", "", "## Question", ask.question.prompt]
    return inert("\n".join([*head, *_around(ask)]).rstrip("\n") + "\n")


def _template(ask: Ask) -> str:
    head = [f"# {ask.id}: {ask.question.kind}", "", ask.question.prompt, ""]
    return inert("\n".join([*head, *_around(ask)]))


def _around(ask: Ask) -> list[str]:
    question = ask.question
    parts = [f"- {option}" for option in question.options]
    schema = None if question.schema is None else json.dumps(question.schema, indent=2)
    for title, text in (("Context", context_text(question.context)), ("Schema", schema)):
        if text:
            parts += ["", f"## {title}", text, ""]
    return parts


def edited(text: str) -> tuple[str, int]:
    """What the file holds after the editor, and the editor's exit code."""
    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR")
    if not editor and not sys.stdin.isatty():
        raise UsageError("--edit needs a terminal, or an editor named in $VISUAL or $EDITOR")
    editor = editor or "vi"
    descriptor, path = tempfile.mkstemp(prefix="gate-", suffix=".md")
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
        ended = subprocess.run(["/bin/sh", "-c", f'{editor} "$1"', "gate", path], check=False)
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read(), ended.returncode
    finally:
        os.unlink(path)
