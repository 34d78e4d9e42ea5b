"""`python -m humangate` is `gate`."""

import sys

from humangate.cli.main import program

sys.exit(program())
