"""Shared by all tests: a clean environment, and reports of ids, skips and time."""

from __future__ import annotations

import gc
import os
import signal
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

import hypothesis
import pytest

from gatebell.domain.people.principals import SIGNS
from gatebell.testing import FakeClock
from tests.support.gate_forks import FORKS

HERE = Path(__file__).parent
# CPU seconds of each folder, with the programs it starts: twice as many as on a quiet machine,
# because a second of CPU does less while other processes share the core. A folder over its budget
# fails the run.
CPU_BUDGET = {
    "agents": 400,
    "contract": 90,
    "crash": 160,
    "domain": 60,
    "faces": 500,
    "journeys": 150,
    "security": 200,
    "service": 200,
    "tests": 20,
}
# The same browser without windows takes a third of the time, if it is installed.
CHROMIUM = next(filter(os.path.exists, ["/usr/bin/chromium-headless-shell"]), "/usr/bin/chromium")
_MEMORY = "/dev/shm"
_MEMORY_NEEDED = 4 << 30
_QUIET = [
    *("--no-sandbox", "--disable-quic", "--no-first-run", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync"),
]
# The time of an example depends on other processes; budgets count CPU seconds instead.
hypothesis.settings.register_profile("default", deadline=None)
# A process in the background or under nohup ignores these signals, and so do its children.
for _signal in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):
    if signal.getsignal(_signal) is signal.SIG_IGN:
        signal.signal(_signal, signal.SIG_DFL)
_cpu_seconds: dict[str, float] = defaultdict(float)
_cpu_of_tests: dict[str, float] = {}
_CPU_AT_START = pytest.StashKey[float]()
_skipped: dict[str, str] = {}


def pytest_addoption(parser):
    parser.addoption("--whole", action="store_true", help="the long versions: make crash")
    parser.addoption("--heaviest", type=int, default=0, help="show so many tests by CPU seconds")


def split_matrix(items):
    """Return the cases of the usual run, and the further ones; each test has a usual case."""
    further = [item for item in items if item.get_closest_marker("matrix")]
    usual = [item for item in items if not item.get_closest_marker("matrix")]
    tests = {item.nodeid.partition("[")[0] for item in usual}
    if lost := [item.nodeid for item in further if item.nodeid.partition("[")[0] not in tests]:
        raise pytest.UsageError(f"No usual case was left beside {lost[0]}. Add one, or -m matrix.")
    return usual, further


def pytest_collection_modifyitems(config, items):
    """Leave the further cases of a matrix to the long runs, and to `-m matrix`."""
    if config.option.whole or "matrix" in config.option.markexpr:
        return
    usual, further = split_matrix(items)
    config.hook.pytest_deselected(items=further)
    items[:] = usual


def pytest_collection_finish():
    """Take what was collected out of the search for garbage, which else looks at it again."""
    gc.collect()
    gc.freeze()


def holds_programs(folder, needed):
    """Return whether this number of bytes fits into a folder where programs may start."""
    if not os.access(folder, os.W_OK):
        return False
    seen = os.statvfs(folder)
    return seen.f_bavail * seen.f_frsize >= needed and not seen.f_flag & os.ST_NOEXEC


def pytest_configure(config):
    # Git and the store wait for the disk after each write, which takes most of the time of many
    # tests. The long runs use the disk, and TMPDIR is respected if it is set.
    stays = "TMPDIR" in os.environ or config.option.whole
    if not stays and holds_programs(_MEMORY, _MEMORY_NEEDED):
        os.environ["TMPDIR"] = tempfile.tempdir = _MEMORY
    # A test in an agent's shell must not look like an agent.
    for sign in SIGNS:
        for variable in sign.variables:
            os.environ.pop(variable, None)
    os.environ.pop("GATE_TOKEN", None)
    # It must not notify people by their own routes either. Browsers keep settings there, too.
    os.environ.pop("GATE_NOTIFY_CMD", None)
    settings = tempfile.TemporaryDirectory(prefix="gate-tests-", ignore_cleanup_errors=True)
    config.add_cleanup(settings.cleanup)
    config.add_cleanup(FORKS.close)
    os.environ["XDG_CONFIG_HOME"] = settings.name
    os.environ["GATE_STORE"] = str(HERE / "no-test-may-use-the-default-store" / "gate.db")


def used_cpu():
    """Return the CPU seconds of this process and of its awaited children."""
    return sum(os.times()[:4]) + FORKS.cpu_seconds


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item):
    item.stash[_CPU_AT_START] = used_cpu()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_makereport(item, call):
    if call.when == "teardown":
        used = used_cpu() - item.stash.get(_CPU_AT_START, used_cpu())
        item.user_properties.append(("cpu_seconds", used))


def over_budget(spent):
    """Return the folders over their budget of CPU."""
    return [name for name, used in sorted(spent.items()) if used > CPU_BUDGET.get(name, used)]


def pytest_runtest_logreport(report):
    folder = report.nodeid.split("/")[1] if report.nodeid.count("/") > 1 else "tests"
    if report.when == "teardown":
        used = dict(report.user_properties).get("cpu_seconds", 0.0)
        _cpu_seconds[folder] += used
        _cpu_of_tests[report.nodeid] = used
    if report.skipped:
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        # The output of a program may have many lines.
        _skipped[report.nodeid] = " ".join(reason.removeprefix("Skipped: ").split())


def describe_skips(skipped):
    """Return a line for each skipped test, and one with their number."""
    lines = [f"!! SKIPPED {name}: {reason}" for name, reason in skipped.items()]
    hint = "; `make system` installs missing programs" if skipped else ""
    return [*lines, f"skipped tests: {len(skipped)}{hint}"]


def allowed_skips() -> dict[str, str]:
    """Return the test ids (or their beginnings) that may be skipped in CI, with reasons."""
    lines = (HERE / "allowed_skips.txt").read_text(encoding="utf-8").splitlines()
    pairs = [line.split("  ", 1) for line in lines if line and not line.startswith("#")]
    return dict(pairs)


def pytest_sessionfinish(session, exitstatus):
    if not os.environ.get("CI") or session.config.option.whole:
        return
    allowed = allowed_skips()
    surprising = [name for name in _skipped if name not in allowed]
    vanished = [name for name in allowed if name not in _skipped]
    whole_suite = not session.config.args or session.config.args == ["tests"]
    if surprising or (vanished and whole_suite) or over_budget(_cpu_seconds):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter, config):
    write = terminalreporter.write_line
    over = [] if config.option.whole else over_budget(_cpu_seconds)
    for folder, used in sorted(_cpu_seconds.items()):
        budget = f" of {CPU_BUDGET[folder]} s" if folder in CPU_BUDGET else ""
        write(
            f"{folder:10} {used:6.1f} CPU s{budget}" + ("  OVER BUDGET" if folder in over else "")
        )
    heaviest = sorted(_cpu_of_tests, key=_cpu_of_tests.__getitem__, reverse=True)
    for name in heaviest[: config.option.heaviest]:
        write(f"{_cpu_of_tests[name]:17.1f} CPU s  {name}")
    for line in describe_skips(_skipped):
        write(line)
    if os.environ.get("CI"):
        for name in _skipped.keys() - allowed_skips().keys():
            write(f"!! {name} may not be skipped in CI: see tests/allowed_skips.txt")
        for name in allowed_skips().keys() - _skipped.keys():
            write(f"!! {name} stands in tests/allowed_skips.txt but was not skipped")


@pytest.fixture
def whole(request):
    """Return whether this is the long run of `make crash`."""
    return request.config.option.whole


@pytest.fixture
def uncounted():
    """Count no lines here: on long texts, counting takes most of the time."""
    counting = sys.gettrace()
    sys.settrace(None)
    yield
    sys.settrace(counting)


# For a module, not for the session: while a playwright runs, no other event loop can.
@pytest.fixture(scope="module")
def chromium():
    """A real browser."""
    if not os.path.exists(CHROMIUM):
        pytest.skip("chromium is not installed: nothing was tried in a real browser")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=_QUIET)
        yield browser
        browser.close()


@pytest.fixture
def clock():
    return FakeClock()
