"""Measure what the project promises about its speed: `python -m bench [NAME …]`."""

from __future__ import annotations

import argparse
import os
import platform
import shlex
import sys
from datetime import UTC, datetime
from importlib import import_module
from typing import TYPE_CHECKING

import apsw
from bench.figures import table

if TYPE_CHECKING:
    from bench.figures import Figure

# The largest last: it leaves the disk busy for a while.
NAMES = ("plans", "hot", "pair", "wake", "web", "size")
BEGIN, END = "<!-- results -->", "<!-- end of results -->"

_PAGE = os.path.join(os.path.dirname(__file__), "README.md")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(NAMES)}")
    parser.add_argument("--write", action="store_true", help="put the results into the README")
    parser.add_argument("--strict", action="store_true", help="fail when a figure is over a limit")
    args = parser.parse_args()
    if unknown := set(args.names) - set(NAMES):
        parser.error(f"there is no {min(unknown)}; there are {', '.join(NAMES)}")
    if args.write and args.names:
        parser.error("--write replaces the whole table, so it measures everything")
    figures: list[Figure] = []
    for name in args.names or NAMES:
        print(f"measuring {name} …", file=sys.stderr)
        figures += import_module(f"bench.{name}").measure()
    lines = [*table(figures), "", surroundings()]
    print("\n".join(lines))
    if args.write:
        write(lines)
    return int(args.strict and any(figure.over for figure in figures))


def surroundings() -> str:
    """When, on what, and by which command this was measured."""
    command = shlex.join(["python", "-m", "bench", *sys.argv[1:]])
    return (
        f"{datetime.now(UTC):%Y-%m-%d}, Python {platform.python_version()}, "
        f"apsw {apsw.apsw_version()}, SQLite {apsw.sqlite_lib_version()}, "
        f"{platform.system()} {platform.release()} ({platform.machine()}, "
        f"{os.cpu_count()} cores), `{command}`"
    )


def write(lines: list[str]) -> None:
    """Put the lines between the two marks in the README."""
    with open(_PAGE, encoding="utf-8") as file:
        before, _, rest = file.read().partition(BEGIN)
    after = rest.partition(END)[2]
    with open(_PAGE, "w", encoding="utf-8") as file:
        file.write("\n".join([f"{before}{BEGIN}", *lines, f"{END}{after}"]))


if __name__ == "__main__":
    sys.exit(main())
