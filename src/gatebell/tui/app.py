"""The terminal UI: it follows the store or the server, and keeps typed text when it ends."""

from __future__ import annotations

import gc
import os
import signal
import threading
from typing import TYPE_CHECKING, ClassVar

from textual.app import App
from textual.binding import Binding
from textual.message import Message

from gatebell.tui.context import TuiContext, Word
from gatebell.tui.list_screen import ListScreen
from gatebell.tui.live_screen import Following, say

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual.binding import BindingType

    from gatebell.domain.people.principals import Caller
    from gatebell.ports.backend import Backend
    from gatebell.tui.view import View

# To update durations; the store reports every other change.
_TICK_SECONDS = 5.0


class Changed(Message):
    """The store may have changed."""

    def can_replace(self, message: Message) -> bool:
        return isinstance(message, Changed)


class GateApp(App[None]):
    """`gate tui`."""

    ENABLE_COMMAND_PALETTE = False
    # Textual's own Ctrl+Q would lose the last typed text.
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+c,ctrl+q", "leave", "Quit", priority=True)
    ]
    CSS = """
    DataTable, #state, #calls, #ask, #answer, .box, #picking {
        border: round $primary; background: $background; padding: 0 1;
    }
    DataTable { padding: 0; }
    DataTable:focus { border: round $accent; }
    #runs { height: 1fr; }
    #asks { max-height: 40%; }
    #nothing { padding: 1 2; height: auto; }
    #state { height: auto; max-height: 60%; }
    #calls, #ask { height: 1fr; }
    #state, #calls, #ask { scrollbar-size-vertical: 1; }
    #told, #listed, #asked { width: auto; min-width: 100%; }
    #answer { height: auto; max-height: 50%; }
    #answer TextArea { height: 6; }
    #answer OptionList, #answer SelectionList { height: auto; max-height: 10; }
    #answer Input { margin-bottom: 0; }
    #foot { height: auto; dock: bottom; padding: 0 1; }
    #problem, .problem { color: $error; }
    #problem, #said { height: auto; max-height: 4; }
    #keys { height: auto; color: $text-muted; }
    StopScreen, ContinueScreen, PickScreen { align: center middle; }
    .box, #picking { width: 80%; max-width: 78; height: auto; padding: 1 2; }
    """

    def __init__(self, backend: Backend, who: Caller, identity: Sequence[str] = ()) -> None:
        self.tui_context = TuiContext(
            backend, _open_view(backend), who, tuple(identity), dict(os.environ), Word()
        )
        super().__init__()

    def on_mount(self) -> None:
        self.push_screen(ListScreen(self.tui_context))
        self.watching = threading.Thread(target=self._follow, daemon=True)
        self.watching.start()
        self.set_interval(_TICK_SECONDS, self.on_changed)

    def _follow(self) -> None:
        try:
            for _ in self.tui_context.view.changes():
                self.post_message(Changed())
        except BaseException as error:
            self.call_from_thread(say, self, self.tui_context, str(error), problem=True)

    def on_changed(self) -> None:
        for screen in self.screen_stack:
            if isinstance(screen, Following) and screen.is_mounted:
                screen.look_again()

    def action_leave(self) -> None:
        # In the queue of the focused field, so that it first gets the earlier keys.
        (self.focused or self).call_later(self._leave)

    def _leave(self) -> None:
        for screen in self.screen_stack:
            if isinstance(screen, Following):
                screen.keep()
        self.exit()


def _open_view(backend: Backend) -> View:
    # Imported here: each side loads only its own code.
    if backend.store is None:
        from gatebell.tui.server_view import ServerView

        return ServerView(backend)
    from gatebell.tui.store_view import StoreView

    return StoreView(backend.store)


def run(backend: Backend, who: Caller, identity: Sequence[str]) -> int:
    """Show the TUI until the person leaves; return the exit code."""
    # Short commands run without it, but this may stay open for days.
    gc.enable()
    app = GateApp(backend, who, identity)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: app.call_later(app.action_leave))
    app.run()
    return app.return_code or 0
