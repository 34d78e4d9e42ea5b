"""A tracer of calls between our files, while `gate` runs.

python -m tests.support.trace_calls OUT COMMAND ... appends `CALLER CALLEE FUNCTION` to OUT.
"""

from __future__ import annotations

import inspect
import os
import sys
import threading
from importlib import import_module

import gatebell

ROOT = os.path.dirname(gatebell.__file__) + os.sep


class Tracer:
    def __init__(self):
        self.calls = {}

    def note(self, frame, event, _):
        """Record a call between two of our files; a user's flow file is not ours."""
        if event != "call" or frame.f_back is None or is_import(frame) or is_import(frame.f_back):
            return
        caller, callee = (find_file(one) for one in (frame.f_back, frame))
        if caller and callee and caller != callee:
            self.calls[f"{caller} {callee} {frame.f_code.co_qualname}"] = None


def is_import(frame):
    """Whether this is the body of a module or of a class."""
    return not frame.f_code.co_flags & inspect.CO_OPTIMIZED


def find_file(frame):
    path = frame.f_code.co_filename
    return path.removeprefix(ROOT) if path.startswith(ROOT) else ""


def main():
    out, *words = sys.argv[1:]
    command = import_module("gatebell.cli.main")
    tracer = Tracer()
    threading.setprofile(tracer.note)
    sys.setprofile(tracer.note)
    try:
        code = command.main(words)
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
        with open(out, "a", encoding="utf-8") as file:
            file.writelines(f"{line}\n" for line in tracer.calls)
    sys.exit(code)


if __name__ == "__main__":
    main()
