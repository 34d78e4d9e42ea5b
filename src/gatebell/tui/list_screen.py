"""The first screen: all runs, and below them the asks without a run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from rich.text import Text
from textual.widgets import DataTable, Static

from gatebell.domain.asks.gone_askers import MARK
from gatebell.domain.text.display import age, inert_line
from gatebell.tui import run_rows
from gatebell.tui.live_screen import Following
from gatebell.tui.run_screen import (
    RunScreen,
    answer_ask,
    answer_run,
    continue_ask,
    continue_run,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from textual.binding import BindingType
    from textual.widget import Widget

    from gatebell.domain.asks.asks import Ask
    from gatebell.tui.context import TuiContext
    from gatebell.tui.run_rows import Listed

_NO_RUNS = "There are no runs yet. To start one: gate run FLOW PROMPT"
_STATUS_COLUMNS = max(map(len, run_rows.STATES.values()))
_PADDING = 2
_EDGES = 2
_HEAD = 1


class Rows(DataTable[Text]):
    """A table that is filled again only after a change."""

    # A binding, not a message: it acts at once, because the next key may already be waiting.
    BINDINGS: ClassVar[list[BindingType]] = [("enter", "screen.details", "Details")]

    def __init__(self, name: str, title: str) -> None:
        super().__init__(id=name, cursor_type="row", zebra_stripes=False)
        self.border_title = title
        self._filled: Any = None

    def fill(self, columns: dict[str, int], rows: Mapping[str, Sequence[Text]]) -> None:
        """Show columns with their widths and rows with their keys; keep the chosen row."""
        if (columns, rows) == self._filled:
            return
        self._filled = (columns, rows)
        chosen, row = self.chosen, self.cursor_row
        with self.app.batch_update():
            self.clear(columns=True)
            for name, width in columns.items():
                self.add_column(Text(name), width=width)
            for key, cells in rows.items():
                self.add_row(*cells, key=key)
            keys = list(rows)
            self.move_cursor(row=keys.index(chosen) if chosen in keys else row, animate=False)

    @property
    def chosen(self) -> str:
        """The key of the row under the cursor."""
        if not self.is_valid_row_index(self.cursor_row):
            return ""
        return str(self.coordinate_to_cell_key(self.cursor_coordinate).row_key.value)


class ListScreen(Following):
    """Runs and asks, the newest runs and the most urgent asks first."""

    BINDINGS: ClassVar[list[BindingType]] = [
        ("c", "continue", "Continue"),
        ("a", "answer", "Answer"),
        ("q", "app.leave", "Quit"),
    ]

    def __init__(self, tui_context: TuiContext) -> None:
        super().__init__(tui_context)
        self._runs = Rows("runs", "Runs")
        self._asks = Rows("asks", "Asks without a run")

    def build_body(self) -> Iterable[Widget]:
        nothing = Static(_NO_RUNS, id="nothing", markup=False)
        # Not before the first look, which may take a while.
        nothing.display = False
        return [nothing, self._runs, self._asks]

    def look(self) -> tuple[list[Listed], list[Ask]]:
        return self.tui_context.view.list_runs(), self.tui_context.view.list_asks()

    def show(self, found: tuple[list[Listed], list[Ask]]) -> None:
        runs, asks = found
        self._fill_runs(runs)
        self._fill_asks(asks)
        self._runs.display, self._asks.display = bool(runs), bool(asks)
        self.query_one("#nothing").display = not runs
        if self.focused is None or not self.focused.display:
            (self._runs if runs else self._asks).focus()
        keys = [("↑↓", "Navigate"), ("Enter", "Details"), ("c", "Continue"), ("a", "Answer")]
        others = [("Tab", "Asks")] if runs and asks else []
        self.show_keys([*keys, *others, ("q", "Quit")])

    def _fill_runs(self, runs: Sequence[Listed]) -> None:
        numbers = max([2, *(len(str(one.run.id)) for one in runs)])
        most = max(20, self.size.width // 3) if any(one.run.task for one in runs) else 20
        flows = min(most, max([4, *(len(one.about) for one in runs)]))
        room = max(8, self.size.width - _EDGES - numbers - flows - _STATUS_COLUMNS - 4 * _PADDING)
        columns = {"ID": numbers, "FLOW": flows, "STATUS": _STATUS_COLUMNS, "WAITING FOR": room}
        rows = {
            str(one.run.id): [
                Text(str(one.run.id), justify="right"),
                Text(inert_line(one.about, flows)),
                Text(one.word, one.colour),
                Text(inert_line(one.waiting_for, room)),
            ]
            for one in runs
        }
        self._runs.fill(columns, rows)

    def _fill_asks(self, asks: Sequence[Ask]) -> None:
        now = self.tui_context.backend.now()
        ids = max([4, *(len(ask.id) for ask in asks)])
        room = max(8, self.size.width - _EDGES - ids - 4 - 14 - 8 - 5 * _PADDING)
        columns = {"ID": ids, "AGE": 4, "FROM": 14, "KIND": 8, "QUESTION": room}
        rows = {
            ask.id: [
                Text(ask.id),
                Text(age((now - ask.opened_at).total_seconds()), justify="right"),
                Text(inert_line(ask.origin.agent, 14)),
                Text(ask.question.kind),
                Text(inert_line(self._mark_prompt(ask), room)),
            ]
            for ask in asks
        }
        self._asks.fill(columns, rows)
        self._asks.styles.height = len(rows) + _HEAD + _EDGES

    def _mark_prompt(self, ask: Ask) -> str:
        is_gone = self.tui_context.backend.is_waiter_gone(ask)
        return f"{MARK if is_gone else ''}{ask.question.prompt}"

    def on_data_table_row_selected(self) -> None:
        """Handle a click."""
        self.action_details()

    def action_details(self) -> None:
        if self.focused is self._asks and self._asks.chosen:
            self.action_answer()
        elif self._runs.chosen:
            self.app.push_screen(RunScreen(self.tui_context, int(self._runs.chosen)))

    def action_continue(self) -> None:
        if self.focused is self._asks and self._asks.chosen:
            continue_ask(self.app, self.tui_context, self._asks.chosen)
        elif self._runs.chosen:
            continue_run(self.app, self.tui_context, int(self._runs.chosen))

    def action_answer(self) -> None:
        if self.focused is self._asks and self._asks.chosen:
            answer_ask(self.app, self.tui_context, self._asks.chosen)
        elif self._runs.chosen:
            answer_run(self.app, self.tui_context, int(self._runs.chosen))
