"""Answers that you have written beforehand, for gate respond --template NAME.

{{title}}, {{id}}, {{question}}, {{context}}, {{role}}, {{person}} and {{date}} stand for what is asked;
any other {{name}} is given by --set name=value when you answer.
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
from gatebell.domain.asks.templates import variables_in
from gatebell.domain.text.display import cell, inert_line
from gatebell.errors import NotFoundError, UsageError
from gatebell.install import settings_files

if TYPE_CHECKING:
    import argparse

    from gatebell.domain.asks.templates import Template


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "verb",
        nargs="?",
        default="list",
        choices=("list", "show", "set", "delete"),
        help="list | show NAME | set NAME [TEXT] | delete NAME",
    )
    parser.add_argument("name", nargs="?", default="", help="of the template")
    parser.add_argument("text", nargs="?", default="", help="of the answer")
    parser.add_argument("--file", metavar="F", help="a file that holds the text; - for stdin")
    parser.add_argument("-e", "--edit", action="store_true", help="write it in your editor")
    parser.add_argument(
        "--project", action="store_true", help="for the project you are in, not for you alone"
    )
    add_identity(parser)
    parser.add_argument("--names", action="store_true", help="list: print names only")
    parser.add_argument("--json", action="store_true", help="print JSON (docs/json.md)")


def run(args: argparse.Namespace) -> int:
    project = environment.project(os.getcwd())
    if (args.verb == "list") == bool(args.name):
        raise UsageError("gate template lists them; with show, set or delete, name one")
    if args.verb != "set" and (args.text or args.file or args.edit):
        raise UsageError(f"gate template {args.verb} takes no text; gate template set does")
    if args.verb == "list":
        return _list_names(project) if args.names else _list(project, args.json)
    if args.verb == "show":
        return _show(project_files.template(project, args.name), args.json)
    path = project_files.template_path(project if args.project else "", args.name)
    check_person(args, "says what people answer")
    return _set(project, path, args) if args.verb == "set" else _delete(project, path, args.name)


def _list(project: str, as_json: bool) -> int:
    templates, problems = project_files.templates(project)
    if as_json:
        told = [_describe_template(template) for template in templates]
        print_json({"templates": told, "problems": problems})
        return 0
    if not templates:
        print("There are no templates here: gate template set NAME TEXT makes one")
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
    text = _text(path, args).strip()
    if not text:
        raise UsageError("a template cannot be empty, so nothing was changed")
    settings_files.write(path, f"{text}\n".encode(), private=not args.project)
    print(f"Written: {inert_line(path)}")
    if (first := project_files.template(project, args.name).source) != path:
        print(f"But here {inert_line(first)} comes first.")
    return 0


def _text(path: str, args: argparse.Namespace) -> str:
    if args.text and args.file:
        raise UsageError("give the text or a file with it, not both")
    text: str = read_text(args.file) if args.file else args.text
    if text and not args.edit:
        return text
    if not args.edit and not can_prompt():
        raise UsageError("say what the template says: a text, --file F, or --edit")
    written, code, _ = edit_text(text or settings_files.text_of(settings_files.read(path), path))
    if code:
        raise UsageError(f"the editor ended with exit code {code}, so nothing was changed")
    return written


def _delete(project: str, path: str, name: str) -> int:
    if not os.path.lexists(path):
        where = project_files.template(project, name).source
        raise NotFoundError(f"{path} is not there; the template {name} stands in {where}")
    settings_files.remove(path)
    print(f"Removed: {inert_line(path)}")
    return 0
