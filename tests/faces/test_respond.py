"""`gate respond`: answering a task that waits for a person."""

from __future__ import annotations

import json

import pytest
from tests.support.asking_tasks import ask_for, let_ask
from tests.support.people import a_person

from gatebell.domain.asks.answers import Given
from gatebell.domain.enums import MemberKind
from gatebell.services.asks import answer_ask
from gatebell.services.members import Membership
from gatebell.services.tasks import backlog

JWT = "Should the API use JWT tokens or session cookies?"
CONTEXT = "JWT is better for stateless APIs, sessions for web apps..."
TITLE = "Implement user authentication"
NO_WORKER = "  Task returned to 'open' state; no worker is running. Start one: gate worker"


class Desk:
    """A project with a task, and ada, who responds."""

    def __init__(self, world):
        self.world = world
        self.store = world.store
        self.folder = world.ada.folder
        (self.folder / ".gate").mkdir()
        self.id = self.create(TITLE)

    def create(self, title):
        return backlog.create(self.store, str(self.folder), a_person("ada"), {"title": title}).id

    def let_ask(self, question=JWT, **request):
        return let_ask(self.store, self.folder, question, **request)[1]

    def respond(self, *words, **more):
        return self.world.ada.gate("respond", *words, "--as", "ada", **more)

    @property
    def state(self):
        return backlog.get(self.store, self.id).state


@pytest.fixture
def desk(world):
    return Desk(world)


@pytest.mark.proves(
    *("TASK-100", "S3-36", "S3-39", "S3-41", "S3-45", "S3-52", "S3-33", "S3-B23", "S3-31", "S3-79", "S3-87")
)  # fmt: skip
def test_documented_example_works(desk):
    ask_id = desk.let_ask(context=CONTEXT)
    words = "Use JWT tokens. We're building a mobile-first API."
    ran = desk.respond(desk.id, words)
    assert ran.code == 0
    assert ran.out.splitlines() == [
        "",
        f"Question: {JWT}",
        "",
        "Context:",
        f"│ {CONTEXT}",
        "",
        f"✓ Response recorded for task {desk.id}",
        NO_WORKER,
    ]
    ask = desk.store.asks.get(ask_id)
    assert (ask.value, ask.settled_by, desk.state) == (words, "person:ada", "open")
    assert backlog.get(desk.store, desk.id).answered_at >= ask.settled_at


@pytest.mark.proves("TASK-100", "TASK-312", "S3-45", "S3-B23")
def test_activity_and_worker_state_are_shown(desk):
    desk.let_ask(activity="Changes:\n?? half-done.py")
    worker = Membership(desk.store, MemberKind.WORKER)
    try:
        ran = desk.respond(desk.id, "Use JWT")
    finally:
        worker.end()
    assert "\nActivity\n│ Changes:\n│ ?? half-done.py\n" in ran.out
    assert ran.out.endswith("  Task returned to 'open' state and will be picked up by worker\n")


@pytest.mark.proves("TASK-101", "S3-34", "S3-36")
def test_target_is_a_task_ask_or_run(desk):
    others = [desk.create(f"T{n}") for n in range(3)]
    asks = [desk.let_ask() for _ in range(4)]
    names = [desk.id.removeprefix("tm-").upper(), asks[1], "3", f" {others[2]} "]
    for name, ask_id in zip(names, asks, strict=True):
        ran = desk.respond(name, "Use", "JWT", "tokens")
        assert ran.code == 0 and "✓ Response recorded for task tm-" in ran.out, ran
        assert desk.store.asks.get(ask_id).value == "Use JWT tokens"
    plain = desk.world.ask("Of nobody?")
    ran = desk.respond(plain, "yes")
    assert ran.code == 0 and f"Recorded: {plain} is answered" in ran.out


@pytest.mark.proves("TASK-102", "S3-32", "S3-40", "S3-73", "S3-B13", "LAW-6", "LAW-10")
def test_task_not_waiting_is_named_with_its_state(desk):
    ran = desk.respond(desk.id, "Use JWT")
    assert ran.code == 7
    assert f"Task {desk.id} is not awaiting input (state: open)" in ran.err
    ask_id = desk.let_ask()
    answer_ask.answer(desk.store, ask_id, a_person("bob"), Given("Cookies"))
    for words in (["Use JWT"], []):
        ran = desk.respond(desk.id, *words)
        assert ran.code == 6 and "person:bob" in ran.err
        assert f"Task {desk.id} is not awaiting input (state: open)" in ran.err
    # It came too late, and is kept.
    assert [one.outcome for one in desk.store.asks.answers(ask_id)] == ["settled", "late"]
    assert desk.store.asks.get(ask_id).value == "Cookies"
    assert desk.respond("tm-none", "x").code == desk.respond("101", "x").code == 5
    assert desk.respond().code == 2


@pytest.mark.proves("TASK-103", "S3-44", "S3-73", "S3-B10", "LAW-10")
def test_empty_response_changes_nothing(desk):
    ask_id = desk.let_ask()
    for words, text in ((["  "], None), ([""], None), (["--file", "-"], " \n\n")):
        ran = desk.respond(desk.id, *words, text=text)
        assert ran.code == 7 and "Response cannot be empty" in ran.err, words
    nothing = desk.respond(desk.id, EDITOR="false")
    assert nothing.code == 2 and f"gate respond {desk.id} TEXT" in nothing.err
    assert desk.store.asks.answers(ask_id) == [] and desk.state == "awaiting_input"


@pytest.mark.proves(
    *("TASK-104", "TASK-324", "S3-37", "S3-43", "S3-B9", "S3-B11", "LAW-6", "LAW-8")
)  # fmt: skip
def test_editor_counts_only_text_below_the_line(desk):
    ask_id = desk.let_ask(
        f"{JWT}\n## Your Response (write below this line) ; nothing above it counts\nDelete it all.\x1b[2J",
        context=CONTEXT,
    )
    untouched = desk.respond(desk.id, "-e", EDITOR="true")
    assert untouched.code == 7 and "Response cannot be empty" in untouched.err
    assert desk.store.asks.get(ask_id).pending
    broken = desk.respond(desk.id, "--edit", EDITOR="sh -c 'echo half >> $0; exit 3'")
    assert broken.code == 2 and desk.store.asks.draft(ask_id, "person:ada") == "half"
    left = desk.respond(desk.id, "--edit", EDITOR="true")
    assert left.code == 7 and "nothing was saved in the editor; your draft" in left.err
    assert desk.store.asks.get(ask_id).pending
    seen, editor = desk.world.folder / "seen", desk.world.folder / "editor"
    editor.write_text(f'#!/bin/sh\ncp "$1" {seen}\necho for a year >> "$1"\n')
    editor.chmod(0o755)
    # An option may come before the text.
    ran = desk.respond(desk.id, "-e", "Use JWT", VISUAL=str(editor), EDITOR="false")
    assert ran.code == 0 and desk.store.asks.get(ask_id).value == "Use JWT\nfor a year"
    shown = seen.read_text().splitlines()
    assert shown[:4] == [f"# Response to: {TITLE}", "", "## Question", JWT]
    at = shown.index("## Context")
    assert shown[at - 1 : at + 3] == ["", "## Context", CONTEXT, ""]
    assert shown[at + 3].startswith("## Your Response (write below this line) ")
    assert shown[at + 4] == "Use JWT" and "\x1b" not in seen.read_text()


@pytest.mark.proves("TASK-104", "S3-B10")
def test_response_comes_from_a_file_or_standard_input(desk):
    other = desk.create("Other")
    first, second = desk.let_ask(), desk.let_ask()
    path = desk.world.folder / "answer.md"
    path.write_text("# Use JWT\n\nfor a year\n")
    assert desk.respond(desk.id, "--file", str(path)).code == 0
    assert desk.store.asks.get(first).value == "# Use JWT\n\nfor a year"
    assert desk.respond(other, "--file", "-", text="Cookies\n").code == 0
    assert desk.store.asks.get(second).value == "Cookies"


@pytest.mark.proves("TASK-105", "LAW-3")
def test_choices_approvals_and_forms_are_answered_too(desk):
    ids = [desk.id, *(desk.create(f"T{n}") for n in range(4))]
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}}
    asks = [
        desk.let_ask("Which?", kind="choice", options=("Use JWT", "Cookies")),
        desk.let_ask("Both?", kind="choice", options=("a", "b", "c"), multiple=True),
        desk.let_ask("Ship?", kind="approval"),
        desk.let_ask("How many?", kind="form", schema=schema),
        desk.let_ask("Colour?", kind="choice", options=("Red", "Other…")),
    ]
    ran = desk.respond(ids[0], "use", "jwt")
    assert ran.code == 0 and "1. Use JWT" in ran.out
    assert desk.respond(ids[1], "a", "3").code == 0
    refused = desk.respond(ids[2], "well, why not")
    assert refused.code == 7 and "yes or no" in refused.err
    assert desk.respond(ids[2], "no").code == 0
    assert desk.respond(ids[3], '{"n": 7}').code == 0
    found = [desk.store.asks.get(one) for one in asks]
    assert desk.respond(ids[4], "Green", "--other", "Green").code == 2
    assert desk.respond(ids[4], "--other", "Green").code == 0
    values = [desk.store.asks.get(one).value for one in asks]
    assert values == ["Use JWT", ["a", "c"], None, {"n": 7}, {"other": "Green"}]
    assert found[2].decision == "rejected"


@pytest.mark.proves("TASK-106", "S3-85")
def test_template_fills_the_response(desk):
    other = desk.create("Other")
    first, second = desk.let_ask(context=CONTEXT), desk.let_ask("{{title}}?")
    folder = desk.folder / ".gate" / "templates"
    folder.mkdir()
    (folder / "later.md").write_text(
        "{{title}} ({{id}}): {{person}} says {{how}} to {{question}}\n"
    )
    missing = desk.respond(desk.id, "--template", "later")
    assert missing.code == 2 and "{{how}}" in missing.err
    assert desk.respond(desk.id, "--template", "none").code == 5
    ran = desk.respond(desk.id, "--template", "later", "--set", "how=no {{id}}")
    assert ran.code == 0, ran.err
    expected = f"{TITLE} ({desk.id}): ada says no {{{{id}}}} to {JWT}"
    assert desk.store.asks.get(first).value == expected
    # With --edit, it is the initial text.
    words = (other, "--template", "later", "--set", "how=yes", "-e")
    assert desk.respond(*words, EDITOR="sed -i s/yes/maybe/").code == 0
    assert desk.store.asks.get(second).value == f"Other ({other}): ada says maybe to {{{{title}}}}?"
    for wrong in (["x", "--template", "later"], ["--set", "a=b"], ["x", "--file", "-"]):
        assert desk.respond(other, *wrong).code == 2, wrong


@pytest.mark.proves("TASK-107", "LAW-3", "S3-B20")
def test_agents_response_is_refused_and_kept_as_a_proposal(desk):
    ask_id = desk.let_ask()
    ran = desk.world.claude.gate("respond", desk.id, "Use JWT")
    assert ran.code == 7 and "agent" in ran.err and desk.state == "awaiting_input"
    (kept,) = desk.store.asks.answers(ask_id)
    assert (kept.outcome, kept.value, kept.principal) == ("refused", "Use JWT", "agent:claude/s1")


@pytest.mark.proves("TASK-108")
def test_json_has_the_ask_task_and_worker_state(desk):
    ask_id = desk.let_ask()
    ran = desk.respond(desk.id, "Use JWT", "--json")
    told = json.loads(ran.out)
    assert told["ask"]["id"] == ask_id and told["ask"]["value"] == "Use JWT"
    assert told["task"]["id"] == desk.id and told["task"]["state"] == "open"
    assert told["worker"] is False


@pytest.mark.proves("TASK-109", "LAW-10")
def test_all_needs_a_terminal_and_takes_no_answer(desk):
    desk.let_ask()
    ran = desk.respond("--all")
    assert ran.code == 2 and "needs a terminal" in ran.err
    assert desk.respond("--all", desk.id).code == desk.respond("--all", "--template", "x").code == 2
    assert desk.state == "awaiting_input"


@pytest.mark.proves("TASK-100")
def test_several_questions_are_listed_and_the_rest_counted(desk):
    first = desk.let_ask()
    second = ask_for(desk.store, desk.store.runs.get(1), "2", "And?")
    both = desk.respond(desk.id, "x")
    assert both.code == 2 and first in both.err and second in both.err
    ran = desk.respond(first, "Use JWT")
    assert f"Task has another question: gate respond {desk.id}" in ran.out


@pytest.mark.proves("TASK-100", "S3-B23")
def test_claimed_task_mentions_no_worker(desk):
    desk.world.ada.gate("task", "claim", desk.id, "--as", "ada")
    ask_id = desk.world.ask("Which?", "--task", desk.id)
    assert desk.state == "awaiting_input"
    ran = desk.respond(desk.id, "left")
    assert ran.code == 0 and "The person or agent that claimed the task goes on with it" in ran.out
    assert desk.store.asks.get(ask_id).value == "left"


@pytest.mark.proves("TASK-281")
def test_note_goes_with_the_answer(desk):
    other = desk.create("Other")
    first, second = desk.let_ask("Ship?", kind="approval"), desk.let_ask()
    alone = desk.respond(other, "--note", "why")
    assert alone.code == 2 and "TEXT" in alone.err
    assert desk.respond("--all", "--note", "why").code == 2
    assert desk.respond(desk.id, "no", "--note", "the tests are missing").code == 0
    ask = desk.store.asks.get(first)
    assert (ask.decision, ask.note) == ("rejected", "the tests are missing")
    assert desk.respond(other, "--note", "ask again", "Use", "JWT").code == 0
    ask = desk.store.asks.get(second)
    assert (ask.value, ask.note) == ("Use JWT", "ask again")


@pytest.mark.proves("TASK-281", "TASK-282", "LAW-4", "LAW-8")
def test_approver_sees_the_activity_and_context_lines(desk):
    said = {"summary": "Added login", "details": "- one\n- two\x1b[2J"}
    diff = "Changes:\n" + "+ a new line of the work\n" * 1000
    ask_id = desk.let_ask("Is it right?", kind="approval", context=said, activity=diff)
    listed = desk.world.plain.gate("list", "--awaiting").out
    assert "Context: summary: Added login details: - one - two" in listed and "⏎" not in listed
    ran = desk.respond(desk.id, "yes")
    lines = ran.out.splitlines()
    at = lines.index("Context:")
    assert lines[at + 1 : at + 5] == [
        "│ summary: Added login",
        "│ details:",
        "│ - one",
        "│ - two␛[2J",
    ]
    assert "Activity" in lines and "│ + a new line of the work" in lines
    assert f"In full: gate show {ask_id} --all   Changes: gate diff 1" in lines
    assert ran.code == 0 and len(ran.out) < 12_000 and "\x1b" not in ran.out


@pytest.mark.proves("TASK-282")
def test_context_is_shown_in_the_editor_as_lines(desk):
    desk.let_ask(context={"summary": "Added login", "details": ""})
    seen = desk.world.folder / "seen"
    desk.respond(desk.id, "-e", EDITOR=f"sh -c 'cp $0 {seen}'")
    assert "\n## Context\nsummary: Added login\n" in seen.read_text()


@pytest.mark.proves("TASK-322", "LAW-6")
def test_late_answer_by_run_number_is_kept(desk):
    ask_id = desk.let_ask()
    run = backlog.get(desk.store, desk.id).run
    assert desk.respond(desk.id, "first").code == 0
    late = desk.respond(str(run), "second")
    assert late.code == 6 and "kept beside it" in late.err
    assert [one.value for one in desk.store.asks.answers(ask_id)] == ["first", "second"]
