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
    from gatebell.ports.backends.backend import Backend
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
    # Only the colours of the terminal, so that light and dark ones are readable.
    CSS = """
    #tabs { height: 1; padding: 0 1; }
    #panes { height: 1fr; }
    #panes.wide { layout: horizontal; }
    RowList, #preview, #state, #ask, #whole, #answer, .box, #picking {
        border: round ansi_blue; padding: 0;
    }
    #preview, #state, #ask, #whole, #answer { padding: 0 1; }
    #ask.low { border: none; }
    RowList:focus { border: round ansi_green; }
    RowList, #preview, #ask, #whole { height: 1fr; }
    #panes.wide RowList { width: 9fr; }
    #panes.wide #preview { width: 11fr; }
    LineView {
        overflow-x: hidden; overflow-y: auto;
        scrollbar-size-vertical: 1; scrollbar-gutter: stable;
        scrollbar-color: ansi_blue; scrollbar-background: ansi_default;
    }
    #frozen { padding: 0 2; height: auto; color: ansi_red; text-style: bold reverse; }
    #nothing { padding: 1 2; height: auto; }
    #filter { border: none; height: 1; padding: 0 2; }
    #answer { height: auto; max-height: 60%; }
    #answer TextArea { border: none; padding: 0; }
    #answer Choices { border: none; }
    #foot { height: auto; dock: bottom; padding: 0 1; }
    #problem, .problem { color: ansi_red; }
    #problem, #said { height: auto; max-height: 4; }
    #keys {
        height: 1; text-style: dim;
        link-color: ansi_default; link-background: ansi_default; link-style: dim;
        link-color-hover: ansi_default; link-background-hover: ansi_default;
        link-style-hover: reverse;
    }
    ModalScreen { align: center middle; }
    .box, #picking { width: 90%; max-width: 78; height: auto; max-height: 100%; padding: 1 2; }
    #help { padding: 0 2; }
    """

    def __init__(self, backend: Backend, who: Caller, identity: Sequence[str] = ()) -> None:
        self.tui_context = TuiContext(
            backend, _open_view(backend), who, tuple(identity), dict(os.environ), Word()
        )
        super().__init__(ansi_color=True)
        self.theme = "ansi-dark"
        self.animation_level = "none"

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
        # A screen that is covered looks again when it comes back.
        for screen in reversed(self.screen_stack):
            if isinstance(screen, Following) and screen.is_mounted:
                screen.look_again()
            if not screen.is_modal:
                break

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

    return StoreView(backend, backend.store)


def run(backend: Backend, who: Caller, identity: Sequence[str]) -> int:
    """Show the TUI until the person leaves; return the exit code."""
    # Short commands run without it, but this may stay open for days.
    gc.enable()
    app = GateApp(backend, who, identity)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: app.call_later(app.action_leave))
    app.run()
    return app.return_code or 0
