"""A crash, a full disk or a broken one, at every single system call of an operation."""

from __future__ import annotations

import pytest
from points import BROKEN_DISK, FULL_DISK, KILL, WRITING_CALLS, Point, sweep
from telling import tell
from tracing import needs_strace

OPERATIONS = ("ask", "answer", "answer_run", "take", "take_secret", "cancel", "expire", "migrate")
ALWAYS_WHOLE = ("answer", "take")
ERRORS = (FULL_DISK, BROKEN_DISK)

pytestmark = [needs_strace, pytest.mark.proves("CRASH-1")]


def pytest_generate_tests(metafunc):
    if "error" in metafunc.fixturenames:
        operations = OPERATIONS if metafunc.config.option.whole else ("answer",)
        pairs = [(operation, error) for operation in operations for error in ERRORS]
        metafunc.parametrize(("operation", "error"), pairs)


@pytest.mark.parametrize("operation", OPERATIONS)
def test_kill_at_any_call_leaves_all_or_nothing(operation, whole, tmp_path, capsys):
    step = 1 if whole or operation in ALWAYS_WHOLE else 12
    swept = sweep(str(tmp_path), operation, KILL, lambda point: point.place % step == 0)
    tell(capsys, f"{operation}, killed: {swept}")
    assert swept.wrong == []
    assert swept.hit == swept.tried == swept.seen // step


def test_error_at_any_call_leaves_all_or_nothing(operation, error, whole, tmp_path, capsys):
    def is_wanted(point: Point) -> bool:
        return point.can_fail and (whole or point.call.name in WRITING_CALLS)

    swept = sweep(str(tmp_path), operation, error, is_wanted)
    tell(capsys, f"{operation}, {error}: {swept}")
    assert swept.wrong == []
    assert swept.hit == swept.tried > 0
