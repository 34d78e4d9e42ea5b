"""Accept the old name of this package in flow files that still import it.

No package of the old name is shipped, because another project has that name. After a flow file was
loaded, the old name means this package in this process, and old module names mean its modules.
"""

from __future__ import annotations

import importlib
import logging
import sys
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import TYPE_CHECKING, Any

from gatebell.adapters.system.folders import NAME, OLD_NAME
from gatebell.domain.text.display import inert

if TYPE_CHECKING:
    from collections.abc import Sequence

_MOVED = {
    "aio": "api.async_gate",
    "backlog": "api.backlog",
    "flows": "api.flows",
    "gate": "api.gate",
    "handlers": "api.handlers",
    "human": "api.human",
    "phases": "api.phases",
    "shapes": "api.schemas",
}
_MACHINERY = (__file__, importlib.__file__, "<frozen importlib._bootstrap>")


def accept() -> None:
    """Let the old name be imported in this process."""
    if not any(isinstance(finder, _OldName) for finder in sys.meta_path):
        # Before all other finders: an older version may still be installed.
        sys.meta_path.insert(0, _OldName())


def forget() -> None:
    """Remove the old names, so that the next file that imports them is noticed."""
    # A copy: another thread may import at the same time.
    modules = list(sys.modules.items())
    for name in [name for name, module in modules if isinstance(module, _Alias)]:
        del sys.modules[name]


def _is_old(name: str) -> bool:
    return name.partition(".")[0] == OLD_NAME


class _Alias(ModuleType):
    """A module with the attributes of another one."""

    def __init__(self, name: str, real: ModuleType) -> None:
        super().__init__(name, real.__doc__)
        self._real = real

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)


class _OldName(MetaPathFinder, Loader):
    """Finds modules of this package under the old name, and warns about the importing file."""

    def __init__(self) -> None:
        self._told: set[str] = set()

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if not _is_old(fullname):
            return None
        self._tell(_find_importing_file())
        return ModuleSpec(fullname, self, is_package=True)

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        below = spec.name.partition(".")[2]
        real = ".".join(filter(None, (NAME, _MOVED.get(below, below))))
        return _Alias(spec.name, importlib.import_module(real))

    def exec_module(self, module: ModuleType) -> None:
        """Do nothing: the real module is loaded already."""

    def _tell(self, file: str) -> None:
        if file in self._told:
            return
        self._told.add(file)
        said = "%s imports %s, which is called %s now: change the name in that file"
        logging.getLogger(NAME).warning(said, inert(file), OLD_NAME, NAME)


def _find_importing_file() -> str:
    frame = sys._getframe(1)  # noqa: SLF001 - the only way to find the importing file
    while frame.f_back and frame.f_code.co_filename in _MACHINERY:
        frame = frame.f_back
    return frame.f_code.co_filename
