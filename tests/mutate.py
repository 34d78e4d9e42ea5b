"""Mutants of `domain/`: small lies told in its code, and how many of them the tests notice.

python -m tests.mutate [FILE ...] [--show]   prints survivors and the score; fails below 85 %.
"""

from __future__ import annotations

import ast
import copy
import importlib.abc
import importlib.util
import os
import sys
from collections import Counter
from pathlib import Path
from typing import NamedTuple

SRC = Path(__file__).parents[1] / "src"
DOMAIN = SRC / "humangate" / "domain"
WANTED = 0.85
WORKERS = os.cpu_count() or 1
PATIENCE_SECONDS = 60

_COMPARISONS = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
}  # fmt: skip
_OPERATORS = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.FloorDiv, ast.FloorDiv: ast.Mult, ast.BitOr: ast.BitAnd,
}  # fmt: skip


class Mutant(NamedTuple):
    module: str
    line: int
    what: str
    source: str


def mutants_of(path: Path):
    """Every mutant of a file, one change each. Sentences in errors and docstrings are left alone."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    spared = _spared(tree)
    nodes = [node for node in ast.walk(tree) if id(node) not in spared]
    module = "humangate.domain" + ("" if path.stem == "__init__" else f".{path.stem}")
    for index, node in enumerate(nodes):
        for change in _changes(node):
            twin = copy.deepcopy(tree)
            spared_twin = _spared(twin)
            target = [n for n in ast.walk(twin) if id(n) not in spared_twin][index]
            what = change(target)
            yield Mutant(module, node.lineno, what, ast.unparse(ast.fix_missing_locations(twin)))


def _spared(tree):
    """What is no behaviour: docstrings, annotations, imports, sentences in errors."""
    spared = set()
    for node in ast.walk(tree):
        roots = []
        if isinstance(node, ast.Raise | ast.Import | ast.ImportFrom) or (
            isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        ):
            roots = [node]
        elif isinstance(node, ast.AnnAssign):
            roots = [node.annotation]
        elif isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            roots = [node]
        elif isinstance(node, ast.FunctionDef):
            arguments = node.args.args + node.args.kwonlyargs
            roots = [a.annotation for a in arguments if a.annotation] + [
                node.returns,
                *node.decorator_list,
            ]
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("Error"):
            roots = node.args
        elif isinstance(node, ast.JoinedStr):
            roots = [node]
        for root in filter(None, roots):
            spared |= {id(inner) for inner in ast.walk(root)}
    return spared


def _changes(node):
    if isinstance(node, ast.Compare) and type(node.ops[0]) in _COMPARISONS:
        yield _swap_comparison
    if isinstance(node, ast.BoolOp):
        yield _swap_bool
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield _drop_not
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        yield _swap_operator
    if isinstance(node, ast.Constant) and node.value is not None and node.value is not ...:
        yield _other_constant
    if isinstance(node, ast.If | ast.IfExp | ast.While):
        yield lambda n: _set(n, "test", ast.Constant(value=False), "never")
        if not isinstance(node, ast.While):
            yield lambda n: _set(n, "test", ast.Constant(value=True), "always")
    if isinstance(node, ast.Return) and node.value is not None and not _is_none(node.value):
        yield lambda n: _set(n, "value", ast.Constant(value=None), "returns None")


def _is_none(node):
    return isinstance(node, ast.Constant) and node.value is None


def _set(node, field, value, what):
    setattr(node, field, value)
    return what


def _swap_comparison(node):
    node.ops[0] = _COMPARISONS[type(node.ops[0])]()
    return f"comparison becomes {type(node.ops[0]).__name__}"


def _swap_bool(node):
    node.op = ast.Or() if isinstance(node.op, ast.And) else ast.And()
    return f"becomes {type(node.op).__name__}"


def _drop_not(node):
    node.op = ast.UAdd()
    node.operand = ast.Call(ast.Name("bool", ast.Load()), [node.operand], [])
    return "not is dropped"


def _swap_operator(node):
    node.op = _OPERATORS[type(node.op)]()
    return f"operator becomes {type(node.op).__name__}"


def _other_constant(node):
    before = node.value
    if isinstance(before, bool):
        node.value = not before
    elif isinstance(before, int | float):
        node.value = before + 1
    elif isinstance(before, str):
        node.value = f"{before}~"
    elif isinstance(before, bytes):
        node.value = before + b"~"
    return f"{before!r} becomes {node.value!r}"


class _Liar(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Gives the mutant instead of the module."""

    def __init__(self, mutant):
        self.mutant = mutant

    def find_spec(self, name, *_):
        if name != self.mutant.module:
            return None
        file = DOMAIN / f"{name.rpartition('.')[2]}.py"
        return importlib.util.spec_from_file_location(name, file, loader=self)

    def exec_module(self, module):
        exec(compile(self.mutant.source, module.__file__, "exec"), module.__dict__)


def survives(mutant: Mutant) -> bool:
    """Run the tests on one mutant, in the child of a fork; True when they notice nothing."""
    import pytest

    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, 1)
    os.dup2(quiet, 2)
    sys.meta_path.insert(0, _Liar(mutant))
    tests = ["tests/domain", "tests/service/test_verbs.py"]
    return pytest.main([*tests, "-x", "-q", "--assert=plain", "-p", "no:cacheprovider"]) == 0


def _judge(mutants):
    """Fork one child a mutant, as many at once as there are cores."""
    running: dict[int, Mutant] = {}
    waiting = list(reversed(mutants))
    done = 0
    while waiting or running:
        while waiting and len(running) < WORKERS:
            mutant = waiting.pop()
            pid = os.fork()
            if pid == 0:
                import signal

                signal.alarm(PATIENCE_SECONDS)
                os._exit(0 if survives(mutant) else 1)
            running[pid] = mutant
        pid, status = os.wait()
        mutant = running.pop(pid)
        done += 1
        print(f"\r{done} of {len(mutants)}", end="", file=sys.stderr, flush=True)
        yield mutant, os.waitstatus_to_exitcode(status) == 0
    print(file=sys.stderr)


def main() -> int:
    # Imported once here, so that no child has to; the domain itself is not.
    import hypothesis  # noqa: F401 - warmed up for the children
    import jsonschema_rs  # noqa: F401 - likewise
    import pytest  # noqa: F401 - likewise

    names = sys.argv[1:] or sorted(path.name for path in DOMAIN.glob("*.py"))
    honest = Mutant(
        "humangate.domain.asks", 0, "", (DOMAIN / "asks.py").read_text(encoding="utf-8")
    )
    if not next(_judge([honest]))[1]:
        print("The tests fail on the code as it is: mend that first.")
        return 2
    mutants = [mutant for name in names for mutant in mutants_of(DOMAIN / name)]
    killed: Counter[str] = Counter()
    total: Counter[str] = Counter()
    for mutant, survived in _judge(mutants):
        total[mutant.module] += 1
        killed[mutant.module] += not survived
        if survived:
            print(f"\rsurvived: {mutant.module}:{mutant.line} {mutant.what}")
    for module, count in total.items():
        print(f"{module:32} {killed[module]:4} of {count:4} killed  {killed[module] / count:.0%}")
    score = killed.total() / max(1, total.total())
    print(f"mutation score {score:.1%} of {total.total()} mutants (wanted: {WANTED:.0%})")
    return 0 if score >= WANTED else 1


if __name__ == "__main__":
    sys.exit(main())
