"""Load the grammar of bash without the package around it.

The package loads `importlib.resources`, to find a file that we do not use. That takes a quarter of
the time of a hook.
"""

from __future__ import annotations

from importlib.machinery import PathFinder
from typing import Any

_PACKAGE = "tree_sitter_bash"


def load_grammar() -> Any:
    """Return the grammar of bash for `tree_sitter.Language`.

    Raises:
        ImportError: It is not installed.
    """
    package = PathFinder.find_spec(_PACKAGE)
    places = package.submodule_search_locations if package else None
    spec = PathFinder.find_spec(f"{_PACKAGE}._binding", places) if places else None
    if spec is None or spec.loader is None:
        # Another version may keep it elsewhere.
        from tree_sitter_bash import language

        return language()
    # Imported here, because it is only needed here.
    from importlib.util import module_from_spec

    binding = module_from_spec(spec)
    spec.loader.exec_module(binding)
    return binding.language()
