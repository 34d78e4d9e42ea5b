"""The terminal of this process, by lines."""

from __future__ import annotations

import sys
from contextlib import suppress

from gatebell.domain.text.display import inert_line


class OwnTerminal:
    """The streams of this process, whatever is at their other end."""

    def is_attended(self) -> bool:
        streams = (sys.stdin, sys.stdout)
        return all(stream is not None and stream.isatty() for stream in streams)

    def show(self, text: str) -> None:
        print(text)

    async def read_line(self, label: str) -> str:
        if not sys.stdin.isatty():
            return input(label).strip()  # noqa: ASYNC250 - a pipe or a file has its lines ready
        print(label, end="", flush=True)
        try:
            await _wait_for_line()
        except BaseException:
            # The next text does not belong behind the label.
            print()
            raise
        line = sys.stdin.readline()
        if not line:
            raise EOFError
        return line.strip()

    def drop_typed_ahead(self) -> None:
        if sys.stdin.isatty():
            # Imported here: only systems with terminals have it.
            import termios

            termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)

    def warn(self, words: str) -> None:
        with suppress(OSError):
            print(f"gate: {inert_line(words)}", file=sys.stderr, flush=True)


async def _wait_for_line() -> None:
    """Come back when a whole line was typed. A blocking read could not be given up."""
    # Imported here: most programs that use a terminal never read from it.
    import asyncio

    loop = asyncio.get_running_loop()
    typed = asyncio.Event()
    loop.add_reader(sys.stdin, typed.set)
    try:
        await typed.wait()
    finally:
        loop.remove_reader(sys.stdin)
