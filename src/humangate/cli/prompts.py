"""Asking the person at this terminal; whatever they type is kept until it is an answer."""

from __future__ import annotations

import json
import readline
import signal
import sys
from typing import TYPE_CHECKING, Any

from humangate.cli.editing import in_editor
from humangate.cli.screen import ask_lines
from humangate.cli.values import recorded
from humangate.domain.answers import DECISIONS, Given
from humangate.domain.display import inert, inert_line
from humangate.errors import GateError, InvalidAnswerError
from humangate.service import answering

if TYPE_CHECKING:
    from humangate.domain.asks import Ask
    from humangate.domain.principals import Caller
    from humangate.doors.store import Store

_SAVE_EVERY_SECONDS = 1.0


class NotYet(Exception):  # noqa: N818 - leaving is no error
    """The person left without answering; what they typed is kept as a draft."""


def prompt_for(store: Store, caller: Caller, ask: Ask) -> bool:
    """Show an ask and prompt until it is answered; False when the person left it for later.

    Ctrl+C and Ctrl+D go on as KeyboardInterrupt: the person wants to stop altogether.
    """
    print("\n".join([*ask_lines(store, ask), ""]))
    while True:
        try:
            _, after = answering.answer(store, ask.id, caller, _prompt(store, caller, ask))
        except NotYet:
            print(f"Not answered; {ask.id} is still waiting.")
            return False
        except (KeyboardInterrupt, EOFError):
            kept = " What you typed is kept." if answering.draft(store, ask.id, caller) else ""
            print(f"\nNot answered; {ask.id} is still waiting.{kept}")
            raise KeyboardInterrupt from None
        except InvalidAnswerError as error:
            print(f"Refused, but kept: {inert(str(error))}")
            continue
        except GateError as error:
            print(f"Refused: {inert(str(error))}")
            return False
        print(recorded(after))
        return True


def _prompt(store: Store, caller: Caller, ask: Ask) -> Given:
    if ask.question.kind == "approval":
        return _approval(store, caller, ask)
    if ask.question.secret:
        return _secret()
    if ask.question.kind == "choice":
        return Given(_choice(store, caller, ask))
    if ask.question.kind == "form":
        return Given(_form(store, caller, ask))
    return Given(_line(store, caller, ask, "Your answer"))


def _approval(store: Store, caller: Caller, ask: Ask) -> Given:
    # No draft is filled in here: a decision is typed each time.
    word = input("yes or no (Enter: not yet): ").strip()
    if not word:
        raise NotYet
    decision = DECISIONS.get(word.lower())
    if decision is None:
        return Given(word)
    label = "Reason (optional): " if decision == "rejected" else "Note (optional): "
    return Given(word, _typed(store, caller, ask, label))


def _secret() -> Given:
    from getpass import getpass

    value = getpass("Secret answer, not shown (Enter: not yet): ")
    if not value:
        raise NotYet
    return Given(value)


def _choice(store: Store, caller: Caller, ask: Ask) -> Any:
    question = ask.question
    hint = "numbers or names, with commas" if question.multiple else "a number or a name"
    typed = _line(store, caller, ask, f"Your choice, {hint}")
    several = question.multiple and typed not in question.options
    words = [word.strip() for word in typed.split(",")] if several else [typed.strip()]
    chosen = [_option(ask, word) for word in words]
    return chosen if question.multiple else chosen[0]


def _option(ask: Ask, word: str) -> Any:
    """A number picks from the list that is on the screen, unless an option is called so."""
    question = ask.question
    last = len(question.options) + 1
    picks_other = word.casefold() in ("other", "other…", "other...") or word == str(last)
    if question.other and word not in question.options and picks_other:
        return {"other": input("Other, in your words: ")}
    if word not in question.options and word.isdecimal() and 0 < int(word) < last:
        return question.options[int(word) - 1]
    return word


def _form(store: Store, caller: Caller, ask: Ask) -> Any:
    """Field by field where the form is flat, otherwise as JSON in the editor."""
    schema = ask.question.schema or {}
    fields = schema.get("properties", {})
    flat = all(isinstance(f, dict) and _is_plain(f) for f in fields.values()) and fields
    if not flat:
        input("Enter opens the form in your editor, Ctrl+C leaves it: ")
        written = in_editor(store, caller, ask)
        if written is None:
            raise NotYet
        return written
    value: dict[str, Any] = {}
    required = schema.get("required", [])
    for name, field in fields.items():
        typed = _field(name, field, name in required)
        if typed:
            value[name] = _as_json(typed, field)
    return value


def _is_plain(field: dict[str, Any]) -> bool:
    return field.get("type") in ("string", "number", "integer", "boolean") or "enum" in field


def _field(name: str, field: dict[str, Any], required: bool) -> str:
    about = field.get("description") or field.get("title") or ""
    kind = " or ".join(map(str, field["enum"])) if "enum" in field else str(field.get("type"))
    need = "" if required else ", optional"
    label = f"{inert_line(name)} ({inert_line(kind)}{need}) {inert_line(about)}".rstrip() + ": "
    if field.get("writeOnly"):
        from getpass import getpass

        return getpass(label)
    return input(label)


def _as_json(typed: str, field: dict[str, Any]) -> Any:
    if field.get("type") == "string":
        return typed
    if field.get("type") == "boolean" and typed.lower() in ("yes", "y", "no", "n"):
        return typed.lower() in ("yes", "y")
    try:
        return json.loads(typed)
    except ValueError:
        return typed


def _line(store: Store, caller: Caller, ask: Ask, label: str) -> str:
    """One line; Enter on an empty one means not yet, and drops the draft that was there."""
    filled = bool(answering.draft(store, ask.id, caller))
    ways = "Enter sends it; empty: not yet" if filled else "Enter: not yet"
    typed = _typed(store, caller, ask, f"{label} ({ways}): ")
    if not typed.strip():
        raise NotYet
    return typed


def _typed(store: Store, caller: Caller, ask: Ask, label: str) -> str:
    """One line, begun with the last draft, saved every second and when it is interrupted."""
    draft = saved = answering.draft(store, ask.id, caller)
    if draft:
        print("Your draft from last time is filled in.")

    def keep(number: int, _: object) -> None:
        nonlocal saved
        # This runs while readline waits, when its buffer still holds the line; an empty
        # one means that the terminal is gone, and must not replace what was saved.
        text = readline.get_line_buffer()
        if text.strip() and text != saved:
            answering.save_draft(store, ask.id, caller, text)
            saved = text
        if number != signal.SIGALRM:
            raise KeyboardInterrupt

    signals = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGALRM)
    before = {number: signal.signal(number, keep) for number in signals}
    signal.setitimer(signal.ITIMER_REAL, _SAVE_EVERY_SECONDS, _SAVE_EVERY_SECONDS)
    readline.set_startup_hook(lambda: readline.insert_text(draft))
    readline.set_auto_history(False)
    try:
        typed = input(label)
    finally:
        readline.set_startup_hook(None)
        signal.setitimer(signal.ITIMER_REAL, 0)
        for number, handler in before.items():
            signal.signal(number, handler)
    if typed != saved:
        answering.save_draft(store, ask.id, caller, typed)
    return typed


def can_prompt() -> bool:
    return sys.stdin.isatty() and sys.stdout.isatty()
