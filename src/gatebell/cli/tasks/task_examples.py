"""Two examples for each command of `gate task`, for its help."""

from __future__ import annotations

_EXAMPLES = {
    "create": ('"Add a dark mode" --role code', '"Fix the login" -p P0 --test "make test"'),
    "list": ("", "--awaiting"),
    "show": ("tm-4f2", "tm-4f2 --json"),
    "tree": ("", "tm-4f2 --all"),
    "next": ("", "--json"),
    "update": ("tm-4f2 --priority P1", 'tm-4f2 --status "half done"'),
    "edit": ("tm-4f2", "tm-4f2 --json"),
    "dep": ("tm-4f2 tm-9xa", "tm-4f2 tm-9xa --remove"),
    "claim": ("tm-4f2", "tm-4f2 --as ada"),
    "release": ("tm-4f2", "tm-4f2 --as ada"),
    "close": ("tm-4f2 tm-9xa", 'tm-4f2 --reason "not needed"'),
    "reopen": ("tm-4f2", "tm-4f2 --fresh"),
    "defer": ("tm-4f2", 'tm-4f2 --reason "after the release"'),
    "tail": ("", "tm-4f2 -n 50"),
    "import": ("backlog.jsonl --dry-run", "backlog.jsonl"),
    "export": ("", "backlog.jsonl"),
}


def describe_verb(verb: str, about: str) -> str:
    """Return the description of a command of `gate task`, with its examples."""
    lines = [f"Example: gate task {verb} {words}".rstrip() for words in _EXAMPLES[verb]]
    return "\n".join([f"{about[0].upper()}{about[1:]}.", "", *lines])
