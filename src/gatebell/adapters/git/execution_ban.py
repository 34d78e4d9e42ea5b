"""The second layer: if the kernel can, it prevents git from starting other programs.

Linux's Landlock restricts one thread and all processes that this thread starts. So a command is
started from its own thread, and the rest of our process stays unrestricted.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    T = TypeVar("T")

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_EXECUTE = 1
_BENEATH = 1
_SET_NO_NEW_PRIVILEGES = 38
_INTERPRETER = 3
_HEADER_BYTES = 65536


def call(work: Callable[[], T], *programs: str) -> T:
    """Call a function that may start these programs and no other; return its result.

    If the kernel has no such ban, or a program is a script, the function is called without a ban.
    """
    files = [_list_executed_files(program) for program in programs]
    if not all(files):
        return work()
    allowed = [path for found in files for path in found]
    # Not `threading`: agents' hooks call this, and that module takes longer to load than the ban.
    import _thread

    result: list[T] = []
    failure: list[BaseException] = []
    ended = _thread.allocate_lock()
    ended.acquire()

    def run() -> None:
        try:
            _restrict(allowed)
            result.append(work())
        except BaseException as error:
            failure.append(error)
        finally:
            ended.release()

    _thread.start_new_thread(run, ())
    ended.acquire()
    if failure:
        raise failure[0]
    return result[0]


def _list_executed_files(program: str) -> list[str]:
    """Return the files that the kernel executes to start a program; empty if unknown."""
    if os.uname().sysname != "Linux" or not (interpreter := _read_interpreter(program)):
        return []
    return [program, interpreter]


def _read_interpreter(program: str) -> str:
    """Return the loader of a 64-bit little-endian ELF program, or ""."""
    with open(program, "rb") as file:
        header = file.read(_HEADER_BYTES)
    if header[:6] != b"\x7fELF\x02\x01":
        return ""

    def number(at: int, size: int) -> int:
        return int.from_bytes(header[at : at + size], "little")

    table, size, count = number(32, 8), number(54, 2), number(56, 2)
    for at in range(table, table + size * count, size):
        if number(at, 4) == _INTERPRETER:
            begin = number(at + 8, 8)
            return os.fsdecode(header[begin : begin + number(at + 32, 8)].rstrip(b"\0"))
    return ""


def _restrict(allowed: Sequence[str]) -> None:
    """Ban this thread and its processes from executing other files, if the kernel can."""
    import ctypes

    kernel = ctypes.CDLL(None)
    handled = ctypes.create_string_buffer(_EXECUTE.to_bytes(8, "little"))
    rules = kernel.syscall(_CREATE_RULESET, handled, 8, 0)
    if rules < 0:
        return
    try:
        for path in allowed:
            file = os.open(path, os.O_PATH | os.O_CLOEXEC)
            rule = _EXECUTE.to_bytes(8, "little") + file.to_bytes(4, "little")
            kernel.syscall(_ADD_RULE, rules, _BENEATH, ctypes.create_string_buffer(rule), 0)
            os.close(file)
        if kernel.prctl(_SET_NO_NEW_PRIVILEGES, 1, 0, 0, 0) == 0:
            kernel.syscall(_RESTRICT_SELF, rules, 0)
    finally:
        os.close(rules)
