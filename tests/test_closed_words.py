"""Closed sets of words: the type checker finds typos, and no literal replaces a member."""

from __future__ import annotations

import ast
import importlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

import gatebell
from gatebell.api import enums as exported
from gatebell.domain import enums

SOURCE = Path(gatebell.__file__).parent
HOMES = (
    "domain.enums", "domain.audit.events", "domain.asks.file_questions", "domain.asks.outcomes",
    "domain.runs.session_log",
    "domain.tasks.backlog_settings", "domain.tasks.tasks", "domain.text.secret_values",
    "domain.runs.flow_terms", "api.human", "file_protocol.answers", "file_protocol.registry",
    "install.hold_test.rows", "install.json_entries", "install.model_apis",
    "web.asks.schema_fields", "domain.permissions.acts",
    "domain.permissions.past_calls",
)  # fmt: skip
# Names of fields and variables that hold members, wherever they are.
HOLDERS = frozenset(
    (
        "status",
        "state",
        "kind",
        "decision",
        "outcome",
        "answered_as",
        "strategy",
        "priority",
        "call.name",
        "cli",
    )
)


def classes():
    found = {}
    for home in HOMES:
        for name, value in vars(importlib.import_module(f"gatebell.{home}")).items():
            is_enum = isinstance(value, type) and issubclass(value, enums.StrEnum | enums.IntEnum)
            if (
                is_enum
                and value.__module__ == f"gatebell.{home}"
                and name[0] != "_"
                and list(value)
            ):
                found[name] = value.__module__
    return found


def holder(node):
    """Return the name of the compared field or variable."""
    if isinstance(node, ast.Attribute):
        is_call = node.attr == "name" and ast.unparse(node.value).endswith("call")
        return "call.name" if is_call else node.attr
    return node.id if isinstance(node, ast.Name) else ""


def is_literal(node):
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def is_word_comparison(left, operator, right):
    if isinstance(operator, ast.In | ast.NotIn):
        listed = right.elts if isinstance(right, ast.Tuple | ast.List | ast.Set) else []
        return holder(left) in HOLDERS and any(map(is_literal, listed))
    return any(
        holder(one) in HOLDERS and is_literal(other)
        for one, other in ((left, right), (right, left))
    )


def compared_words(source):
    """Yield each comparison of a holder with a literal, as (line, code)."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            if any(map(is_word_comparison, sides, node.ops, sides[1:])):
                yield node.lineno, ast.unparse(node)
        elif isinstance(node, ast.Match) and holder(node.subject) in HOLDERS:
            values = [one for one in ast.walk(node) if isinstance(one, ast.MatchValue)]
            if any(is_literal(one.value) for one in values):
                yield node.lineno, f"match {ast.unparse(node.subject)}"


def list_enums():
    """Return each public enum of the package, by its module."""
    sources = {path: path.read_text(encoding="utf-8") for path in SOURCE.rglob("*.py")}
    # To parse every file takes a second.
    for path in [path for path, source in sources.items() if "Enum)" in source]:
        for node in ast.parse(sources[path]).body:
            bases = [ast.unparse(base) for base in getattr(node, "bases", ())]
            if {"StrEnum", "IntEnum"} & set(bases) and not node.name.startswith("_"):
                yield ".".join(path.relative_to(SOURCE).with_suffix("").parts), node.name


@pytest.mark.proves("ENUM-2")
def test_homes_of_the_enums_are_complete():
    homes, names = zip(*list_enums(), strict=True)
    assert (set(homes), set(names)) == (set(HOMES), set(classes()))


@pytest.mark.proves("ENUM-2")
def test_type_checker_reports_a_typo_in_each_enum(tmp_path):
    lines = [f"from {home} import {name}" for name, home in classes().items()]
    imports = len(lines)
    for name, home in classes().items():
        member = next(iter(getattr(importlib.import_module(home), name))).name
        lines += [f"{name}.{member}.value", f"{name}.{member}X.value"]
    lines += [
        "from gatebell.domain.asks.asks import Ask",
        "def settle(ask: Ask) -> Ask:",
        "    if ask.status == AskStatus.PENDNG:",
        '        return ask._replace(status="answerd")',
        "    return ask._replace(status=AskStatus.ANSWERED)",
    ]
    (tmp_path / "planted.py").write_text("\n".join(lines) + "\n")
    checked = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--config-file", os.devnull,
         "--cache-dir", str(tmp_path), "--follow-imports=silent", "planted.py"],
        cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False,
        env=os.environ | {"MYPYPATH": str(SOURCE.parent)},
    )  # fmt: skip
    found = [int(line.split(":")[1]) for line in checked.stdout.splitlines() if ": error:" in line]
    after = imports + 2 * len(classes())
    assert sorted(set(found)) == [*range(imports + 2, after + 1, 2), after + 3, after + 4]


@pytest.mark.proves("ENUM-3")
def test_no_literal_is_compared_with_a_closed_word():
    found = {
        f"{path.relative_to(SOURCE)}:{line}: {code}"
        for path in sorted(SOURCE.rglob("*.py"))
        for line, code in compared_words(path.read_text(encoding="utf-8"))
    }
    assert found == set()


@pytest.mark.proves("ENUM-3")
@pytest.mark.parametrize(
    "code",
    [
        'ask.status == "pendng"', '"closed" != task.state', 'kind in ("text", "choice")',
        'run.state not in {"ready"}', 'f(x).decision == "approved" or y',
        'match call.state:\n    case "open" | "held":\n        pass',
    ],
)  # fmt: skip
def test_planted_literal_is_found(code):
    assert list(compared_words(code))


@pytest.mark.proves("ENUM-3")
@pytest.mark.parametrize(
    "code",
    ["ask.status == AskStatus.PENDING", 'block["type"] == "text"', 'mode == "r"', '"id" in state'],
)
def test_other_comparisons_are_left_alone(code):
    assert not list(compared_words(code))


@pytest.mark.proves("ENUM-4")
def test_enums_that_users_meet_are_exported():
    assert set(exported.__all__) <= set(classes())
    wanted = {"AskStatus", "AskKind", "Decision", "AnswerOutcome", "RunState", "CallState"}
    assert wanted | {"TaskState", "Priority", "SessionOutcome"} <= set(exported.__all__)
    # One module holds them, so the package has few names.
    assert not set(exported.__all__) & set(gatebell.__all__)
