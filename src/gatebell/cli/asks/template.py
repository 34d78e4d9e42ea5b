"""Manage prepared answers, for gate answer --template NAME.

{{title}}, {{id}}, {{question}}, {{context}}, {{role}}, {{person}} and {{date}} are filled in from
the ask. Give any other {{name}} with --set name=value when you answer.

Example: gate template set later "Not now, {{title}} comes after the release"
Example: gate answer tm-4f2 --template later
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from gatebell.app import environment, project_files
from gatebell.cli.asks.editor import edit_text
from gatebell.cli.identity import add_identity, read_text
from gatebell.cli.screen import add_colour, can_prompt, columns, print_json, say
from gatebell.cli.setup.install import check_person
from gatebell.cli.verbs import add_verbs
from gatebell.domain.asks.templates import variables_in
from gatebell.domain.text.display import cell, inert_line
from gatebell.errors import NotFoundError, UsageError
from gatebell.install import settings_files

if TYPE_CHECKING:
    import argparse

    from gatebell.domain.asks.templates import Template

_VERBS = {
    "list": "list the prepared answers",
    "show NAME": "print one",
    "set NAME [TEXT]": "write or replace one",
    "delete NAME": "delete one",
}


def configure(parser: argparse.ArgumentParser) -> None:
    add_verbs(parser, _VERBS, default="list")
    parser.add_argument("name", nargs="?", default="", help="the name of the template")
    parser.add_argument("text", nargs="?", default="", help="the text of the answer")
    parser.add_argument(
        "--file", metavar="F", help="read the text from a file, or - for standard input"
    )
    parser.add_argument("-e", "--edit", action="store_true", help="write it in your editor")
    parser.add_argument(
        "--project", action="store_true", help="keep it in this project, not only for you"
    )
    add_identity(parser)
    parser.add_argument("--names", action="store_true", help="with list: print names only")
    parser.add_argument("--json", action="store_true", help="print JSON (docs/json.md)")


def run(args: argparse.Namespace) -> int:
    project = environment.project(os.getcwd())
    if (args.verb == "list") == bool(args.name):
        raise UsageError("show, set and delete need a NAME; list takes none")
    if args.verb != "set" and (args.text or args.file or args.edit):
        raise UsageError(f"gate template {args.verb} takes no text; use gate template set")
    if args.verb == "list":
        return _list_names(project) if args.names else _list(project, args.json)
    if args.verb == "show":
        return _show(project_files.template(project, args.name), args.json)
    path = project_files.template_path(project if args.project else "", args.name)
    check_person(args, "changes prepared answers")
    return _set(project, path, args) if args.verb == "set" else _delete(project, path, args.name)


def _list(project: str, as_json: bool) -> int:
    templates, problems = project_files.templates(project)
    if as_json:
        documents = [_describe_template(template) for template in templates]
        print_json({"templates": documents, "problems": problems})
        return 0
    if not templates:
        print("There are no templates here. To add one: gate template set NAME TEXT")
    wide = max((len(template.name) for template in templates), default=0)
    for template in templates:
        about = inert_line(template.text, max(20, columns() - wide - 2))
        print(f"{cell(template.name, wide)}  {about}")
        print(add_colour(f"{'':{wide}}  {inert_line(template.source)}", "dim"))
    for problem in problems:
        print(f"gate: {inert_line(problem)}", file=sys.stderr)
    return 0


def _list_names(project: str) -> int:
    for template in project_files.templates(project).templates:
        print(template.name)
    return 0


def _show(template: Template, as_json: bool) -> int:
    print_json(_describe_template(template)) if as_json else say(template.text)
    return 0


def _describe_template(template: Template) -> dict[str, object]:
    return {**template._asdict(), "variables": variables_in(template.text)}


def _set(project: str, path: str, args: argparse.Namespace) -> int:
    text = _read_template_text(path, args).strip()
    if not text:
        raise UsageError("the template is empty, so nothing was changed; give it a text")
    settings_files.write(path, f"{text}\n".encode(), private=not args.project)
    print(f"Written: {inert_line(path)}")
    if (first := project_files.template(project, args.name).source) != path:
        print(f"But in this folder {inert_line(first)} has priority.")
    return 0


def _read_template_text(path: str, args: argparse.Namespace) -> str:
    if args.text and args.file:
        raise UsageError("give TEXT or --file, not both")
    text: str = read_text(args.file) if args.file else args.text
    if text and not args.edit:
        return text
    if not args.edit and not can_prompt():
        raise UsageError("the template needs a text: give TEXT, --file F or --edit")
    written, code, _ = edit_text(text or settings_files.text_of(settings_files.read(path), path))
    if code:
        raise UsageError(f"the editor ended with exit code {code}, so nothing was changed")
    return written


def _delete(project: str, path: str, name: str) -> int:
    if not os.path.lexists(path):
        where = project_files.template(project, name).source
        raise NotFoundError(f"{path} does not exist; the template {name} is in {where}")
    settings_files.remove(path)
    print(f"Removed: {inert_line(path)}")
    return 0
