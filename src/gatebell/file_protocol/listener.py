"""The listener of projects: one process per project, by a lock."""

from __future__ import annotations

import gc
import os
import resource
import threading
from contextlib import suppress
from typing import TYPE_CHECKING

from gatebell.app.environment import HELPERS
from gatebell.domain.asks.asks import settled_sentence
from gatebell.domain.asks.outcomes import answer_text
from gatebell.domain.enums import AskStatus
from gatebell.errors import GateError, RefusedError
from gatebell.file_protocol.answers import SESSIONS, Happening, HappeningKind
from gatebell.file_protocol.collector import Collector
from gatebell.file_protocol.folders import Helpers
from gatebell.file_protocol.registry import AgentStatus
from gatebell.install import records
from gatebell.services.asks.apply_deadlines import sweep

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from gatebell.domain.asks.asks import Ask
    from gatebell.domain.people.principals import Caller
    from gatebell.ports.store import Store

_POLL_SECONDS = 0.05
_PROJECTS_EVERY_SECONDS = 3.0
_SWEEP_EVERY_SECONDS = 0.5
_STATUS_EVERY_SECONDS = 10.0
_ENDS_WITHIN_SECONDS = 5.0
_MAX_SHOWN = 1_000
_OPEN_FILES = 65_536


class HeldError(RefusedError):
    """Another process listens in this project."""

    def __init__(self, project: str, pid: int) -> None:
        named = f" (process {pid})" if pid else ""
        super().__init__(f"another process listens in {project}{named}: end it first")
        self.pid = pid


class _Post:
    """One project whose files are collected here."""

    def __init__(
        self, store: Store, project: str, caller: Caller, tell: Callable[[str, Happening], None]
    ) -> None:
        self.helpers = Helpers(project)
        try:
            self._settle_in()
        except BaseException:
            self.helpers.close()
            raise
        self.collector = Collector(
            store, self.helpers, caller, lambda happening: tell(project, happening)
        )
        for words in self.helpers.repaired:
            tell(project, Happening(HappeningKind.REPAIRED, project, words))

    def _settle_in(self) -> None:
        if not self.helpers.hold():
            raise HeldError(self.helpers.project, self.helpers.holder())
        self.helpers.remove_temporary()
        self.helpers.write_pid()

    def leave(self) -> None:
        """Stop; the questions stay for the next listener."""
        with suppress(OSError):
            # A listener that has another lock by now has written these files again.
            if self.helpers.holder() in (0, os.getpid()):
                self.collector.registry.clear()
                self.helpers.remove_pid()
        self.helpers.close()


class Listener:
    """Listens in some projects, with its own store, until it is stopped."""

    def __init__(
        self,
        store: Store,
        projects: Callable[[], list[str]],
        caller: Caller,
        tell: Callable[[str, Happening], None],
        helper: Callable[[], int] = int,
    ) -> None:
        """`tell` gets the project and the event.

        `helper` is the process that may collect for us (gate up). Its projects are watched too, and
        taken over when it has ended.
        """
        _make_room()
        self._store, self._projects, self._caller, self._tell = store, projects, caller, tell
        self._helper = helper
        self._posts: dict[str, _Post] = {}
        self._helped: set[str] = set()
        self._open: dict[str, Ask] = {}
        self._problems: dict[str, str] = {}
        self._stopped = threading.Event()
        self._seq: int | None = None
        self._looked_for_projects_at = self._swept_at = float("-inf")
        self._status_at = store.monotonic() + _STATUS_EVERY_SECONDS

    @property
    def projects(self) -> set[str]:
        """Return the projects in which this listener or its helper listens."""
        return self._posts.keys() | self._helped

    @property
    def helped_projects(self) -> set[str]:
        """Return the projects in which its helper collects."""
        return self._helped

    def begin(self, project: str) -> None:
        """Start to listen in a project; UsageError or HeldError: why not."""
        if project not in self.projects:
            self._seq = None
        try:
            self._posts[project] = _Post(self._store, project, self._caller, self._tell)
            self._helped.discard(project)
        except HeldError as error:
            if not error.pid or error.pid != self._helper():
                self._helped.discard(project)
                raise
            self._helped.add(project)

    def listen(self) -> None:
        """Listen until it is stopped. Errors are reported, and it goes on."""
        bell = self._store.bell()
        try:
            while not self._stopped.is_set():
                # A listener that ends would leave every agent waiting.
                try:
                    self.look()
                except Exception as error:
                    self._complain("", _problem(error))
                bell.wait(_POLL_SECONDS)
        finally:
            bell.close()
            self.leave()

    def leave(self) -> None:
        """Stop in every project."""
        while self._posts:
            self._posts.popitem()[1].leave()

    def stop(self) -> None:
        self._stopped.set()

    def look(self) -> None:
        """Check every project once. An error in one project does not delay the others."""
        now = self._store.monotonic()
        if now - self._looked_for_projects_at >= _PROJECTS_EVERY_SECONDS:
            self._looked_for_projects_at = now
            self.look_for_projects()
        try:
            if now - self._swept_at >= _SWEEP_EVERY_SECONDS:
                self._swept_at = now
                sweep(self._store)
            changed = self._find_changed()
            for project, post in list(self._posts.items()):
                self._collect(project, post, changed)
            self._watch(changed)
            # Asks that were just opened or withdrawn by files.
            self._watch(self._find_changed())
        except GateError as error:
            self._seq = None
            self._complain("", str(error))
        if now >= self._status_at:
            self._status_at = now + _STATUS_EVERY_SECONDS
            self._tell_status()

    def _collect(self, project: str, post: _Post, changed: frozenset[str] | None) -> None:
        try:
            post.collector.look(changed)
            self._problems.pop(project, None)
        except Exception as error:
            # Whatever agents broke here: the other projects go on.
            self._seq = None
            self._complain(project, _problem(error))

    def _find_changed(self) -> frozenset[str] | None:
        """Return the asks that changed since the last check; None at first: any may have changed."""
        if self._seq is None:
            self._seq = self._store.audit.position()
            return None
        self._seq, changed = self._store.audit.changed_since(self._seq)
        return changed

    def _watch(self, changed: frozenset[str] | None) -> None:
        """Report asks that were opened or settled, by any face."""
        for ask in self._asks(changed):
            if ask.origin.project not in self.projects:
                continue
            if ask.pending and ask.id not in self._open:
                self._open[ask.id] = ask
                who, words = ask.origin.agent, ask.question.prompt
                self._tell(ask.origin.project, Happening(HappeningKind.QUEUED, who, words, ask))
            elif not ask.pending and ask.id in self._open:
                del self._open[ask.id]
                words, what = _words(ask), HappeningKind(ask.status.value)
                self._tell(ask.origin.project, Happening(what, ask.origin.agent, words, ask))

    def _asks(self, changed: frozenset[str] | None) -> list[Ask]:
        get = self._store.asks.get
        if changed is None:
            pending = [
                ask
                for project in sorted(self.projects)
                for ask in self._store.asks.pending(_MAX_SHOWN, project)
            ]
            still = {ask.id for ask in pending}
            return [
                *pending,
                *(get(one) or self._open[one] for one in self._open if one not in still),
            ]
        found = [get(one) for one in sorted(changed) if one.startswith("a-")]
        return [ask for ask in found if ask]

    def _tell_status(self) -> None:
        if not self._open:
            return
        at = int(self._store.now().timestamp())
        asking = {ask.origin.session or ask.origin.agent for ask in self._open.values()}
        asking |= {
            f"{SESSIONS}{agent.agent_id}"
            for post in self._posts.values()
            for agent in post.collector.registry.agents.values()
            if agent.status(at) != AgentStatus.IDLE
        }
        words = f"{len(self._open)} questions in queue, {len(asking)} active agents"
        self._tell("", Happening(HappeningKind.STATUS, "", words))

    def look_for_projects(self) -> None:
        """Begin in new projects, and stop in those that are gone."""
        for project, post in list(self._posts.items()):
            if not post.helpers.is_still_there():
                post.leave()
                del self._posts[project]
        for project in self._projects():
            if project not in self._posts:
                try:
                    self.begin(project)
                    self._problems.pop(project, None)
                except HeldError as error:
                    self._complain(project, str(error), HappeningKind.HELD)
                except Exception as error:
                    # As above: one project does not delay the others.
                    self._complain(project, _problem(error))

    def _complain(
        self, project: str, problem: str, what: HappeningKind = HappeningKind.PROBLEM
    ) -> None:
        """Report each problem once."""
        if self._problems.get(project) != problem:
            self._problems[project] = problem
            self._tell(project, Happening(what, project, problem))


def _make_room() -> None:
    """Raise the limit of open files, if possible: each project keeps its folders open."""
    now, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _OPEN_FILES if most == resource.RLIM_INFINITY else min(most, _OPEN_FILES)
    if now != resource.RLIM_INFINITY and now < wanted:
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, most))


def _problem(error: Exception) -> str:
    """Describe an error for people; an unexpected one is shown by name."""
    foreseen = isinstance(error, GateError | OSError)
    return str(error) if foreseen else f"{type(error).__name__}: {error}"


def _words(ask: Ask) -> str:
    if ask.token_digest:
        return "(secret)"
    if ask.status != AskStatus.ANSWERED:
        return ask.note or settled_sentence(ask)
    return ask.decision or answer_text(ask, ask.value)


def list_initialised(environ: Mapping[str, str]) -> list[str]:
    """Return every project with folders in which gate init was run."""
    found = records.projects_of(environ, "init")
    return [one for one in found if os.path.lexists(os.path.join(one, HELPERS))]


class Beside:
    """A listener on a thread of this process. It can be ended at any moment, even while it begins."""

    def __init__(self, listener: Listener) -> None:
        self._listener = listener
        self._thread = threading.Thread(target=listener.listen, name="listener", daemon=True)

    def begin(self) -> None:
        # Commands work without this, but a listener runs for a long time.
        gc.enable()
        self._thread.start()

    def end(self) -> None:
        self._listener.stop()
        if self._thread.is_alive():
            self._thread.join(_ENDS_WITHIN_SECONDS)
        else:
            self._listener.leave()
