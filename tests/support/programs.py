"""Programs that some tests need, and that a machine may not have."""

from __future__ import annotations

import shutil

import pytest


def find_program(name: str, untested: str) -> str:
    """Return the path of a program, or skip the test with a reason."""
    found = shutil.which(name)
    if found is None:
        pytest.skip(f"{name} is not installed: {untested}")
    return found
