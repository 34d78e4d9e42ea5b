"""The tools by which agents ask, as an MCP server on stdin and stdout.

`gate install` adds it to the agents' settings. It ends when its standard input ends.

Example: gate mcp
Example: gate mcp --limit 3600
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from gatebell.mcp.server import Server

if TYPE_CHECKING:
    import argparse


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--limit",
        type=float,
        default=86400.0,
        metavar="SECONDS",
        help="how long the host waits for a tool (86400, as gate install sets it)",
    )


def run(args: argparse.Namespace) -> int:
    Server(sys.stdin.buffer, sys.stdout.buffer, args.limit).serve()
    return 0
