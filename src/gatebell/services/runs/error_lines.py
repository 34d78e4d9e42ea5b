"""Where in the user's own code an error came from."""

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
    """The line of the user's code that an error came from, as `flows/feature.py:12`.

    Args:
        error: what was raised; the innermost cause counts
        folder: a file inside of it is named by its path from there

    Returns:
        Nothing where no line of the user's code is known.
    """
    for one in reversed(_list_causes(error)):
        places = [(frame.f_code.co_filename, at) for frame, at in walk_tb(one.__traceback__)]
        if users := [place for place in places if _is_of_user(place[0])]:
            return _show(users[-1], folder)
    # Library code stood in the place of the user's: the flow's line called it.
    for frame, at in walk_stack(None):
        name = frame.f_code.co_filename
        if _is_of_user(name):
            return _show((name, at), folder)
        if name == _DRIVER:
            break
    return ""


def describe(error: BaseException, folder: str = "") -> str:
    """The kind and the words of an error, and its line."""
    text = f"{type(error).__name__}: {error}"
    # What a call raised names the line itself, also when it is replayed.
    where = "" if isinstance(error, StepFailedError) else find_line(error, folder)
    return f"{text} ({where})" if where else text


def format_traceback(error: BaseException) -> str:
    """The traceback of an error, with our own frames left out where the user has some."""
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
