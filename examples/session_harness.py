"""A harness of your own: opens every session that waits, in a program of your choice.

    python examples/session_harness.py                  in claude
    python examples/session_harness.py my-agent --fast  in any program that takes words to begin with
    python examples/session_harness.py --once …         what waits now, and no more

It looks for session asks, takes one so that nobody else opens it, lends the program this terminal,
and has you say afterwards what you came to. `gate continue ID` does this and more.
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

from gatebell import Gate, GateError, InvalidAnswerError

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
    """Have one session, if nobody else has it."""
    name = os.path.basename(program[0])
    try:
        seat = human.claim(ask.id, name, str(uuid.uuid4()) if name == "claude" else "")
    except GateError as error:
        print(f"{ask.id} is left alone: {error}")
        return
    print(f"Opening {name} for {ask.id}; leave it as you always do.", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        outcome, problem = talk(ask, seat, program, Path(folder))
    if outcome != "completed":
        human.complete_interactive(ask.id, outcome, problem)
        print(f"{ask.id}: {outcome} {problem}")
        return
    decide(human, ask)


def talk(ask: Ask, seat: AskVisit, program: list[str], folder: Path) -> tuple[str, str]:
    """Lend the terminal to the program; how that ended, and why."""
    paper = folder / "prompt.md"
    paper.write_text(prompt(ask), encoding="utf-8")
    # A mark on all that it starts: whoever carries it is an agent, and decides nothing.
    environ = os.environ | {"GATE_TURN": seat.visit.id}
    words = [
        *program,
        *options(seat, program, folder),
        f"Read {paper}: it says what this is about.",
    ]
    try:
        ended = subprocess.run(
            words,
            cwd=seat.terms.cwd or ask.origin.cwd or None,
            env=environ,
            timeout=seat.seconds_left,
            check=False,
        )
    except OSError as error:
        return "failed", str(error)
    except subprocess.TimeoutExpired:
        return "timeout", "its time is up"
    return ("failed", f"exit code {ended.returncode}") if ended.returncode else ("completed", "")


def prompt(ask: Ask) -> str:
    """By file, for a context may be longer than any command line."""
    context = json.dumps(ask.question.context, indent=2, ensure_ascii=False)
    return f"{ask.question.prompt}\n\n## Context\n```json\n{context}\n```\n"


def options(seat: AskVisit, program: list[str], folder: Path) -> list[str]:
    """What claude is told beside the prompt, as far as there is anything to tell."""
    if os.path.basename(program[0]) != "claude":
        return []
    terms, session = seat.terms, seat.visit.session
    return [
        *("--add-dir", str(folder)),
        *(("--system-prompt", terms.system_prompt) if terms.system_prompt else ()),
        *(("--mcp-config", terms.mcp_config) if terms.mcp_config else ()),
        *("--resume" if seat.goes_on else "--session-id", session),
        *("--model", terms.model),
    ]


def decide(human: Human, ask: Ask) -> None:
    """What the person came to; they type it, and nobody suggests anything."""
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
