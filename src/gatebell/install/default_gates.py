"""The default gates, in the syntax of the hosts' own rules.

A rule matches some spellings of an action, never all: docs/held.md lists the results.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

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
    "The gates match the usual spellings; others run without a question, such as "
    "`npm --tag next publish` or a script. gate gates lists them."
)

# Tried with the matcher of claude 2.1.325. `git push:*` also catches `cd x && git push`,
# `env A=b git push`, `/usr/bin/git push`, `xargs git push`, `$(git push)`; not `git -C . push`,
# so that has a rule of its own. (`git * push*` would also catch `git commit -m "push it"`.)
# `rm -rf:*` misses `rm -fr` and `rm -r -f`; `rm -*` catches them all, and `rm -f FILE` as well;
# `rm DIR -r` needs `rm * -*`. A shell in between hides its command: `*sh -*c*push*` sees into
# `bash -c`, `sh -c` and `bash -lc`; nothing sees into `echo "git push" | sh` or a script.
DEFAULT_GATES = (
    Gate("push", "Bash(git push:*)"),
    Gate("push", "Bash(git -* push*)"),
    Gate("publish", "Bash(npm publish:*)"),
    Gate("publish", "Bash(pnpm publish:*)"),
    Gate("publish", "Bash(yarn publish:*)"),
    Gate("publish", "Bash(twine upload:*)"),
    Gate("publish", "Bash(uv publish:*)"),
    Gate("publish", "Bash(cargo publish:*)"),
    Gate("publish", "Bash(docker push:*)"),
    Gate("publish", "Bash(gh release create:*)"),
    Gate("deploy", "Bash(terraform apply:*)"),
    Gate("deploy", "Bash(terraform destroy:*)"),
    Gate("deploy", "Bash(kubectl apply:*)"),
    Gate("deploy", "Bash(kubectl delete:*)"),
    Gate("deploy", "Bash(kubectl -* apply*)"),
    Gate("deploy", "Bash(kubectl -* delete*)"),
    Gate("deploy", "Bash(helm install:*)"),
    Gate("deploy", "Bash(helm upgrade:*)"),
    Gate("deploy", "Bash(helm uninstall:*)"),
    Gate("deploy", "Bash(fly deploy:*)"),
    Gate("deploy", "Bash(vercel deploy:*)"),
    Gate("deploy", "Bash(vercel --prod:*)"),
    Gate("deploy", "Bash(wrangler deploy:*)"),
    Gate("deploy", "Bash(gcloud * deploy*)"),
    Gate("deploy", "Bash(aws *deploy*)"),
    Gate("recursive delete", "Bash(rm -*)"),
    Gate("recursive delete", "Bash(rm * -*)"),
    Gate("recursive delete", "Bash(find * -delete*)"),
    Gate("a shell in between", "Bash(*sh -*c*push*)"),
    Gate("a shell in between", "Bash(*sh -*c*rm -*)"),
    Gate("a shell in between", "Bash(eval:*)"),
    Gate("writes of file tools outside the project", OUTSIDE),
)


def choose(base: Sequence[str], more: Sequence[str], fewer: Sequence[str]) -> tuple[str, ...]:
    """Return the wanted gates: those in force, or the default ones, with the person's changes."""
    usual = [gate.pattern for gate in DEFAULT_GATES]
    known = [one for one in usual if one in base] + [one for one in base if one not in usual]
    # The default gates apply even if the person has gates of their own.
    chosen = known if set(known) & set(usual) else [*usual, *known]
    for pattern in fewer:
        if pattern not in chosen:
            raise UsageError(f"{pattern!r} is not gated, so --no-gate cannot remove it")
    kept = [pattern for pattern in chosen if pattern not in fewer]
    return tuple(dict.fromkeys([*kept, *map(check_pattern, more)]))
