"""Prompt the person at this terminal; keep everything they type until it is an answer."""

from __future__ import annotations

import json
import readline
import signal
import sys
import termios
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from gatebell.cli.asks.editor import write_in_editor
from gatebell.cli.asks.values import build_edited_call, find_option
from gatebell.cli.runs.left_runs import tell_if_left
from gatebell.cli.screen import ask_lines, describe_recorded, short
from gatebell.domain.asks.answers import DECISIONS, Given
from gatebell.domain.asks.asks import settled_sentence
from gatebell.domain.asks.questions import means_other
from gatebell.domain.enums import AskKind, Decision
from gatebell.domain.permissions.rules import Scope
from gatebell.domain.text.display import inert
from gatebell.errors import GateError, InvalidAnswerError, UsageError
from gatebell.terminal.asks import describe_field
from gatebell.terminal.form_fields import is_flat, parse_draft, parse_field
from gatebell.terminal.local_times import localise

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from gatebell.domain.asks.asks import Ask
    from gatebell.domain.people.principals import Caller
    from gatebell.domain.permissions.calls import Call
    from gatebell.ports.backends.backend import Backend

_SAVE_EVERY_SECONDS = 1.0


class NotYet(Exception):  # noqa: N818 - leaving is not an error
    """The person left without an answer; their text is kept as a draft."""


def prompt_for(
    backend: Backend,
    caller: Caller,
    ask: Ask,
    above: Sequence[str] = (),
    proposed: Any = None,
    *,
    leave: str = "",
    tell: Callable[[Backend, Ask], None] | None = None,
) -> bool:
    """Show an ask and prompt until it is answered; return False if the person leaves it for later.

    The lines `above` come between the ask and the prompt. A form starts with the `proposed` value,
    unless the person has a draft. Ctrl+C, Ctrl+D and the word `leave`, if given, raise
    KeyboardInterrupt: the person wants to stop. `tell` reports that the answer is recorded.
    """
    print("\n".join([*ask_lines(backend, ask), "", *above]))
    while True:
        try:
            given = _prompt(backend, caller, ask, proposed, leave)
            after = backend.answer(ask.id, caller, given)
        except NotYet:
            print(_describe_leaving(backend.get(ask.id)))
            return False
        except (KeyboardInterrupt, EOFError):
            kept = " Your text is kept as a draft." if backend.draft(ask.id, caller) else ""
            print(f"\n{_describe_leaving(backend.get(ask.id))}{kept}")
            raise KeyboardInterrupt from None
        except InvalidAnswerError as error:
            print(f"Refused, but kept: {inert(str(error))}")
            if ask.question.answered_as == AskKind.CHOICE:
                # It is kept as a refused answer, so a draft of it is not needed.
                backend.save_draft(ask.id, caller, "")
            continue
        except UsageError as error:
            print(f"Not understood: {inert(str(error))}")
            continue
        except GateError as error:
            print(f"Refused: {inert(str(error))}")
            return False
        (tell or _report_recorded)(backend, after)
        if given.scope:
            print("Not asked again: gate grants lists and revokes it.")
        _drop_typed_ahead()
        return True


def _describe_leaving(ask: Ask) -> str:
    """Return the message for a person who leaves an ask, which may be settled since then."""
    if ask.pending:
        return f"Not answered; {ask.id} is still waiting."
    return f"No answer needed any more: {localise(inert(settled_sentence(ask)))}."


def _report_recorded(backend: Backend, ask: Ask) -> None:
    print(describe_recorded(ask))
    tell_if_left(backend, ask)


def _prompt(backend: Backend, caller: Caller, ask: Ask, proposed: Any, leave: str) -> Given:
    if ask.question.answered_as == AskKind.APPROVAL:
        return _ask_approval(backend, caller, ask, leave)
    if ask.question.secret:
        return _ask_secret()
    if ask.question.answered_as == AskKind.CHOICE:
        return Given(_ask_choice(backend, caller, ask, leave))
    if ask.question.answered_as == AskKind.FORM:
        return Given(_ask_form(backend, caller, ask, proposed))
    return Given(_ask_line(backend, caller, ask, "Your answer", leave))


def _ask_approval(backend: Backend, caller: Caller, ask: Ask, leave: str) -> Given:
    # No draft is filled in here: a person must type each decision.
    _drop_typed_ahead()
    if ask.question.call:
        print(
            "Or type: edit, yes for session, yes for hour, yes for task, yes for branch, yes for 3."
        )
    stops = f"; {leave}: stop" if leave else ""
    word = input(f"yes or no (Enter: not yet{stops}): ").strip()
    if not word:
        raise NotYet
    if word == leave:
        raise KeyboardInterrupt
    if ask.question.call and word.lower() == "edit":
        return Given(_edit_call(ask.question.call))
    yes, _, reach = word.partition(" for ")
    if ask.question.call and reach and DECISIONS.get(yes.lower()) == Decision.APPROVED:
        return Given(yes, scope=Scope(reach.strip().removeprefix("this ").removesuffix(" times")))
    decision = DECISIONS.get(word.lower())
    if decision is None:
        return Given(word)
    label = "Reason (optional): " if decision == Decision.REJECTED else "Note (optional): "
    return Given(word, _read_drafted_line(backend, caller, ask, label))


def _edit_call(call: Call) -> dict[str, Any]:
    """Return an approval of the call as the person edits it; an unchanged line means not yet."""
    # As JSON, escaped, if the command has characters that a terminal would obey.
    plain = call.command and inert(call.command) == call.command and "\n" not in call.command
    before = call.command if plain else json.dumps(call.input)
    typed = _read_line("Run this instead: ", before)
    if typed in ("", before):
        raise NotYet
    return build_edited_call(call, typed)


def _drop_typed_ahead() -> None:
    """Drop lines that were typed or pasted before the question was on the screen."""
    termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)
    # A paste of several lines stays one answer, until Enter is pressed.
    readline.parse_and_bind("set enable-bracketed-paste on")


def _ask_secret() -> Given:
    from getpass import getpass

    _drop_typed_ahead()
    value = getpass("Secret answer, not shown (Enter: not yet): ")
    if not value:
        raise NotYet
    return Given(value)


def _ask_choice(backend: Backend, caller: Caller, ask: Ask, leave: str) -> Any:
    question = ask.question
    hint = "numbers or names, with commas" if question.multiple else "a number or a name"
    typed = _ask_line(backend, caller, ask, f"Your choice, {hint}", leave)
    several = question.multiple and typed not in question.options
    words = [word.strip() for word in typed.split(",")] if several else [typed.strip()]
    chosen = [_parse_option(ask, word) for word in words]
    if {"other": ""} in chosen:
        other = {
            "other": _read_drafted_line(backend, caller, ask, "Other, in your words: ", begin="")
        }
        chosen = [other if one == {"other": ""} else one for one in chosen]
    return chosen if question.multiple else chosen[0]


def _parse_option(ask: Ask, word: str) -> Any:
    options, last = ask.question.options, str(len(ask.question.options) + 1)
    is_last = word == last and not any(one.isdecimal() for one in options)
    if ask.question.other and word not in options and (means_other(word) or is_last):
        return {"other": ""}
    return find_option(ask, word)


def _ask_form(backend: Backend, caller: Caller, ask: Ask, proposed: Any) -> Any:
    """Ask for a flat form field by field, and for others as JSON in the editor."""
    schema = ask.question.schema or {}
    flat = is_flat(schema)
    if flat:
        value: Any = _ask_fields(backend, caller, ask, proposed)
    else:
        input("Enter opens the form in your editor, Ctrl+C leaves it: ")
        begin = "" if proposed is None else json.dumps(proposed, indent=2)
        value = write_in_editor(backend, caller, ask, proposed=begin)
    if value is None or (_is_only_proposed(value, proposed) and not _confirm_proposal()):
        raise NotYet
    return value


def _ask_fields(backend: Backend, caller: Caller, ask: Ask, proposed: Any) -> dict[str, Any]:
    schema = ask.question.schema or {}
    draft = parse_draft(backend.draft(ask.id, caller))
    value, begin = dict(draft), draft or _list_proposed(proposed)
    _drop_typed_ahead()
    for name, field in schema["properties"].items():
        typed = _ask_field(name, field, name in schema.get("required", []), begin.get(name, ""))
        value.pop(name, None)
        if typed:
            value[name] = parse_field(typed, field)
        # A value that is only proposed is not a draft.
        if draft or not value.items() <= begin.items():
            backend.save_draft(ask.id, caller, json.dumps(value))
    return value


def _list_proposed(proposed: Any) -> dict[str, Any]:
    """Return the proposed values that can be edited in one line of a terminal."""
    fields = proposed if isinstance(proposed, dict) else {}
    return {
        name: value
        for name, value in fields.items()
        if not isinstance(value, dict | list)
        and not (isinstance(value, str) and (inert(value) != value or "\n" in value))
    }


def _is_only_proposed(value: Any, proposed: Any) -> bool:
    """Return whether an answer has only proposed values."""
    if isinstance(value, dict) and isinstance(proposed, dict):
        return value.items() <= proposed.items()
    return bool(value == proposed)


def _confirm_proposal() -> bool:
    """Ask for a yes, because Enter or an unchanged editor must not send a proposal."""
    _drop_typed_ahead()
    word = input("This is the proposed answer. Type yes to send it (Enter: not yet): ")
    return DECISIONS.get(word.strip().lower()) == Decision.APPROVED


def _ask_field(name: str, field: dict[str, Any], required: bool, begin: Any) -> str:
    label = short(describe_field(name, field, required=required)) + ": "
    if field.get("writeOnly"):
        from getpass import getpass

        return getpass(label)
    return _read_line(label, begin if isinstance(begin, str) else json.dumps(begin))


def _ask_line(backend: Backend, caller: Caller, ask: Ask, label: str, leave: str) -> str:
    """Read one line; an empty one means not yet, and drops the draft."""
    draft = backend.draft(ask.id, caller)
    ways = "Enter: send; empty: not yet" if draft else "Enter: not yet"
    stops = f"; {leave}: stop" if leave else ""
    _drop_typed_ahead()
    typed = _read_drafted_line(backend, caller, ask, f"{label} ({ways}{stops}): ")
    if not typed.strip():
        raise NotYet
    if typed.strip() == leave:
        backend.save_draft(ask.id, caller, draft)
        raise KeyboardInterrupt
    return typed


def _read_line(label: str, begin: str) -> str:
    """Read a line that starts with some text to edit."""
    readline.set_startup_hook(lambda: readline.insert_text(begin))
    readline.set_auto_history(False)
    try:
        return input(label)
    finally:
        readline.set_startup_hook(None)


def _read_drafted_line(
    backend: Backend, caller: Caller, ask: Ask, label: str, begin: str | None = None
) -> str:
    """Read a line that starts with the draft; save it every second and on interruption."""
    draft = saved = backend.draft(ask.id, caller) if begin is None else begin
    if draft:
        print("Your last draft is filled in.")

    def save(text: str) -> None:
        nonlocal saved
        if text != saved:
            # An error of the store must not interrupt the person's typing.
            with suppress(GateError):
                backend.save_draft(ask.id, caller, text)
                saved = text

    leaving = False

    def keep(number: int, _: object) -> None:
        nonlocal leaving
        # This runs while readline waits and its buffer holds the line. An empty buffer
        # means that the terminal is gone, and must not replace the saved text.
        if text := readline.get_line_buffer().strip():
            save(text)
        if number != signal.SIGALRM:
            leaving = True
            raise KeyboardInterrupt

    signals = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGALRM)
    before = {number: signal.signal(number, keep) for number in signals}
    signal.setitimer(signal.ITIMER_REAL, _SAVE_EVERY_SECONDS, _SAVE_EVERY_SECONDS)
    try:
        typed = _read_line(label, draft)
    except SystemError:
        # input() can get a second signal while it handles the first one.
        if leaving:
            raise KeyboardInterrupt from None
        raise
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        for number, handler in before.items():
            signal.signal(number, handler)
    save(typed)
    return typed
