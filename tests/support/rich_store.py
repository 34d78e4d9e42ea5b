"""A store with rows of each verb: no table is empty."""

from __future__ import annotations

from typing import Any

from gatebell.api.flows import ask, run
from gatebell.app.wiring import open_throwaway_store
from gatebell.domain.asks.answers import Given
from gatebell.domain.asks.asks import Origin
from gatebell.domain.asks.deadlines import Escalation
from gatebell.domain.enums import MemberKind
from gatebell.domain.members import Member
from gatebell.domain.notifications.routes import Route
from gatebell.domain.permissions.calls import make_call
from gatebell.domain.permissions.rules import Scope
from gatebell.domain.runs.signals import Signal
from gatebell.domain.sessions.visits import Terms
from gatebell.ports.channels import Post
from gatebell.services import freezes
from gatebell.services.asks import (
    answer_ask,
    apply_deadlines,
    ask_messages,
    attachments,
    create_ask,
    wait_for_ask,
)
from gatebell.services.asks.create_ask import Request
from gatebell.services.notifications import notes, push_devices, send_notices
from gatebell.services.people import manage_logins, manage_people
from gatebell.services.permissions import manage_rules, permit_call, standing_rules
from gatebell.services.permissions.permit_call import Held
from gatebell.services.runs import manage_runs
from gatebell.services.sessions import ask_session
from gatebell.services.tasks import backlog
from gatebell.testing import FakeClock
from tests.support.call_hosts import PlannedHost
from tests.support.devices import add_device
from tests.support.flow_harness import Harness
from tests.support.people import a_person, an_agent

ADA, BOB = a_person("ada", verified=True), a_person("bob", verified=True)
ORIGIN = Origin("/p", "/p", "claude", "claude/s1", "t1", "person:ada")


def fill(path: str, folder: Any) -> None:
    """Make such a store; the clock moves only where time must pass."""
    clock = FakeClock()
    store = open_throwaway_store(path, clock)
    store.clock = clock
    for act in (_people, _asks, _files, _talk, _rules, _session, _tasks):
        act(store)
    _runs(store, folder)
    _post(store)
    store.close()


def open_ask(
    store: Any, prompt: str, *, origin: Origin = ORIGIN, key: str = "", **more: Any
) -> Any:
    return create_ask.ask(store, Request(prompt, **more), origin, an_agent(), key)


def answer(store: Any, ask_id: str, value: Any, **more: Any) -> Any:
    return answer_ask.answer(store, ask_id, ADA, Given(value, **more))[1]


def _people(store: Any) -> None:
    for name in ("ada", "bob", "eve"):
        token = manage_people.add(store, a_person(), name, label="first")
    manage_logins.enter_by_token(store, token, {})
    manage_people.set_group(store, a_person(), "team", ["ada", "bob", "eve"])
    manage_people.set_group(store, a_person(), "team", ["bob", "eve"])
    manage_people.remove(store, a_person(), "eve")
    gone = manage_logins.make_link(store, ADA)
    secret = manage_logins.enter_by_link(store, gone, {}, "seal")
    manage_logins.leave(store, secret, manage_logins.whose_login(store, secret))
    store.clock.advance(16 * 60)
    manage_logins.enter_by_link(store, manage_logins.make_link(store, a_person()), {}, "seal")
    manage_logins.make_link(store, ADA)
    for endpoint in ("https://fcm.googleapis.com/one", "https://fcm.googleapis.com/two"):
        add_device(store, endpoint=endpoint)
    push_devices.remove(store, ADA, add_device(store, endpoint="https://fcm.googleapis.com/x").id)


def _asks(store: Any) -> None:
    taken = open_ask(store, "Which?", kind="choice", options=("A", "B"), confidence=0.5).ask
    wait_for_ask.take(store, answer(store, taken.id, "A", note="why not"), "agent:claude/s1")
    answer(store, open_ask(store, "Untaken?", kind="approval").ask.id, "no", key="k")
    create_ask.cancel(store, open_ask(store, "Gone?").ask.id, ADA, "no need")
    owner = Origin("/p", owner="other:7")
    woken = open_ask(store, "Woken?", origin=owner, key="an-ask", context={"a": 1}).ask
    answer(store, woken.id, "so")
    secret = open_ask(store, "Password?", secret=True)
    answer(store, secret.ask.id, "hunter2")
    votes = open_ask(
        store, "Both?", kind="approval", requirement={"n": 2, "of": ["team", "ada"]}
    ).ask
    answer(store, votes.id, "yes")
    escalations = (Escalation(60, "bob"),)
    slow = {"expires_seconds": 100, "remind_every_seconds": 40, "escalations": escalations}
    held = open_ask(store, "Slow?", **slow).ask
    open_ask(store, "Late?", expires_seconds=30, default="x", hard=True)
    for _ in range(3):
        store.clock.advance(30)
        apply_deadlines.sweep(store)
    answer_ask.save_draft(store, held.id, ADA, "half")
    assert create_ask.get(store, held.id).deadlines.moved_seconds


def _files(store: Any) -> None:
    shown = attachments.attach(store, "screen.txt", b"shown", "token-1")
    asked = open_ask(store, "Is this right?", attachments=(shown,)).ask
    given = attachments.attach(store, "better.txt", b"better")
    answer(store, asked.id, "so", attachments=(given,))


def _talk(store: Any) -> None:
    talked = open_ask(store, "Talk?").ask
    ask_messages.ask_back(store, talked.id, ADA, "what do you mean?")
    ask_messages.reply(store, talked.id, an_agent(), "this")
    wait_for_ask.hear(store, create_ask.get(store, talked.id))
    notes.tell(store, ORIGIN, an_agent(), "all is well")
    now = store.now()
    freezes.begin(store, ADA, "broken")
    freezes.lift(store, ADA)
    store.members.join(Member(MemberKind.SERVER, "boot/7/1", "http://127.0.0.1:1", now, now))
    store.presence.see(["ada"])


def _rules(store: Any) -> None:
    manage_rules.set_gates(store, ADA, "/p", ["Bash(git push *)"])
    manage_rules.end_gate(store, ADA, manage_rules.add(store, ADA, "deny", "/p", "Bash(rm *)").id)
    call = make_call("Bash", {"command": "git push"}, "/p", "main")
    asked = open_ask(store, "Push?", kind="approval", call=call).ask
    answer(store, asked.id, "yes", scope=Scope("5"))
    for number, value in enumerate(("yes", "no")):
        tests = make_call("Bash", {"command": f"npm test {number}"}, "/p", "main")
        answer(store, open_ask(store, "Test?", kind="approval", call=tests).ask.id, value)
        if value == "yes":
            standing_rules.begin_shadow(store, ADA, "/p", "Bash(npm test *)")
    held = Held(call, ORIGIN, 600.0, PlannedHost())
    for _ in range(2):
        assert permit_call.decide(store, held, an_agent()).allow
    assert manage_rules.grants(store)[0].uses_left < 4


def _session(store: Any) -> None:
    terms = Terms("approval")
    asked = open_ask(store, "Is the schema good?", kind="session", session=terms).ask
    seated = ask_session.open_visit(store, asked.id, ADA, "claude", "s9").visit
    began = ask_session.note_program(store, seated, "boot/9/1")
    ask_session.close_visit(store, began, ADA, "left", transcript="we talked")


def _tasks(store: Any) -> None:
    first, second = (
        backlog.create(store, "/p", ADA, {"title": title}) for title in ("First", "Second")
    )
    backlog.depend(store, second.id, ADA, [first.id])
    backlog.update(store, second.id, ADA, {"priority": 1, "description": "more"})
    backlog.close(store, first.id, ADA, "done")


def _runs(store: Any, folder: Any) -> None:
    house = Harness(folder, store)

    def works(prompt: str) -> str:
        run("coder", prompt)
        return str(ask("Which way?"))

    def signals(*_: Any) -> Any:
        turn = house.turns()[-1]
        notes.offer(store, turn.id, Signal("COMPLETE", summary="made it"))
        return {"status": "COMPLETE", "summary": "made it"}

    house.agent("coder", signals)
    house.go(works)
    house.answer_and_drive("left")
    assert house.run().state == "completed"
    house.agent("coder", signals)
    house.go(works)
    house.stop()
    forgotten = house.run_id
    house.agent("coder", signals)
    house.go(works)
    manage_runs.delete(store, forgotten, ADA)
    house.close()


def _post(store: Any) -> None:
    route = Route("desktop", "")
    send_notices.spread(store, Post((route,), channels=None))
    open_ask(store, "After the post?")
