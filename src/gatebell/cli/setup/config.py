"""Show the settings and their sources; with a name, only the value of that setting.

Example: gate config
Example: gate config store
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from gatebell.app.settings import (
    MODELS,
    Value,
    models,
    read_settings,
    routes,
    settings_file,
    store_name,
    templates,
)
from gatebell.cli.screen import columns, print_json
from gatebell.domain.enums import ChannelKind
from gatebell.domain.notifications.routes import Route
from gatebell.domain.text.suggestions import suggest
from gatebell.errors import NotFoundError

if TYPE_CHECKING:
    import argparse


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", nargs="?", help="the name of one setting")
    parser.add_argument("--json", action="store_true", help="print one JSON object (docs/json.md)")


def run(args: argparse.Namespace) -> int:
    values = read_settings(os.environ)
    values["store"] = values["store"]._replace(text=store_name(os.environ))
    # Routes contain passwords, so only their names are shown.
    command = values["notify_cmd"]
    values["notify_cmd"] = command._replace(
        text=command.text and Route(ChannelKind.COMMAND, command.text).name
    )
    names = ", ".join(route.name for route in routes(os.environ))
    values["notify"] = Value(names, settings_file(os.environ) if names else "default")
    model_names = models(os.environ)
    words = "; ".join(
        f"{cli}: " + ", ".join(f"{word} {model or '(its own)'}" for word, model in one.items())
        for cli, one in model_names.items()
    )
    values["models"] = Value(
        words, "default" if model_names == MODELS else settings_file(os.environ)
    )
    ready = ", ".join(templates(os.environ))
    values["templates"] = Value(ready, settings_file(os.environ) if ready else "default")
    if args.name and args.name not in values:
        meant = suggest(args.name, values) or f"; the settings are {', '.join(values)}"
        raise NotFoundError(f"unknown setting {args.name!r}{meant}")
    if args.name:
        print_json(values[args.name]._asdict()) if args.json else print(values[args.name].text)
    elif args.json:
        print_json({name: value._asdict() for name, value in values.items()})
    else:
        for name, value in values.items():
            print(_fold(f"{name:20} {value.text or '-'}  ({value.source})"))
        print(f"\nSettings file: {settings_file(os.environ)}")
    return 0


def _fold(line: str) -> str:
    """Wrap a line that is too wide for the terminal; no path is broken."""
    if not sys.stdout.isatty() or len(line) <= columns():
        return line
    # Imported here: only a narrow terminal needs it.
    from textwrap import fill

    return fill(
        line, columns(), subsequent_indent=" " * 21, break_long_words=False, break_on_hyphens=False
    )
