"""Ask people for the agent of a call, and pass their answers to it."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING

from gatebell.domain.asks.asks import make_id
from gatebell.domain.asks.outcomes import answer_text
from gatebell.domain.asks.owners import owner_of
from gatebell.domain.asks.questions import OTHER
from gatebell.domain.enums import AskKind, AskStatus, CallState, SignalStatus
from gatebell.domain.runs import prompts, runs, signals
from gatebell.domain.runs.runs import Turn
from gatebell.errors import AlreadySettledError
from gatebell.services.asks import ask_messages, create_ask, wait_for_ask
from gatebell.services.asks.create_ask import Request
from gatebell.services.permissions import permit_call
from gatebell.services.runs.agent_call import send_prompt
from gatebell.services.runs.flow_calls import answer_to, open_ask
from gatebell.services.runs.run_journal import place_of, to_json_value

if TYPE_CHECKING:
    from gatebell.domain.asks.asks import Ask
    from gatebell.domain.runs.signals import Signal
    from gatebell.services.runs.agent_call.turn import Agent

JOINED, SIGNALLED = "session", "signal"
"""How an ask was settled: by a person in the session, or by a signal in the agent's place."""


class People:
    """Asks people for one call of one agent."""

    def __init__(self, agent: Agent) -> None:
        self._agent, self._drive = agent, agent.drive

    def find_refusal(self, signal: Signal, turn: Turn) -> str:
        """Return why no person is asked although the agent needs one; empty if one may be asked."""
        terms, signal = self._drive.terms, self._with_question(signal)
        if terms.asks_by_question and not signal.question:
            words = signals.last_words(turn.words or signal.own_words)
            return f"needs_input came without a question{words}"
        # Count over the whole run: an agent whose work failed its test begins another call.
        turns = self._drive.all_turns()
        times = len({one.ask_id for one in turns if not send_prompt.is_asked_back(one)} - {""})
        if terms.most_asks is not None and times >= terms.most_asks:
            return f"it may ask {times} times and has done so; now it asked: {signal.question_text}"
        return ""

    def ask(self, signal: Signal, turn: Turn) -> None:
        """Ask a person for the agent; the flow does not notice it."""
        self._take_snapshot()
        signal = self._with_question(signal)
        prompt = (
            signal.question_text or f"{self._agent.role.name} needs a person and did not say why"
        )
        kind = AskKind.CHOICE if len(signal.options) > 1 else AskKind.TEXT
        options = (*signal.options, OTHER) if kind == AskKind.CHOICE else ()
        session = f"{turn.cli}/{turn.session}"
        request = Request(
            prompt,
            kind,
            options=options,
            context=signal.context or None,
            confidence=signal.confidence,
            activity=self._drive.needs.activity.summary(self._agent.origin(turn)),
        )
        open_ask(self._agent.branch, self._agent.call, request, session)

    def _with_question(self, signal: Signal) -> Signal:
        """Return the signal with a question: a task's report may have only a summary."""
        by_question = self._drive.terms.asks_by_question
        return signals.with_question(signal) if by_question else signal

    def _take_snapshot(self) -> None:
        """Keep the partial work during the wait (law 7)."""
        run = self._drive.run
        if run.branch:
            self._drive.needs.workspace.snapshot(place_of(run), run.id, f"{self._agent.path}-ask")

    def _restore_folder(self) -> list[str]:
        """Restore the folder as it was kept; return remarks about it."""
        run, workspace = self._drive.run, self._drive.needs.workspace
        if not run.branch:
            return []
        was_gone = not os.path.isdir(run.folder)
        told = workspace.restore(place_of(run), run.id, f"{self._agent.path}-ask")
        # Ignored files were not kept.
        problem = workspace.set_up(run.project, place_of(run)) if was_gone else ""
        return [*told, *([problem] if problem else [])]

    def take_answer(self) -> Turn | None:
        """Take people's answer into the session; park until there is one.

        None: the ask timed out, and the flow handles timeouts itself.
        """
        drive, agent = self._drive, self._agent
        drive.look_again()
        ask = create_ask.get(drive.store, agent.call.ask_id)
        asked_back = ask.pending and ask.asked_back > ask.heard
        if asked_back and (turn := self._pass_question_back(ask)):
            return turn
        ask = answer_to(agent.branch, agent.call, Request(""))
        if ask.status != AskStatus.ANSWERED:
            return None
        changed = self._restore_folder()
        if ask.settled_via == SIGNALLED:
            return self._write_signal_of_person(ask)
        if ask.settled_via == JOINED:
            # The session may have ended after the first look; its turn was written with the answer.
            drive.look_again()
            drive.put(runs.close_ask(agent.call))
            wait_for_ask.take(drive.store, ask, owner_of(drive.run.id, agent.path))
            mine = [turn for turn in agent.turns() if turn.ask_id == ask.id and turn.signal]
            return mine[-1]
        exchange = send_prompt.build_exchange(ask)
        return send_prompt.send_next(
            agent,
            lambda new: prompts.build_answer_prompt(new, exchange, agent.signal_file(new), changed),
            ask_id=ask.id,
        )

    def _write_signal_of_person(self, ask: Ask) -> Turn:
        """Write a turn for a person who signalled in the agent's place; it ends at once."""
        drive, agent, words = self._drive, self._agent, answer_text(ask, ask.value)
        given = signals.Signal(ask.note, summary="" if words == ask.note else words)
        turn = Turn(
            make_id(12, os.urandom(16), "t-"), drive.run.id, agent.path,
            drive.next_turn_number(agent.path), agent.role.name, agent.role.cli,
            agent.last_session(), "", drive.store.now(), by=ask.settled_by, ask_id=ask.id,
            ended_at=drive.store.now(), signal=to_json_value(signals.to_json(given)),
        )  # fmt: skip
        drive.put(runs.close_ask(agent.call), turn)
        wait_for_ask.take(drive.store, ask, owner_of(turn.run, turn.path))
        return turn

    def _pass_question_back(self, ask: Ask) -> Turn | None:
        """Pass a person's question to the agent and its reply to the person; nothing is settled."""
        drive, agent = self._drive, self._agent
        mark = f"{ask.id}?{ask.asked_back}"
        turn = next((one for one in agent.turns() if one.ask_id == mark and one.signal), None)
        if turn is None:
            self._restore_folder()
            who, words = self._read_questions_back(ask)
            turn = send_prompt.send_next(
                agent,
                lambda new: prompts.asked_back(new, words, who, agent.signal_file(new)),
                ask_id=mark,
            )
        signal = signals.from_json(turn.signal)
        if signal.status not in (SignalStatus.ERROR, SignalStatus.NEEDS_HUMAN):
            permit_call.retire(drive.store, ask, agent.caller(turn), "the agent went on by itself")
            drive.put(runs.close_ask(agent.call))
            return turn
        # The person who asked may have answered since then.
        with suppress(AlreadySettledError):
            words = signal.message or turn.words or "(no words)"
            ask_messages.reply(drive.store, ask.id, agent.caller(turn), words)
        wait_for_ask.hear(drive.store, ask)
        self._take_snapshot()
        drive.put(agent.call._replace(state=CallState.WAITING))
        return None

    def _read_questions_back(self, ask: Ask) -> tuple[str, str]:
        """Return who asks back, and their words; with several people, each line has its name."""
        said = [one for one in self._drive.store.asks.messages(ask.id) if not one.by_asker]
        new = said[ask.heard : ask.asked_back]
        authors = list(dict.fromkeys(message.author for message in new))
        if len(authors) == 1:
            return authors[0], "\n".join(message.text for message in new)
        return ", ".join(authors), "\n".join(f"{m.author}: {m.text}" for m in new)
