"""The entry point of `gate`: find the command, run it, and turn errors into exit codes."""

from __future__ import annotations

import gc
import os
import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

from gatebell.cli.command_parser import CommandParser, make_plain_formatter
from gatebell.cli.commands import MODULES
from gatebell.errors import GateError, UsageError

if TYPE_CHECKING:
    import argparse

# Programs read their stderr.
_FOR_PROGRAMS = ("hook", "mcp", "completion")

_INTERRUPTED = 130


def program() -> int:
    """Run `gate` as its own process."""
    # No code here makes cyclic garbage, and the collector takes a tenth of the time.
    gc.disable()
    code = main()
    gc.freeze()
    return code


def main(argv: list[str] | None = None) -> int:
    """Run one command and return its exit code."""
    words = [_decode_argument(word) for word in (sys.argv[1:] if argv is None else argv)]
    name = words[0] if words else ""
    as_json = "--json" in words
    if sys.stdout is None:
        # An answer that is printed to no one would count as handed over.
        return _report_error(UsageError("standard output is closed; open it"), as_json=False)
    if sys.stderr is None:
        # Otherwise messages, and the prints of a flow, would land in the output.
        sys.stderr = os.fdopen(os.open(os.devnull, os.O_WRONLY), "w", encoding="utf-8")
    _write_utf8(sys.stdout, sys.stderr)
    try:
        if name in ("-h", "--help", "help"):
            return _print_help(words[1:] if name == "help" else [])
        if name in ("-V", "--version"):
            return _print_version()
        name = name or _choose_command()
        arguments = parse_words(name, words[1:])
        if sys.stderr.isatty() and not as_json and name not in _FOR_PROGRAMS:
            _mention_old_folders()
        code = _import_command(name).run(arguments)
        sys.stdout.flush()
        return int(code)
    except GateError as error:
        return _report_error(error, as_json)
    except BrokenPipeError:
        # The reader of our output is gone. An answer that was not handed over stays untaken.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 1
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return _report_error(GateError(f"a system call failed: {error}"), as_json=False)
    except KeyboardInterrupt:
        print(file=sys.stderr)
        return _INTERRUPTED


def _mention_old_folders() -> None:
    """Print which folders keep the old name, and how to stop this message."""
    # Imported here: only a person at a terminal reads it.
    import shlex

    from gatebell.app.settings import NAME, OLD_NAME, old_folders
    from gatebell.domain.text.display import inert

    if found := old_folders(os.environ):
        links = [os.path.join(os.path.dirname(folder), NAME) for folder in found]
        ends = " && ".join(f"ln -s {OLD_NAME} {shlex.quote(link)}" for link in links)
        used = f"gate: {' and '.join(found)} has the old name and is used as before"
        print(inert(f"{used}; to stop this message: {ends}"), file=sys.stderr)


def _write_utf8(*streams: Any) -> None:
    """Write UTF-8 in every locale, because other encodings cannot hold every answer."""
    for stream in streams:
        if getattr(stream, "encoding", "utf-8").lower() != "utf-8":
            stream.reconfigure(encoding="utf-8")


def _choose_command() -> str:
    """Return the command that bare `gate` runs; a pipe gets the inbox."""
    if not sys.stdout.isatty():
        return "inbox"
    # Imported here: no other command needs it.
    from gatebell.cli.runs.tui import is_wanted

    return "tui" if is_wanted() else "inbox"


def parse_words(name: str, words: list[str]) -> argparse.Namespace:
    """Return the arguments of a command; UsageError for a wrong command or word."""
    if name not in MODULES:
        # Imported here: only errors need it.
        from gatebell.cli.usage_errors import explain_command

        raise UsageError(explain_command(name))
    return parser_of(name).parse_args(words)


def parser_of(name: str) -> CommandParser:
    """Return the parser of one command without importing the others."""
    module = _import_command(name)
    parser = CommandParser(
        prog=f"gate {name}",
        description=module.__doc__,
        formatter_class=make_plain_formatter,
        allow_abbrev=False,
    )
    module.configure(parser)
    return parser


def _import_command(name: str) -> Any:
    return import_module(f"gatebell.{MODULES[name][0]}")


def _print_help(words: list[str]) -> int:
    """Print the overview, a topic, or the page of a command."""
    from gatebell.cli import help_pages

    topic = words[0] if words else ""
    pages = {
        "": help_pages.format_overview,
        "all": help_pages.format_all,
        "exit-codes": help_pages.format_exit_codes,
    }
    if topic in pages:
        print(pages[topic]())
        return 0
    if topic in MODULES:
        parse_words(topic, [*words[1:], "--help"])
    from gatebell.cli.usage_errors import explain_topic

    raise UsageError(explain_topic(topic))


def _print_version() -> int:
    from gatebell import __version__

    print(f"gate {__version__}")
    return 0


def _decode_argument(word: str) -> str:
    """Return an argument as text; bytes that are not UTF-8 become replacement characters."""
    if word.isascii():
        return word
    return os.fsencode(word).decode("utf-8", "replace")


def _report_error(error: GateError, as_json: bool) -> int:
    from gatebell.domain.text.display import inert

    if as_json:
        import json

        print(json.dumps({"error": str(error), "exit_code": error.exit_code}))
    told = str(error)
    if sys.stderr.isatty():
        # Imported here: programs get the times of the store.
        from gatebell.terminal.local_times import localise

        told = localise(told)
    print(f"gate: {inert(told)}", file=sys.stderr)
    return error.exit_code
