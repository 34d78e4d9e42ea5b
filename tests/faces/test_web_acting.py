"""Acting in the browser: answer in a run's page, start a flow, create a task, freeze, filter."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.support.git_project import git, project  # noqa: F401 - a fixture
from tests.support.markup import text_of
from tests.support.people import a_person
from tests.support.run_records import add_run, ask_of, call
from tests.support.web_inbox import inbox

from gatebell.domain.digests import text_digest
from gatebell.domain.permissions.calls import make_call
from gatebell.services import freezes
from gatebell.services.tasks import backlog

__all__ = ["inbox"]

ADA = a_person("ada", verified=True)
FLOW = '''"""Add a feature."""
from gatebell import flow
open({marker!r}, "w").close()

@flow
def feature(prompt):
    return prompt
'''


def words(response):
    return " ".join(text_of(response.text.partition("<main")[2]).split())


def fields_of(page, action):
    """Return the hidden fields of the form with this action."""
    form = page.text.partition(f'action="{action}"')[2].partition("</form>")[0]
    return dict(re.findall(r'type="hidden" name="(\w+)" value="([^"]*)"', form))


def post(browser, path, **fields):
    proof = text_digest(f"csrf {browser.cookies['gatebell']}")
    return browser.post(path, data={"csrf": proof, **fields})


def waiting(store, prompt="Delete it?", **more):
    run = add_run(store, [call(store, "1", "pause", prompt, "waiting")], state="waiting_human")
    return run, ask_of(store, run.id, "1", prompt, "approval", **more)


@pytest.mark.proves("ACT-1", "LAW-4")
def test_ask_is_answered_in_the_page_of_its_run(inbox):
    held = make_call("Bash", {"command": "rm -rf <b>build"}, "/w", "main")
    run, ask = waiting(inbox.store, call=held)
    browser = inbox.browser()
    page = browser.get(f"/runs/{run.id}")
    assert "Delete it?" in words(page) and "rm -rf <b>build" in words(page)
    assert "<b>build" not in page.text
    fields = fields_of(page, f"/asks/{ask.id}/answer")
    assert fields["digest"] == ask.digest and fields["opened_in"] == "run" and fields["key"]
    wrong = browser.post(f"/asks/{ask.id}/answer", data=fields | {"digest": "0", "value": "yes"})
    assert wrong.status_code != 303 and inbox.get(ask).pending
    fields = fields_of(wrong, f"/asks/{ask.id}/answer")
    assert fields["opened_in"] == "run", "it still goes back"
    given = browser.post(f"/asks/{ask.id}/answer", data=fields | {"value": "yes", "note": "go"})
    assert (given.status_code, given.headers["location"]) == (303, f"/runs/{run.id}")
    assert inbox.get(ask).decision == "approved" and inbox.get(ask).note == "go"
    assert 'id="answer"' not in browser.get(f"/runs/{run.id}").text
    assert 'id="answer"' not in inbox.client("read").get(f"/runs/{waiting(inbox.store)[0].id}").text


@pytest.mark.proves("ACT-1")
def test_answer_without_a_run_goes_to_the_inbox(inbox):
    ask, browser = inbox.ask("Go?", "approval"), inbox.browser()
    fields = fields_of(browser.get(f"/asks/{ask.id}"), f"/asks/{ask.id}/answer")
    assert "back" not in fields
    given = browser.post(f"/asks/{ask.id}/answer", data=fields | {"value": "yes", "back": "run"})
    assert given.headers["location"] == f"/?done={ask.id}"


@pytest.fixture
def place(inbox, project, tmp_path):  # noqa: F811
    """A project that the server knows, with one flow."""
    flows = Path(project) / ".gate" / "flows"
    flows.mkdir(parents=True)
    marker = tmp_path / "flow-code-ran"
    (flows / "feature.py").write_text(FLOW.format(marker=str(marker)))
    (flows / "broken.py").write_text("def (")
    git(project, "add", ".")
    git(project, "commit", "-qm", "flow")
    add_run(inbox.store, project=str(project), state="completed")
    return str(project), marker


@pytest.mark.proves("ACT-2", "ACT-4")
def test_flow_is_started_from_the_browser(inbox, place):
    folder, marker = place
    browser = inbox.browser()
    page = browser.get("/runs/new", params={"project": folder})
    assert "feature" in words(page) and "Add a feature." in words(page)
    assert "broken.py" in words(page), "its fault is shown"
    made = post(browser, "/runs", project=folder, flow="feature:feature", prompt=" Add login ")
    assert made.status_code == 303 and made.headers["location"] == "/runs/2"
    run = inbox.store.runs.get(2)
    assert (run.title, run.state, run.started_by) == ("feature: Add login", "ready", "person:ada")
    assert run.folder != folder and Path(run.folder, ".gate/flows/feature.py").exists()
    assert not marker.exists(), "the server runs no code of the project"
    assert "feature: Add login" in words(browser.get("/runs"))
    assert "feature: Add login" in words(browser.get("/runs/2"))


@pytest.mark.proves("ACT-2", "ACT-4")
def test_only_listed_flows_and_projects_are_started(inbox, place, tmp_path):
    folder, _ = place
    browser = inbox.browser()
    for flow in ("other:other", "../../x:feature", f"{folder}/.gate/flows/feature.py:feature", ""):
        refused = post(browser, "/runs", project=folder, flow=flow, prompt="keep <me>")
        assert refused.status_code == 422 and "keep &lt;me&gt;" in refused.text
    elsewhere = tmp_path / "elsewhere"
    (elsewhere / ".gate" / "flows").mkdir(parents=True)
    (elsewhere / ".gate" / "flows" / "feature.py").write_text(FLOW.format(marker="x"))
    started = post(browser, "/runs", project=str(elsewhere), flow="feature:feature")
    assert started.status_code == 404 and str(elsewhere) not in browser.get("/runs/new").text
    unproven = browser.post("/runs", data={"project": folder, "flow": "feature:feature"})
    assert unproven.status_code == 403
    reader = inbox.client("read")
    assert reader.get("/runs/new").status_code == 403
    assert reader.post("/runs", data={"project": folder}).status_code == 403
    assert "/runs/new" not in reader.get("/runs").text
    assert len(inbox.store.runs.newest(9)) == 1


@pytest.mark.proves("ACT-3", "ACT-4")
def test_task_is_created_from_the_browser(inbox, place):
    folder, _ = place
    browser = inbox.browser()
    assert "New task" in words(browser.get("/tasks")) and folder in words(browser.get("/tasks/new"))
    fields = {"project": folder, "title": "Add login", "description": "By OAuth", "priority": "1"}
    made = post(browser, "/tasks", **fields)
    assert made.status_code == 303
    task = backlog.get(inbox.store, made.headers["location"].removeprefix("/tasks/"))
    assert (task.title, task.description, task.priority) == ("Add login", "By OAuth", 1)
    assert (task.project, task.created_by) == (folder, "person:ada")
    empty = post(browser, "/tasks", **fields | {"title": " ", "description": "kept"})
    assert empty.status_code == 422 and "kept" in empty.text
    assert post(browser, "/tasks", **fields | {"project": "/etc"}).status_code == 404
    assert inbox.client("read").post("/tasks", data=fields).status_code == 403
    assert browser.post("/tasks", data=fields).status_code == 403
    assert inbox.store.tasks.how_many(folder, closed=True) == 1


@pytest.mark.proves("FREEZE-2", "FREEZE-9", "ACT-4")
def test_freeze_is_thrown_shown_and_lifted_in_the_browser(inbox):
    browser = inbox.browser()
    assert browser.post("/freeze", data={"reason": "x"}).status_code == 403
    assert browser.get("/freeze").status_code in (404, 405) and not freezes.find(inbox.store)
    assert post(browser, "/freeze", reason="<i>broken</i>").status_code == 303
    for path in ("/", "/runs", "/tasks", "/history"):
        page = browser.get(path).text
        assert "Everything is frozen" in page and "&lt;i&gt;broken" in page, path
        assert 'action="/unfreeze"' in page
    reader = inbox.client("read")
    assert "Everything is frozen" in reader.get("/runs").text
    assert 'action="/unfreeze"' not in reader.get("/runs").text
    assert reader.post("/unfreeze").status_code == 403
    assert post(browser, "/unfreeze").status_code == 303
    assert "Everything is frozen" not in browser.get("/").text


@pytest.mark.proves("FREEZE-1", "FREEZE-2")
def test_freeze_over_http_needs_a_persons_scope(inbox):
    person, asker = inbox.client("read", "answer"), inbox.client("ask", name="bot")
    assert asker.get("/api/freeze").json()["frozen"] is False
    assert asker.post("/api/freeze", json={}).status_code == 403
    begun = person.post("/api/freeze", json={"reason": "broken"})
    assert begun.status_code == 200 and begun.json()["is_new"]
    assert not person.post("/api/freeze", json={}).json()["is_new"]
    assert asker.get("/api/freeze").json()["reason"] == "broken"
    assert asker.delete("/api/freeze").status_code == 403 and freezes.find(inbox.store)
    assert person.delete("/api/freeze").json()["by"] == "person:ada"
    assert person.delete("/api/freeze").json()["frozen"] is False


@pytest.mark.proves("HIST-2")
def test_history_is_filtered_in_page_and_over_http(inbox):
    inbox.answer(inbox.ask("Deploy?", "approval"), "no", "bob")
    inbox.answer(inbox.ask("Which <b>colour?"), "red", "sue")
    browser, client = inbox.browser(), inbox.client("read")
    page = words(browser.get("/history", params={"outcome": "rejected", "person": "bob"}))
    assert "1 found" in page and "Deploy?" in page and "colour" not in page
    # On a phone the fields are longer than the screen, and what was found is below them.
    assert "Filter: outcome rejected, settled by bob" in page
    is_open = {
        agent: 'class="filter" open' in browser.get("/history", params={"agent": agent}).text
        for agent in ("coder", "none")
    }
    assert is_open == {"coder": False, "none": True}
    assert "No settled ask fits" in words(browser.get("/history", params={"agent": "none"}))
    wrong = browser.get("/history", params={"since": "<i>soon"})
    assert wrong.status_code == 422 and "&lt;i&gt;soon" in wrong.text

    def prompts(**query):
        found = client.get("/api/asks", params={"status": "settled"} | query)
        return [one["prompt"] for one in found.json()] if found.status_code == 200 else found

    assert prompts(person="sue") == ["Which <b>colour?"] and prompts(outcome="approved") == []
    assert prompts(agent="coder", project="/p", since="1d") == ["Which <b>colour?", "Deploy?"]
    assert prompts(until="1d") == []
    assert prompts(since="soon").status_code == 400 and prompts(outcome="maybe").status_code == 400
