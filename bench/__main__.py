"""Measure the speed that the project promises: `python -m bench [NAME …]`."""

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

# The largest comes last: it keeps the disk busy for a while.
SINGLE = (
    "plans",
    "hot",
    "pair",
    "wake",
    "web",
    "backlog",
    "file_script",
    "files",
    "size",
)
NAMES = (*SINGLE, "remote", "server", "flows", "engines", "postgres")

_PAGE = os.path.join(os.path.dirname(__file__), "README.md")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(NAMES)}")
    parser.add_argument("--write", action="store_true", help="put the results into the README")
    parser.add_argument("--strict", action="store_true", help="fail when a figure is over a limit")
    parser.add_argument("--sizes", type=_sizes, help="waiting runs of flows and engines: N,N …")
    parser.add_argument(
        "--no-rivals", action="store_true", help="flows and engines without those of others"
    )
    args = parser.parse_args()
    if unknown := set(args.names) - set(NAMES):
        parser.error(f"there is no {min(unknown)}; there are {', '.join(NAMES)}")
    wanted = args.names or NAMES
    single = [name for name in SINGLE if name in wanted]
    if args.write and single and len(single) < len(SINGLE):
        parser.error("--write replaces whole tables: name nothing, or one of the last five")
    figures: list[Figure] = []
    for name in single:
        print(f"measuring {name} …", file=sys.stderr)
        figures += import_module(f"bench.{name}").measure()
    if single:
        tell("results", table(figures), write=args.write)
    for name in ("remote", "server"):
        if name in wanted:
            print(f"measuring {name} …", file=sys.stderr)
            served = list(import_module(f"bench.{name}").measure())
            tell(name, table(served), write=args.write)
            figures += served
    for name in ("flows", "engines"):
        if name in wanted:
            print(f"measuring {name} …", file=sys.stderr)
            module = import_module(f"bench.{name}")
            sizes = args.sizes or module.SIZES
            ours, beside = module.measure(sizes, with_rivals=not args.no_rivals)
            tell(name, [*table(ours), "", *beside], write=args.write)
            figures += ours
    if "postgres" in wanted:
        print("measuring postgres …", file=sys.stderr)
        ours = list(import_module("bench.postgres").measure())
        tell("postgres", table(ours), write=args.write)
        figures += ours
    return int(args.strict and any(figure.over for figure in figures))


def _sizes(text: str) -> tuple[int, ...]:
    return tuple(int(word) for word in text.split(","))


def tell(part: str, lines: list[str], *, write: bool) -> None:
    """Print the figures, and write them between the two marks of their part of the README."""
    lines = [*lines, "", describe_machine()]
    print("\n".join(lines))
    if not write:
        return
    begin, end = f"<!-- {part} -->", f"<!-- end of {part} -->"
    with open(_PAGE, encoding="utf-8") as file:
        before, _, rest = file.read().partition(begin)
    after = rest.partition(end)[2]
    with open(_PAGE, "w", encoding="utf-8") as file:
        file.write("\n".join([f"{before}{begin}", *lines, f"{end}{after}"]))


def describe_machine() -> str:
    """Return the date, the machine and the command of this measurement."""
    command = shlex.join(["python", "-m", "bench", *sys.argv[1:]])
    return (
        f"{datetime.now(UTC):%Y-%m-%d}, Python {platform.python_version()}, "
        f"apsw {apsw.apsw_version()}, SQLite {apsw.sqlite_lib_version()}, "
        f"{platform.system()} {platform.release()} ({platform.machine()}, "
        f"{os.cpu_count()} cores), `{command}`"
    )


if __name__ == "__main__":
    sys.exit(main())
