"""The entry point of `gate`: find the command, run it, and turn errors into exit codes."""

from __future__ import annotations

import argparse
import gc
import os
import sys
from importlib import import_module
from typing import Any

from gatebell.errors import GateError, UsageError

# The module of each command, and its line in `gate --help`.
_COMMANDS = {
    "ask": ("cli.asks.ask", "ask a person and wait for the answer"),
    "answer": ("cli.asks.answer", "answer an ask"),
    "ask-back": ("cli.asks.ask_back", "send the asker a message without settling"),
    "reply": ("cli.asks.reply", "reply to a person's message about your ask"),
    "inbox": ("cli.asks.inbox", "list the asks that wait, or answer them one by one"),
    "tui": ("cli.runs.tui", "show runs and asks on one screen: look, answer, continue, stop"),
    "show": ("cli.asks.show", "show one ask: context, messages, votes and answer"),
    "wait": ("cli.asks.wait", "wait for the answer to an earlier ask"),
    "cancel": ("cli.asks.cancel", "withdraw an ask"),
    "history": ("cli.asks.history", "list settled asks"),
    "respond": ("cli.tasks.respond", "answer a task that waits for you"),
    "task": (
        "cli.tasks.task",
        "manage the backlog: create, list, show, tree, update, close, import …",
    ),
    "run": ("cli.runs.run", "run a flow: agents work and people answer their questions"),
    "list": ("cli.runs.list", "list runs and their open questions"),
    "status": ("cli.runs.status", "show the progress of one run and its next step"),
    "continue": (
        "cli.sessions.continue_session",
        "open the session of an agent that waits for you",
    ),
    "watch": ("cli.runs.watch", "follow a run until it ends"),
    "logs": ("cli.runs.logs", "print the output of a run's agents"),
    "plan": ("cli.runs.plan", "print a run as XML: calls, branches and people's answers"),
    "diff": ("cli.runs.diff", "show the changes that a run's agents made"),
    "flows": ("cli.runs.flows", "list flows, or show one"),
    "agents": ("cli.runs.agents", "list the roles that flows and tasks can use"),
    "signal": ("cli.runs.signal", "send a signal that a run waits for"),
    "stop": ("cli.runs.stop", "end a run, its agents and its asks"),
    "kill": ("cli.runs.stop", "the same as stop"),
    "resume": ("cli.runs.resume", "continue a run where it stopped"),
    "delete": ("cli.runs.delete", "delete a run that has ended"),
    "clean": ("cli.runs.clean", "remove the folders of completed runs if no work would be lost"),
    "listen": (
        "cli.asks.listen",
        "answer questions that agents wrote into files, in windows or in this terminal",
    ),
    "worker": ("cli.runs.worker", "drive runs as they become ready"),
    "up": (
        "cli.server.up",
        "serve the web inbox, drive runs, send notifications and apply deadlines",
    ),
    "serve": ("cli.server.serve", "serve the web inbox and the HTTP API to a team"),
    "link": ("cli.server.link", "print a link that signs you in to the web inbox"),
    "down": ("cli.server.down", "stop gate up"),
    "login": ("cli.setup.login", "sign in to a server that keeps the asks of many machines"),
    "logout": ("cli.setup.logout", "sign out of a server"),
    "person": ("cli.people.person", "manage people, their personal tokens and their groups"),
    "gates": (
        "cli.permissions.gates",
        "list, add or remove patterns of tool calls that need a person or are denied",
    ),
    "grants": ("cli.permissions.grants", "list or revoke grants: permissions beyond one tool call"),
    "template": ("cli.asks.template", "manage prepared answers: list, show, set, delete"),
    "init": (
        "cli.setup.init",
        "set up a project: agents' instructions, backlog settings, questions in files",
    ),
    "install": (
        "cli.setup.install",
        "set up Claude Code, Codex, Gemini CLI or opencode to ask here",
    ),
    "uninstall": ("cli.setup.uninstall", "undo gate install, byte for byte"),
    "mcp": (
        "mcp.command",
        "serve the tools with which agents ask (an MCP server on stdin and stdout)",
    ),
    "hook": ("hooks.command", "decide about an agent's tool call (hosts run this)"),
    "notify": (
        "cli.notifications.notify",
        "list or test the routes that notify you, or send messages that are due",
    ),
    "dialog": (
        "cli.asks.dialog",
        "list the programs that can show a question in a window, or test one",
    ),
    "store": ("cli.setup.store", "set up, check or fill a PostgreSQL store: migrate, check, copy"),
    "audit": ("cli.setup.audit", "read and verify the audit trail: log, verify, head"),
    "doctor": ("cli.setup.doctor", "check the store and the installation, and explain problems"),
    "config": ("cli.setup.config", "show the settings and their sources"),
    "demo": ("cli.setup.demo", "show gatebell at work in a throwaway project"),
    "completion": ("cli.setup.completion", "print a completion script for your shell"),
}
COMMANDS = {name: about for name, (_, about) in _COMMANDS.items()}

# Options may come between the arguments of these; such parsing is slower.
_ANY_ORDER = ("run", "respond", "template")

# Programs read their stderr.
_FOR_PROGRAMS = ("hook", "mcp", "completion")

_INTERRUPTED = 130

EXIT_CODES = """exit codes:
  0 answered (approval: approved)   1 unexpected failure   2 usage
  3 timed out   4 cancelled   5 not found   6 already answered   7 refused
  8 store error   10 rejected   11 not answered yet   130 interrupted
  of a run: 0 completed   12 failed   13 stuck"""


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
            print(_build_overview().format_help(), end="")
            return 0
        if name == "--version":
            return _print_version()
        name = name or _choose_command()
        if name not in COMMANDS:
            raise UsageError(f"unknown command {name!r}; gate --help lists the commands")
        parser = parser_of(name, helping="-h" in words or "--help" in words)
        parse = parser.parse_intermixed_args if name in _ANY_ORDER else parser.parse_args
        arguments = parse(words[1:])
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


def parser_of(name: str, helping: bool = False) -> argparse.ArgumentParser:
    """Return the parser of one command without importing the others."""
    module = _import_command(name)
    parser = argparse.ArgumentParser(
        prog=f"gate {name}",
        description=_fold_paragraphs(module.__doc__) if helping else module.__doc__,
        epilog=EXIT_CODES,
        formatter_class=_load_formatter() if helping else _make_plain_formatter,
        allow_abbrev=False,
    )
    module.configure(parser)
    return parser


def _import_command(name: str) -> Any:
    return import_module(f"gatebell.{_COMMANDS[name][0]}")


def _make_plain_formatter(prog: str) -> argparse.HelpFormatter:
    # argparse makes a formatter for every option; without a width it would load shutil.
    return argparse.RawDescriptionHelpFormatter(prog, width=100)


def _fold_paragraphs(text: str) -> str:
    """Wrap the paragraphs of a help text that are too wide for the screen."""
    import shutil
    import textwrap

    # The width that argparse uses.
    width = max(20, shutil.get_terminal_size().columns - 2)
    return "\n\n".join(
        paragraph
        if all(len(line) <= width for line in paragraph.splitlines())
        else textwrap.fill(paragraph, width, break_long_words=False, break_on_hyphens=False)
        for paragraph in text.strip("\n").split("\n\n")
    )


def _load_formatter() -> Any:
    from rich_argparse import RawDescriptionRichHelpFormatter

    return RawDescriptionRichHelpFormatter


def _build_overview() -> argparse.ArgumentParser:
    width = max(map(len, COMMANDS))
    commands = "\n".join(f"  {name:{width}}  {about}" for name, about in COMMANDS.items())
    return argparse.ArgumentParser(
        prog="gate",
        usage="gate [COMMAND] [--help]",
        description="Coding agents stop and ask; you answer; the work goes on where it stopped.\n"
        "Without a command, gate lists the asks that wait. In a terminal, if there are runs, it\n"
        "opens gate tui.",
        epilog=f"commands:\n{commands}\n\n{EXIT_CODES}",
        formatter_class=_load_formatter(),
    )


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
    print(f"gate: {inert(str(error))}", file=sys.stderr)
    return error.exit_code
