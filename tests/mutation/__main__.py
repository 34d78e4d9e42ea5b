"""Counts how many mutants of `domain/` the tests notice.

python -m tests.mutation [FILE ...]   prints survivors and the score; fails below 90 %.
"""

from __future__ import annotations

import functools
import multiprocessing
import os
import re
import sys
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import hypothesis
import jsonschema_rs  # noqa: F401 - imported once here, so that no child has to
import pytest

from tests.mutation.judging import (
    KILLED,
    LEFT_OVER,
    QUIET,
    SURVIVED,
    TESTS,
    Job,
    Reach,
    ReachRecorder,
    all_tests,
    be_patient,
    clear_caches,
    find_swap,
    judge,
    run_with_import,
)
from tests.mutation.mutants import DOMAIN, Mutant, find_mutants, name_module

WANTED = 0.90
MAX_LEFT_OUT = 2
UNCHANGED = Mutant(DOMAIN / "__init__.py", 0, "", None, 0, 0)


class Counts:
    def __init__(self) -> None:
        self.by_module: dict[str, Counter[str]] = {}

    def add(self, mutant: Mutant, verdict: str) -> None:
        self.by_module.setdefault(mutant.module, Counter())[verdict] += 1
        if verdict == SURVIVED:
            print(f"survived: {mutant.module}:{mutant.line} {mutant.what}", flush=True)

    def print_table(self) -> None:
        for module, counts in sorted(self.by_module.items()):
            noticed = counts.total() - counts[SURVIVED]
            share = noticed / counts.total()
            print(f"{module:36} {noticed:4} of {counts.total():4} noticed  {share:.0%}")
        total = self._total()
        print(
            f"mutation score {self.score():.1%} of {total.total()} mutants (wanted: {WANTED:.0%}): "
            + ", ".join(f"{count} {verdict}" for verdict, count in sorted(total.items()))
        )

    def score(self) -> float:
        total = self._total()
        return 1 - total[SURVIVED] / max(1, total.total())

    def _total(self) -> Counter[str]:
        return sum(self.by_module.values(), Counter())


class BodyJudge:
    """Judges each change of a function's body by the tests that call the function.

    A pytest plugin. Tests and domain are loaded once and run once; then each child of a fork swaps
    the code of one function. Other mutants are left over for `judge_imports`.
    """

    def __init__(self, files: list[Path]) -> None:
        self.files = files
        self.results: list[tuple[Mutant, str]] = []
        self.left_over: list[Mutant] = []
        self.recorder = ReachRecorder()
        self.failed: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.failed.append(report.nodeid)

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        for item in session.items:
            self.recorder.run(item)
        if self.failed and len(self.failed) <= MAX_LEFT_OUT:
            # A test of deep recursion fails while its calls are noted.
            print(f"left out: {', '.join(self.failed)}", file=sys.stderr)
            self.recorder.leave_out(self.failed)
            session.testsfailed = 0
        self.items = {item.nodeid: item for item in session.items}
        self.session = session
        if session.testsfailed or not self._pass_again():
            session.testsfailed += 1
            return True
        for mutant, verdict in judge(self._jobs()):
            if verdict == LEFT_OVER:
                self.left_over.append(mutant)
            else:
                self.results.append((mutant, verdict))
                _show_progress(len(self.results), "function bodies")
        return True

    def _pass_again(self) -> bool:
        """Run the tests a second time without a change: a failure now would count as a kill."""
        tests = all_tests(self.recorder.reach)
        job = (UNCHANGED, sum(tests.values()), functools.partial(self._run, tests))
        return [verdict for _, verdict in judge([job])] == [SURVIVED]

    def _jobs(self) -> Iterator[Job]:
        for path in self.files:
            for mutant in find_mutants(path):
                if mutant.function is None:
                    self.left_over.append(mutant)
                    continue
                tests = self.recorder.reach.get(f"{mutant.module}:{mutant.function}", {})
                yield mutant, sum(tests.values()), functools.partial(self._run, tests, mutant)

    def _run(self, tests: dict[str, float], mutant: Mutant | None = None) -> str:
        if mutant:
            swap = find_swap(mutant)
            if swap is None:
                return LEFT_OVER
            function, code = swap
            function.__code__ = code
            clear_caches()
        for name in sorted(tests, key=tests.__getitem__):
            item = self.items[name]
            be_patient(tests[name])
            item.ihook.pytest_runtest_protocol(item=item, nextitem=None)
            if self.session.testsfailed:
                return KILLED
        return SURVIVED


def judge_bodies(files: list[Path]) -> tuple[list[tuple[Mutant, str]], list[Mutant], Reach]:
    plugin = BodyJudge(files)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    if pytest.main([*QUIET, *TESTS], plugins=[plugin]) != 0:
        names = "\n".join(plugin.failed) or "(in their second run in one process)"
        sys.exit(f"The tests fail without a mutant, so fix that first:\n{names}")
    return plugin.results, plugin.left_over, dict(plugin.recorder.reach)


def judge_imports(mutants: list[Mutant], reach: Reach) -> Iterator[tuple[Mutant, str]]:
    """Judge changes that take effect at import by the tests that call the module or its users."""
    users = {module: _users(module) for module in {mutant.module for mutant in mutants}}

    def jobs() -> Iterator[Job]:
        for mutant in mutants:
            tests = all_tests(
                {
                    address: reached
                    for address, reached in reach.items()
                    if address.partition(":")[0] in users[mutant.module]
                }
            )
            yield mutant, sum(tests.values()), functools.partial(run_with_import, mutant, tests)

    everything = all_tests(reach)
    unchanged = functools.partial(run_with_import, None, everything)
    if next(judge([(UNCHANGED, sum(everything.values()), unchanged)]))[1] != SURVIVED:
        sys.exit("The tests fail without a mutant: fix that first.")
    for done, result in enumerate(judge(jobs()), 1):
        _show_progress(done, f"of {len(mutants)} other changes")
        yield result


def _users(module: str) -> set[str]:
    """The module, and the modules of `domain/` that import it."""
    package, _, name = module.rpartition(".")
    imported = re.compile(
        rf"from ({re.escape(module)} import|{re.escape(package)} import [^\n]*\b{name}\b)"
    )
    users = (path for path in DOMAIN.rglob("*.py") if imported.search(path.read_text("utf-8")))
    return {module, *map(name_module, users)}


def _show_progress(done: int, what: str) -> None:
    print(f"\r{done} {what} ", end="", file=sys.stderr, flush=True)


def main() -> int:
    # Plugins of others are not needed, and loading them takes most of the time.
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    names = sys.argv[1:] or sorted(str(path.relative_to(DOMAIN)) for path in DOMAIN.rglob("*.py"))
    hypothesis.settings.register_profile(
        "mutation",
        database=None,
        deadline=None,
        derandomize=True,
        phases=[hypothesis.Phase.explicit, hypothesis.Phase.generate],
    )
    hypothesis.settings.load_profile("mutation")
    # In a process of its own: this one must not import the domain before its mutants.
    with ProcessPoolExecutor(1, multiprocessing.get_context("fork")) as pool:
        results, left_over, reach = pool.submit(
            judge_bodies, [DOMAIN / name for name in names]
        ).result()
    counts = Counts()
    for mutant, verdict in results:
        counts.add(mutant, verdict)
    for mutant, verdict in judge_imports(left_over, reach):
        counts.add(mutant, verdict)
    print(file=sys.stderr)
    counts.print_table()
    return 0 if counts.score() >= WANTED else 1


if __name__ == "__main__":
    sys.exit(main())
