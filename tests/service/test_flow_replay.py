"""Replay of a journal: recorded results, forbidden calls, and changed code."""

from __future__ import annotations

import math
import os

import pytest
from tests.support.flow_harness import Crash, done, house, needs, real_house
from tests.support.people import a_person, an_agent

from gatebell import GateError, ask, flow, pause, run, stuck
from gatebell.api import flows  # fmt: skip
from gatebell.api.flows import context, log, now, parallel, random, read, sleep, step
from gatebell.errors import (
    BranchFailedError,
    NotFoundError,
    RefusedError,
    StepFailedError,
    UsageError,
)
from gatebell.services.asks.create_ask import only_ask
from gatebell.services.runs import manage_runs

__all__ = ["house", "real_house"]


def fails(error):
    def failing():
        raise error

    return failing


@pytest.mark.proves("RUN-427", "S2-65", "S2-66", "S2-67", "S2-P2")
def test_live_and_replayed_code_see_the_same(house):
    seen = []

    @flow
    def watched(_):
        values = [
            step(lambda: {"a": (1, 2), 3: None}, name="odd"), now().isoformat(), random(),
            context().iteration, step(os.getcwd), list(run("coder", "x")),
        ]  # fmt: skip
        log("hello")
        seen.append(values)
        return bool(pause("Go?"))

    house.agent("coder", {"status": "DONE", "options": ["a"], "more": {"x": [1]}, "value": 1.5})
    house.go(watched)
    house.clock.advance(100)
    assert house.answer_and_drive("yes").state == "completed"
    assert len(seen) == 2 and seen[0] == seen[1]
    assert seen[0][0] == {"a": [1, 2], "3": None} and 0 <= seen[0][2] < 1
    assert house.events().count("call.recorded") == 7


@pytest.mark.proves("RUN-427", "LAW-5")
def test_recorded_step_is_never_repeated(house):
    did = []
    house.go(lambda _: [step(lambda: did.append(1), name="effect"), bool(pause("Go?"))])
    house.drive()
    house.answer_and_drive("yes")
    assert did == [1]


@pytest.mark.proves("RUN-427")
@pytest.mark.parametrize(
    ("work", "kind"),
    [
        (fails(ValueError("no")), "ValueError"), (object, "TypeError"), (lambda: math.nan, "ValueError"),
        (lambda: {(1, 2): 3}, "TypeError"), (fails(StepFailedError("K", "m")), "StepFailedError"),
    ],
)  # fmt: skip
def test_step_that_fails_does_so_both_times(house, work, kind):
    seen = []

    @flow
    def careful(_):
        try:
            step(work, name="risky")
        except StepFailedError as error:
            seen.append((error.kind, error.message, error.path, str(error)))
        return bool(pause("Go?"))

    house.go(careful)
    house.answer_and_drive("yes")
    assert len(seen) == 2 and seen[0] == seen[1]
    assert seen[0][0] == kind and seen[0][2] == "1"


@pytest.mark.proves("RUN-427")
def test_failed_agent_fails_both_times_and_frees_its_session(house):
    seen = []

    @flow
    def careful(_):
        try:
            run("coder")
        except StepFailedError as error:
            seen.append((error.kind, error.message))
        pause("Go?")
        return run("coder").status

    house.agent("coder", OSError("no disk"), done())
    house.go(careful)
    assert house.answer_and_drive("yes").result == "DONE"
    assert seen == [("OSError", "no disk")] * 2


@pytest.mark.proves("RUN-427")
def test_result_that_is_not_json_fails_the_run(house):
    over = house.go(lambda _: object())
    assert over.state == "failed" and "JSON" in over.reason


@pytest.mark.proves("RUN-428", "S2-B19", "S2-12")
@pytest.mark.parametrize("how", ["bare", "finally", "with", "return"])
def test_park_is_never_swallowed_and_nothing_starts_after_it(house, how):
    did = []

    def effect():
        did.append(how)

    class Cleaning:
        def __enter__(self):
            return self

        def __exit__(self, *_):
            step(effect)
            return True

    def bare(_):
        try:
            pause("Go?")
        except:  # noqa: E722 - the worst that a flow's author can write
            did.clear()
        step(effect)
        run("coder")
        return "through"

    def lastly(_):
        try:
            pause("Go?")
        finally:
            step(effect)
        return "through"

    def cleaned(_):
        with Cleaning():
            pause("Go?")
        return "through"

    def returned(_):
        try:
            pause("Go?")
        except BaseException:
            return "through"
        return "through"

    work = {"bare": bare, "finally": lastly, "with": cleaned, "return": returned}[how]
    house.agent("coder", done())
    assert house.go(work).state == "waiting_human" and did == []
    assert len(house.calls()) == 1
    over = house.answer_and_drive("yes")
    assert (over.state, over.result) == ("completed", "through")


@pytest.mark.proves("RUN-429", "S2-P9")
def test_another_call_at_a_path_leaves_the_run_stuck(house):
    house.agent("coder", done(), done())
    house.go(lambda _: [run("coder").status, bool(pause("Go?"))])
    house.flow, house.source = (
        flow(lambda _: [bool(pause("First?")), run("coder").status]),
        "source-2",
    )
    over = house.drive()
    assert over.state == "stuck"
    assert "call 1 was run('coder') and is now pause('First?')" in over.reason
    assert f"gate resume {over.id} --from 1" in over.reason
    assert house.pending() == [] and "run.source_changed" in house.events()
    # The old code continues at the same place.
    house.flow = flow(lambda _: [run("coder").status, bool(pause("Go?"))])
    house.resume()
    assert house.answer_and_drive("yes").result == ["DONE", True]


@pytest.mark.proves("RUN-429")
def test_changed_code_that_still_fits_goes_on(house):
    house.go(lambda _: bool(pause("Go?")))
    house.flow, house.source = (
        flow(lambda _: [bool(pause("Go?")), step(lambda: "new", name="n")]),
        "source-2",
    )
    assert house.answer_and_drive("yes").result == [True, "new"]
    (changed,) = [
        entry.event.content for entry in house.store.audit.of_subject(house.run().name)
        if entry.event.kind == "run.source_changed"
    ]  # fmt: skip
    assert changed == {"before": "source-1", "now": "source-2"}


@pytest.mark.proves("RUN-429")
def test_changed_arguments_are_shown_and_may_be_accepted(house):
    prompts = iter("abcdef")
    coder = house.agent("coder", done("once"))
    house.go(lambda _: [run("coder", next(prompts)).summary, bool(pause("Go?"))])
    house.answer("yes")
    over = house.drive()
    assert over.state == "stuck" and f"gate resume {over.id} --accept 1" in over.reason
    with pytest.raises(UsageError):
        house.resume("7")
    assert house.resume("1").result == ["once", True]
    assert len(coder.orders) == 1


@pytest.mark.proves("RUN-430", "LAW-4")
def test_fork_shares_records_asks_again_and_forks_sessions(house):

    @flow
    def long(_):
        first = run("coder", "one").summary
        gate = pause("Go?")
        second = run("coder", "two").summary
        return [first, bool(gate), second, run("coder", "three").summary]

    coder = house.agent("coder", *(done(word) for word in "abcdef"))
    house.go(long, in_place=False)
    assert house.answer_and_drive("yes").result == ["a", True, "b", "c"]
    parent, session = house.run(), coder.orders[0].session
    forked = house.fork("4")
    assert (forked.parent, forked.parent_path, forked.started_by) == (parent.id, "4", "person:bob")
    assert house.folders.made[-1]["snapshot"] == f"snapshot-{parent.id}-4"
    assert house.folders.made[-1]["token"] == forked.created_at.isoformat()
    # The approval was for the next step of that time.
    assert house.drive().reason == "Go?" and house.folders.set_up_times == 2
    over = house.answer_and_drive("yes")
    assert over.result == ["a", True, "b", "d"]
    order = coder.orders[-1]
    assert order.fork_of == session and order.session not in ("", session) and order.fresh
    assert "You are the coder." not in order.text and "Add login" not in order.text
    # The next call uses the forked session, which no other run uses.
    assert house.store.runs.get(parent.id) == parent
    assert house.calls()["4"].key == f"run-{over.id}/4/1"


@pytest.mark.proves("RUN-430", "LAW-4")
def test_approval_by_ask_is_asked_again_in_a_fork(house):
    house.go(lambda _: [bool(pause("Go?")), ask("Name?").value, bool(pause("Now?"))])
    house.answer_and_drive("yes")
    house.answer_and_drive("Ada")
    house.fork("3")
    assert house.drive().reason == "Go?"
    assert house.answer_and_drive("yes").reason == "Now?"


@pytest.mark.proves("RUN-430")
def test_fork_in_place_works_in_the_same_folder(house):
    house.agent("coder", done("a"), done("b"))
    house.go(lambda _: run("coder").summary)
    house.fork("1")
    assert house.drive().result == "b" and house.folders.made == []


@pytest.mark.proves("RUN-430")
def test_fork_without_a_snapshot_uses_the_folder_as_found(house):
    house.go(lambda _: [step(lambda: 1, name="a"), step(lambda: 2, name="b")], in_place=False)
    first = house.run_id
    house.fork("2")
    assert house.folders.made[-1]["snapshot"] == f"snapshot-{first}-2-fork"
    assert house.drive().result == [1, 2]


@pytest.mark.proves("RUN-430")
def test_fork_continues_in_its_own_session(house):
    coder = house.agent("coder", *(done(word) for word in "abcde"))
    house.go(lambda _: [run("coder").summary for _ in range(3)])
    house.fork("2")
    assert house.drive().result == ["a", "d", "e"]
    assert coder.orders[3].session == coder.orders[4].session != coder.orders[0].session
    assert coder.orders[3].fresh and not coder.orders[4].fresh and not coder.orders[1].fresh


@pytest.mark.proves("RUN-435", "LAW-1")
def test_sleeping_run_needs_no_driver_until_its_time(house):
    asleep = house.go(lambda _: [sleep(60), "slept"])
    assert (asleep.state, asleep.owner) == ("ready", "")
    assert house.store.runs.next_ready_at() == asleep.ready_at
    assert house.store.runs.ready(9) == []
    house.clock.advance(59)
    assert house.drive().ready_at == asleep.ready_at
    house.clock.advance(1)
    assert house.store.runs.ready(9) == [asleep.id]
    assert house.drive().result == [None, "slept"]


@pytest.mark.proves("RUN-436")
def test_reading_gives_the_same_text_for_ever(house):
    path = os.path.join(house.folder, "notes.txt")
    with open(path, "w", encoding="utf-8") as file:
        file.write("first")
    house.go(lambda _: [read("notes.txt"), bool(pause("Go?"))])
    os.unlink(path)
    assert house.answer_and_drive("yes").result == ["first", True]


@pytest.mark.proves("RUN-436")
@pytest.mark.parametrize("path", ["../outside", "link", "nothing", "bytes", ".", "huge", "pipe"])
def test_only_text_files_of_the_run_folder_are_read(house, tmp_path, path, monkeypatch):
    (tmp_path / "outside").write_text("x", encoding="utf-8")
    os.symlink(tmp_path / "outside", os.path.join(house.folder, "link"))
    os.mkfifo(os.path.join(house.folder, "pipe"))
    for name, data in (("bytes", b"\xff\xfe"), ("huge", b"x" * 4_000_001)):
        with open(os.path.join(house.folder, name), "wb") as file:
            file.write(data)
    seen = []

    @flow
    def reader(_):
        try:
            read(path)
        except StepFailedError as error:
            seen.append(str(error))
        return bool(pause("Go?"))

    house.go(reader)
    house.answer_and_drive("yes")
    assert len(seen) == 2 and seen[0] == seen[1]


@pytest.mark.proves("RUN-436", "S2-P2")
def test_context_names_run_folder_and_key(house):
    keys = []

    @flow
    def here(_):
        step(lambda: keys.append(context().key), name="first")
        where = context()
        return [where.run_id, where.prompt, where.repo, where.folder, where.iteration, where.key]

    over = house.go(here)
    assert over.result == [over.id, "Add login", house.folder, house.folder, 1, ""]
    assert keys == [f"run-{over.id}/1/1"]


@pytest.mark.proves("RUN-436")
def test_log_line_is_written_once_whatever_it_holds(house):
    house.go(lambda _: [log("odd \udc80\0"), log("x" * 500), bool(pause("Go?"))])
    assert house.answer_and_drive("yes").state == "completed"
    assert house.calls()["2"].value == "x" * 500


@pytest.mark.proves("RUN-437")
@pytest.mark.parametrize(
    "inside",
    [
        lambda: run("coder"),
        lambda: pause("Go?"),
        lambda: step(lambda: 1),
        lambda: parallel(lambda: 1),
        now,
    ],
)
def test_step_makes_no_calls_of_its_own(house, inside):
    over = house.go(lambda _: step(inside, name="greedy"))
    assert over.state == "failed" and "was called inside step 1" in over.reason
    assert list(house.calls()) == ["1"]


@pytest.mark.proves("RUN-446", "S2-40", "S2-P8")
def test_failed_run_resumes_at_the_failed_call_only(house):
    did = []

    def effect(what):
        did.append(what)
        if did.count("second") == 1 and what == "second":
            raise OSError("the network")
        return what

    over = house.go(
        lambda _: [step(effect, "first"), step(effect, "second"), step(effect, "third")]
    )
    assert over.state == "failed" and over.reason.startswith(
        "StepFailedError: OSError: the network ("
    )
    assert "Traceback" in over.error and over.stopped_at == "2"
    over = house.resume()
    assert over.result == ["first", "second", "third"]
    assert did == ["first", "second", "second", "third"]
    assert [call.attempt for call in house.calls().values()] == [1, 2, 1]


@pytest.mark.proves("RUN-446")
def test_failure_handled_by_the_flow_is_not_repeated(house):
    did = []

    @flow
    def forgiving(_):
        try:
            step(fails(ValueError("first")), name="one")
        except StepFailedError:
            did.append("caught")
        if did.count("caught") < 2:
            raise RuntimeError("of the flow's own")
        return "through"

    assert house.go(forgiving).reason.startswith("RuntimeError: of the flow's own (")
    assert house.resume().result == "through"
    assert house.calls()["1"].attempt == 1


@pytest.mark.proves("RUN-446")
def test_every_error_of_a_flow_can_be_stored(house):
    for work in (fails(ValueError("bad \udc80")), lambda: stuck("bad \ud800\0")):
        over = house.go(lambda _, work=work: work())
        assert over.state in ("failed", "stuck") and "bad" in over.reason
        assert house.store.runs.get(over.id) == over
    assert house.go(lambda _: stuck()).reason == "the flow gave no reason"
    assert house.go(lambda _: fails(SystemExit(3))()).state == "failed"


@pytest.mark.proves("RUN-446")
def test_flow_that_cannot_load_fails_and_resumes_later(house):
    house.start(lambda _: "fine")
    good = house.flow
    house.flow = None
    assert house.drive().state == "failed"
    house.flow = good
    assert house.resume().result == "fine"


@pytest.mark.proves("RUN-440", "LAW-5")
@pytest.mark.parametrize(
    ("answer", "state", "times", "result"),
    [
        ({"what": "It happened", "result": '{"id": 7}'}, "completed", 1, {"id": 7}),
        ({"what": "It happened", "result": "shipped"}, "completed", 1, "shipped"),
        ({"what": "It happened"}, "completed", 1, None),
        ({"what": "It did not happen: run it"}, "completed", 2, "sent"),
        ({"what": "Stop the run"}, "stuck", 1, None),
    ],
)
def test_interrupted_dangerous_step_is_a_question_to_a_person(house, answer, state, times, result):
    did = []

    def ship():
        did.append(1)
        if len(did) == 1:
            raise Crash
        return "sent"

    house.start(lambda _: step(ship, dangerous=True))
    house.crash()
    waiting = house.drive()
    assert waiting.state == "waiting_human" and "Did step('ship') happen?" in waiting.reason
    assert did == [1] and house.ask().priority == 1
    over = house.answer_and_drive(answer, "I looked")
    assert (over.state, over.result, len(did)) == (state, result, times)
    if state == "stuck":
        # The answer was to stop, not that it did not happen.
        assert house.resume().state == "waiting_human"
        assert house.answer_and_drive({"what": "It happened"}).state == "completed" and did == [1]


@pytest.mark.proves("RUN-441", "LAW-3")
def test_agent_answer_about_a_dangerous_step_does_not_count(house):
    did = []

    def ship():
        did.append(1)
        raise Crash

    house.start(lambda _: step(ship, dangerous=True))
    house.crash()
    house.drive()
    first = house.ask().id
    house.answer({"what": "It did not happen: run it"}, who=an_agent("s9"))
    assert house.drive().state == "waiting_human"
    assert did == [1] and house.ask().id != first
    assert house.answer_and_drive({"what": "It happened"}).state == "completed"


@pytest.mark.proves("RUN-440")
@pytest.mark.parametrize("on_timeout", ["stuck", "fail", "return"])
def test_nobodys_answer_does_not_run_a_dangerous_step_again(house, on_timeout):
    did = []

    def ship():
        did.append(1)
        raise Crash

    house.start(flow(on_timeout=on_timeout, human_timeout=60)(lambda _: step(ship, dangerous=True)))
    house.crash()
    house.drive()
    house.clock.advance(61)
    house.drive()
    if on_timeout != "return":
        house.resume()
    assert house.run().state == "waiting_human" and did == [1]


@pytest.mark.proves("RUN-440")
def test_resuming_does_not_repeat_a_dangerous_step(house):
    did = []

    def ship():
        did.append(1)
        raise Crash

    house.start(lambda _: step(ship, dangerous=True))
    house.crash()
    house.drive()
    house.stop()
    assert house.resume().state == "waiting_human" and did == [1]


@pytest.mark.proves("RUN-440")
def test_completed_dangerous_step_raises_no_question(house):
    did = []

    def ship():
        did.append(1)
        if len(did) == 1:
            raise OSError("refused")
        return object() if len(did) == 2 else "sent"

    house.go(lambda _: step(ship, dangerous=True))
    assert house.run().state == "failed"
    # It ran and its result could not be stored; the record says that it ran.
    assert house.resume().state == "failed" and "it ran" in house.run().reason
    assert house.resume().state == "waiting_human" and did == [1, 1]


@pytest.mark.proves("RUN-440", "LAW-5")
def test_interrupted_plain_step_runs_again(house):
    did = []

    def effect():
        did.append(1)
        if len(did) == 1:
            raise Crash
        return len(did)

    house.start(lambda _: step(effect))
    house.crash()
    assert house.drive().result == 2
    assert house.calls()["1"].attempt == 1


@pytest.mark.proves("RUN-453")
def test_failed_setup_of_a_folder_is_a_question(house):
    house.folders.problems = ["npm is missing", "npm is missing still", "and again"]
    waiting = house.go(lambda _: "worked", in_place=False)
    assert waiting.state == "waiting_human" and house.ask().activity == "npm is missing"
    assert house.answer_and_drive("Try again").state == "waiting_human"
    over = house.answer_and_drive("Stop the run")
    assert over.state == "stuck" and "could not be set up" in over.reason
    assert house.resume().state == "waiting_human"
    assert house.answer_and_drive("Go on without it").result == "worked"
    assert house.folders.set_up_times == 3


@pytest.mark.proves("RUN-453")
def test_folder_is_set_up_once(house):
    house.go(lambda _: bool(pause("Go?")), in_place=False)
    house.answer_and_drive("yes")
    assert house.folders.set_up_times == 1 and house.run().state == "completed"


@pytest.mark.proves("RUN-453")
def test_question_about_the_folder_is_found_after_a_crash(house, monkeypatch):
    house.folders.problems = ["failed at 10:01", "failed at 10:02"]
    house.start(lambda _: "worked", in_place=False)
    put = house.store.runs.change

    def dying(change, expected):
        if any(call.state == "waiting" for call in change.calls):
            raise Crash
        return put(change, expected)

    monkeypatch.setattr(house.store.runs, "change", dying)
    house.crash()
    monkeypatch.setattr(house.store.runs, "change", put)
    assert house.drive().state == "waiting_human" and house.store.asks.count() == 1


@pytest.mark.proves("RUN-457")
def test_run_is_created_before_its_folder_and_starts_after(house):
    made = house.start(lambda _: "worked", in_place=False, with_changes=True)
    assert made.state == "ready" and made.branch == "gate/run-1"
    token = made.created_at.isoformat()
    assert house.folders.made == [
        {"run": 1, "with_changes": True, "snapshot": "", "token": token},
    ]
    waits = house.start(lambda _: "worked", begin=False)
    assert waits.state == "stuck" and "gate resume" in waits.reason
    assert house.drive().state == "stuck"
    assert house.resume().result == "worked"
    assert (
        next(entry.event.kind for entry in house.store.audit.of_subject("run:1")) == "run.started"
    )


@pytest.mark.proves("RUN-457")
def test_run_without_a_creatable_folder_is_not_created(house):
    def fail(*_, **__):
        raise UsageError("this is no repository")

    house.folders.make = fail
    with pytest.raises(UsageError, match="no repository"):
        house.start(lambda _: 1, in_place=False)
    with pytest.raises(NotFoundError, match="gate list"):
        manage_runs.get(house.store, 1)


@pytest.mark.proves("RUN-457")
def test_run_without_a_folder_is_not_resumed(house, monkeypatch):
    def interrupt(*_, **__):
        raise Crash

    house.folders.make = interrupt
    with pytest.raises(Crash):
        house.start(lambda _: 1, in_place=False)
    house.run_id = 1
    with pytest.raises(RefusedError, match="never got a folder"):
        house.resume()


@pytest.mark.proves("RUN-457", "RUN-408")
def test_only_ended_runs_are_deleted(house):
    house.go(lambda _: bool(pause("Go?")))
    with pytest.raises(RefusedError, match="gate stop 1"):
        manage_runs.delete(house.store, 1, a_person())
    house.answer_and_drive("yes")
    manage_runs.delete(house.store, 1, a_person())
    with pytest.raises(NotFoundError):
        manage_runs.get(house.store, 1)
    kinds = [entry.event.kind for entry in house.store.audit.of_subject("run:1")]
    assert kinds[0] == "run.started" and kinds[-2:] == ["run.completed", "run.deleted"]


@pytest.mark.proves("RUN-457")
def test_concurrent_change_is_refused(house, monkeypatch):
    monkeypatch.setattr(house.store.runs, "change", lambda *_: False)
    with pytest.raises(RefusedError, match="another process"):
        house.start(lambda _: 1)
    monkeypatch.undo()
    house.go(lambda _: 1)
    monkeypatch.setattr(house.store.runs, "delete", lambda *_: False)
    with pytest.raises(RefusedError, match="another process"):
        manage_runs.delete(house.store, house.run_id, a_person())


@pytest.mark.proves("RUN-457")
def test_ask_is_found_by_run_if_it_is_single(real_house):
    house = real_house
    house.go(lambda _: parallel(lambda: bool(pause("A?")), lambda: bool(pause("B?"))))
    with pytest.raises(UsageError, match="several"):
        only_ask(house.store, house.run_id)
    house.answer("yes", part="A?")
    assert only_ask(house.store, house.run_id).question.prompt == "B?"
    house.answer_and_drive("yes")
    with pytest.raises(NotFoundError):
        only_ask(house.store, house.run_id)


@pytest.mark.proves("RUN-427")
def test_errors_of_flows_are_errors_of_the_gate():
    assert issubclass(BranchFailedError, StepFailedError) and issubclass(StepFailedError, GateError)
    assert flows.run is run and needs("Q")["question"] == "Q" and ask is flows.ask
