"""Whole workflows, as their users write them."""

from __future__ import annotations

import pytest
from tests.support.flow_harness import done, house, needs
from tests.support.people import a_person

from gatebell import ask, flow, pause, run, stuck
from gatebell.api.flows import choose
from gatebell.errors import StepFailedError, UsageError
from gatebell.services.asks import create_ask

__all__ = ["house"]


@flow
def feature(prompt):
    run("architect", prompt)
    if not pause("Approve architecture?"):
        return stuck("architecture rejected")
    for _ in range(10):
        run("coder")
        if run("reviewer").status == "APPROVED":
            break
    gate = pause("Approve deployment?")
    if not gate:
        return stuck(gate.reason)
    run("deployer")
    return "deployed"


@pytest.mark.proves("RUN-420", "S2-21", "S2-36", "S2-38", "S2-73", "S2-5")
def test_flagship_passes_both_gates_and_its_loop(house):
    house.agent("architect", done("three layers"))
    coder = house.agent("coder", done("written"), done("mended"))
    changes = {"status": "CHANGES_REQUESTED", "reason": "there are no tests"}
    reviewer = house.agent("reviewer", changes, {"status": "APPROVED"})
    house.agent("deployer", done())
    waiting = house.go(feature)
    assert (waiting.state, waiting.reason) == ("waiting_human", "Approve architecture?")
    assert house.answer_and_drive("yes").reason == "Approve deployment?"
    over = house.answer_and_drive("yes")
    assert (over.state, over.result, over.reason) == ("completed", "deployed", "")
    assert [call.label for call in house.calls().values()] == [
        "architect", "Approve architecture?", "coder", "reviewer", "coder", "reviewer",
        "Approve deployment?", "deployer",
    ]  # fmt: skip
    # The words of the reviewer reach the coder in its own session.
    assert "there are no tests" in coder.sent[1] and "three layers" not in coder.sent[1]
    assert len({order.session for order in coder.orders}) == 1
    assert reviewer.orders[0].session != coder.orders[0].session


@pytest.mark.proves("RUN-420", "S2-33", "S2-34", "S2-39", "S2-31")
@pytest.mark.parametrize("times", [0, 1])
def test_unapproved_gate_ends_the_flagship(house, times):
    house.agent("architect", done())
    house.agent("coder", done())
    house.agent("reviewer", {"status": "APPROVED"})
    house.go(feature)
    for _ in range(times):
        house.answer_and_drive("yes")
    over = house.answer_and_drive("no", "not on a Friday")
    reason = "not on a Friday" if times else "architecture rejected"
    assert (over.state, over.reason) == ("stuck", reason)
    assert house.pending() == []


@pytest.mark.proves("RUN-420", "S2-70")
def test_three_agents_one_after_the_other(house):
    @flow
    def linear(prompt):
        run("architect", prompt)
        run("coder")
        return run("reviewer").status

    for role in ("architect", "coder", "reviewer"):
        house.agent(role, done(f"{role} is done"))
    over = house.go(linear)
    assert (over.state, over.result) == ("completed", "DONE")
    assert [(c.path, c.name, c.label, c.state) for c in house.calls().values()] == [
        ("1", "run", "architect", "recorded"),
        ("2", "run", "coder", "recorded"),
        ("3", "run", "reviewer", "recorded"),
    ]


@flow
def gated(_):
    run("test-runner")
    ok = pause("Approve for production deployment?")
    if not ok:
        return stuck(ok.reason)
    return run("deployer").status


@pytest.mark.proves("RUN-420", "S2-71", "S2-27", "S2-44", "S2-35")
@pytest.mark.parametrize(
    ("answer", "state", "reason", "deployed"),
    [("yes", "completed", "", 1), ("no", "stuck", "rejected", 0)],
)
def test_deployment_waits_for_its_gate(house, answer, state, reason, deployed):
    house.agent("test-runner", done("all green"))
    deployer = house.agent("deployer", done())
    house.go(gated)
    assert deployer.orders == []
    over = house.answer_and_drive(answer)
    assert (over.state, over.reason, len(deployer.orders)) == (state, reason, deployed)
    assert house.calls()["2"].state == "recorded"


@pytest.mark.proves("RUN-422", "S2-72", "S2-25", "S2-26", "S2-B16")
def test_agent_that_may_not_ask_reports_to_the_flow(house):
    @flow
    def alone(_):
        result = run("autonomous-agent", "Go on your own", human=False)
        if result.status == "NEEDS_HUMAN":
            return stuck(f"Unexpected: {result.reason}")
        return "fine"

    house.agent("autonomous-agent", {"status": "NEEDS_HUMAN", "reason": "which key?"})
    over = house.go(alone)
    assert (over.state, over.reason) == ("stuck", "Unexpected: which key?")
    assert house.store.asks.count() == 0


@pytest.mark.proves("RUN-422", "S2-23", "S2-B9")
def test_flow_may_forbid_questions_for_all_its_agents(house):
    house.agent("coder", {"status": "NEEDS_HUMAN"})
    over = house.go(flow(human=False)(lambda _: "no reason: " + run("coder").reason))
    assert over.result == "no reason: "


@pytest.mark.proves("RUN-421", "S2-B1")
def test_two_gates_with_the_same_text_are_two_decisions(house):
    house.go(lambda _: [bool(pause("Continue?")), bool(pause("Continue?"))])
    first = house.ask()
    assert house.answer_and_drive("yes").state == "waiting_human"
    second = house.ask()
    assert first.id != second.id
    over = house.answer_and_drive("no")
    assert over.result == [True, False]
    assert house.calls()["1"].ask_id == first.id and house.calls()["2"].ask_id == second.id


@pytest.mark.proves("RUN-421", "S2-B1")
def test_gate_in_a_loop_is_asked_each_time(house):
    house.go(lambda _: [bool(pause("Again?")) for _ in range(3)])
    for answer in ("yes", "no", "yes"):
        house.answer_and_drive(answer)
    assert house.run().result == [True, False, True]
    assert house.store.asks.count() == 3


@pytest.mark.proves("RUN-422", "S2-22", "S2-42", "S2-15", "S2-16", "S2-6", "S2-8", "S2-11")
def test_flow_does_not_notice_three_questions_of_an_agent(house):
    coder = house.agent(
        "coder", needs("Which flow?"), needs("Which flow?"), needs("Which scope?"), done("built")
    )
    waiting = house.go(lambda _: run("coder").summary)
    for question, answer in (
        ("Which flow?", "PKCE"),
        ("Which flow?", "still PKCE"),
        ("Which scope?", "email"),
    ):
        assert (waiting.state, waiting.reason, waiting.agent) == (
            "waiting_human",
            question,
            "coder",
        )
        assert house.ask().origin.session == f"scripted/{coder.orders[0].session}"
        waiting = house.answer_and_drive(answer)
    assert (waiting.state, waiting.result) == ("completed", "built")
    assert [
        ("> " + word) in sent
        for word, sent in zip(("PKCE", "still PKCE", "email"), coder.sent[1:], strict=True)
    ] == [True] * 3
    assert len({order.session for order in coder.orders}) == 1
    # One call and four turns; each answer was sent.
    assert list(house.calls()) == ["1"] and len(house.turns("1")) == 4
    assert all(
        one.delivered_to.startswith("agent:scripted/") for one in house.store.asks.list_settled(9)
    )


@pytest.mark.proves("RUN-422", "S2-19")
def test_agent_offers_options_and_a_person_writes_their_own(house):
    coder = house.agent(
        "coder", needs("Which?", options=["A", "B"], summary="I looked at both"), done()
    )
    house.go(lambda _: run("coder").status)
    asked = house.ask()
    assert (asked.question.kind, asked.question.options, asked.question.other) == (
        "choice",
        ("A", "B"),
        True,
    )
    assert asked.question.context == "I looked at both" and asked.activity == "it was thinking"
    house.answer_and_drive({"other": "C"}, "because")
    assert "> C" in coder.sent[1] and "> because" in coder.sent[1] and "person:ada" in coder.sent[1]


@pytest.mark.proves("RUN-422")
def test_agent_without_a_reason_is_still_asked_about(house):
    house.agent("coder", {"status": "NEEDS_HUMAN"}, done())
    house.go(lambda _: run("coder").status)
    assert house.ask().question.prompt == "coder needs a person and did not say why"
    assert house.answer_and_drive("go on").state == "completed"


def waits_for(what):
    return {
        "pause": lambda _: pause("Go?").status,
        "ask": lambda _: ask("Name?").status,
        "run": lambda _: run("coder").reason,
    }[what]


@pytest.mark.proves("RUN-423", "S2-24", "S2-37", "S2-77", "S2-B5", "S2-B6", "S2-B7")
@pytest.mark.parametrize("what", ["pause", "ask", "run"])
@pytest.mark.parametrize(
    ("on_timeout", "state"), [("stuck", "stuck"), ("fail", "failed"), ("return", "completed")]
)
def test_unanswered_question_ends_as_the_flow_says(house, what, on_timeout, state):
    house.agent("coder", needs("Which?"), done("late"))
    house.go(flow(on_timeout=on_timeout, human_timeout=60)(waits_for(what)))
    house.clock.advance(59)
    assert house.drive().state == "waiting_human"
    house.clock.advance(1)
    over = house.drive()
    assert over.state == state
    told = {"stuck": "timed out", "fail": "AskExpiredError", "return": ""}[on_timeout]
    assert told in over.reason
    if on_timeout == "return":
        assert over.result in ("timed_out", "no person answered in time")
    else:
        # After resuming, the question is asked again.
        assert house.resume().state == "waiting_human" and len(house.pending()) == 1
        assert house.answer_and_drive("yes").state == "completed"


@pytest.mark.proves("RUN-423", "RUN-427")
def test_failing_timeout_fails_again_when_replayed(house):
    seen = []

    @flow(on_timeout="fail", human_timeout=60)
    def careful(_):
        try:
            pause("Go?")
        except StepFailedError as error:
            seen.append((error.kind, error.message))
        return bool(pause("And now?"))

    house.go(careful)
    house.clock.advance(60)
    house.drive()
    assert house.answer_and_drive("yes").result is True
    assert len(seen) == 2 and seen[0] == seen[1] and seen[0][0] == "AskExpiredError"


@pytest.mark.proves("RUN-423", "S2-24")
def test_without_another_word_people_have_a_day(house):
    house.go(lambda _: pause("Go?"))
    left = house.ask().deadlines.expires_at - house.clock.now()
    assert left.total_seconds() == 86_400


@pytest.mark.proves("RUN-423", "S2-B7", "LAW-3")
def test_expired_gate_is_not_true(house):
    @flow(on_timeout="return")
    def patient(_):
        gate = pause("Go?", timeout=5)
        return [bool(gate), gate.status, gate.reason]

    house.go(patient)
    house.clock.advance(5)
    assert house.drive().result == [False, "timed_out", "timed out"]


@pytest.mark.proves("RUN-423")
def test_declared_default_answers_an_expired_question(house):
    house.go(lambda _: ask("Name?", default="none", timeout=5).value)
    house.clock.advance(5)
    assert house.drive().result == "none"


@pytest.mark.proves("RUN-423")
def test_withdrawn_ask_leaves_the_run_stuck(house):
    house.go(lambda _: bool(pause("Go?")))
    create_ask.cancel(house.store, house.ask().id, a_person("bob"), "wrong question")
    over = house.drive()
    assert over.state == "stuck" and "cancelled by person:bob" in over.reason
    house.resume()
    assert house.answer_and_drive("yes").result is True


@pytest.mark.proves("RUN-423")
def test_invalid_flow_arguments_are_refused():
    with pytest.raises(UsageError, match="on_timeout is one of"):
        flow(on_timeout="approve")
    for seconds in (None, 0, -1, "1 h", float("nan")):
        with pytest.raises(UsageError, match="human_timeout must be a number"):
            flow(human_timeout=seconds)
    with pytest.raises(UsageError, match="gate run FILE PROMPT"):
        pause("Go?")
    assert flow(lambda _: 7)("x") == 7 and feature.name == "feature"


@pytest.mark.proves("RUN-424")
def test_questions_of_every_kind_come_back_as_outcomes(house):
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}

    @flow
    def curious(_):
        return [
            ask("Name?", priority="urgent", escalations=[(5, "bob")]).value,
            choose("Colour?", ["red", "blue"]).value,
            ask("Number?", returns=schema).value,
            bool(pause("Sure?")),
        ]

    house.store.people.add("bob", [])
    house.go(curious)
    assert house.ask().priority == 0 and house.ask().origin.agent == "feature"
    for value in ("Ada", "red", {"n": 3}, "yes"):
        house.answer_and_drive(value)
    assert house.run().result == ["Ada", "red", {"n": 3}, True]
    assert {one.delivered_to for one in house.store.asks.list_settled(9)} == {
        f"run:{house.run_id}/{n}" for n in (1, 2, 3, 4)
    }


@pytest.mark.proves("RUN-424")
@pytest.mark.parametrize(
    "more",
    [
        {"secret": True},
        {"returns": {"type": "object", "properties": {"k": {"type": "string", "writeOnly": True}}}},
        {"owner": "run:1/1"}, {"returns": "nothing"}, {"timeout": "1h"},
    ],
)  # fmt: skip
def test_secrets_and_nonsense_are_refused_in_a_journal(house, more):
    over = house.go(lambda _: ask("Key?", **more))
    assert over.state == "failed" and over.reason.startswith("UsageError")
    assert house.store.asks.count() == 0


@pytest.mark.proves("RUN-424", "S2-29", "S2-2")
def test_gate_shows_its_artifacts(house):
    house.agent("coder", done("wrote login.py"))

    @flow
    def looked_at(_):
        run("coder")
        ask("How?")
        return [bool(pause("Go?")), bool(pause("Really?", activity="mine"))]

    house.go(looked_at, in_place=False)
    house.answer_and_drive("quickly")
    shown = house.ask().activity
    assert "wrote login.py" in shown and "quickly" in shown and "+ a line" in shown
    assert f"Workspace: {house.folder} (branch gate/run-1)" in shown
    house.answer_and_drive("yes")
    assert house.ask().activity == "mine"


@pytest.mark.proves("RUN-456", "S2-78", "S2-30", "S2-31", "S2-20")
def test_script_signals_in_place_of_an_agent(house):
    house.agent("coder", needs("Which?", options=["A", "B"]))
    house.go(
        lambda _: [run("coder").summary, bool(pause("Go?")), bool(pause("Go?")), ask("Name?").value]
    )
    house.signal("done", "by hand")
    (_, turn) = house.turns("1")
    assert (turn.by, turn.signal) == ("person:ada", {"status": "DONE", "summary": "by hand"})
    house.signal("CONTINUE", "fine")
    house.signal("STOP")
    assert house.signal("Ada").result == ["by hand", True, False, "ADA"]
    assert "fine" in [one.note for one in house.store.asks.list_settled(9)]


@pytest.mark.proves("RUN-456")
def test_insufficient_signal_continues_in_the_agent_session(house):
    coder = house.agent("coder", needs("Which?"), {"status": "DONE", "value": 3})
    house.go(lambda _: run("coder", returns={"type": "integer"}).value)
    over = house.signal("DONE")
    assert over.result == 3 and coder.orders[1].session == coder.orders[0].session


@pytest.mark.proves("RUN-456")
def test_invalid_signal_is_refused_and_leaves_nothing(house):
    house.go(lambda _: [bool(pause("Go?")), ask("F?", returns={"type": "object"}).value])
    for status in ("DONE", "", "  "):
        with pytest.raises(UsageError):
            house.signal(status)
    house.answer_and_drive("yes")
    with pytest.raises(UsageError, match="is a form"):
        house.signal("DONE")
    assert house.turns() == [] and house.pending()


@pytest.mark.proves("RUN-456")
def test_signal_without_words_is_only_its_status(house):
    house.agent("coder", needs("Which?"))
    house.go(lambda _: list(run("coder")[:3]))
    assert house.signal("SKIPPED").result == ["SKIPPED", "", ""]
