"""Open an agent's session for one person, until that person leaves.

The session belongs to an ask (`ask_session`) or to the agent of a run (`run_session`). This is the
part that both share. They differ in which visit begins, and how it is written.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from gatebell.domain.people.principals import must_be_a_person
from gatebell.domain.sessions import visits
from gatebell.errors import RefusedError
from gatebell.services.asks import create_ask
from gatebell.services.asks.apply_deadlines import fall_due
from gatebell.services.sessions import presence
from gatebell.services.sessions.lost_visits import close_lost, take_back_lost

if TYPE_CHECKING:
    from typing import Protocol, TypeVar

    from gatebell.domain.asks.asks import Ask
    from gatebell.domain.people.principals import Caller
    from gatebell.domain.runs.identities import Identity
    from gatebell.domain.runs.runs import Turn
    from gatebell.domain.sessions.visits import Visit
    from gatebell.ports.store import Store

    Opened_co = TypeVar("Opened_co", covariant=True)
    EitherVisit = TypeVar("EitherVisit", Visit, Turn)

    class Session(Protocol[EitherVisit, Opened_co]):
        """The session of an ask, or of a run's agent."""

        def find(self, store: Store, ask: Ask, caller: Caller) -> EitherVisit | None:
            """Return the visit that this person would begin; None: read the ask again.

            Raises GateError if the person may not open it, or there is no session to open.
            """
            ...

        def enter(
            self, store: Store, ask: Ask, visit: EitherVisit, caller: Caller
        ) -> Opened_co | None:
            """Write the visit; None if another process was faster."""
            ...


MAY_STAY_SECONDS = 8 * 3600.0
"""How long a deadline waits for a visitor without a time limit."""


class ProgramEnd(NamedTuple):
    """How a program ended that a person had in the terminal."""

    code: int
    """Negative: the signal that ended it."""
    process: Identity
    why: str = ""
    """The reason if gate ended it."""
    signalled: int = 0
    """The signal that asked gate to end during the visit, and that gate passed on."""


def open_visit(
    store: Store, ask_id: str, caller: Caller, session: Session[EitherVisit, Opened_co]
) -> Opened_co:
    """Take a session for a person.

    Raises AgentRefusedError if the caller is an agent, and RefusedError with the name of the holder
    if another person has the session.
    """
    must_be_a_person(caller, "opens an agent's session")
    while True:
        ask = fall_due(store, create_ask.get(store, ask_id))
        visit = session.find(store, ask, caller)
        if visit is None or _has_closed_lost(store, ask.id, visit.cli, visit.session):
            continue
        # Lock before the write: after it, each process must see that the holder lives.
        store.machine.enter_visit(visit.id)
        opened = None
        try:
            opened = session.enter(store, ask, visit, caller)
        finally:
            if opened is None:
                store.machine.leave_visit(visit.id)
        if opened is not None:
            return opened


def _has_closed_lost(store: Store, ask_id: str, cli: str, session: str) -> bool:
    """Return whether the holder of a conversation was gone and their visit was closed now.

    A conversation has one holder, through an ask or in a run.
    """
    if visit := store.asks.holder(cli, session):
        must_be_left(store, visit, visit.ask_id)
        close_lost(store, create_ask.get(store, visit.ask_id))
        return True
    if turn := store.runs.holder(cli, session):
        if not turn.by:
            host = presence.find_other_host(store, turn)
            raise RefusedError(visits.describe_working_agent(turn, ask_id, host))
        must_be_left(store, turn, ask_id)
        take_back_lost(store, [turn])
        return True
    return False


def must_be_left(store: Store, holder: Visit | Turn, ask_id: str) -> None:
    """Refuse a session that has a holder, or processes that outlive the holder; name them."""
    orphans = presence.orphans(store, holder)
    if orphans or presence.lives(store, holder):
        host = presence.find_other_host(store, holder)
        raise RefusedError(visits.describe_holder(holder, ask_id, orphans, store.now(), host))
