"""`python -m gatebell` is `gate`."""

import sys

from gatebell.cli.main import program

sys.exit(program())
