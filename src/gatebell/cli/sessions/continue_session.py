"""Working a session ask out in an agent's own screen, and deciding it after leaving."""

from __future__ import annotations

import json
import os
import signal
import sys
from math import ceil
from typing import TYPE_CHECKING, NamedTuple

from gatebell.app import settings, wiring
from gatebell.cli.asks import prompts
from gatebell.cli.screen import columns, recorded
from gatebell.cli.sessions import terminal_handover
from gatebell.cli.sessions.session_timer import STOPPED, TIME, Attendant
from gatebell.domain.asks.asks import settled_sentence
from gatebell.domain.enums import AskStatus, VisitEnd
from gatebell.domain.sessions import proposals, session_prompt
from gatebell.domain.sessions.proposals import PERSON
from gatebell.domain.sessions.visits import (
    FAILED,
    GRACE_SECONDS,
    VIA,
    conversation,
    untold_since,
)
from gatebell.domain.text.display import frame, inert_line
from gatebell.errors import (
    AlreadySettledError,
    CancelledError,
    GateError,
    NotAnsweredError,
    TimedOutError,
)
from gatebell.ports.agents import Opening
from gatebell.services.asks.create_ask import get
from gatebell.services.sessions import visits
from gatebell.services.sessions.sitting import rise, sit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gatebell.cli.sessions.terminal_handover import Ended
    from gatebell.domain.asks.asks import Ask
    from gatebell.domain.people.principals import Caller
    from gatebell.domain.sessions.proposals import Proposal
    from gatebell.domain.sessions.visits import Sitting
    from gatebell.ports.agents import Host, Talk
    from gatebell.ports.store import Store
    from gatebell.services.sessions.sitting import Seated

_PROGRAMS = {"claude": "Claude", "codex": "Codex"}
_SOON_SECONDS = 3.0
# Ctrl+C is how people leave many a program.
_INTERRUPTED = (-signal.SIGINT, 128 + signal.SIGINT)


class _Left(NamedTuple):
    """What came of a sitting."""

    ask: Ask
    sitting: Sitting
    told_to_end: bool


def run(store: Store, who: Caller, ask: Ask, wanted: str) -> int:
    """Open the session of an ask here, and have it decided afterwards; the exit code."""
    who = who._replace(via=VIA)
    cli = _cli(store, ask, wanted)
    host = wiring.host(cli)
    seated = sit(store, ask.id, who, cli, host.new_session())
    if seated.sitting.cli != cli:
        # Somebody began it with another program just now.
        host = wiring.host(seated.sitting.cli)
    if wanted not in ("", seated.sitting.cli):
        print(f"{ask.id} was begun in {seated.sitting.cli}, and goes on there.")
    left = _talked(store, who, host, seated)
    ask = left.ask
    if not ask.pending:
        return _tell_settled(ask, left.sitting)
    if left.sitting.end == FAILED:
        raise GateError(f"{left.sitting.trouble}\n{_ways_on(ask)}")
    if left.told_to_end:
        print(f"Not answered; {ask.id} is still waiting.")
        return NotAnsweredError.exit_code
    return _decide(store, who, ask, host)


def _cli(store: Store, ask: Ask, wanted: str) -> str:
    """The program that a conversation was begun with, or that is wanted for a new one."""
    assert ask.question.session, "it is a session ask"
    cli = wanted or settings.session_cli(os.environ)
    begun = conversation(ask.question.session, store.asks.sittings(ask.id), cli)
    return begun[0] if begun else cli


def _ways_on(ask: Ask) -> str:
    return (
        f"{ask.id} is still waiting. Try again: gate continue {ask.id}; --with CLI takes another "
        f"program\nOr answer without a session: gate answer {ask.id}"
    )


def _talked(store: Store, who: Caller, host: Host, seated: Seated) -> _Left:
    """The session from its opening to its end, which is recorded whatever happens."""
    sitting, end, trouble, told = seated.sitting, VisitEnd.LEFT, "", False
    ended: Ended | None = None
    began = store.monotonic()
    try:
        opening = _opening(store, host, seated)
        words = host.open_session(opening)
        _announce(seated, opening)
        beside = Attendant(store, sitting, who, seated.seconds_left, GRACE_SECONDS)
        environ = wiring.agent_environ(opening.environ)
        with store.machine.visit_proof(sitting.id) as proof:
            ended = terminal_handover.run(words, environ, opening.cwd, beside.attend, proof)
        told = bool(ended.told)
        # What the session leaves running would work on in it, beside the next who opens it.
        store.machine.end(ended.process, ("GATE_TURN", sitting.id))
    except (GateError, OSError) as error:
        end, trouble = FAILED, str(error)
    finally:
        session = sitting.session or host.found_session(
            session_prompt.mark(sitting.ask_id), sitting.started_at
        )
        talk = visits.talk(store, host, session, sitting.ask_id, sitting.started_at)
        # Of a command nobody knows what was said in it.
        said = bool(talk.said) if talk else store.monotonic() - began > _SOON_SECONDS
        if ended:
            end, trouble = _end(ended, talk, said, sitting.cli)
        if end == FAILED and not said and not seated.goes_on:
            # Nothing was begun, so whoever tries again may take another program.
            sitting, session = sitting._replace(session=""), ""
        transcript = ""
        if seated.terms.capture_transcript:
            since = untold_since(store.asks.sittings(sitting.ask_id))
            whole = visits.talk(store, host, session, sitting.ask_id, since)
            transcript = visits.transcript(whole)
        ask = rise(
            store, sitting, who, end, trouble=trouble, transcript=transcript, session=session
        )
    return _Left(ask, sitting._replace(end=end, trouble=trouble, session=session), told)


def _opening(store: Store, host: Host, seated: Seated) -> Opening:
    ask, sitting, terms = seated.ask, seated.sitting, seated.terms
    cwd = seated.cwd or os.getcwd()
    if not os.path.isdir(cwd):
        raise GateError(f"there is no folder {cwd} to open the session in")
    first = store.asks.sittings(ask.id)[0].started_at
    mark = session_prompt.mark(ask.id)
    session = sitting.session or host.found_session(mark, first)
    papers = _write_papers(store, seated)
    prompt_file = os.path.join(papers, session_prompt.PROMPT_FILE)
    was_told = bool(session) and host.was_told(session, mark)
    return Opening(
        mark=sitting.id,
        session=session,
        fresh=not terms.resume_session,
        prompt="" if was_told else visits.first_words(store, ask.id),
        prompt_file=prompt_file,
        system_file=os.path.join(papers, "system.md") if terms.system_prompt else "",
        papers=papers,
        model=terms.model,
        cwd=cwd,
        mcp_config=seated.mcp_config,
        environ={"GATE_TURN": sitting.id, "GATE_SITTING": sitting.id, "GATE_ASK": ask.id},
        project=ask.origin.project or cwd,
    )


def _write_papers(store: Store, seated: Seated) -> str:
    ask = seated.ask
    folder = wiring.session_papers(store.path, ask.id)
    os.makedirs(folder, mode=0o700, exist_ok=True)
    for place in (os.path.dirname(folder), folder):
        # The agent may read all there without asking, and we write there.
        if os.path.islink(place):
            raise GateError(f"{place} leads elsewhere, and is none of ours: remove it")
        os.chmod(place, 0o700)
    brief = session_prompt.brief(ask.question, folder)
    texts = {session_prompt.PROMPT_FILE: brief.prompt, "system.md": seated.terms.system_prompt}
    texts |= {brief.context_file: brief.context} if brief.context_file else {}
    for name, text in texts.items():
        # Anew each time: the agent of an earlier sitting may have written there.
        path = os.path.join(folder, name)
        draft = f"{path}.{seated.sitting.id}"
        with open(draft, "x", encoding="utf-8", errors="replace") as file:
            file.write(text)
        os.replace(draft, path)
    return folder


def _announce(seated: Seated, opening: Opening) -> None:
    cli = seated.sitting.cli
    again = ", where it was left" if not opening.prompt else ""
    print(f"Opening {_PROGRAMS.get(cli, 'your')} session for: {seated.ask.id}{again}")
    first, *more = frame(seated.ask.question.prompt, columns() - 10, bar="")
    print("\n".join([f"Question: {first}", *(f"          {line}" for line in more)]))
    for name, text in (("Folder", opening.cwd), ("More tools", opening.mcp_config)):
        if text and (name != "Folder" or not _is_here(text)):
            print(f"{name}: {inert_line(text, columns() - 14)}")
    if cli == "claude" and not _is_here(opening.cwd):
        print("It may first ask whether you trust this folder: its default is No.")
    if seated.seconds_left is not None:
        print(f"You have {_in_words(seated.seconds_left)}; a bell rings when that is over.")
    print("It takes this terminal over; leave it as you always do, and you decide here.")
    sys.stdout.flush()


def _is_here(folder: str) -> bool:
    return os.path.realpath(folder) == os.path.realpath(os.getcwd())


def _in_words(seconds: float) -> str:
    return f"{seconds / 60:.0f} minutes" if seconds >= 120 else f"{ceil(seconds)} seconds"


def _end(ended: Ended, talk: Talk | None, said: bool, cli: str) -> tuple[VisitEnd, str]:
    """How the sitting ended, and why if it failed."""
    if ended.why or ended.told:
        return VisitEnd(ended.why) if ended.why else VisitEnd.LEFT, ""
    if talk and talk.trouble:
        return FAILED, f"{cli} could not talk: {talk.trouble}"
    if ended.code in _INTERRUPTED:
        return VisitEnd.LEFT, ""
    if ended.code < 0:
        return FAILED, f"{cli} was ended by signal {-ended.code}"
    if ended.code and not said:
        return FAILED, f"{cli} ended with exit code {ended.code} before anything was said"
    return VisitEnd.LEFT, ""


def _tell_settled(ask: Ask, sitting: Sitting) -> int:
    """What became of an ask that was settled while somebody sat in its session."""
    if ask.settled_via == VIA and ask.settled_by == sitting.by and ask.status == AskStatus.ANSWERED:
        print(recorded(ask))
        return 0
    sentence = settled_sentence(ask)
    if ask.settled_via == FAILED:
        sentence = f"{ask.id} has failed: {ask.note}"
    if sitting.end == TIME and ask.status == AskStatus.TIMED_OUT:
        sentence = f"the time of the session was up: {sentence}"
    if sitting.end == STOPPED:
        sentence = f"the session was ended, for {sentence}"
    errors = {AskStatus.TIMED_OUT: TimedOutError, AskStatus.CANCELLED: CancelledError}
    raise errors.get(ask.status, AlreadySettledError)(sentence)


def _decide(store: Store, who: Caller, ask: Ask, host: Host) -> int:
    ask = get(store, ask.id)
    proposal = _proposal(store, ask, host)
    proposed = proposal and proposal.value
    done = prompts.prompt_for(store, who, ask, above=quoted(proposal), proposed=proposed)
    if not done and get(store, ask.id).pending:
        print(f"To go on there: gate continue {ask.id}   Without it: gate answer {ask.id}")
    return 0 if done else NotAnsweredError.exit_code


def _proposal(store: Store, ask: Ask, host: Host) -> Proposal | None:
    """What the conversation suggests, from all sittings of the ask."""
    sittings = store.asks.sittings(ask.id)
    session = next((one.session for one in reversed(sittings) if one.session), "")
    talk = visits.talk(store, host, session, ask.id, sittings[0].started_at)
    if talk is None:
        return None
    question = ask.question
    papers = wiring.session_papers(store.path, ask.id)
    return proposals.propose(
        talk.said,
        question.answered_as,
        question.options,
        question.multiple,
        question.schema,
        session_prompt.injected(question, papers, visits.first_words(store, ask.id)),
    )


def quoted(proposal: Proposal | None) -> Sequence[str]:
    """What a session suggests, as lines above the prompt that takes the person's decision."""
    if proposal is None:
        return ()
    whose = "your own words" if proposal.speaker == PERSON else "the agent's words"
    value = proposal.value if isinstance(proposal.value, str) else json.dumps(proposal.value)
    said = inert_line(value, max(20, columns() - 60))
    head = f"The session suggests, by {whose}: {said}"
    return (head, *frame(proposal.quote, columns()), "Only what you type here counts.", "")
