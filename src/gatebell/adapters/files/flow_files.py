"""Flow files: where they are found, and how they become code.

A flow file is a module of its own. Modules that lie beside it can be imported while it is being
loaded (imports at its top), behind Python's own modules and before installed ones. A run records
the digest of the flow file, not of those; when one of them changes, it is loaded anew.
"""

from __future__ import annotations

import os
import re
import sys
import threading
from typing import TYPE_CHECKING, Any, NamedTuple

from gatebell.adapters.files.text_files import (
    names_in,
    read_text,
    refuse_outside,
    refuse_worktree,
    user_folder,
)
from gatebell.domain.digests import text_digest
from gatebell.errors import NotFoundError, UsageError

if TYPE_CHECKING:
    from types import ModuleType

_SIGN = "gatebell_flow"
_loading = threading.RLock()


class FlowFile(NamedTuple):
    """A file that is found by its name."""

    name: str
    path: str


class _Loaded(NamedTuple):
    module: ModuleType
    beside: dict[str, tuple[int, int]]
    """The files that it imported from its own folder, as they were: time of change, size."""


_loaded: dict[tuple[str, str], _Loaded] = {}


def split_flow_name(named: str) -> tuple[str, str]:
    """`feature.py:deploy` is the flow `deploy` in `feature.py`; nothing behind `:` is any."""
    file, colon, flow = named.rpartition(":")
    return (file, flow) if colon and flow.isidentifier() else (named, "")


def find(project: str, named: str) -> str:
    """The path of a flow file, named by its path or, among the known ones, by its name."""
    file, _ = split_flow_name(named)
    if file.endswith(".py") or os.sep in file:
        path = os.path.abspath(os.path.expanduser(file))
        if not os.path.exists(path):
            raise NotFoundError(f"there is no flow file {path}{_there(project)}")
    else:
        known = {one.name: one.path for one in all(project)}
        if file not in known:
            wanted = os.path.join(project, ".gate", "flows", f"{file}.py")
            raise NotFoundError(f"there is no flow {file!r} ({wanted}){_there(project)}")
        path = known[file]
        if path.startswith(os.path.join(project, "")):
            refuse_outside(path, project)
    refuse_worktree(path)
    return path


def _there(project: str) -> str:
    names = [one.name for one in all(project)]
    return f"; there are {', '.join(names)}" if names else "; a flow is a file in .gate/flows/"


def all(project: str) -> list[FlowFile]:  # noqa: A001 - it reads as flow_files.all
    """The flow files that are known by name: the project's hide the user's."""
    folders = [user_folder("flows"), os.path.join(project, ".gate", "flows")]
    found = {
        name: os.path.join(folder, f"{name}.py")
        for folder in folders
        for name in names_in(folder, ".py")
    }
    return [FlowFile(name, path) for name, path in sorted(found.items())]


def read(path: str) -> tuple[str, str]:
    """The source of a flow file, and its digest."""
    source = read_text(path)
    return source, text_digest(source)


def load(path: str, source: str, digest: str) -> ModuleType:
    """The module that a source is; the same one as long as nothing has changed."""
    with _loading:
        known = _loaded.get((path, digest))
        if known is None or known.beside != _stamps(known.beside):
            known = _loaded[path, digest] = _execute(path, source, digest)
        return known.module


def _execute(path: str, source: str, digest: str) -> _Loaded:
    # Imported here: only whoever drives runs needs them.
    import importlib
    import linecache
    from types import ModuleType

    from gatebell.adapters.files import old_imports

    old_imports.accept()
    stem = re.sub(r"\W", "_", os.path.basename(path).removesuffix(".py"))
    # In sys.modules for dataclasses and the like, under a name that nobody else can have.
    module = ModuleType(f"_gate_flow_{stem}_{text_digest(path + digest)[:16]}")
    module.__file__ = path
    # Tracebacks show what was run, even when the file is another by then.
    lines = [f"{line}\n" for line in source.replace("\r\n", "\n").split("\n")]
    linecache.cache[path] = (len(source), None, lines, path)
    before, bytecode = set(sys.modules), sys.dont_write_bytecode
    folder = os.path.dirname(path)
    is_new = folder not in sys.path
    if is_new:
        sys.path.insert(_behind_pythons_own(), folder)
    sys.modules[module.__name__] = module
    sys.dont_write_bytecode = True
    importlib.invalidate_caches()
    try:
        code = compile(source.removeprefix("\ufeff"), path, "exec", dont_inherit=True)
        exec(code, vars(module))  # noqa: S102 - a flow file is the user's own program
    except (Exception, SystemExit) as error:
        del sys.modules[module.__name__]
        raise UsageError(_problem(path, error)) from error
    finally:
        sys.dont_write_bytecode = bytecode
        if is_new and folder in sys.path:
            sys.path.remove(folder)
        beside = _forget_neighbours(folder, before)
        old_imports.forget()
    return _Loaded(module, _stamps(beside))


def leans_on_package(source: str) -> bool:
    """Whether it imports by `from . import …`, which finds nothing in a file that is loaded alone."""
    import ast

    return any(isinstance(one, ast.ImportFrom) and one.level for one in ast.walk(ast.parse(source)))


def _behind_pythons_own() -> int:
    ends = (f"{os.sep}site-packages", f"{os.sep}dist-packages")
    places = (index for index, entry in enumerate(sys.path) if entry.endswith(ends))
    return next(places, len(sys.path))


def _forget_neighbours(folder: str, before: set[str]) -> list[str]:
    """The files of the modules beside a flow, which the next flow must not find as its own."""
    files = []
    for name in set(sys.modules) - before:
        file = getattr(sys.modules[name], "__file__", None)
        if (
            file
            and file.startswith(os.path.join(folder, ""))
            and not name.startswith("_gate_flow_")
        ):
            del sys.modules[name]
            files.append(file)
    return files


def _stamps(files: Any) -> dict[str, tuple[int, int]]:
    return {file: _stamp(file) for file in files}


def _stamp(file: str) -> tuple[int, int]:
    try:
        state = os.stat(file)
    except OSError:
        return 0, 0
    return state.st_mtime_ns, state.st_size


def _problem(path: str, error: BaseException) -> str:
    line, trace = None, error.__traceback__
    if isinstance(error, SyntaxError) and error.filename == path:
        line = error.lineno
    while trace:
        if trace.tb_frame.f_code.co_filename == path:
            line = trace.tb_lineno
        trace = trace.tb_next
    where = f"{path}, line {line}" if line else path
    words = error.msg if isinstance(error, SyntaxError) else str(error)
    return f"{where}: the flow file cannot be loaded: {type(error).__name__}: {words}"


def flows_in(module: ModuleType) -> dict[str, Any]:
    """The flows of a module by their names."""
    # In its own dictionary: there are objects that claim to have every attribute.
    return {
        name: one
        for name, one in vars(module).items()
        if _SIGN in getattr(one, "__dict__", ()) and not isinstance(one, type(sys))
    }


def choose(module: ModuleType, wanted: str = "") -> tuple[str, Any]:
    """The flow that is meant: the one wanted, the one named like its file, or the only one."""
    flows, path = flows_in(module), str(module.__file__)
    stem = os.path.basename(path).removesuffix(".py").replace("-", "_")
    if wanted or stem in flows or len(flows) != 1:
        name = wanted or stem
        if name in flows:
            return name, flows[name]
        if not flows:
            raise UsageError(
                f"{path} holds no flow: write @flow above a function, or make a Workflow(…)"
            )
        several = ", ".join(flows)
        raise UsageError(f"{path} holds {several}: say which, as {path}:{next(iter(flows))}")
    return next(iter(flows.items()))
