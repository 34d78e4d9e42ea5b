"""Find the line of the user's code that an error came from."""

from __future__ import annotations

import os
from traceback import StackSummary, TracebackException, walk_stack, walk_tb

from gatebell.errors import StepFailedError

_HERE = os.path.dirname(os.path.abspath(__file__))
_OURS = os.path.dirname(os.path.dirname(_HERE)) + os.sep
_DRIVER = os.path.join(_HERE, "drive_run.py")
_LIBRARIES = (_OURS, os.path.dirname(os.path.abspath(os.__file__)) + os.sep, "<")
_INSTALLED = f"{os.sep}site-packages{os.sep}"


def find_line(error: BaseException, folder: str = "") -> str:
    """Return the line of the user's code that raised an error, as `flows/feature.py:12`.

    The innermost cause counts. A file inside `folder` is named by its path from there. Returns an
    empty text if no line of the user's code is known.
    """
    for one in reversed(_list_causes(error)):
        places = [(frame.f_code.co_filename, at) for frame, at in walk_tb(one.__traceback__)]
        if users := [place for place in places if _is_of_user(place[0])]:
            return _show(users[-1], folder)
    # The innermost line is in library code: use the flow's line that called it.
    for frame, at in walk_stack(None):
        name = frame.f_code.co_filename
        if _is_of_user(name):
            return _show((name, at), folder)
        if name == _DRIVER:
            break
    return ""


def describe(error: BaseException, folder: str = "") -> str:
    """Return the type, the text and the line of an error."""
    text = f"{type(error).__name__}: {error}"
    # The error of a call already contains the line, also on replay.
    where = "" if isinstance(error, StepFailedError) else find_line(error, folder)
    return f"{text} ({where})" if where else text


def format_traceback(error: BaseException) -> str:
    """Return the traceback of an error, without our own frames if the user's code has some."""
    told = TracebackException.from_exception(error)
    one: TracebackException | None = told
    while one:
        theirs = [frame for frame in one.stack if not frame.filename.startswith(_OURS)]
        one.stack = StackSummary.from_list(theirs or one.stack)
        one = one.__cause__ or one.__context__
    return "".join(told.format())


def _list_causes(error: BaseException) -> list[BaseException]:
    found: list[BaseException] = []
    one: BaseException | None = error
    while one is not None and one not in found:
        found.append(one)
        one = one.__cause__
    return found


def _is_of_user(name: str) -> bool:
    return not name.startswith(_LIBRARIES) and _INSTALLED not in name


def _show(place: tuple[str, int], folder: str) -> str:
    name, line = place
    is_inside = bool(folder) and name.startswith(folder + os.sep)
    return f"{os.path.relpath(name, folder) if is_inside else name}:{line}"
