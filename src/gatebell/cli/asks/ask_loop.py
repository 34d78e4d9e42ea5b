"""Ask a person the pending asks one by one, most urgent first, in windows or in this terminal."""

from __future__ import annotations

import json
import threading
from typing import TYPE_CHECKING

from gatebell.app import wiring
from gatebell.cli.asks.listen import AT_PROMPT
from gatebell.cli.asks.prompts import prompt_for
from gatebell.cli.screen import columns
from gatebell.domain.asks.answers import Given
from gatebell.domain.asks.attachments import describe_files
from gatebell.domain.asks.questions import OTHER
from gatebell.domain.enums import AskKind
from gatebell.domain.permissions.calls import shown
from gatebell.domain.text.display import frame, inert_line
from gatebell.errors import GateError, StoreError
from gatebell.ports.dialogs import TERMINAL, VALUE, Reply, Showing
from gatebell.services.asks import answer_ask
from gatebell.services.asks.apply_deadlines import fall_due

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from gatebell.cli.asks.listen import Screen
    from gatebell.cli.interrupts import Interrupts
    from gatebell.domain.asks.asks import Ask
    from gatebell.domain.people.principals import Caller
    from gatebell.ports.store import Store

_NOT_AGAIN_WITHIN_SECONDS = 60.0
_POLL_SECONDS = 0.2
_REST_SECONDS = 1.0
_MAX = 200
_RULE = "=" * 60
# The tool that draws its windows in this terminal.
_IN_TERMINAL = "dialog"


class Bringer:
    """Asks the person here until a signal ends it."""

    def __init__(
        self,
        store: Store,
        caller: Caller,
        projects: Callable[[], Collection[str]],
        screen: Screen,
        interrupts: Interrupts,
        tool: str,
        *,
        at_terminal: bool,
    ) -> None:
        """`tool` shows windows; without a tool and a terminal, no person is asked."""
        self._store, self._caller, self._projects, self._screen = store, caller, projects, screen
        self._interrupts, self._tool, self._at_terminal = interrupts, tool, at_terminal
        self._put_off: dict[str, float] = {}
        self._row: list[str] = []
        self._unsaved: dict[str, str] = {}
        """Text that people typed while the store could not be written."""
        self._problem = ""
        self._named: set[str] = set()
        """Asks that no window can show, and that were listed once."""

    def work(self) -> None:
        bell = self._store.bell()
        try:
            while True:
                if self._bring_up_next():
                    continue
                with self._interrupts.deliver():
                    bell.wait(_REST_SECONDS)
        finally:
            bell.close()

    def _bring_up_next(self) -> bool:
        """Ask the next ask; return False if none waits or the store has an error just now."""
        try:
            ask = self.next()
            if ask:
                self.bring_up(ask)
        except StoreError as error:
            if self._problem != str(error):
                self._problem = str(error)
                self._screen.say(inert_line(self._problem, 500))
            return False
        self._problem = ""
        return ask is not None

    def next(self) -> Ask | None:
        """Return the most urgent ask that the person has not just put off."""
        waiting = self._list_waiting()
        now = self._store.monotonic()
        self._put_off = {
            one: until for one, until in self._put_off.items() if until > now and one in waiting
        }
        for ask in waiting.values():
            if ask.id not in self._put_off:
                return ask
        self._row.clear()
        return None

    def _list_waiting(self) -> dict[str, Ask]:
        if not self._tool and not self._at_terminal:
            return {}
        asks = [
            ask for project in self._projects() for ask in self._store.asks.pending(_MAX, project)
        ]
        if self._tool:
            self._list_left_out(asks)
            asks = [ask for ask in asks if _fits_window(ask)]
        asks.sort(key=lambda ask: (ask.priority, ask.opened_at))
        return {ask.id: ask for ask in asks}

    def _list_left_out(self, asks: list[Ask]) -> None:
        """List each ask once that no window can show."""
        for ask in asks:
            if not _fits_window(ask) and ask.id not in self._named:
                self._named.add(ask.id)
                way = f"a window cannot show it; run: gate answer {ask.id}"
                self._screen.say(
                    f"{_format_heading(ask, '')} {inert_line(ask.question.prompt, 200)} ({way})"
                )

    def bring_up(self, ask: Ask) -> None:
        """Ask this ask now; afterwards put it off, so that others come first."""
        position = self._find_position(ask)
        try:
            if self._tool:
                self._in_window(ask, position)
            else:
                self._in_terminal(ask, _RULE, _format_heading(ask, position))
        finally:
            self._put_off[ask.id] = self._store.monotonic() + _NOT_AGAIN_WITHIN_SECONDS

    def _in_window(self, ask: Ask, position: str) -> None:
        if self._tool == _IN_TERMINAL:
            self._screen.hold(ask.id, *_format_banner(ask, position))
        else:
            self._screen.say(*_format_banner(ask, position))
        try:
            reply = self._ask_in_window(ask, self._build_showing(ask, position))
        finally:
            self._screen.go_on()
        try:
            self._apply_reply(ask, reply)
        except StoreError:
            self._unsaved[ask.id] = reply.value or reply.typed
            self._screen.say(f"Not recorded; {ask.id} is shown again with your text.")
            raise

    def _find_position(self, ask: Ask) -> str:
        """Return `2/5` for the second of five asks, counted since the last time that none waited."""
        if ask.id in self._row:
            self._row.remove(ask.id)
        left = [one for one in self._list_waiting() if one not in self._row]
        self._row.append(ask.id)
        number, of = len(self._row), len(self._row) - 1 + len(left)
        return f"{number}/{of}" if of > 1 else ""

    def _in_terminal(self, ask: Ask, *above: str) -> None:
        self._screen.hold(ask.id, *above)
        try:
            with self._interrupts.deliver():
                prompt_for(
                    wiring.local_backend(self._store), self._caller._replace(via=AT_PROMPT), ask
                )
        finally:
            self._screen.go_on()

    def _apply_reply(self, ask: Ask, reply: Reply) -> None:
        if reply.typed:
            answer_ask.save_draft(self._store, ask.id, self._caller, reply.typed)
        if reply.outcome == VALUE:
            self._answer(ask, reply)
        elif reply.outcome == TERMINAL and self._at_terminal:
            self._in_terminal(ask)
        elif fall_due(self._store, self._store.asks.get(ask.id) or ask).pending:
            why = f" ({inert_line(reply.why, 200)})" if reply.why else ""
            self._screen.say(f"Not answered{why}; {ask.id} is still waiting: gate answer {ask.id}")

    def _ask_in_window(self, ask: Ask, showing: Showing) -> Reply:
        reply = self._show(ask, showing)
        if reply.outcome != VALUE or reply.value != OTHER or not ask.question.other:
            return reply
        own = showing._replace(
            kind=AskKind.TEXT, prompt=f"{showing.prompt}\n\n{OTHER} Write your answer.", options=()
        )
        return self._show(ask, own)._replace(is_other=True)

    def _show(self, ask: Ask, showing: Showing) -> Reply:
        """Return the person's reply in the window; an answer from elsewhere closes the window."""
        dialog = wiring.dialog(self._tool)
        assert dialog, "a tool that was named has its dialog"
        replies: list[Reply] = []
        # In another thread, so that this one can check whether the ask is still pending.
        thread = threading.Thread(
            target=lambda: replies.append(dialog.ask(showing)), name="dialog", daemon=True
        )
        thread.start()
        try:
            while thread.is_alive():
                with self._interrupts.deliver():
                    thread.join(_POLL_SECONDS)
                if not self._is_needed(ask):
                    dialog.close()
        finally:
            dialog.close()
            thread.join()
        return replies[0] if replies else Reply("nothing", why="the window failed")

    def _is_needed(self, ask: Ask) -> bool:
        try:
            now = self._store.asks.get(ask.id)
            return now is not None and fall_due(self._store, now).pending
        except StoreError:
            # The store cannot be read just now; the person's typing must not be lost.
            return True

    def _build_showing(self, ask: Ask, position: str) -> Showing:
        question, clock = ask.question, ask.deadlines
        left = None
        if clock.expires_at and clock.hard:
            left = (clock.expires_at - self._store.now()).total_seconds()
        return Showing(
            question.kind,
            question.prompt,
            question.option_labels,
            _describe_context(ask),
            ask.activity,
            ask.origin.agent,
            ask.origin.project,
            position,
            left,
            ask.digest,
            self._unsaved.pop(ask.id, "") or answer_ask.draft(self._store, ask.id, self._caller),
        )

    def _answer(self, ask: Ask, reply: Reply) -> None:
        who = self._caller._replace(via="dialog")
        try:
            value = {"other": reply.value} if reply.is_other else reply.value
            answer_ask.answer(self._store, ask.id, who, Given(value, digest=reply.digest))
        except StoreError:
            raise
        except GateError as error:
            self._screen.say(f"Refused, but kept: {inert_line(str(error), 500)}")


def _fits_window(ask: Ask) -> bool:
    """Return whether a window can show the whole ask."""
    question = ask.question
    plain = (
        question.kind in (AskKind.TEXT, AskKind.CHOICE, AskKind.APPROVAL) and not ask.token_digest
    )
    return plain and not question.multiple


def _describe_context(ask: Ask) -> str:
    context, call = ask.question.context, ask.question.call
    # First: a small window cuts a long context.
    parts = [describe_files(ask)] if ask.question.attachments else []
    parts += [f"The call: {call.tool}\n{shown(call.input)}"] if call else []
    if context is not None:
        is_text = isinstance(context, str)
        parts.append(context if is_text else json.dumps(context, indent=2, ensure_ascii=False))
    return "\n\n".join(parts)


def _format_heading(ask: Ask, position: str) -> str:
    mark = f"[{position}] " if position else ""
    return f"{mark}[{inert_line(ask.origin.agent, 100)}] Question:"


def _format_banner(ask: Ask, position: str) -> list[str]:
    lines = [_RULE, _format_heading(ask, position)]
    lines += frame(ask.question.prompt, columns(), most=2_000)
    if ask.question.option_labels:
        options = ", ".join(ask.question.option_labels)
        lines.append(f"  Options: {inert_line(options, 500)}")
    return [*lines, _RULE]
