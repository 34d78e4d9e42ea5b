"""The port to where asks are kept: a store of this machine, or a server that other machines share.

A face calls these verbs and gets the same domain objects from both sides. In process they call the
services (`app/local_backend.py`). With `GATE_SERVER` they speak HTTP (`adapters/remote`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from gatebell.ports.backends.rules import RuleVerbs
from gatebell.ports.backends.work import RunVerbs, TaskVerbs

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from gatebell.domain.asks.answers import Answer, Given
    from gatebell.domain.asks.asks import Ask, Message, Origin
    from gatebell.domain.asks.attachments import Attachment
    from gatebell.domain.asks.history_filters import HistoryFilter
    from gatebell.domain.asks.requests import Opened, Request
    from gatebell.domain.audit.events import Entry
    from gatebell.domain.enums import RuleKind
    from gatebell.domain.freezes import Freeze
    from gatebell.domain.notifications.notes import Note
    from gatebell.domain.people.principals import Caller
    from gatebell.domain.permissions.calls import Call
    from gatebell.domain.permissions.rules import Rule
    from gatebell.errors import ServerError
    from gatebell.ports.calls.waiting_calls import Held, Permission
    from gatebell.ports.calls.waiting_requests import WaitingRequests
    from gatebell.ports.store import Store


class Asking(Protocol):
    """The verbs of an asker."""

    def ask(self, request: Request, origin: Origin, caller: Caller, key: str = "") -> Opened:
        """Open an ask; a repeated request of the same agent session returns the first ask."""
        ...

    def follow(
        self, ask_id: str, seconds: float | None = None, hears: bool = True
    ) -> Iterator[Ask]:
        """Wait, and yield the ask at each look; the last one is the result.

        It ends when the ask is settled, when a person asks back and `hears` is true, or after
        `seconds`.
        """
        ...

    def waiting_requests(self) -> WaitingRequests | None:
        """Return the requests by which an async program waits; None: on a store it needs none."""
        ...

    def is_ready(self, ask: Ask) -> bool:
        """Return whether the asker may have the answer."""
        ...

    def reveal(self, ask: Ask, token: str) -> tuple[Ask, Any]:
        """Return the ask with its decision, and the value; a secret one only for its token."""
        ...

    def take(self, ask: Ask, to: str) -> bool:
        """Record that the answer was handed over. Call it after that, never before."""
        ...

    def hear(self, ask: Ask) -> None:
        """Record that the asker got the messages counted in this version of the ask."""
        ...

    def reply(self, ask_id: str, caller: Caller, text: str) -> Ask:
        """Add the asker's reply, shown to people below the question."""
        ...

    def cancel(self, ask_id: str, caller: Caller, reason: str, *, failed: bool = False) -> Ask:
        """Withdraw a pending ask; `failed`: its session could not take place."""
        ...

    def pending_of_session(self, origin: Origin) -> list[Ask]:
        """Return the pending asks of an agent's session."""
        ...

    def is_of_session(self, ask: Ask, origin: Origin) -> bool:
        """Return whether this session asked it."""
        ...


class Looking(Protocol):
    """The verbs that only read."""

    def get(self, ask_id: str) -> Ask:
        """Return the ask with exactly this id, after its deadlines."""
        ...

    def find(self, named: str) -> Ask:
        """Return the ask with exactly this id, or the only pending one of a task or run."""
        ...

    def look_up(self, abbreviation: str) -> Ask:
        """Return the ask whose id starts so, or the only pending one of a task or run."""
        ...

    def pending(self, limit: int, project: str | None = None, key: str = "") -> list[Ask]:
        """Return the pending asks: most urgent first, then oldest; `key`: that of the project."""
        ...

    def settled(self, limit: int, wanted: HistoryFilter) -> list[Ask]:
        """Return the settled asks that fit the filter, newest first."""
        ...

    def messages(self, ask_id: str) -> list[Message]:
        """Return the messages about an ask, oldest first."""
        ...

    def answers(self, ask_id: str) -> list[Answer]:
        """Return all answers of an ask, with refused ones."""
        ...

    def events(self, ask_id: str) -> list[Entry]:
        """Return the audit events of an ask."""
        ...

    def find_freeze(self) -> Freeze | None:
        """Return the freeze that lasts now."""
        ...

    def notes(self, limit: int) -> list[Note]:
        """Return the newest notes of agents."""
        ...

    def is_waiter_gone(self, ask: Ask) -> bool:
        """Return whether the process that waited for this ask was killed, and no other waits."""
        ...

    def describe_trust(self, ask: Ask) -> str:
        """Return how far an approval of this ask can be trusted."""
        ...


class Attaching(Protocol):
    """The verbs for files."""

    def attach(self, name: str, content: bytes) -> Attachment:
        """Keep the bytes of a file durably, for an ask or answer that names them next."""
        ...

    def read_attachment(self, ask_id: str, attachment: Attachment) -> bytes:
        """Return the bytes of a file of an ask, or of one of its answers."""
        ...


class Answering(Protocol):
    """The verbs of a person."""

    def answer(self, ask_id: str, caller: Caller, given: Given) -> Ask:
        """Record an answer; a refused answer is kept, then raised as an error."""
        ...

    def ask_back(self, ask_id: str, caller: Caller, text: str) -> Ask:
        """Send the asker a message; the ask stays pending."""
        ...

    def draft(self, ask_id: str, caller: Caller) -> str:
        """Return this caller's unfinished answer."""
        ...

    def save_draft(self, ask_id: str, caller: Caller, text: str) -> None:
        """Keep an unfinished answer; a soft deadline waits for it."""
        ...

    def keep_typed(self, error: ServerError, ask_id: str, text: str) -> ServerError:
        """Keep a text that could not be sent; return the error that says where it is."""
        ...

    def signal_run(self, run_id: int, status: str, message: str, caller: Caller) -> Ask:
        """Give a run the signal that it waits for."""
        ...

    def freeze(self, caller: Caller, reason: str) -> tuple[Freeze, bool]:
        """Freeze everything; return the freeze that lasts now, and whether it is new."""
        ...

    def lift_freeze(self, caller: Caller) -> Freeze | None:
        """Lift the freeze; return it, or None if nothing was frozen."""
        ...

    def gates(self) -> list[Rule]:
        """Return the gates and denials in force."""
        ...

    def grants(self) -> list[Rule]:
        """Return the grants in force."""
        ...

    def add_gate(
        self, caller: Caller, kind: RuleKind, project: str, pattern: str, key: str = ""
    ) -> Rule:
        """Add a gate or a denial; `key`: that of its project."""
        ...

    def end_gate(self, caller: Caller, named: str) -> Rule:
        """End a gate or a denial, by its id or its pattern."""
        ...

    def end_grant(self, caller: Caller, rule_id: str) -> Rule:
        """End a grant."""
        ...


class Holding(Protocol):
    """The verbs of a host that holds tool calls. None of them is ever kept for later."""

    def decide(self, held: Held, caller: Caller) -> Permission:
        """Hold the call until it is decided, here or elsewhere, or the host's time limit ends."""
        ...

    def defer(self, held: Held, caller: Caller) -> Permission | None:
        """Decide at once if there is an answer; None: the host may defer this call."""
        ...

    def is_gated(
        self,
        call: Call,
        origin: Origin,
        folders: tuple[str, ...] = (),
        *,
        is_harmless: bool = False,
    ) -> bool:
        """Return whether a person must be asked about this call."""
        ...

    def must_have_gates(self) -> None:
        """Refuse to judge calls by a store that never had a gate or a denial."""
        ...

    def instead(self, ask_id: str, held: Held, edited: Call) -> Permission:
        """Deny, with the edited input as text, and allow that input once."""
        ...

    def hand_over(self, permission: Permission, held: Held) -> None:
        """Record the answers as taken, after the host got the decision."""
        ...

    def retire(self, ask: Ask, caller: Caller, reason: str) -> Ask:
        """Withdraw an ask that was decided elsewhere, unless it was settled first."""
        ...

    def tell(self, origin: Origin, caller: Caller, text: str) -> None:
        """Leave a note that the inbox shows."""
        ...

    def signal(self, origin: Origin, caller: Caller, status: str, summary: str) -> None:
        """Keep a note and an event of an agent's report."""
        ...


class Backend(
    Asking, Looking, Attaching, Answering, Holding, RuleVerbs, RunVerbs, TaskVerbs, Protocol
):
    """All verbs, the clock, and who calls."""

    name: str
    """The path of the store or the address of the server, for sentences."""

    @property
    def folder(self) -> str:
        """A folder of this user for texts that could not be recorded."""
        ...

    @property
    def store(self) -> Store | None:
        """The store of this machine; None if a server keeps the asks."""
        ...

    def caller(self, via: str, token: str = "", name: str = "") -> Caller:
        """Return the caller: the OS user, not verified, or the person of the token."""
        ...

    def name_of(self, caller: Caller) -> str:
        """Return the name of the person who calls; a server knows it by the token."""
        ...

    def now(self) -> datetime:
        """Return the current time."""
        ...

    def monotonic(self) -> float:
        """Return seconds of a clock that never goes back."""
        ...
