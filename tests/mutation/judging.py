"""Runs the tests that reach a mutant, in the child of a fork, and says whether one failed."""

from __future__ import annotations

import functools
import importlib.abc
import importlib.util
import os
import signal
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import CodeType, FrameType, FunctionType, ModuleType
from typing import Any

import pytest

from tests.mutation.mutants import DOMAIN, Mutant, name_module

TESTS = ["tests/domain", "tests/service/test_verbs.py"]
QUIET = ["-x", "-q", "--assert=plain", "-p", "no:cacheprovider"]
WORKERS = os.cpu_count() or 1
# Of tests that measure time: on a busy machine they would fail for the wrong reason.
MEASURING_FIXTURE = "uncounted"
MIN_PATIENCE_SECONDS = 10

KILLED, SURVIVED, TIMED_OUT = "killed", "survived", "timed out"
# The function cannot be swapped, so the mutant must be imported.
LEFT_OVER, LEFT_OVER_CODE = "left over", 3
# For each function of the domain, the tests that call it and the seconds they take.
Reach = dict[str, dict[str, float]]
Swap = tuple[FunctionType, CodeType]
# A mutant, the seconds its tests take, and a function that runs them and gives a verdict.
Job = tuple[Mutant, float, Callable[[], str]]


class ReachRecorder:
    """Notes for each function of `domain/` which tests call it, and how long each test takes."""

    def __init__(self) -> None:
        self.reach: Reach = defaultdict(dict)
        self._seen: set[CodeType] = set()

    def run(self, item: pytest.Item) -> None:
        if MEASURING_FIXTURE in getattr(item, "fixturenames", ()):
            return
        self._seen = set()
        began = time.perf_counter()
        sys.setprofile(self._note)
        try:
            item.ihook.pytest_runtest_protocol(item=item, nextitem=None)
        finally:
            sys.setprofile(None)
        seconds = time.perf_counter() - began
        for code in self._seen:
            self.reach[_address(code)][item.nodeid] = seconds

    def leave_out(self, names: list[str]) -> None:
        for tests in self.reach.values():
            for name in names:
                tests.pop(name, None)

    def _note(self, frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(f"{DOMAIN}/"):
            self._seen.add(frame.f_code)


def _address(code: CodeType) -> str:
    module = name_module(Path(code.co_filename))
    return f"{module}:{code.co_qualname.partition('.<locals>')[0]}"


def all_tests(reach: Reach) -> dict[str, float]:
    """All tests that reach any of these functions."""
    return {name: seconds for tests in reach.values() for name, seconds in tests.items()}


def find_swap(mutant: Mutant) -> Swap | None:
    """Find a loaded function and its mutant's code; None where one cannot replace the other."""
    module = sys.modules[mutant.module]
    function = _find_function(module, mutant.function or "")
    code = _find_code(compile(mutant.write(), str(mutant.path), "exec"), mutant.function)
    if function is None or code is None or code.co_freevars != function.__code__.co_freevars:
        return None
    return function, code


def _find_function(module: ModuleType, name: str) -> FunctionType | None:
    *owners, last = name.split(".")
    owner: Any = functools.reduce(getattr, owners, module)
    found = vars(owner).get(last)
    found = getattr(found, "fget", None) or getattr(found, "__func__", None) or found
    while hasattr(found, "__wrapped__"):
        found = found.__wrapped__
    same = isinstance(found, FunctionType) and found.__code__.co_qualname == name
    return found if same else None


def _find_code(code: CodeType, name: str | None) -> CodeType | None:
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            found = inner if inner.co_qualname == name else _find_code(inner, name)
            if found is not None:
                return found
    return None


def clear_caches() -> None:
    """Forget results that the code before the change computed."""
    for name, module in list(sys.modules.items()):
        if name.startswith("gatebell."):
            for value in list(vars(module).values()):
                if isinstance(value, functools._lru_cache_wrapper):
                    value.cache_clear()


class MutantLoader(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Imports the mutant in place of its module."""

    def __init__(self, mutant: Mutant) -> None:
        self.mutant = mutant

    def find_spec(self, name: str, *_: Any) -> Any:
        if name != self.mutant.module:
            return None
        return importlib.util.spec_from_file_location(name, self.mutant.path, loader=self)

    def exec_module(self, module: ModuleType) -> None:
        exec(compile(self.mutant.write(), str(self.mutant.path), "exec"), module.__dict__)


class OnlyThese:
    """Keeps the named tests of a run, the quickest first."""

    def __init__(self, tests: dict[str, float]) -> None:
        self.tests = tests

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items[:] = [item for item in items if item.nodeid in self.tests]
        items.sort(key=lambda item: self.tests[item.nodeid])

    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        be_patient(self.tests[item.nodeid])


def run_with_import(mutant: Mutant | None, tests: dict[str, float]) -> str:
    """Import the mutant and run these tests; without a mutant, the code as it is."""
    if not tests:
        return SURVIVED
    if mutant:
        sys.meta_path.insert(0, MutantLoader(mutant))
    counts = Counter(name.partition("::")[0] for name in tests)
    first, *others = [file for file, _ in counts.most_common()]
    # Most mutants fail in the file that knows the module best, and the others need not be loaded.
    for files in filter(None, ([first], others)):
        if pytest.main([*QUIET, *files], plugins=[OnlyThese(tests)]):
            return KILLED
    return SURVIVED


def judge(jobs: Iterable[Job]) -> Iterator[tuple[Mutant, str]]:
    """Fork one child per mutant, as many at once as there are processors."""
    running: dict[int, Mutant] = {}
    waiting = iter(jobs)
    while True:
        while len(running) < WORKERS and (job := next(waiting, None)):
            mutant, seconds, run = job
            running[_start(seconds, run)] = mutant
        if not running:
            return
        pid, status = os.wait()
        code = os.waitstatus_to_exitcode(status)
        verdicts = {0: SURVIVED, LEFT_OVER_CODE: LEFT_OVER, -signal.SIGALRM: TIMED_OUT}
        yield running.pop(pid), verdicts.get(code, KILLED)


def be_patient(seconds: float) -> None:
    """End this process if the next test takes much longer than it did without a change."""
    signal.alarm(int(MIN_PATIENCE_SECONDS + 10 * seconds))


def _start(seconds: float, run: Callable[[], str]) -> int:
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        quiet = os.open(os.devnull, os.O_WRONLY)
        os.dup2(quiet, 1)
        os.dup2(quiet, 2)
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        be_patient(seconds)
        code = {SURVIVED: 0, LEFT_OVER: LEFT_OVER_CODE}.get(run(), 1)
    finally:
        os._exit(code)
