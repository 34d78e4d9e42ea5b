"""Drive runs as they become ready, and work through the backlog of this project.

It goes on until Ctrl+C or SIGTERM; runs that are interrupted so go on with the next worker. `stale` lists
tasks in progress that nobody works on any more, `recover` opens them again; what waits for a
person is never among them. gate up drives runs, too, but takes up no tasks.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from gatebell.app import environment, runtime, settings
from gatebell.cli.asks.values import positive
from gatebell.cli.server.leave import leave
from gatebell.domain.text.display import inert_line

if TYPE_CHECKING:
    import argparse
    from queue import SimpleQueue

    from gatebell.app.runtime import BackgroundWorker
    from gatebell.ports.engines import DriveReport

_POLL_SECONDS = 5.0


def configure(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("what", nargs="?", choices=("stale", "recover"), help="instead of working: see above")
    add("-j", "--slots", type=positive, default=4, metavar="N", help="how many at once (4)")
    add("--no-tasks", action="store_true", help="take up no tasks, only drive runs")
    add("--everywhere", action="store_true", help="take up tasks of every project with gate init")
    add(
        "--minutes",
        type=positive,
        default=60,
        metavar="N",
        help="stale: a task claimed by hand that was not touched for so long (60)",
    )
    add("--json", action="store_true", help="of stale and recover: print a JSON list")


def run(args: argparse.Namespace) -> int:
    if args.what:
        # Imported here: whoever works does not look.
        from gatebell.cli.tasks.stale_tasks import look

        return look(args)
    # Imported here and below: only those who stay for long listen to signals and reports.
    import signal
    from queue import SimpleQueue

    from gatebell.cli.log_lines import show_log_lines

    show_log_lines()
    reports: SimpleQueue[DriveReport | None] = SimpleQueue()
    for name in (signal.SIGINT, signal.SIGTERM):
        signal.signal(name, lambda *_: reports.put(None))
    log = runtime.worker_log(settings.store_path(os.environ))
    worker = runtime.BackgroundWorker(args.slots, _projects(args), reports)
    where = "every project" if args.everywhere else environment.project(os.getcwd())
    tasks = "" if args.no_tasks else f", and tasks of {where}"
    store = settings.store_path(os.environ)
    _say(log, f"gate worker: driving runs of {store}{tasks}, {args.slots} at once")
    print(f"gate worker: what is said here stands in {log}", file=sys.stderr, flush=True)
    _show_reports(args, worker, reports, log)
    _say(log, "gate worker: ending")
    left = worker.end()
    while not reports.empty():
        # Runs were let go while it ended; a second Ctrl+C put None there.
        if report := reports.get():
            _say(log, *_report_lines(report))
    return leave(0, left)


def _show_reports(
    args: argparse.Namespace,
    worker: BackgroundWorker,
    reports: SimpleQueue[DriveReport | None],
    log: str,
) -> None:
    """Until somebody ends this process."""
    # Imported here: whoever looks at stale tasks waits for nothing.
    from queue import Empty

    while True:
        try:
            report = reports.get(timeout=_POLL_SECONDS if args.everywhere else None)
        except Empty:
            worker.set_projects(_projects(args))
            continue
        if report is None:
            return
        _say(log, *_report_lines(report))


def _projects(args: argparse.Namespace) -> list[str]:
    if args.no_tasks:
        return []
    if not args.everywhere:
        return [environment.project(os.getcwd())]
    # Imported here: most workers have one project.
    from gatebell.install.records import projects_of

    # Not all that have tasks: an agent could make some in a folder of its own, with roles of its
    # own. A person ran gate init in these.
    return projects_of(os.environ, "init")


def _report_lines(report: DriveReport) -> list[str]:
    run = report.run
    if report.task:
        # Imported here: workers without tasks do without.
        from gatebell.terminal.worker import worked_lines

        return worked_lines(report.task, report.asks, is_over=report.is_over)
    told = f"gate worker: run {run.id} ({inert_line(run.flow, 40)})"
    why = f": {inert_line(run.reason, 200)}" if run.reason else ""
    return [f"{told} is {run.state}{why}" if report.is_over else f"{told} is driven"]


def _say(log: str, *lines: str) -> None:
    """Print some lines here, one below the other, and keep them in the worker's log."""
    print("\n".join(lines), file=sys.stderr, flush=True)
    for line in lines:
        runtime.append_line(log, line)
