"""What flow files say of themselves, read without running them."""

from __future__ import annotations

from typing import NamedTuple

from humangate.errors import GateError
from humangate.workspaces import flow_files


class Listed(NamedTuple):
    """A flow file that is known by its name."""

    name: str
    path: str
    flows: tuple[str, ...] = ()
    """The functions in it that are flows."""
    about: str = ""
    """The first line of what it says about itself."""
    trouble: str = ""
    """Why it cannot be read."""


def listed(project: str) -> list[Listed]:
    return [_described(one.name, one.path) for one in flow_files.all(project)]


def _described(name: str, path: str) -> Listed:
    # Imported here: only who lists flows reads them as texts.
    import ast

    try:
        tree = ast.parse(flow_files.read(path)[0].removeprefix("\ufeff"), path)
    except GateError as error:
        return Listed(name, path, trouble=str(error))
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        line = getattr(error, "lineno", None)
        where = f"{path}, line {line}" if line else path
        return Listed(name, path, trouble=f"{where}: {type(error).__name__}: {error}")
    flows = [
        node
        for node in tree.body
        if isinstance(node, ast.FunctionDef) and any(map(_is_flow, node.decorator_list))
    ]
    own = [node for node in flows if node.name == name.replace("-", "_")] or flows
    texts = [*map(ast.get_docstring, own[:1]), ast.get_docstring(tree)]
    about = next((text.strip().splitlines()[0] for text in texts if text and text.strip()), "")
    return Listed(name, path, tuple(node.name for node in flows), about)


def _is_flow(decorator: object) -> bool:
    """`@flow`, `@flow(…)`, `@humangate.flow`, `@humangate.flow(…)`."""
    import ast

    named = decorator.func if isinstance(decorator, ast.Call) else decorator
    return (isinstance(named, ast.Name) and named.id == "flow") or (
        isinstance(named, ast.Attribute) and named.attr == "flow"
    )
