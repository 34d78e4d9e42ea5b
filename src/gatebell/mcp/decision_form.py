"""Lets a person decide in the host's own form, in the session that they opened.

An agent proposes. Its host shows the question to the person in the session. Their entry is their
answer. An unexpected reply decides nothing.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, NamedTuple

from gatebell.app import wiring
from gatebell.domain.asks.asks import settled_sentence
from gatebell.domain.asks.elicitation import elicitation, read_given
from gatebell.domain.enums import AgentCli
from gatebell.domain.sessions.visits import VIA
from gatebell.errors import GateError
from gatebell.install.hosts import claude_hooks
from gatebell.mcp import host
from gatebell.services.asks import answer_ask
from gatebell.services.asks.create_ask import get

if TYPE_CHECKING:
    from collections.abc import Callable

    from gatebell.domain.asks.asks import Ask
    from gatebell.domain.asks.elicitation import Elicitation, Quotation
    from gatebell.domain.people.principals import Caller
    from gatebell.domain.sessions.visits import Visit
    from gatebell.ports.store import Store

_NOT_DECIDED = (
    "Not decided: {id} still waits for the person. This is neither a yes nor a no. Continue the "
    "conversation, or let the person leave the session and decide there."
)
SIGNALLED = (
    "Recorded: {status}. A person is in this session: tell them, and propose with decide({id})."
)
_AFTERWARDS = "Recorded as a proposal. The person decides {id} when they have left this session."
_ACCEPTED = "accept"
ASK_PEOPLE = (AgentCli.CLAUDE, AgentCli.CODEX)
"""The programs that show a form to the person. Any other one could fill it in by itself."""


class Form(NamedTuple):
    """The form that the host shows, and the function that takes its reply."""

    params: dict[str, Any]
    decided: Callable[[Any], str]


def find_open_visit(store: Store) -> Visit | None:
    """Return the visit whose session started this server, by the mark in the environment."""
    mark = os.environ.get("GATE_TURN", "")
    return store.asks.visit(mark) if mark else None


def form(store: Store, ask: Ask, visit: Visit, client: str, proposal: Quotation) -> Form | str:
    """Return the form for the ask of a visit, or the reason why there is none."""
    # In codex, Enter does not leave an empty text field.
    shown = elicitation(ask, proposal, skips=visit.cli != AgentCli.CODEX)
    if shown is None or not _is_persons_own(store, visit):
        return _AFTERWARDS.format(id=ask.id)
    params = {"mode": "form", "message": shown.message, "requestedSchema": shown.schema}

    def decide(reply: Any) -> str:
        return _decide(store, ask.id, visit, client, shown, reply)

    return Form(params, decide)


def _is_persons_own(store: Store, visit: Visit) -> bool:
    """Return whether a form that is shown now reaches only the person of this visit."""
    now = store.asks.visit(visit.id)
    if now is None or now.cli not in ASK_PEOPLE:
        return False
    if now.ended_at or not now.program or not host.is_program(now.program):
        return False
    folder = os.environ.get("CLAUDE_PROJECT_DIR") or os.getcwd()
    return now.cli != AgentCli.CLAUDE or not claude_hooks.answering_forms(os.environ, folder)


def _decide(
    store: Store, ask_id: str, visit: Visit, client: str, shown: Elicitation, reply: Any
) -> str:
    ask = get(store, ask_id)
    if not ask.pending:
        return f"Not decided here: {settled_sentence(ask)}"
    accepted = isinstance(reply, dict) and reply.get("action") == _ACCEPTED
    answer = read_given(ask, shown, reply.get("content")) if accepted else None
    if answer is None or not _is_persons_own(store, visit):
        return _NOT_DECIDED.format(id=ask.id)
    try:
        _, ask = answer_ask.answer(store, ask.id, _person(ask, visit, client), answer)
    except GateError as error:
        return f"{_NOT_DECIDED.format(id=ask.id)}\n{error}"
    if ask.pending:
        return f"Recorded. {ask.id} is not settled yet: it needs {ask.question.requirement}"
    return f"The person has decided. {settled_sentence(ask)}"


def _person(ask: Ask, visit: Visit, client: str) -> Caller:
    """Return the person of this visit. Where a rule needs a certain person, they signed in for it."""
    around = wiring.agent_caller(visit.cli, visit.session, VIA, "")
    evidence = around.evidence | {
        "host": client,
        "visit": visit.id,
        "program": visit.program,
    }
    personal = ask.question.requirement.personal
    return around._replace(principal=visit.by, verified=personal, agent=None, evidence=evidence)
