"""The built-in flow `work_task`: an agent works, tests run, a person confirms, the work is kept.

Questions, sessions, waiting and recovery work as in every flow. Nothing is committed before all of
these steps, and nothing is rolled back.
"""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from gatebell.domain.asks.asks import iso
from gatebell.domain.asks.outcomes import answer_text
from gatebell.domain.enums import AnswerOutcome, AskKind, AskStatus, TaskState
from gatebell.domain.people.principals import is_person
from gatebell.domain.runs import own_paths, prompts
from gatebell.domain.runs.flow_terms import FlowTerms, FlowTimeout
from gatebell.domain.tasks import reports
from gatebell.domain.tasks.backlog_settings import Strategy
from gatebell.domain.tasks.reports import Report
from gatebell.domain.tasks.tasks import TaskTimeout
from gatebell.domain.text.display import inert_line
from gatebell.errors import (
    CheckedOutError,
    GateError,
    MergeConflictError,
    StepFailedError,
)
from gatebell.services.asks import create_ask
from gatebell.services.asks.create_ask import Request
from gatebell.services.runs import flow_calls
from gatebell.services.runs.agent_call import run_agent
from gatebell.services.runs.agent_call.turn import AgentRequest
from gatebell.services.runs.run_journal import current, place_of
from gatebell.services.tasks import backlog

if TYPE_CHECKING:
    from gatebell.domain.asks.outcomes import Outcome
    from gatebell.domain.tasks.backlog_settings import BacklogTerms
    from gatebell.domain.tasks.seen_tasks import Exchange
    from gatebell.domain.tasks.tasks import Task
    from gatebell.ports.flows import StepWork
    from gatebell.ports.store import Store
    from gatebell.services.runs.run_journal import Branch

_TEST_SECONDS = 3600.0
_MAX_WORDS = 4_000
_SHOWN = "shown"
_MARK = "mark"
_AGAIN = "Try again"
_LEAVE = "Leave it on its branch"
_NOT_ACCEPTED = "A person did not accept it before."
_TIMED_OUT = {TaskTimeout.FAIL: TaskState.FAILED, TaskTimeout.DEFER: TaskState.DEFERRED}


class _Plan(NamedTuple):
    """The settings of one run, read once when it begins."""

    task: str
    title: str
    role: str
    words: str
    """The instructions for the agent beside the task itself."""
    test: str
    test_is_agents: bool
    own_test: str
    """The test of the project, used if a person refuses the one that an agent named."""
    test_tries: int
    strategy: Strategy
    base: str
    sure: float | None
    """A person confirms the work if the agent's confidence is below this or unreadable."""
    unanswered: TaskState
    """The state of a task after a question timed out."""


def _read_plan(recorded: dict[str, Any]) -> _Plan:
    plan = _Plan(**recorded)
    return plan._replace(strategy=Strategy(plan.strategy), unanswered=TaskState(plan.unanswered))


def terms(given: BacklogTerms, task: Task) -> FlowTerms:
    """Return the terms of the flow for waiting for people."""
    return FlowTerms(
        on_timeout=FlowTimeout.RETURN,
        human_seconds=task.answer_within_seconds or given.answer_within_seconds,
        remind_seconds=given.remind_every_seconds,
        most_asks=given.most_asks,
        statuses=reports.STATUSES,
        asks_by_question=True,
    )


def work_task(_prompt: str) -> dict[str, Any]:
    """Work on the task of this run until it is closed, or cannot be closed."""
    try:
        return _Work(current.get()).done()._asdict()
    except StepFailedError as error:
        return Report(TaskState.FAILED, status=error.message)._asdict()


class _Work:
    """One run of one task; continues where it was left."""

    def __init__(self, branch: Branch) -> None:
        self._branch, self._drive = branch, branch.drive
        self._place, self._workspace = place_of(branch.drive.run), branch.drive.needs.workspace
        self._plan = _read_plan(self._step("plan", lambda: self._build_plan()._asdict()))
        self._allowed: Outcome | None = None
        self._mark = ""

    def _step(self, name: str, work: StepWork, arguments: Any = None) -> Any:
        return flow_calls.step(self._branch, work, name, arguments)

    @property
    def _key(self) -> str:
        """Return the key of the current step; it stays the same on every try."""
        assert self._branch.step
        return self._branch.step.key

    def _build_plan(self) -> _Plan:
        run, store = self._drive.run, self._drive.store
        task, given = backlog.get(store, run.task), self._drive.needs.backlogs.terms(run.project)
        role = self._drive.needs.roles.find(run, task.role or given.role)
        parts = [part(self._branch, task) for part in (_remarks, _describe_dependencies, _history)]
        return _Plan(
            task.id,
            task.title,
            role.name,
            "\n\n".join(filter(None, ["Work on the task above.", *parts])),
            task.test_command or given.test,
            bool(task.test_command) and task.test_from.startswith("agent:"),
            given.test,
            given.test_tries,
            given.strategy,
            given.base,
            role.confidence,
            _TIMED_OUT[TaskTimeout(task.on_timeout or given.on_timeout)],
        )

    def done(self) -> Report:
        """Work until there is a final report, and return it."""
        words, failures, earlier = self._plan.words, 0, ""
        while True:
            signal = run_agent.call_agent(self._branch, AgentRequest(self._plan.role, words))
            report = reports.read(signal, self._plan.unanswered)
            if report.state != TaskState.CLOSED:
                return report
            test = self._test()
            if test is None:
                status = "no person answered whether its test may be run"
                return report._replace(state=self._plan.unanswered, status=status)
            if problem := self._run_test(test):
                failures += 1
                if failures >= self._plan.test_tries:
                    status = f"its test failed {failures} times. {problem}"
                    return report._replace(state=TaskState.FAILED, status=status)
                words = f"Your work does not pass its test. Mend it.\n{prompts.quote(problem)}"
                continue
            # A person who rejected the work sees the next version too, at any confidence.
            doubt = reports.doubt(signal, self._plan.sure) or earlier
            accepted = self._commit_work(report, doubt)
            if isinstance(accepted, str):
                return self._deliver(report, accepted)
            if accepted.status == AskStatus.TIMED_OUT:
                return report._replace(
                    state=self._plan.unanswered, status="no person confirmed it in time"
                )
            earlier = _NOT_ACCEPTED
            reason = prompts.quote(accepted.note or "no reason was given")
            words = f"A person looked at your work and did not accept it:\n{reason}"

    def _test(self) -> str | None:
        """Return the test command; None if the question whether it may run timed out."""
        plan = self._plan
        if not plan.test_is_agents:
            return plan.test
        if self._allowed is None:
            named = f"An agent named the test command of {plan.task}. May it be run?"
            self._allowed = flow_calls.pause(self._branch, named, {"context": plan.test})
        if self._allowed:
            return plan.test
        # A timeout is not an approval to close it untested (law 3).
        return None if self._allowed.status == AskStatus.TIMED_OUT else plan.own_test

    def _run_test(self, test: str) -> str:
        """Run the test command; return the problem, or an empty text."""
        check = self._workspace.check
        if not test:
            return ""
        return str(
            self._step("test", lambda: check(self._place, test, self._key, _TEST_SECONDS), test)
        )

    def _commit_work(self, report: Report, doubt: str) -> str | Outcome:
        """Return the commit of the work, or the answer of the person who rejected it."""
        plan, words = self._plan, self._message(report)
        if plan.strategy == Strategy.REVIEW:
            # This text is part of the recorded question: waiting runs replay it (law 5).
            doubt = (
                "" if report.confidence is None else reports.describe_confidence(report.confidence)
            )
        elif not doubt or self._was_let_pass():
            self._draw_mark()
            return str(self._step("commit", lambda: self._commit(words), words))
        question = f"Is the work on {plan.task} right: {plan.title}? {doubt}".rstrip()
        changed: list[str] = []
        while True:
            self._step("show", self._show)
            said = {"summary": report.summary, "details": report.details}
            since = {"changed since it was shown": changed} if changed else {}
            decided = flow_calls.pause(self._branch, question, {"context": said | since})
            if not decided:
                return decided
            self._draw_mark()
            # Only the work that was shown is approved (law 4), so the same step compares and
            # commits.
            commit, changed = self._step("commit", lambda: self._commit_shown(words), words)
            if commit:
                return str(commit)

    def _was_let_pass(self) -> bool:
        """Return whether an older version recorded that this work needs no review (law 5)."""
        recorded = self._drive.calls.get(f"{self._branch.prefix}{self._branch.count + 1}")
        return recorded is not None and recorded.label == _MARK

    def _message(self, report: Report) -> str:
        return f"{self._plan.title}\n\n{report.summary}\n\nTask: {self._plan.task}"

    def _show(self) -> str:
        return self._workspace.snapshot(self._place, self._drive.run.id, _SHOWN)

    def _draw_mark(self) -> None:
        """Record a random mark that the ended agent cannot know, so it cannot forge our commit."""
        self._mark = self._step(_MARK, lambda: os.urandom(8).hex())

    def _commit(self, words: str) -> str:
        return self._workspace.commit(self._place, words, f"{self._key}/{self._mark}")

    def _commit_shown(self, words: str) -> tuple[str, list[str]]:
        """Return the commit; or an empty text and the files that differ from the shown work."""
        run = self._drive.run
        changed = self._workspace.restore(self._place, run.id, _SHOWN)
        return "" if changed else self._commit(words), changed

    def _deliver(self, report: Report, commit: str) -> Report:
        """Deliver the commit by the strategy of the project."""
        report = report._replace(branch=self._place.branch, commit=commit)
        return report if self._plan.strategy == Strategy.BRANCH else self._merge_work(report)

    def _merge_work(self, report: Report) -> Report:
        plan, branch, words = self._plan, self._place.branch, self._message(report)
        while True:
            done = self._step("merge", lambda: self._merge(words), plan.base)
            if commit := done["commit"]:
                # Other tasks start from the base branch, which has the whole work in this commit.
                told = "" if done.get("gone") or plan.strategy == Strategy.DIRECT else branch
                gone = f", so its branch {branch} is removed" if done.get("gone") else ""
                status = f"on {plan.base} as {commit[:12]}{gone}"
                return report._replace(branch=told, commit=commit, status=status)
            if not done["conflict"] or not self._tries_again(done["why"]):
                return report._replace(status=f"left on {branch}: {done['why']}")

    def _merge(self, words: str) -> dict[str, Any]:
        base, squash = self._plan.base, self._plan.strategy == Strategy.DIRECT
        # The key is the same on every try, so an earlier merge is found again.
        key = f"run-{self._drive.run.id}/merge/{self._mark}"
        made, conflict, why, gone = "", False, "", False
        try:
            if base:
                made = self._workspace.merge(self._place, base, words, key, squash=squash)
                gone = self._let_go(made)
            else:
                why = "no branch was checked out to merge into"
        except CheckedOutError as error:
            why = str(error)
        except MergeConflictError as error:
            conflict, why = True, str(error)
        return {"commit": made, "conflict": conflict, "why": why, "gone": gone}

    def _let_go(self, commit: str) -> bool:
        """Remove the branch if the commit contains all of it; return whether it was removed."""
        # The work is merged already: a branch that remains is not a failure.
        with suppress(GateError):
            return self._workspace.let_go(self._place, commit)
        return False

    def _tries_again(self, why: str) -> bool:
        asked = f"{self._plan.task} does not fit {self._plan.base} any more. What now?"
        request = Request(asked, AskKind.CHOICE, options=(_AGAIN, _LEAVE), context=why)
        answer = flow_calls.ask(self._branch, request)
        return answer.status == AskStatus.ANSWERED and answer.value == _AGAIN


def _remarks(branch: Branch, _: Task) -> str:
    """Return the remarks about the new folder."""
    call = branch.drive.calls.get(own_paths.BRANCH)
    if not call or not call.value:
        return ""
    # The remarks contain file names, which agents may choose.
    return "\n".join(["About your folder:", *map(prompts.quote, call.value)])


def _describe_dependencies(branch: Branch, task: Task) -> str:
    """Return the titles and summaries of the tasks that this task depends on."""
    needed = [branch.drive.store.tasks.get(one) for one in task.needs]
    told = [
        f"{one.id}:\n{prompts.quote(one.title)}\n{prompts.quote(one.summary)}"
        for one in needed
        if one
    ]
    return "\n".join(["What this task builds on is in your folder:", *told]) if told else ""


def _history(branch: Branch, task: Task) -> str:
    """Return the results of earlier runs, with their questions and answers."""
    store, run = branch.drive.store, branch.drive.run
    lines = []
    for before in store.runs.of_task(task.id):
        if before.id < run.id:
            result = before.result if isinstance(before.result, dict) else {}
            why = result.get("status") or result.get("summary") or before.reason
            state = result.get("state", before.state)
            said = prompts.quote(str(why)[:_MAX_WORDS])
            lines.append(f"Run {before.id} ended as {state}:\n{said}")
    asked = (one for one in backlog.history(store, task) if one.run < run.id)
    lines += [_exchange(store, one) for one in asked]
    if not lines:
        return ""
    return "\n".join(
        ["This task was worked on before. Earlier results, questions and answers:", *lines]
    )


def _exchange(store: Store, asked: Exchange) -> str:
    """Return one question of an earlier run with its answer, or with late answers."""
    question = prompts.quote(asked.question[:_MAX_WORDS])
    if asked.status == AskStatus.ANSWERED:
        said = prompts.quote("\n".join(filter(None, [asked.answer, asked.note])))
        who = f"{inert_line(asked.who)}, {iso(asked.answered_at)}"
        return f"Asked earlier:\n{question}\nAnswered by {who}:\n{said}"
    ended = asked.status.replace("_", " ")
    lines = [f"Asked earlier, {ended} without an answer:", question]
    ask = create_ask.get(store, asked.ask_id)
    for one in store.asks.answers(ask.id):
        if one.outcome == AnswerOutcome.LATE and is_person(one.principal):
            words = "\n".join(filter(None, [answer_text(ask, one.value), one.note]))
            said = prompts.quote(words[:_MAX_WORDS])
            lines += [f"Answered too late by {inert_line(one.principal)}:", said]
    return "\n".join(lines)
