"""Read the names and descriptions of flow files without running them."""

from __future__ import annotations

from typing import NamedTuple

from gatebell.adapters.files import flow_files
from gatebell.errors import GateError


class Listed(NamedTuple):
    """A flow file that is known by its name."""

    name: str
    path: str
    flows: tuple[str, ...] = ()
    """The functions and workflows in it that can be run."""
    about: str = ""
    """The first line of its description."""
    problem: str = ""
    """Why it cannot be read."""


def list_flows(project: str) -> list[Listed]:
    return [_describe_flow(one.name, one.path) for one in flow_files.list_files(project)]


def _describe_flow(name: str, path: str) -> Listed:
    # Imported here: only the list of flows parses them.
    import ast

    try:
        tree = ast.parse(flow_files.read(path)[0].removeprefix("\ufeff"), path)
    except GateError as error:
        return Listed(name, path, problem=str(error))
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        line = getattr(error, "lineno", None)
        where = f"{path}, line {line}" if line else path
        return Listed(name, path, problem=f"{where}: {type(error).__name__}: {error}")
    flows = {named: node for node in tree.body for named in _find_flow_names(node)}
    own = flows.get(name.replace("-", "_")) or next(iter(flows.values()), None)
    texts = [
        ast.get_docstring(own) if isinstance(own, ast.FunctionDef) else None,
        ast.get_docstring(tree),
    ]
    about = next((text.strip().splitlines()[0] for text in texts if text and text.strip()), "")
    return Listed(name, path, tuple(flows), about)


def _find_flow_names(node: object) -> list[str]:
    """Return the names of the flows that a statement defines."""
    import ast

    if isinstance(node, ast.FunctionDef):
        return [node.name] if any(_is(one, "flow") for one in node.decorator_list) else []
    if isinstance(node, ast.Assign | ast.AnnAssign):
        made = isinstance(node.value, ast.Call) and _is(node.value, "Workflow")
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        return [one.id for one in targets if made and isinstance(one, ast.Name)]
    return []


def _is(used: object, word: str) -> bool:
    """Match `flow`, `flow(…)`, `gatebell.flow` and `gatebell.flow(…)`."""
    import ast

    named = used.func if isinstance(used, ast.Call) else used
    return (isinstance(named, ast.Name) and named.id == word) or (
        isinstance(named, ast.Attribute) and named.attr == word
    )
