"""The default gates, in the syntax of the hosts' own rules.

A host cannot read a line as a shell does. So the rules for it are wide, and our hook judges the
lines that match: docs/held.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from gatebell.domain.permissions.acts import GATED_ACTS, Act, name_gate
from gatebell.domain.permissions.rules import OUTSIDE, check_pattern
from gatebell.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence


class Gate(NamedTuple):
    """One pattern and its topic."""

    about: str
    pattern: str


class Rules(NamedTuple):
    """The gates and denials for the host."""

    gates: tuple[str, ...]
    denials: tuple[str, ...] = ()
    brought: tuple[str, ...] = ()
    """Gates that are new with this installation."""


SPELLINGS_NOTE = (
    "A line without the usual words is not noticed, such as a script that pushes. "
    "gate gates test 'COMMAND' tells whether a person is asked."
)

DEFAULT_GATES = (
    *(Gate(act, pattern) for pattern, act in GATED_ACTS.items()),
    Gate("writes of file tools outside the project", OUTSIDE),
)

# The default gates of older versions matched spellings. Each is replaced by the gate of its act.
_OLDER: dict[Act, tuple[str, ...]] = {
    Act.PUSH: ("git push:*", "git -* push*"),
    Act.PUBLISH: (
        "npm publish:*", "pnpm publish:*", "yarn publish:*", "twine upload:*", "uv publish:*",
        "cargo publish:*", "docker push:*", "gh release create:*",
    ),
    Act.DEPLOY: (
        "terraform apply:*", "terraform destroy:*", "kubectl apply:*", "kubectl delete:*",
        "kubectl -* apply*", "kubectl -* delete*", "helm install:*", "helm upgrade:*",
        "helm uninstall:*", "fly deploy:*", "vercel deploy:*", "vercel --prod:*", "wrangler deploy:*",
        "gcloud * deploy*", "aws *deploy*",
    ),
    Act.DELETE: ("rm -*", "rm * -*", "find * -delete*"),
    Act.EVAL: ("*sh -*c*push*", "*sh -*c*rm -*", "eval:*"),
}  # fmt: skip
_REPLACED = {f"Bash({one})": name_gate(act) for act, many in _OLDER.items() for one in many}


def choose(base: Sequence[str], more: Sequence[str], fewer: Sequence[str]) -> tuple[str, ...]:
    """Return the wanted gates: those in force, or the default ones, with the person's changes."""
    base = list(dict.fromkeys(_REPLACED.get(pattern, pattern) for pattern in base))
    usual = [gate.pattern for gate in DEFAULT_GATES]
    known = [one for one in usual if one in base] + [one for one in base if one not in usual]
    # The default gates apply even if the person has gates of their own.
    chosen = known if set(known) & set(usual) else [*usual, *known]
    for pattern in fewer:
        if pattern not in chosen:
            raise UsageError(f"{pattern!r} is not gated, so --no-gate cannot remove it")
    kept = [pattern for pattern in chosen if pattern not in fewer]
    return tuple(dict.fromkeys([*kept, *map(check_pattern, more)]))
