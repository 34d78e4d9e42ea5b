"""The questions of `gate setup`, and its lines on the screen."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gatebell.cli.screen import add_colour, columns
from gatebell.cli.server import qr
from gatebell.domain.text.display import inert
from gatebell.errors import AskCancelledError, UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

_INDENT = "  "
_MAX_COLUMNS = 92
_STOPPED = "stopped; finished steps stay. To go on: gate setup"


class Dialogue:
    """Asks a person, or takes the answers of the options if `asks` is false."""

    def __init__(self, *, asks: bool, prints: bool) -> None:
        self.asks = asks
        self._prints = prints

    def begin_step(self, number: int, steps: int, title: str) -> None:
        if self._prints:
            print(f"\n{add_colour(f'{number} of {steps}  {title}', 'bold')}")

    def say(self, text: str) -> None:
        """Print a sentence, as wide as the terminal; text of other programs in it is inert."""
        if self._prints:
            # Imported here: --help does not need it.
            import textwrap

            shown, rest = inert(text), _INDENT
            rest += " " * (len(shown) - len(shown.lstrip(" -")))
            width = min(columns(), _MAX_COLUMNS)
            print(
                textwrap.fill(
                    shown,
                    width,
                    initial_indent=_INDENT,
                    subsequent_indent=rest,
                    break_long_words=False,
                    break_on_hyphens=False,
                )
            )

    def draw(self, text: str) -> None:
        """Print a QR code, if it fits the terminal."""
        if self._prints:
            try:
                qr.draw(text)
            except UsageError as error:
                self.say(f"({error})")

    def confirm(self, question: str, *, default: bool = True, unasked: bool = True) -> bool:
        """Ask for yes or no; `unasked` is the answer if there are no questions."""
        if not self.asks:
            return unasked
        return self.choose(question, ("y", "n"), "y" if default else "n") == "y"

    def choose(self, question: str, keys: Sequence[str], default: str) -> str:
        """Ask for one of these keys; Enter takes the default."""
        shown = "/".join(one.upper() if one == default else one for one in keys)
        ends = f"{question} [{default}]" if default.isdecimal() else f"{question} [{shown}]"
        while True:
            given = self.read(ends).lower()
            given = {"yes": "y", "no": "n"}.get(given, given) or default
            if given in keys:
                return given
            self.say(f"Type {', '.join(keys[:-1])} or {keys[-1]}.")

    def read_hidden(self, question: str) -> str:
        """Ask for a secret, which the terminal does not show; Enter: none."""
        # Imported here: --help does not need it.
        import getpass

        try:
            return getpass.getpass(f"{_INDENT}{inert(question)} ").strip()
        except EOFError:
            raise AskCancelledError(_STOPPED) from None

    def read(self, question: str, default: str = "") -> str:
        """Ask for a line; Enter takes the default."""
        if not self.asks:
            return default
        shown = f" [{default}]" if default else ""
        try:
            return input(f"{_INDENT}{inert(question)}{shown} ").strip() or default
        except EOFError:
            print()
            raise AskCancelledError(_STOPPED) from None
