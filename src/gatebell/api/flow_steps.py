"""The calls of a flow that need no agent and no person: steps, branches, files, time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, cast

from gatebell.api.flow_journal import find_branch, make_call
from gatebell.domain.arguments import must_be_count, must_be_text
from gatebell.domain.asks.times import as_seconds
from gatebell.domain.lists import as_items
from gatebell.errors import UsageError
from gatebell.services.runs import flow_calls, parallel_branches
from gatebell.services.runs.parallel_branches import Stuck
from gatebell.services.runs.run_journal import current

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from datetime import datetime

    from gatebell.domain.asks.times import Seconds

_IS_COROUTINE = 0x80


class Context(NamedTuple):
    """The run, the folder and the place of a flow's code."""

    run_id: int
    prompt: str
    repo: str
    """The project that the run belongs to."""
    folder: str
    """The folder in which its agents work."""
    iteration: int
    """How many calls this branch has made."""
    key: str
    """Inside a step: the same at every try of this step, for services that want one."""


def stuck(reason: str = "") -> Stuck:
    """End the run as stuck, here: no code after it runs, even without `return`.

    Outside of a flow it only returns the result that would end one.

    Example:
        return flow.stuck("the architecture was rejected")
    """
    must_be_text(reason, "the reason of flow.stuck()")
    result = Stuck(reason or "the flow gave no reason")
    try:
        branch = current.get()
    except LookupError:
        return result
    if not branch.step:
        branch.halt_at(result.reason, f"{branch.prefix}{branch.count}" if branch.prefix else "")
    return result


def step(
    work: Callable[..., Any], *args: Any, name: str = "", dangerous: bool = False, **named: Any
) -> Any:
    """Call a function and record its result.

    An interrupted step runs again, so it must be repeatable. A dangerous step does not run again:
    a person is asked whether it happened.

    Args:
        work: the function; it gets `args` and `named`
        name: the label of the step; by default the name of the function
        dangerous: it must not happen twice

    Returns:
        The result of the function, which must be JSON.

    Raises:
        StepFailedError: The function raised an error, now or before a replay.

    Example:
        version = flow.step(read_version, "pyproject.toml")
    """
    if not callable(work):
        raise UsageError(f"step() takes a function first, not {work!r}: step(work, …)")
    if getattr(getattr(work, "__code__", None), "co_flags", 0) & _IS_COROUTINE:
        raise UsageError(
            "step() takes a plain function, and this one is async: "
            "flow.step(lambda: asyncio.run(work()))"
        )
    label = name or getattr(work, "__name__", type(work).__name__)
    arguments = [list(args), named]
    return make_call(
        "step", flow_calls.step, lambda: work(*args, **named), label, arguments, dangerous=dangerous
    )


def read(path: str) -> str:
    """Return the text of a file in the run's folder, the same at every replay."""
    must_be_text(path, "the path of flow.read()")
    return make_call("read", flow_calls.read, path)


def parallel(
    *works: Callable[[], Any] | Iterable[Callable[[], Any]],
    limit: int | None = None,
    settle: bool = False,
) -> list[Any]:
    """Run branches at once.

    Args:
        works: functions without arguments, or one list of them
        limit: how many run at a time
        settle: return the result of every branch, even if one fails

    Returns:
        Their results, in their order.

    Raises:
        BranchFailedError: A branch failed; the others stop at their next call.

    Example:
        flow.parallel(lambda: flow.run("coder"), lambda: flow.run("writer"))
    """
    is_list = len(works) == 1 and hasattr(works[0], "__iter__") and not callable(works[0])
    given = cast("Iterable[Callable[[], Any]]", works[0] if is_list else works)
    branches = as_items(given, "the branches of parallel()")
    if not all(callable(one) for one in branches):
        raise UsageError("parallel takes functions without arguments: lambda: run('coder', …)")
    if limit is not None:
        must_be_count(limit, "limit")
    return make_call("parallel", parallel_branches.parallel, branches, limit, settle=settle)


def sleep(duration: Seconds) -> None:
    """Go on after a time; no process waits during it.

    Args:
        duration: a number of seconds, or a timedelta; a time that is over goes on at once
    """
    seconds = duration.total_seconds() if hasattr(duration, "total_seconds") else duration
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or seconds > 0:
        as_seconds(duration, "the time of flow.sleep()")
    make_call("sleep", flow_calls.sleep, seconds)


def now() -> datetime:
    """Return the time, the same at every replay."""
    return make_call("now", flow_calls.now)


def random() -> float:
    """Return a number from 0 to 1, the same at every replay."""
    return make_call("random", flow_calls.random)


def log(text: str) -> None:
    """Write a line into the run's record, once."""
    if not isinstance(text, str):
        raise UsageError(f"log() takes text, not {type(text).__name__}")
    make_call("log", flow_calls.log, text)


def context() -> Context:
    """Return the run, the folder and the place of this code."""
    branch = find_branch("context")
    run_now, call = branch.drive.run, branch.step
    return Context(
        run_now.id,
        run_now.prompt,
        run_now.project,
        run_now.folder,
        branch.count,
        call.key if call else "",
    )
