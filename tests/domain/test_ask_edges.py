"""Asks and answers at their edges: whole sentences, stored digests, limits."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

import pytest
from tests.support.people import a_person, an_agent

from gatebell.domain.asks import deadlines, outcomes, owners
from gatebell.domain.asks.activity_summary import explain
from gatebell.domain.asks.answers import Given, answer, interpret
from gatebell.domain.asks.asks import (
    Ask,
    Origin,
    hide_settlement,
    iso,
    question_digest,
    record_digest,
    settled_sentence,
)
from gatebell.domain.asks.context_text import context_text, is_plain
from gatebell.domain.asks.documents import entry_document
from gatebell.domain.asks.questions import make_question
from gatebell.domain.asks.requirements import Requirement, parse_requirement, why_not
from gatebell.domain.audit.events import Entry, Event
from gatebell.domain.digests import digest
from gatebell.domain.permissions.calls import Call
from gatebell.domain.permissions.rules import Scope
from gatebell.domain.runs.session_log import Step
from gatebell.domain.sessions.visits import Terms, Visit
from gatebell.errors import (
    AgentRefusedError,
    AlreadySettledError,
    AskCancelledError,
    AskExpiredError,
    InvalidAnswerError,
    NotAnsweredError,
    UsageError,
)

NOW = datetime(2026, 1, 1, tzinfo=UTC)
ORIGIN = Origin("/p", "/p/x", "coder", "claude/s1", "t1", "person:sue", "run:1")
SETTLED = {"status": "answered", "settled_at": NOW, "settled_by": "person:bob"}


def an_ask(kind="text", origin=ORIGIN, state=(), **more):
    question = make_question(kind, "Q?", **more)
    return Ask("a-222", question, origin, NOW, question_digest(question, origin), **dict(state))


def give(ask, value, caller=None, **more):
    return answer(ask, (), caller or a_person(), Given(value, **more), NOW, b"k" * 32)


@pytest.mark.proves("WHO-2", "LAW-10")
def test_agent_hears_how_a_person_answers():
    start = (
        "and an agent seems to be at work here (the variable CLAUDECODE is set). Answer in your "
        "own terminal, or with your personal token: gate answer a-222"
    )
    gate = give(an_ask("approval"), "yes", an_agent("s2")).error
    assert isinstance(gate, AgentRefusedError)
    assert str(gate) == f"only a person decides a-222, {start} yes|no --as NAME"
    of_task = an_ask(origin=ORIGIN._replace(task="tm-7"))
    assert str(give(of_task, "x", an_agent("s2")).error) == (
        f"only a person answers a-222, {start} VALUE --as NAME. It is kept as a proposal"
    )


@pytest.mark.proves("ASK-23")
def test_late_answer_is_kept_without_a_decision():
    verdict = give(an_ask("approval", state=SETTLED), "yes")
    assert isinstance(verdict.error, AlreadySettledError) and verdict.answer.decision is None
    said = "a-222 was already answered by person:bob at 2026-01-01 00:00:00 UTC"
    assert str(verdict.error) == f"{said}; your answer is kept beside it"
    secret = give(an_ask(secret=True, state=SETTLED | {"token_digest": "t"}), "hush")
    assert str(secret.error) == said
    decided = an_ask("approval", state=SETTLED | {"decision": "rejected"})
    assert settled_sentence(decided) == f"{said} (rejected)"


@pytest.mark.proves("WEB-75")
def test_token_answers_asks_of_others():
    ada = a_person(verified=True)._replace(token_id="t9")
    assert give(an_ask(), "x", ada).error is None
    own = an_ask(origin=ORIGIN._replace(session="http-t9/1"))
    assert isinstance(give(own, "x", ada).error, AgentRefusedError)
    assert give(own, "x").error is None


@pytest.mark.proves("AGT-6")
def test_grant_has_an_id_of_its_own():
    call = Call("Bash", {"command": "ls"}, "/p")
    granted = give(an_ask("approval", call=call), "yes", scope=Scope("hour")).change.grant
    assert re.fullmatch("g-[2-9a-z]{6}", granted.id)


@pytest.mark.proves("ASK-2", "ASK-6", "EASE-25")
@pytest.mark.parametrize(
    ("options", "given", "sentence"),
    [
        (("A", "B"), "C", "'C' is not an option; the options are 'A', 'B'"),
        (("A", "B"), 7, "7 is not an option; the options are 'A', 'B'"),
        (("A", "B"), "x" * 50, f"'{'x' * 39}… is not an option; the options are 'A', 'B'"),
        (
            ("Red", "Blue"),
            "Rde",
            "'Rde' is not an option; the options are 'Red', 'Blue'; did you mean 'Red'?",
        ),
        (
            ("A", "Other…"),
            "C",
            "'C' is not an option; the options are 'A', and Other… with words of your own",
        ),
    ],
)
def test_wrong_option_is_refused_with_the_right_ones(options, given, sentence):
    with pytest.raises(InvalidAnswerError) as caught:
        interpret(make_question("choice", "Q?", options=options), given)
    assert str(caught.value) == sentence


@pytest.mark.proves("EASE-28")
@pytest.mark.parametrize(
    ("kind", "more", "sentence"),
    [
        ("choice", {}, "a choice needs options: give two or more"),
        (
            "approval",
            {"options": ("A", "B")},
            "an ask of kind approval has no options: leave them out, or ask for a choice",
        ),
        ("form", {}, "a form needs a schema: give a JSON Schema"),
        (
            "text",
            {"schema": {"type": "object"}},
            "an ask of kind text has no schema: leave it out, or ask for a form",
        ),
    ],
)
def test_options_and_schema_belong_to_their_kind(kind, more, sentence):
    with pytest.raises(UsageError) as caught:
        make_question(kind, "Q?", **more)
    assert str(caught.value) == sentence


@pytest.mark.proves("ASK-2")
def test_one_word_is_a_list_of_one():
    question = make_question("choice", "Q?", options=("Red", "Blue"), multiple=True)
    assert interpret(question, "Red") == (None, ["Red"])
    assert interpret(question, ["Red", "blue"]) == (None, ["Red", "Blue"])


@pytest.mark.proves("ASK-26")
def test_context_is_taken_up_to_its_limit():
    fits = "x" * (4_000_000 - len('""'))
    assert make_question("text", "Q?", context=fits).context == fits
    with pytest.raises(UsageError, match="longer than 4000000 characters"):
        make_question("text", "Q?", context=fits + "x")


@pytest.mark.proves("STORE-8")
def test_record_digest_keeps_its_stored_form():
    ask = an_ask()
    fixed, timing = [2, None, "", "", False], [iso(NOW), None, []]
    origin = ["/p", "/p/x", "coder", "claude/s1", "t1", "person:sue", "run:1"]
    assert record_digest(ask) == digest([origin, fixed, timing])
    of_task = ask._replace(origin=ORIGIN._replace(task="tm-7"))
    assert record_digest(of_task) == digest([[*origin, "tm-7"], fixed, timing])


@pytest.mark.proves("LAW-4")
def test_question_digest_covers_the_real_file():
    call = Call("Write", {"file_path": "x"}, "/p", "main", "/p/x", "said")
    first = an_ask("approval", call=call).digest
    assert an_ask("approval", call=call._replace(real_path="/etc/x")).digest != first
    assert an_ask("approval", call=call._replace(remark="else")).digest == first


@pytest.mark.proves("ASK-9")
def test_unsettled_ask_shows_nothing_of_its_end():
    told = {"decision": "approved", "value": "x", "note": "n", "settled_via": "cli"}
    assert hide_settlement(an_ask("approval", state=SETTLED | told)) == an_ask("approval")


@pytest.mark.proves("ASK-19")
def test_draft_moves_a_deadline_by_the_missing_part():
    clock = deadlines.start(NOW, 120)
    half = NOW + timedelta(seconds=0.5)
    assert deadlines.hold(clock, half).expires_at == NOW + timedelta(seconds=120.5)
    assert deadlines.hold(clock, NOW) == clock


@pytest.mark.proves("ASK-17", "ORDER-1")
def test_wrong_escalations_are_named():
    with pytest.raises(UsageError) as caught:
        deadlines.make_escalations("ops")
    assert str(caught.value) == "expected a list for escalations, got one text: use a list of texts"
    with pytest.raises(UsageError) as caught:
        deadlines.make_escalations({"ops"})
    assert str(caught.value) == (
        "expected a list for escalations, got set: use a list, whose order is the same each time"
    )


@pytest.mark.proves("CLI-3")
def test_document_of_an_entry_is_whole():
    entry = Entry(1, "2026", Event("ask.opened", "a-2", "gate", {"n": 1}), "c", "h", erased=False)
    whole = {
        "seq": 1, "at": "2026", "kind": "ask.opened", "subject": "a-2", "actor": "gate",
        "content": {"n": 1}, "content_digest": "c", "hash": "h",
    }  # fmt: skip
    assert entry_document(entry) == whole
    rows = {"asks": {"a-2": ["x"]}}
    assert entry_document(entry._replace(rows=rows)) == whole | {"rows": rows}


@pytest.mark.proves("ASK-28")
def test_owner_names_a_run_or_a_task():
    assert owners.owner_of_task("tm-7") == "task:tm-7"
    assert [owners.task_of(one) for one in ("task:tm-7", "run:1", "me")] == ["tm-7", "", ""]
    assert owners.owner_of(1, "2") == "run:1/2" and owners.run_of("run:1/2") == 1


@pytest.mark.proves("ASK-13")
def test_excluded_author_hears_why():
    rule, ada = Requirement(not_author=True), a_person(verified=True)
    assert why_not(rule, "person:ada", "claude/s1", ada) == (
        "you started the agent that asks, and this ask excludes its author"
    )
    agent = an_agent("s1")._replace(verified=True)
    assert why_not(rule, "person:sue", "claude/s1", agent) == (
        "this is the session that asks, and this ask excludes its author"
    )
    assert why_not(rule, "person:sue", "claude/s2", agent) is None


@pytest.mark.proves("ASK-10")
def test_one_person_may_be_required():
    assert parse_requirement("1:ada") == {"n": 1, "of": ["ada"]}
    assert parse_requirement("1") == {"n": 1}
    for text in ("0", "0:ada"):
        with pytest.raises(UsageError, match="expected --require"):
            parse_requirement(text)


@pytest.mark.proves("PY-2")
@pytest.mark.parametrize(
    ("status", "error", "sentence"),
    [
        (
            "timed_out",
            AskExpiredError,
            "a-222 timed out without an answer: ask again, or give it more time",
        ),
        ("cancelled", AskCancelledError, "a-222 was cancelled: no reason given"),
        ("pending", NotAnsweredError, "a-222 is not answered yet: gate wait a-222"),
    ],
)
def test_missing_value_is_explained(status, error, sentence):
    with pytest.raises(error) as caught:
        _ = outcomes.outcome(an_ask(state={"status": status}), None).value
    assert type(caught.value) is error and str(caught.value) == sentence


@pytest.mark.proves("SES-31")
def test_response_of_a_session_has_the_wanted_shape():
    ask = an_ask("session", session=Terms("text"), state=SETTLED)
    visits = outcomes.Visits(2, "claude/s1", None, 7000)
    result = outcomes.outcome(ask, "7", visits)
    assert result.visits == visits and result.response == "7"
    assert result.convert_by(int) is result and result.response == 7
    nothing = outcomes.outcome(an_ask("session", session=Terms("text")), None)
    assert nothing.convert_by(int).response is None and nothing.visits == (0, "", None, 0)


@pytest.mark.proves("SES-124")
def test_open_visit_lasts_until_the_ask_is_settled():
    visit = Visit("t-1", "a-222", 1, "person:ada", "claude", "", "b/7/1", NOW)
    later = {"settled_at": NOW + timedelta(seconds=3)}
    ask = an_ask("session", session=Terms("text"), state=SETTLED | later)
    assert outcomes.sum_up(ask, [visit]) == (1, "", None, 3000)


@pytest.mark.proves("SES-23", "LAW-3")
def test_approval_of_nothing_approves_nothing():
    wanted = outcomes.Approval()
    assert (wanted.ask_id, wanted.status, wanted.decision, bool(wanted)) == (
        "",
        "pending",
        None,
        False,
    )


@pytest.mark.proves("AGT-17")
def test_last_eight_calls_are_shown_whole():
    calls = [Step("call", "", "Bash", {"command": f"ls {n}"}) for n in range(9)]
    done = "\n".join(f"Bash: ls {n}" for n in range(1, 9))
    assert explain([Step("words", "w" * 2_501), *calls], "M a.py") == (
        f"It last said:\n{'w' * 2_500} … (1 more characters)\n\nIt last did:\n{done}\n\n"
        "Changes:\nM a.py"
    )


@pytest.mark.proves("AGT-17")
def test_unread_rest_of_a_text_is_counted():
    words = "w" * 50_000
    assert explain([Step("words", words)], "").endswith(" … (47500 more characters)")
    assert explain([Step("words", words + "xyz")], "").endswith(" … (47503 more characters)")


@pytest.mark.proves("TASK-282")
def test_context_of_names_is_shown_in_lines():
    context = {"Flows": ["a", "b"], "Why": "one\ntwo\n", "Port": "80", "Home": "~", "Left": ""}
    assert context_text(context) == "Flows:\n- a\n- b\nWhy:\none\ntwo\nPort: 80\nHome: ~"
    assert [is_plain(one) for one in (context, {}, {"a": 1}, "a", {"a": [1]})] == [
        True, False, False, False, False
    ]  # fmt: skip
