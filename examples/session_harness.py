"""A harness of your own: opens every session that waits, in a program of your choice.

    python examples/session_harness.py                  in claude
    python examples/session_harness.py my-agent --fast  in any program that takes a first prompt
    python examples/session_harness.py --once …         only the sessions that wait now

It looks for session asks and claims one, so that no other process opens it. It lends the program
this terminal, and afterwards you type your decision. `gate continue ID` does this and more.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
import uuid
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gatebell import Gate
from gatebell.errors import GateError, InvalidAnswerError

if TYPE_CHECKING:
    from gatebell import Ask, Human
    from gatebell.services.sessions.ask_session import AskVisit

POLL_SECONDS = 1.0


def main(words: list[str]) -> int:
    once = words[:1] == ["--once"]
    program = words[once:] or ["claude"]
    human = Gate().human
    while True:
        for ask in human.list_pending(kind="session"):
            serve(human, ask, program)
        if once:
            return 0
        time.sleep(POLL_SECONDS)


def serve(human: Human, ask: Ask, program: list[str]) -> None:
    """Hold one session, if no other process has it."""
    name = os.path.basename(program[0])
    try:
        visit = human.claim(ask.id, name, str(uuid.uuid4()) if name == "claude" else "")
    except GateError as error:
        print(f"{ask.id} is left alone: {error}")
        return
    print(f"Opening {name} for {ask.id}. Exit it in the usual way to come back.", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        outcome, reason = talk(ask, visit, program, Path(folder))
    if outcome != "completed":
        human.complete_interactive(ask.id, outcome, reason)
        print(f"{ask.id}: {outcome} {reason}")
        return
    decide(human, ask)


def talk(ask: Ask, visit: AskVisit, program: list[str], folder: Path) -> tuple[str, str]:
    """Lend the terminal to the program; return how that ended, and why."""
    file = folder / "prompt.md"
    file.write_text(prompt(ask), encoding="utf-8")
    # A mark for all programs of the session: they are agents, and decide nothing.
    environ = os.environ | {"GATE_TURN": visit.visit_id}
    words = [
        *program,
        *options(visit, program, folder),
        f"Read {file}: it says what this is about.",
    ]
    try:
        ended = subprocess.run(
            words,
            cwd=visit.terms.cwd or ask.origin.cwd or None,
            env=environ,
            timeout=visit.seconds_left,
            check=False,
        )
    except OSError as error:
        return "failed", str(error)
    except subprocess.TimeoutExpired:
        return "timeout", "its time is up"
    return ("failed", f"exit code {ended.returncode}") if ended.returncode else ("completed", "")


def prompt(ask: Ask) -> str:
    """Return the text of the prompt file; a context may be too long for a command line."""
    context = json.dumps(ask.question.context, indent=2, ensure_ascii=False)
    return f"{ask.question.prompt}\n\n## Context\n```json\n{context}\n```\n"


def options(visit: AskVisit, program: list[str], folder: Path) -> list[str]:
    """Return the options of claude for this session."""
    if os.path.basename(program[0]) != "claude":
        return []
    terms = visit.terms
    return [
        *("--allowedTools", f"Read(/{folder}/**)"),
        *(("--system-prompt", terms.system_prompt) if terms.system_prompt else ()),
        *(("--mcp-config", terms.mcp_config) if terms.mcp_config else ()),
        *("--resume" if visit.goes_on else "--session-id", visit.session),
        *("--model", terms.model),
    ]


def decide(human: Human, ask: Ask) -> None:
    """Let the person type the decision; the harness suggests nothing."""
    question = ask.question
    ways = {
        "approval": "approved or rejected",
        "choice": " or ".join(map(repr, question.options)),
        "form": "JSON",
        "text": "in your words",
    }
    while True:
        typed = input(f"Your decision, {ways[question.answered_as]} (Enter: not yet): ").strip()
        if not typed:
            human.release(ask.id)
            print(f"{ask.id} keeps waiting.")
            return
        try:
            after = human.complete_interactive(
                ask.id, "completed", value(typed, question.answered_as)
            )
        except InvalidAnswerError as error:
            print(f"Not taken: {error}")
            continue
        except GateError as error:
            print(f"Not taken: {error}")
            return
        print(f"{ask.id} is {after.status}.")
        return


def value(typed: str, kind: str) -> Any:
    try:
        return json.loads(typed) if kind == "form" else typed
    except ValueError:
        return typed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
