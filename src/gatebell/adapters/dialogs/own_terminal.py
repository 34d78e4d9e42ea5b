"""Read and write lines on the terminal of this process."""

from __future__ import annotations

import select
import sys


class OwnTerminal:
    """The streams of this process, terminal or not."""

    def is_attended(self) -> bool:
        streams = (sys.stdin, sys.stdout)
        return all(stream is not None and stream.isatty() for stream in streams)

    def show(self, text: str) -> None:
        print(text)

    def ask_for_line(self, label: str) -> None:
        print(label, end="", flush=True)

    def is_line_ready(self) -> bool:
        # A pipe or a file has its lines ready, or has ended.
        return not sys.stdin.isatty() or bool(select.select([sys.stdin], [], [], 0)[0])

    def read_line(self) -> str:
        line = sys.stdin.readline()
        if not line:
            raise EOFError
        return line.strip()

    def drop_typed_ahead(self) -> None:
        if sys.stdin.isatty():
            # Imported here: only systems with terminals have it.
            import termios

            termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)
