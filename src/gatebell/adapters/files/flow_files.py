"""Find and load flow files.

A flow file is a separate module. At its top it may import modules from its own folder; they come
after Python's own modules and before installed ones. A run records the digest of the flow file
only. When an imported neighbour changes, the flow file is loaded again.
"""

from __future__ import annotations

import os
import re
import sys
import threading
from typing import TYPE_CHECKING, Any, NamedTuple

from gatebell.adapters.files.text_files import (
    find_user_folder,
    list_names,
    read_text,
    refuse_outside,
    refuse_worktree,
)
from gatebell.domain.digests import text_digest
from gatebell.domain.text.suggestions import suggest
from gatebell.errors import NotFoundError, UsageError

if TYPE_CHECKING:
    from types import ModuleType

_SIGN = "gatebell_flow"
_loading = threading.RLock()


class FlowFile(NamedTuple):
    """A flow file that can be found by its name."""

    name: str
    path: str


class _Loaded(NamedTuple):
    module: ModuleType
    beside: dict[str, tuple[int, int]]
    """The files that it imported from its own folder, with their change time and size."""


_loaded: dict[tuple[str, str], _Loaded] = {}


def split_flow_name(named: str) -> tuple[str, str]:
    """Split `feature.py:deploy` into file and flow; without `:`, the flow is ""."""
    file, colon, flow = named.rpartition(":")
    return (file, flow) if colon and flow.isidentifier() else (named, "")


def find(project: str, named: str) -> str:
    """Return the path of a flow file, given by its path or its name."""
    file, _ = split_flow_name(named)
    if file.endswith(".py") or os.sep in file:
        path = os.path.abspath(os.path.expanduser(file))
        if not os.path.exists(path):
            raise NotFoundError(f"there is no flow file {path}{_describe_known(project)}")
    else:
        known = {one.name: one.path for one in list_files(project)}
        if file not in known:
            wanted = os.path.join(project, ".gate", "flows", f"{file}.py")
            # A suggestion is shorter than the list of all flows.
            more = suggest(file, known) or f" ({wanted}){_describe_known(project)}"
            raise NotFoundError(f"there is no flow {file!r}{more}")
        path = known[file]
        if path.startswith(os.path.join(project, "")):
            refuse_outside(path, project)
    refuse_worktree(path)
    return path


def _describe_known(project: str) -> str:
    names = [one.name for one in list_files(project)]
    return f"; there are {', '.join(names)}" if names else "; write one to .gate/flows/"


def list_files(project: str) -> list[FlowFile]:
    """Return the flow files that are known by name; the project's hide the user's."""
    folders = [find_user_folder("flows"), os.path.join(project, ".gate", "flows")]
    found = {
        name: os.path.join(folder, f"{name}.py")
        for folder in folders
        for name in list_names(folder, ".py")
    }
    return [FlowFile(name, path) for name, path in sorted(found.items())]


def read(path: str) -> tuple[str, str]:
    """Return the source of a flow file, and its digest."""
    source = read_text(path)
    return source, text_digest(source)


def load(path: str, source: str, digest: str) -> ModuleType:
    """Return the module of a source; the same one until something changes."""
    with _loading:
        known = _loaded.get((path, digest))
        if known is None or known.beside != _read_stamps(known.beside):
            known = _loaded[path, digest] = _execute(path, source, digest)
        return known.module


def _execute(path: str, source: str, digest: str) -> _Loaded:
    # Imported here: only commands that drive runs need them.
    import importlib
    import linecache
    from types import ModuleType

    from gatebell.adapters.files import old_imports

    old_imports.accept()
    stem = re.sub(r"\W", "_", os.path.basename(path).removesuffix(".py"))
    # In sys.modules for dataclasses and the like, under a name that no other module has.
    module = ModuleType(f"_gate_flow_{stem}_{text_digest(path + digest)[:16]}")
    module.__file__ = path
    # Tracebacks show the code that ran, even if the file has changed since.
    lines = [f"{line}\n" for line in source.replace("\r\n", "\n").split("\n")]
    linecache.cache[path] = (len(source), None, lines, path)
    before, bytecode = set(sys.modules), sys.dont_write_bytecode
    folder = os.path.dirname(path)
    is_new = folder not in sys.path
    if is_new:
        sys.path.insert(_find_path_index(), folder)
    sys.modules[module.__name__] = module
    sys.dont_write_bytecode = True
    importlib.invalidate_caches()
    try:
        code = compile(source.removeprefix("\ufeff"), path, "exec", dont_inherit=True)
        exec(code, vars(module))  # noqa: S102 - a flow file is the user's own program
    except (Exception, SystemExit) as error:
        del sys.modules[module.__name__]
        raise UsageError(_describe_problem(path, error)) from error
    finally:
        sys.dont_write_bytecode = bytecode
        if is_new and folder in sys.path:
            sys.path.remove(folder)
        beside = _forget_neighbours(folder, before)
        old_imports.forget()
    return _Loaded(module, _read_stamps(beside))


def needs_package(source: str) -> bool:
    """Return whether it has relative imports, which fail in a file that is loaded alone."""
    import ast

    return any(isinstance(one, ast.ImportFrom) and one.level for one in ast.walk(ast.parse(source)))


def _find_path_index() -> int:
    ends = (f"{os.sep}site-packages", f"{os.sep}dist-packages")
    places = (index for index, entry in enumerate(sys.path) if entry.endswith(ends))
    return next(places, len(sys.path))


def _forget_neighbours(folder: str, before: set[str]) -> list[str]:
    """Remove the modules beside a flow from sys.modules, so that the next flow cannot find them."""
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


def _read_stamps(files: Any) -> dict[str, tuple[int, int]]:
    return {file: _read_stamp(file) for file in files}


def _read_stamp(file: str) -> tuple[int, int]:
    try:
        state = os.stat(file)
    except OSError:
        return 0, 0
    return state.st_mtime_ns, state.st_size


def _describe_problem(path: str, error: BaseException) -> str:
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


def find_flows(module: ModuleType) -> dict[str, Any]:
    """Return the flows of a module by their names."""
    # Look in its own dictionary: some objects claim to have every attribute.
    return {
        name: one
        for name, one in vars(module).items()
        if _SIGN in getattr(one, "__dict__", ()) and not isinstance(one, type(sys))
    }


def choose(module: ModuleType, wanted: str = "") -> tuple[str, Any]:
    """Return the wanted flow, the one with the name of its file, or the only one."""
    flows, path = find_flows(module), str(module.__file__)
    stem = os.path.basename(path).removesuffix(".py").replace("-", "_")
    if wanted or stem in flows or len(flows) != 1:
        name = wanted or stem
        if name in flows:
            return name, flows[name]
        if not flows:
            raise UsageError(
                f"{path} has no flow: write @flow above a function, or create a Workflow(…)"
            )
        several = ", ".join(flows)
        raise UsageError(
            f"{path} has {several}: choose one, for example {path}:{next(iter(flows))}"
        )
    return next(iter(flows.items()))
