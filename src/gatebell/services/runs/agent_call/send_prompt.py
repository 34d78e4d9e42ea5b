"""Send prompts: at the start of a call, and the whole history if the session is gone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gatebell.domain.asks.outcomes import answer_text
from gatebell.domain.enums import AskStatus
from gatebell.domain.runs import journals, prompts, signals
from gatebell.domain.runs.prompts import Exchange
from gatebell.services.runs.agent_call.turn import SessionGoneError
from gatebell.services.runs.run_journal import folder_of, place_of, said_before

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gatebell.domain.asks.asks import Ask
    from gatebell.domain.runs.runs import Turn
    from gatebell.services.runs.agent_call.turn import Agent, PromptText


def is_asked_back(turn: Turn) -> bool:
    """Return whether the turn carries a question of a person, not an answer."""
    return "?" in turn.ask_id


def send_first(agent: Agent, stopped: Turn | None) -> Turn:
    """Send the first turn of this call, or of the same session after it was stopped."""
    ask_id = stopped.ask_id if stopped and not is_asked_back(stopped) else ""
    if stopped and stopped.process and stopped.session:
        return send_next(agent, _compose_interrupted(agent, stopped), ask_id=ask_id)
    drive, run, call = agent.drive, agent.drive.run, agent.call
    folder_of(agent.branch, call.path)
    snapshot = call.snapshot or drive.needs.workspace.snapshot(place_of(run), run.id, call.path)
    drive.put(call._replace(snapshot=snapshot))
    session, fork_of, spoke_at = _choose_session(agent)
    text = _compose_first(agent, spoke_at, _find_exchanges(agent, _find_unheard(agent)))
    try:
        return agent.send(text, session=session, fork_of=fork_of, ask_id=ask_id)
    except SessionGoneError as gone:
        return _send_in_new_session(agent, gone.turn, None, ask_id)


def send_next(
    agent: Agent, text: PromptText, *, ask_id: str = "", instead_of: Turn | None = None
) -> Turn:
    """Continue the call's session; if it is gone, send the whole history in a new one."""
    try:
        return agent.send(text, ask_id=ask_id, instead_of=instead_of)
    except SessionGoneError as gone:
        return _send_in_new_session(agent, gone.turn, text, ask_id)


def send_again(agent: Agent, unheard: Turn) -> Turn:
    """Send the prompt of a turn that was interrupted before its agent got it."""
    began = any(turn.process and turn.id != unheard.id for turn in agent.turns())
    try:
        return agent.send_again(unheard)
    except SessionGoneError as gone:
        text: PromptText | None = None
        if unheard.ask_id and not is_asked_back(unheard):
            # The history already contains the answer that the turn carried.
            text = _compose_interrupted(agent, unheard)
        elif began:
            text = lambda new: unheard.sent.replace(unheard.id, new)  # noqa: E731 - of one type
        return _send_in_new_session(agent, gone.turn, text, unheard.ask_id)


def continue_interrupted(agent: Agent, turn: Turn) -> Turn:
    """Continue a turn that its agent got and whose end is unknown."""
    closed = turn._replace(ended_at=agent.drive.store.now())
    return send_next(
        agent, _compose_interrupted(agent, turn), ask_id=turn.ask_id, instead_of=closed
    )


def _compose_interrupted(agent: Agent, turn: Turn) -> PromptText:
    return lambda new: prompts.build_interrupted_prompt(new, turn.id, agent.signal_file(new))


def _send_in_new_session(
    agent: Agent, lost: Turn | None, text: PromptText | None, ask_id: str
) -> Turn:
    """Send the whole history in a new session, then the prompt for the lost one."""
    turns, unsent = _find_turns_of_role(agent), lost is not None and not lost.ended_at
    if lost and unsent:
        turns = [turn for turn in turns if turn.id != lost.id]
        lost = lost._replace(process="", ended_at=agent.drive.store.now())
    whole = _compose_first(agent, "", _find_exchanges(agent, turns), again=True)
    return agent.send(
        (lambda new: f"{whole(new)}\n{text(new)}") if text else whole,
        session=agent.driver.new_session(),
        ask_id=ask_id,
        instead_of=lost,
    )


def _compose_first(
    agent: Agent, spoke_at: str, exchanges: list[Exchange], *, again: bool = False
) -> PromptText:
    """Return the text that opens the call; `spoke_at` is the last call of this role, or empty."""
    drive, run = agent.drive, agent.drive.run
    since = said_before(drive, agent.path, spoke_at)
    whole = prompts.context_file(said_before(drive, agent.path, ""))
    drive.store.machine.signal_files.write_context(run.folder, whole)
    return lambda new: prompts.first(
        new,
        role=agent.role.name,
        instructions="" if spoke_at else agent.role.instructions,
        run_prompt="" if spoke_at else run.prompt,
        since=since,
        prompt=agent.wanted.prompt,
        signal_file=agent.signal_file(new),
        context_path=signals.CONTEXT_FILE,
        schema=agent.wanted.schema,
        statuses=drive.terms.statuses,
        exchanges=exchanges,
        again=again,
    )


def _choose_session(agent: Agent) -> tuple[str, str, str]:
    """Return the session to use, the one to fork it from, and the last call of this role in it."""
    if not agent.wanted.is_ours:
        return agent.wanted.session, "", "0"
    if agent.wanted.session == "role":
        mine = [
            turn
            for turn in agent.drive.all_turns()
            if turn.role == agent.role.name and turn.cli == agent.role.cli and turn.session and turn.process
            # Each branch has its own sessions; otherwise two branches would share one at once.
            and turn.path.rpartition(".")[0] == agent.path.rpartition(".")[0]
        ]  # fmt: skip
        if mine:
            last = max(mine, key=_place)
            if journals.is_carried(last):
                return agent.driver.new_session(), last.session, last.path
            return last.session, "", last.path
    return agent.driver.new_session(), "", ""


def _place(turn: Turn) -> tuple[tuple[int, ...], int]:
    return journals.order(turn.path), turn.number


def _find_turns_of_role(agent: Agent) -> list[Turn]:
    """Return all turns in this run that the agent of this call may know."""
    mine = [
        turn
        for turn in agent.drive.all_turns()
        if turn.role == agent.role.name
        and (turn.path == agent.path or journals.is_before(turn.path, agent.path))
    ]
    return sorted(mine, key=_place)


def _find_unheard(agent: Agent) -> list[Turn]:
    """Return turns of this call whose answer was never sent, because the program was missing."""
    turns = agent.turns()
    heard = {turn.ask_id for turn in turns if turn.process or turn.by}
    return [turn for turn in turns if turn.ask_id not in heard]


def _find_exchanges(agent: Agent, turns: Iterable[Turn]) -> list[Exchange]:
    ids = dict.fromkeys(turn.ask_id for turn in turns if turn.ask_id and not is_asked_back(turn))
    asks = (agent.drive.store.asks.get(ask_id) for ask_id in ids)
    return [build_exchange(ask) for ask in asks if ask and ask.status == AskStatus.ANSWERED]


def build_exchange(ask: Ask) -> Exchange:
    """Return question and answer of a settled ask of an agent."""
    said = "\n".join(filter(None, [answer_text(ask, ask.value), ask.note]))
    when = ask.settled_at or ask.opened_at
    return Exchange(
        ask.question.prompt, str(ask.question.context or ""), said, ask.settled_by, when
    )
