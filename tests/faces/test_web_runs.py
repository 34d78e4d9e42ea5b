"""Runs in the web inbox: the list, the page of each, its actions, and the same over HTTP."""

from __future__ import annotations

import pytest
from tests.support.git_project import git, project  # noqa: F401 - a fixture
from tests.support.markup import read, text_of
from tests.support.people import a_person
from tests.support.run_records import add_run, answer, ask_of, call, turn
from tests.support.waiting import eventually
from tests.support.web_inbox import Inbox, in_order, inbox
from tests.support.web_server import WebServer

from gatebell.api import flows
from gatebell.app import runtime
from gatebell.domain.asks.asks import Origin
from gatebell.domain.digests import text_digest
from gatebell.domain.permissions.calls import make_call
from gatebell.domain.runs.runs import RunChange
from gatebell.services.runs import manage_runs
from gatebell.services.runs.manage_runs import RunRequest
from gatebell.web.runs import timeline

__all__ = ["inbox"]


def shown(inbox, path, *scopes):
    """Return the words of a page, with single blanks."""
    response = inbox.client(*(scopes or ("read", "answer"))).get(path)
    assert response.status_code == 200, response.text
    return " ".join(text_of(response.text.partition("<main")[2]).split())


def post(inbox, path, **fields):
    browser = inbox.browser()
    proof = text_digest(f"csrf {browser.cookies['gatebell']}")
    return browser.post(path, data={"csrf": proof, **fields})


def a_rich_run(inbox):
    """Make a run with an architect, a gate, and two branches of which one waits."""
    store = inbox.store
    said = {"status": "NEEDS_HUMAN", "question": "Cookie or storage?"}
    calls = [
        call(store, "1", label="architect", took=900),
        call(store, "2", "pause", "Approve it?", took=3600),
        call(store, "3", "parallel", "", "open"),
        call(store, "3.1.1", state="waiting"),
        call(store, "3.2.1", "step", "measure", took=12, value={"ms": [12, 14]}),
        call(store, "3.2.10", "step", "later", "failed", error={"kind": "OSError", "message": "disk"}),
        call(store, "3.2.2", "read", "notes.md", value="# Notes\nUse PKCE."),
    ]  # fmt: skip
    turns = [
        turn(store, "1", role="architect", took=900, signal={"status": "DONE", "summary": "One module."}, words="I looked at all of it."),
        turn(store, "3.1.1", signal=said, took=61),
        turn(store, "3.1.1", 2, session="s-2", by="person:bob", ask_id="a-none?1"),
    ]  # fmt: skip
    more = {"branch": "gate/run-1", "agent": "coder", "reason": "Cookie or storage?"}
    run = add_run(store, calls, turns, folder="/data/run-1", parent=7, parent_path="2", **more)
    gate = ask_of(store, run.id, "2", "Approve it?", "approval")
    inbox.clock.advance(3600)
    answer(store, gate, "yes", "keep it small")
    waits = ask_of(store, run.id, "3.1.1", "Cookie or storage?")
    inbox.clock.advance(120)
    parked = run._replace(state="waiting_human", waiting_since=waits.opened_at)
    known = next(one for one in store.runs.calls(run.id) if one.path == "3.1.1")
    assert store.runs.change(RunChange(parked, (known._replace(ask_id=waits.id),)), run)
    return parked, gate, waits


@pytest.mark.proves("RUN-330")
def test_run_over_http_may_hold_half_a_surrogate_pair(inbox):
    half = "a\ud800é"
    run = add_run(inbox.store, [call(inbox.store, "1", value=half)], result=half, state="completed")
    client = inbox.client("read")
    told = client.get(f"/api/runs/{run.id}").json()
    assert (told["result"], told["calls"][0]["value"]) == (half, half)
    assert client.get("/api/runs").json()[0]["result"] == half
    assert "a‹U+D800›é" in shown(inbox, f"/runs/{run.id}")


@pytest.mark.proves("RUN-336")
def test_ask_blocks_its_run_in_the_browser_too(inbox):
    run, held = add_run(inbox.store), make_call("Bash", {"command": "make"}, "/p", "main")
    asked = inbox.ask("Which way?", origin=Origin("/p", owner=f"run:{run.id}/3.1.1"))
    task = inbox.ask("And now?", origin=Origin("/p", owner="task-7"))
    words = " ".join(text_of(inbox.client("read").get("/").text).split())
    assert f"blocks run {run.id} " in words and "blocks task-7" in words and "run:" not in words
    for origin, reach in (
        (asked.origin, f"for this call of run {run.id}"),
        (task.origin, "for the task task-7"),
    ):
        ask = inbox.ask("Allow it?", "approval", origin, call=held)
        assert reach in shown(inbox, f"/asks/{ask.id}")


@pytest.mark.proves("WEB-82")
def test_list_has_active_runs_first_with_their_waits(inbox):
    store = inbox.store
    waiting = add_run(store, flow="feature", agent="coder", prompt="Add login")
    ask = ask_of(store, waiting.id, "1", "Cookie or storage?", "choice", options=("a", "b"))
    inbox.clock.advance(90)
    since = {"state": "waiting_human", "waiting_since": ask.opened_at}
    assert store.runs.change(RunChange(waiting._replace(**since)), waiting)
    over = {"ended_at": store.now(), "agent": "ghost"}
    add_run(store, flow="release", state="failed", reason="disk full", **over)
    add_run(store, flow="nightly", state="completed", **over)
    add_run(store, flow="docs", state="running", agent="writer")
    words = shown(inbox, "/runs")
    in_order(words, "Active", "4 docs: Add login running writer", "started just now")
    in_order(words, "1 feature: Add login waiting for a person coder", "waits 1m")
    in_order(
        words, "choice: Cookie or storage?", "Ended", "3 nightly: Add login completed", "took 0s"
    )
    in_order(words, "2 release: Add login failed", "disk full")
    assert "ghost" not in words
    page = inbox.client("read").get("/runs").text
    assert 'id="waiting" class="count" data-live>1<' in page and "<title>(1) Runs" in page


@pytest.mark.proves("WEB-82")
def test_long_run_list_has_parts_and_empty_one_hints(inbox):
    assert "gate run FLOW PROMPT" in shown(inbox, "/runs")
    for _ in range(5):
        add_run(inbox.store, state="completed", ended_at=inbox.store.now())
    add_run(inbox.store)
    page = inbox.client("read").get("/runs?limit=3").text
    hrefs = [given["href"] for tag, given in read(page).elements if tag == "a"]
    assert [one for one in hrefs if one.startswith("/runs/")] == ["/runs/6", "/runs/5", "/runs/4"]
    assert "/runs?limit=12" in hrefs
    assert "limit=" not in inbox.client("read").get("/runs?limit=6").text


@pytest.mark.proves("WEB-83")
def test_run_page_shows_calls_turns_waits_results_in_order(inbox):
    run, gate, waits = a_rich_run(inbox)
    words = shown(inbox, f"/runs/{run.id}")
    in_order(words, "Run 1 · started 1h ago by ada", "from run 7, call 2", "feature: Add login")
    in_order(words, "Waiting for a person for 2m", "Cookie or storage?", "text, 2m")
    in_order(words, "coder works since 1h, with bob (call 3.1.1)", "Calls")
    in_order(words, "1 run architect 15m", "DONE · architect · turn 1 · claude", "15m")
    in_order(words, "One module.", "Its last words", "I looked at all", "You are architect.")
    in_order(words, "2 pause Approve it?", "approved by ada via web · approval · waited 1h")
    in_order(words, "keep it small", "3 parallel under way", "Branch 1", "3.1.1 run coder")
    in_order(words, "waiting for a person", "NEEDS_HUMAN · coder", "· 1m", "Cookie or storage?")
    in_order(words, "at work · coder (bob in its session) · turn 2", "waiting · text · for 2m")
    in_order(words, "Branch 2", "3.2.1 step measure 12s", 'gave {"ms": [12, 14]}')
    in_order(words, "3.2.2 read notes.md", "# Notes", "3.2.10 step later failed", "OSError: disk")
    in_order(words, "/data/run-1", "gate/run-1", "/p/.gate/flows/feature.py")
    page = inbox.client("read").get(f"/runs/{run.id}").text
    found = [(tag, given.get("href") or given.get("id")) for tag, given in read(page).elements]
    for link in (f"/asks/{gate.id}", f"/asks/{waits.id}", "/runs/7?call=2#call-2"):
        assert ("a", link) in found
    assert ("li", "call-3.2.10") in found
    assert page.count('<div class="branch"') == 2
    assert "<title>(1) feature: Add login · gatebell</title>" in page


@pytest.mark.proves("WEB-83")
def test_run_page_shows_result_reason_or_traceback(inbox):
    store = inbox.store
    over = {"ended_at": store.now()}
    done = add_run(store, state="completed", result={"updated": 12}, **over)
    stuck = add_run(store, state="stuck", reason="architecture rejected", **over)
    trace = "Traceback (most recent call last):\n" + "  File x\n" * 2000 + "OSError: disk\n"
    open_call = [call(store, "1", "step", "deploy", "open", attempt=2, dangerous=True)]
    cut_off = [turn(store, "1")]
    failed = add_run(
        store, open_call, cut_off, state="failed", reason="disk", error=trace, **over
    )  # fmt: skip
    in_order(shown(inbox, f"/runs/{done.id}"), "Completed after 0s", 'Result{"updated": 12}')
    in_order(shown(inbox, f"/runs/{stuck.id}"), "Stuck", "architecture rejected", "Resume run 2")
    words = shown(inbox, f"/runs/{failed.id}")
    in_order(words, "Failed", "disk", "The traceback", "characters before this are not shown")
    in_order(words, "OSError: disk", "1 step deploy broken off attempt 2 dangerous")
    in_order(words, "broken off · coder")
    assert "Traceback (most" not in words and "works since" not in words


@pytest.mark.proves("WEB-83")
def test_run_that_sleeps_or_has_no_driver_says_so(inbox):
    ready = add_run(inbox.store, state="ready")
    words = shown(inbox, f"/runs/{ready.id}")
    in_order(words, "It can go on at once.", "No worker is running: start gate up or gate worker.")
    assert "It has not begun." in words
    inbox.clock.advance(60)
    later = add_run(inbox.store, state="ready", ready_at=inbox.store.now())
    inbox.clock.advance(-60)
    assert "It sleeps until" in shown(inbox, f"/runs/{later.id}")


@pytest.mark.proves("WEB-83")
def test_forked_run_shows_the_turns_and_answers_it_took(inbox):
    store = inbox.store
    first = add_run(store, state="completed")
    gate = ask_of(store, first.id, "2", "Approve it?", "approval")
    answer(store, gate, "yes")
    calls = [call(store, "1"), call(store, "2", "pause", "Approve it?", ask_id=gate.id)]
    said = turn(store, "1", signal={"status": "DONE"})
    calls_made = tuple(one(0) for one in calls)
    from gatebell.domain.runs.journals import Carried

    new = first._replace(parent=first.id, parent_path="3")
    forked = store.runs.add(new, [], Carried(calls_made, (said(0),)))
    words = shown(inbox, f"/runs/{forked.id}")
    in_order(words, "from run 1, call 3", "DONE · coder (taken over from the run before)")
    in_order(words, "2 pause Approve it?", "approved by ada via web")


@pytest.mark.proves("WEB-84")
def test_long_run_shows_five_hundred_calls_and_links(inbox):
    store = inbox.store
    calls = [call(store, str(n), "step", f"step {n}", value=n) for n in range(1, 1001)]
    run = add_run(store, calls)
    first = shown(inbox, f"/runs/{run.id}")
    in_order(first, "Calls 1 to 500 of 1,000.", "Later ones", "500 step step 500", "Later calls")
    assert "501 step" not in first and "Earlier ones" not in first
    second = shown(inbox, f"/runs/{run.id}?call=777")
    in_order(second, "Calls 501 to 1000 of 1,000.", "Earlier ones", "501 step", "1000 step")
    assert "Later" not in second and " 500 step" not in second
    assert shown(inbox, f"/runs/{run.id}?call=nonsense") == first
    ask = ask_of(store, run.id, "777")
    page = inbox.client("read").get(f"/asks/{ask.id}").text
    assert page.count(f'href="/runs/{run.id}?call=777#call-777"') == 2


@pytest.mark.proves("WEB-84")
def test_long_texts_of_runs_are_cut_with_hints(inbox):
    store = inbox.store
    long, numbers = "word " * 2000, list(range(5000))
    calls = [call(store, str(n), "step", "x", value=long) for n in range(1, 100)]
    turns = [turn(store, "1", sent=long, signal={"status": "DONE", "value": numbers}, words=long)]
    run = add_run(store, calls, turns, prompt=long, state="completed", result=numbers)
    words = shown(inbox, f"/runs/{run.id}")
    assert words.count("more characters or so are not shown") > 99
    assert f"All of it: GET /api/runs/{run.id}" in words
    assert len(words) < timeline._MAX_CHARACTERS + 60_000


@pytest.mark.proves("WEB-83", "WEB-90")
def test_long_report_is_markdown_with_folded_rest(inbox):
    store, plan = inbox.store, "## Plan\n\n**One** table. <b>x</b>\n\n"
    turns = [turn(store, "1", signal={"status": "DONE", "summary": plan + "More.\n\n" * 300})]
    turns += [turn(store, "2", signal={"status": "DONE", "summary": "**short**"})]
    run = add_run(store, [call(store, "1"), call(store, "2")], turns)
    page = inbox.client("read").get(f"/runs/{run.id}").text
    said = page.partition('<div class="said">')[2].partition("</div>")[0]
    assert "<strong>One</strong>" in said and "&lt;b&gt;x" in said
    assert said.count("<p>More.</p>") == 300
    assert 100 < said.partition("The rest of it")[0].count("<p>More.</p>") < 300
    assert '<pre class="plain">**short**</pre>' in page


@pytest.mark.proves("WEB-85")
def test_run_is_stopped_with_a_reason_and_resumed(inbox):
    store = inbox.store
    run = add_run(store, [call(store, "1", state="waiting")], state="ready")
    ask = ask_of(store, run.id, "1")
    words = shown(inbox, f"/runs/{run.id}")
    assert f"Stop run {run.id}" in words and "Resume run" not in words
    response = post(inbox, f"/runs/{run.id}/stop", reason="wrong branch")
    assert (response.status_code, response.headers["location"]) == (303, f"/runs/{run.id}")
    stopped = store.runs.get(run.id)
    assert (stopped.state, stopped.reason) == ("stuck", "wrong branch")
    assert store.asks.get(ask.id).status == "cancelled"
    event = store.audit.of_subject(run.name)[-1].event
    assert (event.kind, event.actor, event.content["via"]) == ("run.stopped", "person:ada", "web")
    words = shown(inbox, f"/runs/{run.id}")
    assert f"Resume run {run.id}" in words and "Stop run" not in words
    assert post(inbox, f"/runs/{run.id}/resume").headers["location"] == f"/runs/{run.id}"
    assert store.runs.get(run.id).state == "ready"


@pytest.mark.proves("WEB-85", "LAW-6")
def test_impossible_action_is_explained_and_keeps_its_reason(inbox):
    over = add_run(inbox.store, state="completed", ended_at=inbox.store.now())
    for path, reason in (("stop", "too slow <b>"), ("resume", "")):
        response = post(inbox, f"/runs/{over.id}/{path}", reason=reason)
        assert response.status_code == 409
        words = text_of(response.text)
        assert "Not done" in words and "run 1 " in words and reason in words
        assert f'data-page="/runs/{over.id}"' in response.text
    assert inbox.store.runs.get(over.id) == over
    assert len(inbox.store.audit.of_subject(over.name)) == 1


@pytest.mark.proves("WEB-85", "WEB-50")
def test_reader_without_rights_is_not_offered_stop_or_resume(inbox):
    stuck = add_run(inbox.store, state="stuck", ended_at=inbox.store.now())
    for run in (add_run(inbox.store), stuck):
        words = shown(inbox, f"/runs/{run.id}", "read")
        assert "Stop" not in words and "Resume" not in words
    unborn = add_run(inbox.store, state="stuck", folder="")
    assert "Resume" not in shown(inbox, f"/runs/{unborn.id}")


@pytest.mark.proves("WEB-86")
def test_runs_over_http_are_listed_shown_stopped_and_resumed(inbox):
    run, _, waits = a_rich_run(inbox)
    client = inbox.client("read", "answer")
    add_run(inbox.store, state="completed", ended_at=inbox.store.now())
    listed = client.get("/api/runs").json()
    assert [(one["id"], one["state"]) for one in listed] == [(2, "completed"), (1, "waiting_human")]
    (one,) = client.get("/api/runs?active=true&limit=5").json()
    assert (one["id"], one["waiting_for"]) == (run.id, [waits.id])
    assert not {"claim", "owner", "lease_until"} & one.keys()
    whole = client.get(f"/api/runs/{run.id}").json()
    assert [each["path"] for each in whole["calls"]][-2:] == ["3.2.2", "3.2.10"]
    assert whole["turns"][0]["signal"] == {"status": "DONE", "summary": "One module."}
    stopped = client.post(f"/api/runs/{run.id}/stop", json={"reason": "enough"}).json()
    assert (stopped["state"], stopped["reason"], stopped["waiting_for"]) == ("stuck", "enough", [])
    assert inbox.get(waits).status == "cancelled"
    assert client.post(f"/api/runs/{run.id}/resume").json()["state"] == "ready"
    assert client.post(f"/api/runs/{run.id}/resume").json()["state"] == "ready"


@pytest.mark.proves("WEB-86", "WEB-21")
def test_impossible_run_action_over_http_is_a_problem_document(inbox):
    over = add_run(inbox.store, state="completed", ended_at=inbox.store.now())
    client = inbox.client("read", "answer")
    for act, words in (("stop", "has already ended"), ("resume", "is completed")):
        response = client.post(f"/api/runs/{over.id}/{act}", json={})
        assert response.status_code == 409 and words in response.json()["detail"]
        assert response.headers["content-type"] == "application/problem+json"
    for name in ("99", "x", "-1", "1.0", "9" * 40, "٣", "%00", "run:1"):
        assert client.get(f"/api/runs/{name}").status_code == 404, name
        assert client.get(f"/runs/{name}").status_code == 404, name
    assert client.post(f"/api/runs/{over.id}/stop", json={"reason": 3}).status_code == 400


@pytest.mark.proves("WEB-87")
def test_changes_of_a_runs_agents_are_shown_on_request(inbox, project):  # noqa: F811
    store = inbox.store
    wish = RunRequest("feature", "x.py", "d", "Add login", str(project))
    run, place = manage_runs.start(store, runtime.workspace(store), wish, a_person())
    with open(f"{place.folder}/login.py", "w", encoding="utf-8") as file:
        file.write("import <b>pkce\n")
    page = inbox.client("read").get(f"/runs/{run.id}").text
    assert "pkce" not in page and f'href="/runs/{run.id}?changes=shown#changes"' in page
    seen = inbox.client("read").get(f"/runs/{run.id}?changes=shown").text
    details = seen.partition("What its agents have changed")[2]
    assert "import</span> &lt;b&gt;pkce</td>" in details and "login.py" in details
    assert f'data-page="/runs/{run.id}"' in seen
    git(place.folder, "add", "-A")
    git(place.folder, "commit", "-qm", "login")
    git(place.folder, "revert", "--no-edit", "HEAD")
    assert "Nothing has changed." in shown(inbox, f"/runs/{run.id}?changes=shown")


@pytest.mark.proves("WEB-87")
def test_changes_that_cannot_be_shown_are_explained(inbox, tmp_path):
    gone = add_run(inbox.store, folder=str(tmp_path / "gone"))
    assert "Its folder does not exist" in shown(inbox, f"/runs/{gone.id}?changes=shown")
    more = {"folder": str(tmp_path), "root": str(tmp_path), "branch": "gate/run-2"}
    foreign = add_run(inbox.store, **more)
    assert "is not a worktree of a run" in shown(inbox, f"/runs/{foreign.id}?changes=shown")


@pytest.mark.proves("WEB-88")
def test_stream_reports_runs_and_agents_that_start(tmp_path):
    from tests.support.event_stream import Stream

    server = WebServer(tmp_path).start()
    try:
        stream = Stream(server, server.token(scopes=("read",)))
        stream.next()
        run = add_run(server.store, state="ready")
        number, data = stream.next()
        assert number and (data["kind"], data["subject"]) == ("run.started", run.name)
        claimed = run._replace(state="running", claim=1, agent="coder")
        assert server.store.runs.change(RunChange(claimed), run)
        assert stream.next() == (None, {"kind": "working", "subject": run.name})
        asleep = claimed._replace(state="ready")
        assert server.store.runs.change(RunChange(asleep), claimed)
        assert stream.next() == (None, {"kind": "working", "subject": run.name})
        manage_runs.stop(server.store, run.id, a_person(), "enough")
        assert stream.next()[1]["kind"] == "run.stopped"
        stream.close()
        eventually(lambda: server.streams() == 0)
    finally:
        server.close()


@pytest.mark.proves("WEB-83")
def test_page_fits_a_run_that_was_really_driven(tmp_path):
    """The page is tested with more than made-up records."""
    from tests.support.flow_harness import Harness, done, needs

    from gatebell.web.app import make_app, make_web_context
    from gatebell.web.context import local_site

    inbox = Inbox(tmp_path)
    inbox.store.clock = inbox.clock
    harness = Harness(tmp_path, inbox.store)
    harness.agent("coder", needs("Cookie or storage?"), done("with cookies"))

    @flows.flow
    def feature(prompt):
        flows.parallel(lambda: flows.step(len, [1, 2], name="count"), flows.random)
        flows.run("coder")
        if flows.pause("Approve it?"):
            return {"done": prompt}
        return None

    harness.go(feature)
    harness.answer_and_drive("cookie")
    harness.answer_and_drive("yes", "fine")
    inbox.desk = make_web_context(inbox.store, local_site(4283))
    inbox.app = make_app(inbox.desk)
    words = shown(inbox, f"/runs/{harness.run_id}")
    in_order(words, "Completed", 'Result{"done": "Add login"}', "parallel", "Branch 1", "gave 2")
    in_order(words, "NEEDS_HUMAN · coder · turn 1", "Cookie or storage?", "answered by ada")
    in_order(words, "cookie", "DONE · coder · turn 2", "with cookies", "approved by ada", "fine")
    inbox.close()


@pytest.mark.proves("RED-5")
def test_no_face_of_a_run_shows_secrets(inbox):
    store, secret = inbox.store, "hunter2-" + "a1" * 12
    said = f"I set DB_PASS={secret} and went on."
    signal = {"status": "DONE", "summary": said}
    turns = [turn(store, "1", signal=signal, words=said, sent=said)]
    run = add_run(store, [call(store, "1", value=said)], turns, prompt=said)
    page = inbox.client("read").get(f"/runs/{run.id}").text
    assert secret not in page and "DB_PASS=‹hidden› and went on." in page
    (told,) = inbox.client("read").get(f"/api/runs/{run.id}").json()["turns"]
    assert told["words"] == told["sent"] == said.replace(secret, "‹hidden›")


@pytest.mark.proves("RED-5")
def test_asked_over_http_activity_is_shown_without_secrets(inbox):
    body = {"prompt": "Go on?", "kind": "approval", "activity": "curl -u ada:hunter2 https://x"}
    made = inbox.client("ask").post("/api/asks", json=body).json()["ask"]
    assert made["activity"] == "curl -u ada:‹hidden› https://x"
    assert "hunter2" not in inbox.client("read", "answer").get(f"/asks/{made['id']}").text
