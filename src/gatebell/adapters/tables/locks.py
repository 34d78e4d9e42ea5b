"""Lock rows until the end of a transaction, in a database that has several writers at once.

In SQLite only one transaction writes at a time, so these statements do not exist there. Every
transaction takes its locks in the same order: freeze, chat link, task, run, standing rules, ask,
rule. So no two wait for each other.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gatebell.adapters.tables.statements import Statements


class Locks:
    def __init__(self, statements: Statements) -> None:
        self._db = statements

    def hold_tasks(self, *task_ids: str) -> None:
        """Lock tasks, and the tasks that need them: their number of open needs may change."""
        ids = {"ids": json.dumps(task_ids)}
        self._db.lock("lock_tasks", ids)
        # Again: while this waited, another task may have begun to need one of them.
        self._db.lock("lock_tasks", ids)

    def hold_new_tasks(self) -> None:
        """Let no other transaction add tasks or needs."""
        self._db.lock("lock_new_tasks", {})

    def hold_task_of_run(self, run_id: int) -> None:
        """Lock the task of a run, and the tasks that need it."""
        run = {"run": run_id}
        # Again, as above. The task of a run never changes, so one without a task stays so.
        if self._db.lock("lock_task_of_run", run):
            self._db.lock("lock_task_of_run", run)

    def hold_run(self, run_id: int) -> None:
        """Lock a run: a run that parks looks at its asks, and an answer looks at the run."""
        self._db.lock("lock_run", {"id": run_id})

    def hold_turn(self, turn_id: str) -> None:
        """Keep the run of a turn and the question of its person as they are."""
        self._db.lock("lock_run_of_turn", {"id": turn_id})
        self._db.lock("lock_ask_of_turn", {"id": turn_id})

    def hold_freezes_off(self) -> None:
        """Let no freeze begin until this transaction has ended."""
        self._db.lock("lock_freezes_off", {})

    def hold_freezing(self) -> None:
        """Wait for the transactions that hold freezes off."""
        self._db.lock("lock_freezing", {})

    def hold_person(self, person: str) -> None:
        """Keep a person, whose end also ends what is being made for them."""
        self._db.lock("lock_person", {"person": person})

    def hold_login_maker(self, person: str, token_id: str) -> None:
        """Keep a person and a token, so that their end also ends the login that is being made."""
        self.hold_person(person)
        self._db.lock("lock_token", {"token_id": token_id})

    def hold_groups(self) -> None:
        """Let no other transaction change the members of groups."""
        self._db.lock("lock_groups", {})

    def hold_chat_link(self, link_id: str) -> None:
        """Keep the link of an account, so that it does not end before what it allows."""
        self._db.lock("lock_chat_link", {"id": link_id})

    def hold_standing_rules(self) -> None:
        """Let no other transaction make a grant without an end, or object to one."""
        self._db.lock("lock_standing_rules", {})
