"""Hostile texts in every place for text, in a real browser: nothing runs, nothing is loaded."""

from __future__ import annotations

from urllib.parse import quote, urlsplit

import pytest
from playwright.sync_api import expect
from tests.support.markup import FIELDS, PICTURES, WORDS
from tests.support.payloads import PAYLOADS
from tests.support.people import a_person, an_agent
from tests.support.run_records import add_run, answer, ask_of, call, turn
from tests.support.task_records import add_task, awaiting

from gatebell.domain.asks.answers import Given
from gatebell.domain.asks.asks import Origin
from gatebell.domain.permissions.calls import Call
from gatebell.domain.text.display import storable
from gatebell.errors import GateError
from gatebell.services.asks import answer_ask, ask_messages, create_ask
from gatebell.services.notifications import notes
from gatebell.services.people import manage_people
from gatebell.services.runs import manage_runs
from gatebell.services.tasks import backlog

# This many on one page; loading the pages takes the time.
AT_ONCE = 160
BATCHES = tuple(PAYLOADS[n : n + AT_ONCE] for n in range(0, len(PAYLOADS), AT_ONCE))
OURS = {
    *(
        "html",
        "head",
        "meta",
        "link",
        "script",
        "body",
        "header",
        "nav",
        "main",
        "article",
        "footer",
    ),
    *("form", "img", "h1", "h2", "dialog", "dl", "dt", "dd", "kbd", "time", "q", "small", "path"),
}
CENSUS = """([tags, home]) => {
  const faults = [], allowed = new Set(tags);
  document.querySelectorAll("details").forEach(one => { one.open = true; });
  for (const element of document.querySelectorAll("*")) {
    const tag = element.localName;
    if (!allowed.has(tag)) faults.push("<" + tag + ">");
    if (element.shadowRoot) faults.push("a shadow below " + tag);
    for (const {name, value} of element.attributes) {
      if (/^(on|hx-|data-hx|sse-|style$|form$|formaction$|srcdoc$|ping$|background$|xlink:)/.test(name)) faults.push(tag + " " + name);
      if (["href", "src", "action", "data", "poster", "srcset"].includes(name)) {
        const own = value.startsWith("/") && !/^.[/\\\\]/.test(value);
        const out = tag === "a" && /^(https?:|mailto:)/.test(value) && element.rel.includes("noopener") && element.target === "_blank";
        if (!own && !out && !value.startsWith("#")) faults.push(tag + " " + name + "=" + value);
      }
    }
  }
  const scripts = [...document.scripts].map(one => one.src || "inline");
  if (scripts.some(one => !["gate", "seal", "attach", "device"].some(name => one === home + "/static/" + name + ".js")) || new Set(scripts).size < scripts.length) faults.push("scripts " + scripts);
  if ([...document.images].some(one => one.getAttribute("src") !== "/static/icon.svg")) faults.push("a picture");
  if (document.querySelectorAll("link[rel=stylesheet], style").length > 1) faults.push("a style");
  if (document.querySelectorAll("meta[http-equiv], base").length) faults.push("a meta");
  // A question may have this word in it. A script that writes a title replaces all of it.
  if ((/OWNED/.test(document.title) && !document.title.endsWith(" · gatebell")) || window.__pwned) faults.push("it ran");
  return faults;
}"""


class Watched:
    """A window that records every action of a page."""

    def __init__(self, context, real):
        self.real, self.page, self.deeds = real, context.new_page(), []
        self.page.on("dialog", self._dialog)
        self.page.on("console", self._console)
        self.page.on("pageerror", lambda error: self.deeds.append(f"error {error}"))
        self.page.on("request", self._request)
        self.page.on("popup", lambda page: self.deeds.append(f"opened {page.url}"))

    def _dialog(self, dialog):
        self.deeds.append(f"dialog {dialog.message}")
        dialog.dismiss()

    def _console(self, message):
        # The console also reports a page with status 404.
        if message.type in ("error", "warning") and "status of 4" not in message.text:
            self.deeds.append(f"console {message.text}")

    def _request(self, request):
        where = urlsplit(request.url)
        if request.url != "about:blank" and where.netloc != self.real.host:
            self.deeds.append(f"asked for {request.url}")
        if where.path.startswith("/owned"):
            self.deeds.append(f"asked for {request.url}")

    def open(self, path):
        """Open a page, and return its actions and elements that are not ours."""
        self.real.desk.limits._buckets.clear()
        self.page.goto(self.real.url + path)
        return self.look()

    def look(self):
        tags = sorted(OURS | WORDS | FIELDS | PICTURES)
        found = self.page.evaluate(CENSUS, [tags, self.real.url])
        return [*found, *self.deeds]


@pytest.fixture
def watched(real, logged_in):
    return Watched(logged_in, real)


def line(text):
    """Return the text as a service takes it for one line, or for words only."""
    return " ".join(text.split())[:200] or "x"


def hostile_asks(real, batch):
    """Make one ask of each kind, with all of these texts in all its fields."""
    whole, first = "\n\n".join(batch), batch[0]
    diff = "diff --git a/{0} b/{0}\n--- a/{0}\n+++ b/{0}\n@@ -1 +1,{1} @@ {0}\n-{0}\n{2}\n".format(
        line(first), len(batch), "\n".join(f"+{line(one)}" for one in batch)
    )
    origin = Origin(first, first, first, f"{line(first)}/{line(first)}", line(first), "person:sue")
    properties = {
        one: {"type": "string", "title": one, "description": one, "default": one}
        for one in batch[:15]
    }
    properties |= {
        f"{n}{one}": {"enum": [one, f"{one}2"], "title": one, "description": one}
        for n, one in enumerate(batch[15:])
    }
    schema = {"type": "object", "title": first, "description": first, "properties": properties}
    options = tuple(dict.fromkeys(line(one) for one in batch))
    edit = Call("Edit", {"file_path": first, "old_string": whole, "new_string": whole + first, first: batch}, first, first, first, whole)  # fmt: skip
    other = Call(
        line(first), {"command": whole, **{one: one for one in batch}}, first, first, "", whole
    )
    shell = Call("Bash", {"command": whole, "description": first}, first, first)
    choices = {
        "options": options,
        "multiple": True,
        "default": list(options),
        "expires_seconds": 9999,
    }
    return [
        real.ask(whole, "text", context=whole, activity=f"{whole}\n\n{diff}", origin=origin),
        real.ask(line(whole), "text", context={one: [one] for one in batch}, origin=origin),
        real.ask(first + "?", "choice", origin=origin, **choices),
        real.ask(first + "?", "form", schema=schema, origin=origin),
        *(
            real.ask(first + "!", "approval", call=call, origin=origin)
            for call in (edit, other, shell)
        ),
    ]


def talk(real, ask, batch):
    """Messages of both sides, drafts, answers that do not count, and then one that does."""
    whole, bob = "\n".join(batch), a_person("bob")
    asker = an_agent(ask.origin.session)._replace(agent=None)
    ask_messages.ask_back(real.store, ask.id, bob, whole)
    ask_messages.reply(real.store, ask.id, asker, whole)
    answer_ask.save_draft(real.store, ask.id, a_person(), whole)


def settle(real, ask, batch):
    """One answer that counts and one that comes too late, each with a note."""
    whole, question = "\n".join(batch), ask.question
    option = question.options[:1]
    values = {"text": whole, "approval": "no", "form": {batch[0]: whole}}
    value = values.get(question.kind) or (list(option) if question.multiple else option[0])
    answer_ask.answer(real.store, ask.id, a_person("bob"), Given(value, whole))
    with pytest.raises(GateError):
        answer_ask.answer(real.store, ask.id, a_person("sue"), Given(value, whole))


@pytest.mark.proves("WEB-17")
def test_text_of_an_ask_does_nothing_on_its_page(real, watched):
    """Every payload in prompt, context, options, names, call, diff, schema, talk, draft and note."""
    faults = []
    assert len(PAYLOADS) >= 300
    for number, batch in enumerate(BATCHES):
        asks = hostile_asks(real, batch)
        talked = asks[number % len(asks)]
        talk(real, talked, batch)
        for ask in asks:
            faults += [(ask.question.kind, one) for one in watched.open(f"/asks/{ask.id}")]
        # An open page would reload for each of these.
        watched.page.goto("about:blank")
        settle(real, talked, batch)
        for ask in asks:
            if ask is not talked:
                create_ask.cancel(real.store, ask.id, a_person("bob"), "\n".join(batch)[:9000])
        faults += [("settled", one) for one in watched.open(f"/asks/{talked.id}")]
        watched.page.goto("about:blank")
    assert faults == []


def hostile_run(real, batch):
    """Make a run with all of these texts in its fields, its calls and its turns."""
    # As the service prepares every text before it writes it.
    batch = tuple(map(storable, batch))
    store, whole, first = real.store, "\n\n".join(batch), batch[0]
    signal = {"status": line(first)[:60], "summary": whole, "value": {first: batch}}
    asks = {"status": "NEEDS_HUMAN", "question": whole, "options": list(batch)}
    calls = [
        *(call(store, str(n), "step", one, value=one) for n, one in enumerate(batch[:40], 1)),
        call(store, "41", "parallel", first, "open", value={first: batch}),
        call(store, "41.1.1", "step", first, value={one: [one] for one in batch}),
        call(store, "41.2.1", state="failed", error={"kind": first, "message": whole}),
        call(store, "42", label=first, state="waiting"),
    ]
    named = {"cli": first, "sent": whole, "words": whole, "fork_of": first}
    turns = [
        turn(store, "1", role=first, session=f"{len(batch)}{first}", signal=signal, **named),
        turn(store, "2", role=first, session=first, by=first, signal=asks, **named),
        turn(store, "42", role=first, session=f"open {whole}", **named),
    ]
    more = dict.fromkeys(("prompt", "flow", "reason", "error", "agent", "source"), whole)
    more |= dict.fromkeys(("project", "folder", "root", "branch", "started_by"), first)
    run = add_run(store, calls, turns, result={first: batch}, **more)
    ask = ask_of(store, run.id, "42", whole if whole.strip() else "x")
    return run, ask


@pytest.mark.proves("WEB-90", "WEB-17")
def test_text_of_a_run_does_nothing_on_any_page(real, watched):
    """Every payload in prompt, flow, names, labels, values, signals, words, paths and errors."""
    faults = []
    for batch in BATCHES:
        run, ask = hostile_run(real, batch)
        faults += watched.open(f"/runs/{run.id}")
        faults += watched.open(f"/runs/{run.id}?call={quote(batch[0])}&changes=shown")
        watched.page.goto("about:blank")
        answer(real.store, ask, "\n".join(batch), "\n".join(batch))
        manage_runs.stop(real.store, run.id, a_person("bob"), "\n".join(batch)[:4000])
        for path in (f"/runs/{run.id}", "/runs", f"/asks/{ask.id}"):
            faults += watched.open(path)
        watched.page.goto("about:blank")
    watched.page.goto(f"{real.url}/api/runs")
    assert watched.page.evaluate("document.querySelectorAll('script, img, svg').length") == 0
    assert [*faults, *watched.deeds] == []


def hostile_task(real, batch):
    """Make a task that waits, with all of these texts in all its fields."""
    batch = tuple(map(storable, batch))
    store, whole, first = real.store, "\n\n".join(batch), batch[0]
    texts = dict.fromkeys(("description", "test_command", "summary", "details", "status"), whole)
    texts |= dict.fromkeys(("role", "branch", "claimed_by"), line(first))
    project = first or "/p"
    task, ask = awaiting(store, line(first)[:400] or "x", whole or "x", project, **texts)
    others = [add_task(store, line(one)[:400] or "x", project, parent=task.id) for one in batch]
    blocked = add_task(store, "x", project, needs=[task.id, others[0].id], role=line(first))
    backlog.defer(store, others[0].id, a_person("bob"), whole[:4000])
    return project, ask, [f"/tasks/{one.id}" for one in (task, blocked, others[0])]


@pytest.mark.proves("TASK-128", "WEB-17")
def test_text_of_a_task_does_nothing_on_any_page(real, watched):
    """Every payload in title, texts, role, names, project, question, answer and reason."""
    faults = []
    for batch in BATCHES:
        project, ask, pages = hostile_task(real, batch)
        tree = f"/tasks?all=1&limit=1000&project={quote(project, errors='replace')}"
        for path in (tree, *pages, "/", f"/asks/{ask.id}"):
            faults += watched.open(path)
        watched.page.goto("about:blank")
        answer(real.store, ask, "\n".join(batch), "\n".join(batch))
        for path in (tree, pages[0]):
            faults += watched.open(path)
        watched.page.goto("about:blank")
    watched.page.goto(f"{real.url}/api/tasks")
    assert watched.page.evaluate("document.querySelectorAll('script, img, svg').length") == 0
    assert [*faults, *watched.deeds] == []


@pytest.mark.proves("WEB-17")
def test_no_name_in_a_list_does_anything(real, watched):
    """One ask for each payload: agent, project, session and question in inbox and history."""
    faults, some = [], PAYLOADS[:: max(1, len(PAYLOADS) // 390)]
    for start in range(0, len(some), 200):
        asks = []
        for text in some[start : start + 200]:
            origin = Origin(
                text, text, text, f"{line(text)}/{line(text)}", line(text), "person:sue"
            )
            asks.append(real.ask(text if text.strip() else "x", "text", origin=origin))
        for text in some[start : start + 20]:
            if text.strip():
                notes.tell(real.store, origin, an_agent(), text)
        faults += watched.open("/")
        faults += watched.open("/numbers")
        watched.page.goto("about:blank")
        for ask, text in zip(asks, some[start : start + 200], strict=True):
            create_ask.cancel(real.store, ask.id, a_person(), text)
    faults += watched.open("/history?limit=1000")
    assert faults == [] and len(some) >= 300


@pytest.mark.proves("WEB-17")
def test_text_of_a_visitor_does_nothing_where_repeated(real, watched, chromium):
    """Search, addresses, errors, labels of tokens, and the texts of the API, opened as a page."""
    faults = []
    stranger = Watched(chromium.new_context(), real)
    for batch in BATCHES:
        given = quote(" ".join(one[:300] for one in batch).encode("utf-8", "replace"), safe="")
        faults += watched.open(f"/history?q={given}&limit={given}")
        faults += watched.open(f"/asks/{given}")
        for path in (f"/login?next={given}", f"/link/{given}"):
            faults += stranger.open(path)
    faults += watched.open(f"/?done={given}")
    faults += stranger.open(f"/asks/{given}")
    for path in (f"/api/asks?limit={given}", f"/api/asks/{given}", "/api/asks?status=settled"):
        watched.page.goto(real.url + path)
        assert watched.page.evaluate("document.querySelectorAll('script, img, svg').length") == 0
    for text in PAYLOADS[::40]:
        manage_people.add(
            real.store, a_person(), f"p{len(real.store.people.all())}", ("read",), text
        )
    faults += watched.open("/people")
    stranger.page.context.close()
    assert [*faults, *watched.deeds] == []


@pytest.mark.proves("WEB-17")
def test_typed_text_comes_back_harmless_with_the_error(real, watched):
    """An invalid form shows all its values again."""
    schema = {"type": "object", "properties": {"n": {"type": "integer"}, "t": {"type": "string"}}}
    text = "\n".join(PAYLOADS).replace("\0", "").encode("utf-8", "replace").decode()
    ask = real.ask("Fill in", "form", schema=schema | {"required": ["n"]})
    watched.open(f"/asks/{ask.id}")
    watched.page.locator('[name="v/n"]').evaluate("one => { one.type = 'text' }")
    for name in ("v/n", "v/t"):
        watched.page.locator(f'[name="{name}"]').fill(text)
    watched.page.locator("#decide > button").click()
    watched.page.get_by_role("alert").wait_for()
    assert watched.look() == [] and real.get(ask).pending
    watched.open("/people")
    watched.page.locator("input[name=name]").fill(PAYLOADS[0])
    watched.page.get_by_role("button", name="Add", exact=True).click()
    watched.page.get_by_role("alert").wait_for()
    assert watched.look() == []


@pytest.mark.proves("WEB-17")
def test_text_that_arrives_live_does_nothing(real, watched):
    """The page inserts news into itself."""
    ask = real.ask("Calm?")
    watched.open(f"/asks/{ask.id}")
    expect(watched.page.locator("#live")).to_have_text("live")
    for batch in BATCHES[::2]:
        text = "\n".join(batch)
        real.ask(text, origin=Origin(text, text, line(text), "", "", "person:sue"))
        ask_messages.ask_back(real.store, ask.id, a_person("bob"), text + "LAST")
    expect(watched.page.locator(".talk li")).to_have_count(len(BATCHES[::2]))
    assert watched.look() == []


@pytest.mark.proves("WEB-17")
def test_policy_is_on_every_response_and_allows_nothing_inline(real, logged_in):
    page = logged_in.new_page()
    for path in ("/", "/login", "/nowhere", "/api/asks", "/static/gate.js", "/static/", "/asks/x"):
        headers = page.goto(real.url + path).headers
        policy = dict(one.split(" ", 1) for one in headers["content-security-policy"].split("; "))
        assert policy["default-src"] == policy["frame-ancestors"] == policy["base-uri"] == "'none'"
        assert set(" ".join(policy.values()).split()) <= {"'none'", "'self'"}, path
        assert headers["x-content-type-options"] == "nosniff"
    page.goto(real.url)
    page.evaluate(
        "document.body.insertAdjacentHTML('beforeend', '<img src=x onerror=\"window.__pwned=1\">')"
    )
    assert page.evaluate("window.__pwned") is None
