"""`python -m humangate` is `gate`."""

import sys

from humangate.cli.main import main

sys.exit(main())
