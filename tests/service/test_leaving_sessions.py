"""The end of a visit: by its program, its log or its time."""

from __future__ import annotations

from datetime import timedelta
from types import SimpleNamespace

import pytest
from tests.support.people import a_person
from tests.support.session_asks import open_ask

from gatebell.domain.runs.signals import Signal
from gatebell.domain.sessions.proposals import AGENT, PERSON, Said
from gatebell.domain.sessions.visits import Terms
from gatebell.ports.agents import Talk
from gatebell.services.sessions import ask_session, run_session
from gatebell.services.sessions.run_session import Left
from gatebell.services.sessions.visit_session import ProgramEnd
from gatebell.testing import MemoryStore

ADA = a_person("ada")
SAID = Talk([Said(AGENT, "Is it good?"), Said(PERSON, "Decision: APPROVED")])
SILENCE = Talk()


class Program:
    """A host that has this log."""

    def __init__(self, talk, found=""):
        self._talk, self._found = talk, found

    def talk(self, session, since):
        return self._talk

    def found_session(self, mark, since):
        return self._found


@pytest.fixture
def store():
    return MemoryStore()


def leave(store, talk, ended, problem="", seconds=60.0, terms=None, session="s1", found=""):
    ask = open_ask(store, terms or Terms("approval"))
    visit = ask_session.open_visit(store, ask.id, ADA, "claude", session)
    host = Program(talk, found)
    return ask_session.leave(store, visit, ADA, host, ended, problem, seconds)


def build_end(code=0, why="", told=0):
    return ProgramEnd(code, None, why, told)


@pytest.mark.proves("SES-50", "LAYER-4")
@pytest.mark.parametrize(
    ("end", "talk", "expected"),
    [
        (build_end(), SAID, ("left", "")),
        (build_end(1), SAID, ("left", "")),
        (
            build_end(1),
            SILENCE,
            ("failed", "claude ended with exit code 1 before anything was said"),
        ),
        (build_end(-9), SAID, ("failed", "claude was ended by signal 9")),
        (build_end(-2), SILENCE, ("left", "")),
        (build_end(130), SILENCE, ("left", "")),
        (build_end(1, told=15), SILENCE, ("left", "")),
        (build_end(-15, why="time"), SAID, ("time", "")),
        (
            build_end(),
            Talk((), "no login"),
            ("failed", "claude could not start a conversation: no login"),
        ),
        (None, SILENCE, ("failed", "there is no folder")),
    ],
)
def test_end_of_program_becomes_end_of_visit(store, end, talk, expected):
    problem = "" if end else "there is no folder"
    ask, visit = leave(store, talk, end, problem)
    assert (visit.end, visit.problem) == expected
    (kept,) = store.asks.visits(ask.id)
    assert (kept.end, kept.problem, bool(kept.ended_at)) == (*expected, True)


@pytest.mark.proves("SES-50")
@pytest.mark.parametrize(("seconds", "end"), [(1.0, "failed"), (10.0, "left")])
def test_command_without_log_is_judged_by_time(store, seconds, end):
    _, visit = leave(store, None, build_end(1), seconds=seconds)
    assert visit.end == end


@pytest.mark.proves("SES-50")
def test_failed_first_visit_begins_no_conversation(store):
    ask, visit = leave(store, SILENCE, build_end(1))
    assert visit.session == ""
    again = ask_session.open_visit(store, ask.id, ADA, "codex", "s2")
    assert (again.visit.cli, again.goes_on) == ("codex", False)


@pytest.mark.proves("SES-116")
def test_transcript_is_kept_where_wanted(store):
    terms = Terms("approval", capture_transcript=True)
    ask, visit = leave(store, SAID, build_end(), terms=terms, session="", found="c1")
    (kept,) = store.asks.visits(ask.id)
    assert (visit.session, kept.session) == ("c1", "c1")
    assert "APPROVED" in kept.transcript


@pytest.mark.proves("SES-50")
@pytest.mark.parametrize(("talk", "value"), [(SAID, "approved"), (SILENCE, None), (None, None)])
def test_talk_suggests_answer(store, talk, value):
    ask, _ = leave(store, talk, build_end())
    proposal = ask_session.find_proposal(store, ask, Program(talk))
    assert (proposal and proposal.value) == value


@pytest.mark.proves("RUN-381")
def test_signal_at_gate_is_suggested_first(store):
    ask, visit = open_ask(store), SimpleNamespace(turn=SimpleNamespace(cli="claude", session="s1"))
    visit.turn.started_at = store.now() - timedelta(hours=1)
    hosts = SimpleNamespace(open=lambda _: Program(SAID))
    signalled = run_session.find_proposal(visit, Left(ask, Signal("DONE", summary="ok")), hosts)
    assert (signalled.value, signalled.speaker, signalled.quote) == ("DONE", AGENT, "ok")
    assert run_session.find_proposal(visit, Left(ask), hosts).value == "approved"
