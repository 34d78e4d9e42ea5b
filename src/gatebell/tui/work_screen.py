"""The keys that act on an ask, a run or a task; they are the same on every screen."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from textual import work

from gatebell.domain.asks.asks import settled_sentence
from gatebell.domain.asks.messages import warn_of_silence
from gatebell.domain.asks.owners import run_of
from gatebell.domain.text.display import inert_line
from gatebell.errors import GateError, UsageError
from gatebell.terminal import editors
from gatebell.tui.boxes import ContinueScreen, HelpScreen, PickScreen, WordsScreen
from gatebell.tui.context import hand_over
from gatebell.tui.live_screen import Following, say
from gatebell.tui.text_screen import LongText, TextScreen

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from textual.binding import BindingType

    from gatebell.domain.asks.asks import Ask
    from gatebell.tui.context import TuiContext

_NO_AGENT = " A script or a program asked this: it gets your message, but may not be able to reply."


class Subject(NamedTuple):
    """The chosen ask, run or task; at most one is set."""

    ask: str = ""
    run: int | None = None
    task: str = ""
    call: str = ""
    """The path of a call of the run."""

    @property
    def name(self) -> str:
        return self.ask or self.task or f"Run {self.run}"


class WorkScreen(Following):
    """A screen with a subject, and the keys for it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        ("a", "answer", "Answer"),
        ("b", "ask_back", "Ask back"),
        ("c", "continue", "Continue"),
        ("o", "open_editor", "Editor"),
        ("s", "stop", "Stop"),
        ("r", "resume", "Resume"),
        ("l", "log", "Log"),
        ("d", "diff", "Diff"),
        ("question_mark", "help", "Help"),
    ]

    def find_subject(self) -> Subject | None:
        """Return what the keys act on."""
        raise NotImplementedError

    def action_help(self) -> None:
        self.app.push_screen(HelpScreen())

    def action_answer(self) -> None:
        self.with_ask(self.open_ask)

    def open_ask(self, ask: Ask, pressed: str = "") -> None:
        """Show an ask and the fields of its answer; `pressed`: the key of an option to mark."""
        # Imported here: that screen has the same keys.
        from gatebell.tui.answer_screen import AnswerScreen

        self.try_to(lambda: self.app.push_screen(AnswerScreen(self.tui_context, ask.id, pressed)))

    def action_continue(self) -> None:
        def begin(ask: Ask) -> None:
            session = self.tui_context.view.get_session(ask)
            self.app.push_screen(ContinueScreen(self.tui_context, ask, session))

        self.with_ask(lambda ask: self.try_to(lambda: begin(ask)))

    def action_ask_back(self) -> None:
        def begin(ask: Ask) -> None:
            about = f"To {inert_line(ask.origin.agent, 40)}; {ask.id} stays open for an answer."
            about += _NO_AGENT if warn_of_silence(ask) else ""
            box = WordsScreen(self.tui_context, f"Ask back: {ask.id}", about, "Message")
            self.app.push_screen(box, partial(self._ask_back, ask))

        self.with_ask(begin)

    def _ask_back(self, ask: Ask, words: str | None) -> None:
        def send() -> None:
            backend = self.tui_context.backend
            after = backend.ask_back(ask.id, self.tui_context.who, words or "")
            sent = f"Sent to {inert_line(after.origin.agent, 40)}; {ask.id} is still waiting."
            say(self.app, self.tui_context, sent)
            self.look_again()

        if words:
            self.try_to(send, f" Your message was: {words}")

    def action_open_editor(self) -> None:
        def begin(subject: Subject) -> None:
            folder = self._find_folder(subject)
            command = editors.build_command(editors.find(), folder)
            hand_over(self.app, self.tui_context, command, folder)
            self.look_again()

        if subject := self.find_subject():
            self.try_to(lambda: begin(subject))

    def _find_folder(self, subject: Subject) -> str:
        view, number = self.tui_context.view, self._find_run(subject)
        if number is not None:
            return view.get_folder(number)
        if subject.ask:
            return view.get_folder_of_ask(self.tui_context.backend.get(subject.ask))
        raise UsageError(f"no run has worked on {subject.task} yet")

    def action_stop(self) -> None:
        about = "This ends its agents and cancels its asks. gate resume can continue it."

        def begin(number: int, _: Subject) -> None:
            title, wanted = f"Stop Run {number}", "Reason to stop the run"
            box = WordsScreen(self.tui_context, title, about, wanted, does="stop")
            self.app.push_screen(box, partial(self._stop_because, number))

        self._with_run(begin)

    def _stop_because(self, number: int, reason: str | None) -> None:
        if reason:
            self._stop(number, reason)

    @work(thread=True)
    def _stop(self, number: int, reason: str) -> None:
        """Stop the run in a thread, because its agents may take a while to end."""
        try:
            stopped = self.tui_context.view.stop_run(number, self.tui_context.who, reason)
        except GateError as error:
            self.app.call_from_thread(say, self.app, self.tui_context, str(error), problem=True)
        else:
            text = f"Run {stopped.id} marked as stuck: {inert_line(stopped.reason, 200)}"
            self.app.call_from_thread(say, self.app, self.tui_context, text)

    def action_resume(self) -> None:
        def begin(number: int, _: Subject) -> None:
            said = self.tui_context.view.resume_run(number, self.tui_context.who)
            say(self.app, self.tui_context, said)
            self.look_again()

        self._with_run(begin)

    def action_log(self) -> None:
        def begin(number: int, subject: Subject) -> None:
            view, path = self.tui_context.view, subject.call
            text = LongText(
                f"Log of {_name_call(number, path)}",
                lambda width: view.read_log(number, path, width),
                "Its agents have written nothing yet.",
                at_end=True,
            )
            self.app.push_screen(TextScreen(self.tui_context, text))

        self._with_run(begin)

    def action_diff(self) -> None:
        def begin(number: int, subject: Subject) -> None:
            view, path = self.tui_context.view, subject.call
            text = LongText(
                f"Changes of {_name_call(number, path)}",
                lambda width: view.read_diff(number, path, width),
                "Nothing has changed.",
                once=True,
            )
            self.app.push_screen(TextScreen(self.tui_context, text))

        self._with_run(begin)

    def try_to(self, act: Callable[[], Any], more: str = "") -> None:
        """Act, or show the error."""
        try:
            act()
        except GateError as error:
            say(self.app, self.tui_context, f"{error}{more}", problem=True)

    def _find_run(self, subject: Subject) -> int | None:
        if subject.run is not None:
            return subject.run
        if subject.task:
            return self.tui_context.view.run_of_task(subject.task)
        return run_of(self.tui_context.backend.get(subject.ask).origin.owner)

    def _with_run(self, then: Callable[[int, Subject], None]) -> None:
        """Call `then` with the run of the subject, or say that it has none."""

        def begin(subject: Subject) -> None:
            number = self._find_run(subject)
            if number is None:
                raise UsageError(f"{subject.name} does not belong to a run")
            then(number, subject)

        if subject := self.find_subject():
            self.try_to(lambda: begin(subject))

    def with_ask(self, then: Callable[[Ask], None]) -> None:
        """Call `then` with the pending ask; of several, with the one that the person picks."""
        if subject := self.find_subject():
            self.try_to(lambda: self._pick_ask(subject, then))

    def _pick_ask(self, subject: Subject, then: Callable[[Ask], None]) -> None:
        view = self.tui_context.view
        if subject.ask:
            asks = [self.tui_context.backend.get(subject.ask)]
        elif subject.task:
            asks = view.asks_of_task(subject.task)
        else:
            asks = view.asks_of_run(subject.run or 0)
        if not asks:
            say(self.app, self.tui_context, f"{subject.name} has no open question.")
        elif not asks[0].pending:
            say(self.app, self.tui_context, settled_sentence(asks[0]))
        elif len(asks) == 1:
            then(asks[0])
        else:

            def on_pick(index: int | None) -> None:
                if index is not None:
                    then(asks[index])

            self.app.push_screen(PickScreen(subject.name, asks), on_pick)


def _name_call(number: int, path: str) -> str:
    return f"run {number}" + (f", call {path}" if path else "")


class WorkTextScreen(TextScreen, WorkScreen):
    """A long text about a subject, with the keys for it: a call, a task, a settled ask."""

    def __init__(
        self,
        tui_context: TuiContext,
        text: LongText,
        subject: Subject,
        keys: Sequence[tuple[str, str]],
    ) -> None:
        """Show a text; `keys`: those that are named below it."""
        super().__init__(tui_context, text)
        self._subject, self._keys = subject, keys

    def find_subject(self) -> Subject:
        return self._subject

    def show(self, found: list[str]) -> None:
        super().show(found)
        self.show_keys([("↑↓ PgUp PgDn", "Scroll"), *self._keys, ("?", "Help"), ("Esc", "Back")])
