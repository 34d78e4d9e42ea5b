"""Makes mutants of `domain/`: copies of a file with one small change each."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

DOMAIN = Path(__file__).parents[2] / "src" / "gatebell" / "domain"

_COMPARISONS = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
}  # fmt: skip
_OPERATORS = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.FloorDiv, ast.FloorDiv: ast.Mult, ast.BitOr: ast.BitAnd,
}  # fmt: skip


class Mutant(NamedTuple):
    path: Path
    line: int
    what: str
    # The function whose body is changed; None for a change that takes effect at import.
    function: str | None
    # Which node is changed, and which of its changes it is.
    node: int
    change: int

    @property
    def module(self) -> str:
        return name_module(self.path)

    def write(self) -> str:
        """Write the source of the mutant."""
        tree = _parse(self.path)
        node = _changeable(tree)[self.node]
        list(_changes(node))[self.change](node)
        return ast.unparse(ast.fix_missing_locations(tree))


def name_module(path: Path) -> str:
    """Name the module that this file of `domain/` holds: `gatebell.domain.asks.forms`."""
    inside = path.relative_to(DOMAIN).with_suffix("").parts
    return ".".join(["gatebell", "domain", *(part for part in inside if part != "__init__")])


def find_mutants(path: Path) -> Iterator[Mutant]:
    """Find every mutant of a file, except in docstrings, annotations and the texts of errors."""
    tree = _parse(path)
    functions = _functions_of_nodes(tree)
    for index, node in enumerate(_changeable(tree)):
        for number, change in enumerate(_changes(node)):
            what = change(copy.deepcopy(node))
            yield Mutant(path, node.lineno, what, functions.get(id(node)), index, number)


def _parse(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def _changeable(tree: ast.AST) -> list[ast.AST]:
    spared = _find_spared(tree)
    return [node for node in ast.walk(tree) if id(node) not in spared]


def _functions_of_nodes(tree: ast.Module) -> dict[int, str]:
    """Map each node inside a function's body to the name of its outermost function."""
    names: dict[int, str] = {}
    owners = [("", tree.body)]
    owners += [(f"{n.name}.", n.body) for n in tree.body if isinstance(n, ast.ClassDef)]
    for prefix, body in owners:
        for function in body:
            if isinstance(function, ast.FunctionDef):
                inner = [node for line in function.body for node in ast.walk(line)]
                names.update({id(node): prefix + function.name for node in inner})
    return names


def _find_spared(tree):
    """Find the nodes without behaviour: docstrings, annotations, imports, texts of errors."""
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
