"""Log messages of the library, as lines of a long-running command."""

from __future__ import annotations

import logging
import sys


def show_log_lines() -> None:
    """Print each warning of the library on stderr."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("gate: %(message)s"))
    logger = logging.getLogger("gatebell")
    logger.addHandler(handler)
    logger.propagate = False
