"""A `gate listen` in a process of its own, and answers to its prompts."""

from __future__ import annotations

import signal
import threading
import time

PAUSE = threading.Event()


class Listening:
    """A `gate listen` process and its printed lines."""

    def __init__(self, shell, *words, **environ):
        self.process = shell.start("listen", *words, **environ)
        self.lines = []
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self):
        for line in self.process.stdout:
            self.lines.append(line.rstrip("\n"))

    def until(self, text, seconds=60):
        until = time.monotonic() + seconds
        while not any(text in line for line in list(self.lines)):
            assert time.monotonic() < until, f"{text!r} never came:\n" + "\n".join(self.lines)
            assert self.reader.is_alive() or text in "\n".join(self.lines), self.read_lines()
            PAUSE.wait(0.02)
        return next(line for line in self.lines if text in line)

    def read_lines(self):
        return "\n".join(self.lines)

    def end(self, number=signal.SIGINT):
        self.process.send_signal(number)
        code = self.process.wait(20)
        self.reader.join(5)
        return code


def answer(world, value, prompt):
    ask = next(a for a in world.store.asks.pending(50) if a.question.prompt == prompt)
    assert world.ada.gate("answer", ask.id, value).code == 0
    return ask.id
