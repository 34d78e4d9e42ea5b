"""The listener: one for each project, held by a lock; it looks, and lets go in good order."""

from __future__ import annotations

import os
import threading
from contextlib import suppress
from typing import TYPE_CHECKING

from humangate.errors import GateError, UsageError
from humangate.file_protocol.collecting import Collector, Happening
from humangate.file_protocol.folders import Helpers
from humangate.senders import hold, release

if TYPE_CHECKING:
    from collections.abc import Callable

    from humangate.domain.principals import Caller
    from humangate.doors.store import Store

_LOOK_EVERY_SECONDS = 0.1
_PROJECTS_EVERY_SECONDS = 10.0


class _Post:
    """One project that is listened in."""

    def __init__(
        self, store: Store, project: str, caller: Caller, tell: Callable[[str, Happening], None]
    ) -> None:
        self.project = project
        self.helpers = Helpers(project)
        held = hold(self.helpers.lock_path)
        if held is None:
            pid = _pid(self.helpers.path)
            self.helpers.close()
            raise UsageError(f"somebody listens in {project} already{pid}: end that one first")
        self._lock = held
        self.helpers.write_pid()
        self.collector = Collector(
            store, self.helpers, caller, lambda happening: tell(project, happening)
        )

    def leave(self) -> None:
        """The questions stay, and are found again by whoever listens next."""
        with suppress(OSError):
            self.collector.registry.clear()
            self.helpers.remove_pid()
        self.helpers.close()
        release(self._lock)


def _pid(path: str) -> str:
    with suppress(OSError), open(os.path.join(path, ".listener.pid"), encoding="utf-8") as file:
        number = file.read(20).strip()
        return f" (process {number})" if number.isdecimal() else ""
    return ""


class Listener:
    """Listens in some projects, with a store of its own, until it is stopped."""

    def __init__(
        self,
        store: Store,
        projects: Callable[[], list[str]],
        caller: Caller,
        tell: Callable[[str, Happening], None],
        *,
        alone: bool,
    ) -> None:
        """`alone`: the one project must be had; otherwise those that others have are left to them.

        `tell` gets the project, and what happened there.
        """
        self._store, self._projects, self._caller, self._tell = store, projects, caller, tell
        self._alone = alone
        self._posts: dict[str, _Post] = {}
        self._troubles: dict[str, str] = {}
        self._stopped = threading.Event()
        self._seq = -1
        self._looked_at = float("-inf")
        self._look_for_projects()

    @property
    def repaired(self) -> list[str]:
        """What was wrong with the folders, and is not any more."""
        return [one for post in self._posts.values() for one in post.helpers.repaired]

    @property
    def collectors(self) -> list[Collector]:
        return [post.collector for post in self._posts.values()]

    def listen(self) -> None:
        bell = self._store.bell()
        try:
            while not self._stopped.is_set():
                self.look()
                bell.wait(_LOOK_EVERY_SECONDS)
        finally:
            bell.close()
            for post in self._posts.values():
                post.leave()

    def stop(self) -> None:
        self._stopped.set()

    def look(self) -> None:
        """Look once, everywhere. Trouble with one project, or with the store, holds up no other."""
        if self._store.monotonic() - self._looked_at >= _PROJECTS_EVERY_SECONDS:
            self._look_for_projects()
        try:
            seq = self._store.audit.head().seq
        except GateError as error:
            self._complain("", str(error))
            return
        rung, self._seq = seq != self._seq, seq
        for project, post in list(self._posts.items()):
            try:
                post.collector.look(rung=rung)
                self._troubles.pop(project, None)
            except (GateError, OSError) as error:
                self._seq = -1
                self._complain(project, str(error))

    def _look_for_projects(self) -> None:
        self._looked_at = self._store.monotonic()
        for project, post in list(self._posts.items()):
            if not post.helpers.is_still_there():
                post.leave()
                del self._posts[project]
        for project in self._projects():
            if project in self._posts:
                continue
            try:
                self._posts[project] = _Post(self._store, project, self._caller, self._tell)
            except (UsageError, OSError) as error:
                if self._alone and not self._posts:
                    raise
                self._complain(project, str(error))

    def _complain(self, project: str, trouble: str) -> None:
        """Once for each trouble."""
        if self._troubles.get(project) != trouble:
            self._troubles[project] = trouble
            self._tell(project, Happening("trouble", project, trouble))
