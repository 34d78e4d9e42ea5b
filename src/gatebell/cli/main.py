"""The front of `gate`: finds the command, runs it, and turns errors into exit codes."""

from __future__ import annotations

import argparse
import gc
import os
import sys
from importlib import import_module
from typing import Any

from gatebell.errors import GateError, UsageError

# The module of each command, and what `gate --help` says of it.
_COMMANDS = {
    "ask": ("cli.asks.ask", "ask a person and wait for the answer"),
    "answer": ("cli.asks.answer", "answer an ask"),
    "ask-back": ("cli.asks.ask_back", "send the asker a message without settling"),
    "reply": ("cli.asks.reply", "reply to what a person asked back"),
    "inbox": ("cli.asks.inbox", "list what is waiting, or answer one after the other"),
    "tui": ("cli.runs.tui", "runs and asks on one screen: look, answer, continue, stop"),
    "show": ("cli.asks.show", "show one ask with everything around it"),
    "wait": ("cli.asks.wait", "wait for an ask that was opened before"),
    "cancel": ("cli.asks.cancel", "withdraw an ask"),
    "history": ("cli.asks.history", "list settled asks"),
    "respond": ("cli.tasks.respond", "answer a task that waits for you"),
    "task": ("cli.tasks.task", "the backlog: create, list, show, tree, update, close, import …"),
    "run": ("cli.runs.run", "run a flow: agents work, people are asked, nothing is lost"),
    "list": ("cli.runs.list", "list runs, and what they wait for"),
    "status": ("cli.runs.status", "how far one run is, and what it needs"),
    "continue": (
        "cli.sessions.continue_session",
        "open the session of the agent that waits for you",
    ),
    "watch": ("cli.runs.watch", "follow a run until it ends"),
    "logs": ("cli.runs.logs", "what the agents of a run said"),
    "plan": ("cli.runs.plan", "a run as XML: calls, branches, and where people came in"),
    "diff": ("cli.runs.diff", "what the agents of a run changed"),
    "flows": ("cli.runs.flows", "list flows, or show one"),
    "agents": ("cli.runs.agents", "list the roles that flows and tasks can use"),
    "signal": ("cli.runs.signal", "give a run the signal it waits for"),
    "stop": ("cli.runs.stop", "end a run, its agents and its asks"),
    "kill": ("cli.runs.stop", "the same as stop"),
    "resume": ("cli.runs.resume", "take up a run where it stopped"),
    "delete": ("cli.runs.delete", "forget a run that has ended"),
    "clean": ("cli.runs.clean", "remove the folders of completed runs, where no work is lost"),
    "listen": (
        "cli.asks.listen",
        "answer agents that ask by files, by windows or in this terminal",
    ),
    "worker": ("cli.runs.worker", "drive runs as they become ready"),
    "up": (
        "cli.server.up",
        "the inbox in the browser, runs, notifications and deadlines, in one process",
    ),
    "link": ("cli.server.link", "make a link into the web inbox that is running"),
    "down": ("cli.server.down", "end gate up"),
    "person": ("cli.people.person", "people, their personal tokens and their groups"),
    "gates": (
        "cli.permissions.gates",
        "patterns of calls that a person is asked about, or that are denied",
    ),
    "grants": ("cli.permissions.grants", "what a person has allowed beyond one call"),
    "template": ("cli.asks.template", "answers written beforehand: list, show, set, delete"),
    "init": (
        "cli.setup.init",
        "set a project up: the agents' instructions, the backlog's terms, questions in files",
    ),
    "install": (
        "cli.setup.install",
        "set up Claude Code, Codex, Gemini CLI or opencode to ask here",
    ),
    "uninstall": ("cli.setup.uninstall", "take that back, byte for byte"),
    "mcp": ("mcp.command", "the tools by which agents ask (an MCP server on stdin and stdout)"),
    "hook": ("hooks.command", "the door for hosts that ask before a tool is used"),
    "notify": (
        "cli.notifications.notify",
        "notifications that something waits: list the routes, test them, send",
    ),
    "dialog": (
        "cli.asks.dialog",
        "windows that ask you on the desktop: which program works, and a test",
    ),
    "audit": ("cli.setup.audit", "the audit trail: log, verify, head"),
    "doctor": ("cli.setup.doctor", "check the store and say how far it can be trusted"),
    "config": ("cli.setup.config", "show the settings and where they come from"),
    "demo": ("cli.setup.demo", "see it work, in a throwaway project"),
    "completion": ("cli.setup.completion", "print a completion script for your shell"),
}
COMMANDS = {name: about for name, (_, about) in _COMMANDS.items()}

# Where options may stand among the words; it takes longer to parse.
_ANY_ORDER = ("run", "respond", "template")

# Their stderr is read by programs.
_FOR_PROGRAMS = ("hook", "mcp", "completion")

_INTERRUPTED = 130

EXIT_CODES = """exit codes:
  0 answered (approval: approved)   1 unexpected failure   2 usage
  3 timed out   4 cancelled   5 not found   6 already answered   7 refused
  8 store trouble   10 rejected   11 not answered yet   130 interrupted
  of a run: 0 completed   12 failed   13 stuck"""


def program() -> int:
    """`gate` as a process of its own."""
    # Nothing here makes garbage in circles, and looking for it takes a tenth of the time.
    gc.disable()
    code = main()
    gc.freeze()
    return code


def main(argv: list[str] | None = None) -> int:
    """Run one command; returns its exit code."""
    words = [_readable(word) for word in (sys.argv[1:] if argv is None else argv)]
    name = words[0] if words else ""
    as_json = "--json" in words
    if sys.stdout is None:
        # An answer printed to nobody would count as handed over.
        return _complain(UsageError("there is no standard output to write to"), as_json=False)
    if sys.stderr is None:
        # What is meant for it would land in the output, and so would what a flow prints.
        sys.stderr = os.fdopen(os.open(os.devnull, os.O_WRONLY), "w", encoding="utf-8")
    _speak_utf8(sys.stdout, sys.stderr)
    try:
        if name in ("-h", "--help", "help"):
            print(_overview().format_help(), end="")
            return 0
        if name == "--version":
            return _version()
        name = name or _front()
        if name not in COMMANDS:
            raise UsageError(f"there is no command {name!r}; gate --help lists them")
        parser = parser_of(name, helping="-h" in words or "--help" in words)
        parse = parser.parse_intermixed_args if name in _ANY_ORDER else parser.parse_args
        arguments = parse(words[1:])
        if sys.stderr.isatty() and not as_json and name not in _FOR_PROGRAMS:
            _mention_old_folders()
        code = _module(name).run(arguments)
        sys.stdout.flush()
        return int(code)
    except GateError as error:
        return _complain(error, as_json)
    except BrokenPipeError:
        # Whoever read our output is gone; what was not handed over stays untaken.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 1
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return _complain(GateError(f"this went wrong: {error}"), as_json=False)
    except KeyboardInterrupt:
        print(file=sys.stderr)
        return _INTERRUPTED


def _mention_old_folders() -> None:
    """Say which folders keep the old name, and how to end that sentence."""
    # Imported here: only a person at a terminal reads it.
    import shlex

    from gatebell.app.settings import NAME, OLD_NAME, old_folders
    from gatebell.domain.text.display import inert

    if found := old_folders(os.environ):
        links = [os.path.join(os.path.dirname(folder), NAME) for folder in found]
        ends = " && ".join(f"ln -s {OLD_NAME} {shlex.quote(link)}" for link in links)
        said = f"gate: {' and '.join(found)} kept the old name and will be used as before"
        print(inert(f"{said}; to end this line: {ends}"), file=sys.stderr)


def _speak_utf8(*streams: Any) -> None:
    """Whatever the locale: another alphabet cannot hold every answer, and none may be misread."""
    for stream in streams:
        if getattr(stream, "encoding", "utf-8").lower() != "utf-8":
            stream.reconfigure(encoding="utf-8")


def _front() -> str:
    """What bare `gate` opens. Whoever reads it through a pipe gets the inbox at once."""
    if not sys.stdout.isatty():
        return "inbox"
    # Imported here: no other command needs to know.
    from gatebell.cli.runs.tui import is_wanted

    return "tui" if is_wanted() else "inbox"


def parser_of(name: str, helping: bool = False) -> argparse.ArgumentParser:
    """The parser of one command; the others are not even imported."""
    module = _module(name)
    parser = argparse.ArgumentParser(
        prog=f"gate {name}",
        description=_fold_paragraphs(module.__doc__) if helping else module.__doc__,
        epilog=EXIT_CODES,
        formatter_class=_formatter() if helping else _plain_formatter,
        allow_abbrev=False,
    )
    module.configure(parser)
    return parser


def _module(name: str) -> Any:
    return import_module(f"gatebell.{_COMMANDS[name][0]}")


def _plain_formatter(prog: str) -> argparse.HelpFormatter:
    # argparse makes one for every option; asked for the width, it would load shutil each time.
    return argparse.RawDescriptionHelpFormatter(prog, width=100)


def _fold_paragraphs(text: str) -> str:
    """The paragraphs of a help text; one that is too wide for the screen is laid out anew."""
    import shutil
    import textwrap

    # As wide as argparse writes.
    width = max(20, shutil.get_terminal_size().columns - 2)
    return "\n\n".join(
        paragraph
        if all(len(line) <= width for line in paragraph.splitlines())
        else textwrap.fill(paragraph, width, break_long_words=False, break_on_hyphens=False)
        for paragraph in text.strip("\n").split("\n\n")
    )


def _formatter() -> Any:
    from rich_argparse import RawDescriptionRichHelpFormatter

    return RawDescriptionRichHelpFormatter


def _overview() -> argparse.ArgumentParser:
    width = max(map(len, COMMANDS))
    commands = "\n".join(f"  {name:{width}}  {about}" for name, about in COMMANDS.items())
    return argparse.ArgumentParser(
        prog="gate",
        usage="gate [COMMAND] [--help]",
        description="Coding agents stop and ask; you answer; the work goes on where it stopped.\n"
        "Without a command, gate shows what is waiting; in a terminal, where there are runs, by gate tui.",
        epilog=f"commands:\n{commands}\n\n{EXIT_CODES}",
        formatter_class=_formatter(),
    )


def _version() -> int:
    from gatebell import __version__

    print(f"gate {__version__}")
    return 0


def _readable(word: str) -> str:
    """An argument that was not UTF-8 becomes text with marks where it was not."""
    if word.isascii():
        return word
    return os.fsencode(word).decode("utf-8", "replace")


def _complain(error: GateError, as_json: bool) -> int:
    from gatebell.domain.text.display import inert

    if as_json:
        import json

        print(json.dumps({"error": str(error), "exit_code": error.exit_code}))
    print(f"gate: {inert(str(error))}", file=sys.stderr)
    return error.exit_code
