"""Every route and its scopes: a path that is not listed here does not exist."""

from __future__ import annotations

from typing import Any

from gatebell.domain.asks.history_filters import OUTCOMES
from gatebell.domain.people.logins import SCOPES
from gatebell.ports.backends.work import MAX_TASKS
from gatebell.ports.tasks import WHICH
from gatebell.web import freezes, installed_app, operations
from gatebell.web.api import (
    client_schemas as c,
    clients,
    endpoints,
    opening,
    permissions,
    rules,
    schemas as s,
)
from gatebell.web.asks import ask_pages, attached
from gatebell.web.context import Row
from gatebell.web.limits import UPLOADS
from gatebell.web.operations import HEALTH, METRICS, READY
from gatebell.web.people import devices, login, people
from gatebell.web.runs import new_runs, run_pages
from gatebell.web.tasks import new_tasks, task_changes, task_pages
from gatebell.web.waits import parse_wait

READ, ANSWER, ASK, ADMIN = ("read",), ("answer",), ("ask",), ("admin",)
READ_OR_ASK = ("read", "ask")
ANSWER_OR_ASK = ("answer", "ask")


def _number(name: str, least: int, most: int, about: str) -> tuple[str, dict[str, Any], str]:
    return name, {"type": "integer", "minimum": least, "maximum": most}, about


_LIMIT = _number("limit", 1, 1000, "how many at most (100)")

_WHICH = ("which", {"enum": ["gates", "grants"]}, "gates and denials (the default), or grants")

PAGES = (
    Row("GET", "/", ask_pages.inbox, READ),
    Row("GET", "/asks/{id}", ask_pages.ask, READ),
    Row("GET", "/asks/{id}/attachments/{digest}", attached.download, READ),
    Row("POST", "/asks/{id}/answer", ask_pages.answer, ANSWER, takes_files=True),
    Row("POST", "/asks/{id}/draft", ask_pages.draft, ANSWER),
    Row("GET", "/runs", run_pages.list_page, READ),
    Row("GET", "/runs/new", new_runs.new_page, ANSWER),
    Row("POST", "/runs", new_runs.start, ANSWER),
    Row("GET", "/runs/{id}", run_pages.run_page, READ),
    Row("POST", "/runs/{id}/stop", run_pages.stop, ANSWER),
    Row("POST", "/runs/{id}/resume", run_pages.resume, ANSWER),
    Row("POST", "/freeze", freezes.begin_from_page, ANSWER),
    Row("POST", "/unfreeze", freezes.lift_from_page, ANSWER),
    Row("GET", "/tasks", task_pages.tree_page, READ),
    Row("GET", "/tasks/new", new_tasks.new_page, ANSWER),
    Row("POST", "/tasks", new_tasks.create, ANSWER),
    Row("GET", "/tasks/{id}", task_pages.task_page, READ),
    Row("GET", "/history", ask_pages.history, READ),
    Row("GET", "/numbers", ask_pages.numbers, READ),
    Row("GET", "/people", people.people, ADMIN),
    Row("POST", "/people", people.add_person, ADMIN),
    Row("POST", "/people/{name}/tokens", people.add_token, ADMIN),
    Row("POST", "/people/{name}/remove", people.remove_person, ADMIN),
    Row("POST", "/tokens/{id}/revoke", people.revoke_token, ADMIN),
    Row("POST", "/devices", devices.add, ANSWER),
    Row("POST", "/devices/{id}/test", devices.send_test, ANSWER),
    Row("POST", "/devices/{id}/remove", devices.remove, ("answer", "admin")),
    Row("POST", "/push/answer", devices.answer, ANSWER, by_button=True),
    Row("GET", "/sw.js", installed_app.show_service_worker),
    Row("GET", "/manifest.webmanifest", installed_app.show_manifest),
    Row("GET", "/offline", installed_app.show_offline_page),
    Row("GET", "/login", login.login_page),
    Row("POST", "/login", login.login),
    Row("GET", "/link/{secret}", login.link_page),
    Row("POST", "/link/{secret}", login.link),
    Row("POST", "/logout", login.logout, SCOPES),
    Row("GET", METRICS, operations.show_metrics, ("metrics",)),
)

API = (
    Row(
        "GET", "/api/asks", endpoints.list_asks, READ_OR_ASK, "List asks; with the scope ask, your own session's",
        query=(
            ("session", c.SESSION, "only the pending asks of this session of your token"),
            ("status", {"enum": ["pending", "settled"]}, "pending (the default) or settled asks"),
            ("project", s.TEXT, "only asks of this project"),
            ("project_key", s.TEXT, "the key of that project, for its asks on other machines"),
            ("search", s.TEXT, "settled asks with this text in the question, note or id"),
            ("outcome", {"enum": list(OUTCOMES)}, "settled asks with this outcome"),
            ("agent", s.TEXT, "settled asks of this asker"),
            ("person", s.TEXT, "settled asks that this person settled"),
            ("since", s.TEXT, "settled then or later: a day, a time, or a duration such as 7d"),
            ("until", s.TEXT, "settled before that; a day counts as a whole"),
            ("task", s.WORDS, "all asks of this task, oldest first"),
            _number("run", 1, 2**53, "all asks of this run, oldest first"),
            _LIMIT,
        ),
        gives=(200, s.ASKS_GIVEN),
    ),
    Row(
        "POST", "/api/asks", opening.open_ask, ASK, "Ask, and wait a short time if you like", s.REQUEST,
        query=(_number("wait", 0, 55, "seconds to wait for the answer (0)"),),
        gives=(201, s.OPENED_GIVEN),
    ),
    Row(
        "GET", "/api/asks/{id}", endpoints.show_ask, READ_OR_ASK, "Show one ask",
        query=(("by", {"enum": ["id", "name", "beginning"]}, "how it is named: its id, also its task or run, or the id's beginning"),),
        gives=(200, s.ASK_GIVEN),
    ),
    Row(
        "GET", "/api/asks/{id}/wait", parse_wait, READ_OR_ASK, "Wait until it is settled",
        query=(
            _number("seconds", 0, 300, "how long at most (30)"),
            ("hears", {"enum": ["true", "false"]}, "come back also when a person asked back"),
        ),
        gives=(200, s.thing({"ask": s.ASK_GIVEN, "asked_back": s.TEXT})),
        waits=True,
    ),
    Row("POST", "/api/asks/{id}/take", endpoints.take, ASK, "Take the answer", s.TAKING, gives=(200, s.ASK_GIVEN)),
    Row("POST", "/api/asks/{id}/heard", clients.hear, ASK, "Record that the asker got people's messages", c.HEARD, gives=(204, None)),
    Row("GET", "/api/asks/{id}/answers", endpoints.list_answers, READ, "List all answers, with refused ones", gives=(200, s.ANSWERS_GIVEN)),
    Row("POST", "/api/asks/{id}/answers", endpoints.give_answer, ANSWER, "Answer", s.ANSWER, gives=(201, s.ASK_GIVEN)),
    Row("POST", "/api/answers", endpoints.give_answers, ANSWER, "Give the same answer to identical asks", s.ALIKE, gives=(200, s.ALIKE_GIVEN)),
    Row(
        "POST", UPLOADS, attached.upload, ANSWER_OR_ASK, "Upload a file, for an ask or answer of the same token", s.BYTES,
        query=(("name", {"type": "string", "minLength": 1, "maxLength": 1000}, "its name, as people see it"),),
        gives=(201, s.ATTACHMENT_GIVEN),
    ),
    Row("GET", "/api/asks/{id}/attachments/{digest}", attached.download, READ_OR_ASK, "Download a file of an ask or of its answer", gives=(200, s.BYTES)),
    Row("GET", "/api/asks/{id}/messages", endpoints.list_messages, READ_OR_ASK, "List the messages about an ask", gives=(200, s.MESSAGES_GIVEN)),
    Row("POST", "/api/asks/{id}/messages", endpoints.say, ANSWER_OR_ASK, "Ask back, or reply", s.WORDS_ABOUT, gives=(200, s.MESSAGES_GIVEN)),
    Row("GET", "/api/asks/{id}/draft", endpoints.get_draft, ANSWER, "Show your own draft", gives=(200, s.DRAFT_GIVEN)),
    Row("PUT", "/api/asks/{id}/draft", endpoints.put_draft, ANSWER, "Save a draft; it moves the deadline, unless that is hard", s.DRAFT, gives=(204, None)),
    Row("POST", "/api/asks/{id}/cancel", endpoints.cancel, ANSWER_OR_ASK, "Withdraw an ask", s.REASON, gives=(200, s.ASK_GIVEN)),
    Row("GET", "/api/asks/{id}/events", endpoints.ask_events, READ, "List the audit events of an ask", gives=(200, s.EVENTS_GIVEN)),
    Row(
        "GET", "/api/runs", run_pages.list_runs, READ, "List runs, the newest first",
        query=(("active", {"enum": ["true", "false"]}, "only those that have not ended"), _LIMIT),
        gives=(200, s.RUNS_GIVEN),
    ),
    Row("POST", "/api/runs", run_pages.start_run, ANSWER, "Start a run, in a worker's checkout of the project", c.WANTED_RUN, gives=(201, c.STARTED_GIVEN)),
    Row("GET", "/api/runs/{id}", run_pages.show_run, READ, "Show one run with its calls and turns", gives=(200, s.JOURNAL_GIVEN)),
    Row("POST", "/api/runs/{id}/stop", run_pages.stop_run, ANSWER, "End a run, its agents and its asks", s.REASON, gives=(200, s.RUN_GIVEN)),
    Row("POST", "/api/runs/{id}/resume", run_pages.resume_run, ANSWER, "Resume an ended run where it stopped", c.RESUMED, gives=(200, s.RUN_GIVEN)),
    Row(
        "GET", "/api/tasks", task_pages.list_tasks, READ, "List tasks of the backlog",
        query=(
            ("project", s.TEXT, "only those of this project"),
            ("project_key", s.TEXT, "the key of that project, for its tasks on other machines"),
            ("which", {"enum": list(WHICH)}, "unfinished (the default): all but closed ones"),
            _number("limit", 1, MAX_TASKS, "how many at most (100)"),
        ),
        gives=(200, s.TASKS_GIVEN),
    ),
    Row("POST", "/api/tasks", task_changes.create, ANSWER, "Create a task", c.NEW_TASK, gives=(201, s.TASK_GIVEN)),
    Row("GET", "/api/projects", task_pages.list_projects, READ, "List the projects that have tasks", gives=(200, s.many(s.TEXT))),
    Row(
        "GET", "/api/task-events", task_pages.list_events, READ, "List the newest events of tasks, or later ones",
        query=(
            ("task", s.WORDS, "only those of this task"),
            ("project", s.TEXT, "only those of the tasks of this project"),
            ("project_key", s.TEXT, "the key of that project"),
            _number("after", 0, 2**53, "only those after this number of the audit trail"),
            _LIMIT,
        ),
        gives=(200, c.TASK_EVENTS_GIVEN),
    ),
    Row(
        "GET", "/api/tasks/{id}", task_pages.show_task, READ, "Show one task with its questions and answers",
        query=(("by", {"enum": ["id", "beginning"]}, "how it is named: its id, or the id's beginning"),),
        gives=(200, s.WHOLE_TASK_GIVEN),
    ),
    Row("PATCH", "/api/tasks/{id}", task_changes.update, ANSWER, "Change the fields of a task", c.CHANGED_TASK, gives=(200, s.TASK_GIVEN)),
    Row("POST", "/api/tasks/{id}/needs", task_changes.change_needs, ANSWER, "Make a task wait for others, or no longer", c.NEEDED, gives=(200, s.TASK_GIVEN)),
    Row("POST", "/api/tasks/{id}/claim", task_changes.claim, ANSWER, "Claim a task to work on it yourself", gives=(200, s.TASK_GIVEN)),
    Row("POST", "/api/tasks/{id}/release", task_changes.release, ANSWER, "Give back a task that you claimed", gives=(200, s.TASK_GIVEN)),
    Row("POST", "/api/tasks/{id}/close", task_changes.close, ANSWER, "Close a task; a run that works on it ends", s.REASON, gives=(200, s.TASK_GIVEN)),
    Row("POST", "/api/tasks/{id}/defer", task_changes.defer, ANSWER, "Put a task off until it is reopened", s.REASON, gives=(200, s.TASK_GIVEN)),
    Row("POST", "/api/tasks/{id}/reopen", task_changes.reopen, ANSWER, "Open a task again", c.REOPENED, gives=(200, s.TASK_GIVEN)),
    Row("POST", "/api/runs/{id}/signal", clients.signal_run, ANSWER, "Send a signal that a run waits for", c.RUN_SIGNAL, gives=(200, s.ASK_GIVEN)),
    Row("GET", "/api/worker", clients.show_worker, READ, "Show whether a worker drives runs", gives=(200, c.WORKER_GIVEN)),
    Row("POST", "/api/permissions", permissions.hold, ASK, "Hold a tool call: a rule decides, or a person is asked", c.HELD, gives=(201, c.HELD_GIVEN)),
    Row("GET", "/api/permissions", permissions.show_gating, ASK, "Show whether there was ever a gate", gives=(200, c.GATING_GIVEN)),
    Row("POST", "/api/permissions/gated", permissions.check_gates, ASK, "Check whether a person must be asked about a call", c.GATED, gives=(200, c.GATED_GIVEN)),
    Row("POST", "/api/permissions/{id}/use", permissions.use, ASK, "Use the answer for the call that asked, once", c.USED, gives=(200, c.HELD_GIVEN)),
    Row("POST", "/api/notes", clients.leave_note, ASK, "Leave a note in the inbox", c.NOTE, gives=(204, None)),
    Row("GET", "/api/notes", clients.list_notes, READ, "List the newest notes of agents", query=(_LIMIT,), gives=(200, c.NOTES_GIVEN)),
    Row("POST", "/api/signals", clients.signal, ASK, "Report the work of an agent", c.SIGNAL, gives=(204, None)),
    Row("GET", "/api/rules", clients.list_rules, READ, "List gates and denials, or grants", query=(_WHICH,), gives=(200, c.RULES_GIVEN)),
    Row("POST", "/api/rules", clients.add_rule, ANSWER, "Add a gate or a denial", c.RULE, gives=(201, c.RULE_GIVEN)),
    Row(
        "DELETE", "/api/rules", clients.end_rule, ANSWER, "End a gate, a denial or a grant",
        query=(_WHICH, ("named", s.WORDS, "its id; for a gate or denial also its pattern")),
        gives=(200, c.RULE_GIVEN),
    ),
    Row(
        "GET", "/api/rules/suggestions", rules.list_suggestions, ANSWER, "List the patterns that people always approved",
        query=(("project", s.TEXT, "the folder of the project"),),
        gives=(200, c.SUGGESTIONS_GIVEN),
    ),
    Row("POST", "/api/rules/test", rules.replay_rule, ANSWER, "Replay history; with shadow_days, begin a shadow rule", c.TESTED_RULE, gives=(200, c.TESTED_RULE_GIVEN)),
    Row("GET", "/api/shadow-rules", rules.list_shadows, ANSWER, "List the shadow rules", gives=(200, c.SHADOWS_GIVEN)),
    Row("POST", "/api/shadow-rules", rules.promote, ANSWER, "Make a shadow rule a grant", c.PROMOTED, gives=(201, c.RULE_GIVEN)),
    Row(
        "DELETE", "/api/shadow-rules", rules.remove_shadow, ANSWER, "Remove a shadow rule",
        query=(("named", s.WORDS, "its id or its pattern"),),
        gives=(200, c.SHADOW_GIVEN),
    ),
    Row("GET", "/api/asks/{id}/rule", rules.show_suggestion, READ, "Show the pattern that could be allowed always", gives=(200, c.SUGGESTED_GIVEN)),
    Row(
        "GET", "/api/stats", rules.show_stats, READ, "Show how often agents asked and waited",
        query=(
            ("since", s.TEXT, "a day, a time, or a duration such as 7d (the default)"),
            ("until", s.TEXT, "the end; a day counts as a whole"),
            ("project", s.TEXT, "only this project"),
        ),
        gives=(200, c.STATS_GIVEN),
    ),
    Row("GET", "/api/freeze", freezes.show, READ_OR_ASK, "Show whether a person has frozen everything", gives=(200, c.FREEZE_GIVEN)),
    Row("POST", "/api/freeze", freezes.begin, ANSWER, "Freeze everything: no turn begins, no tool call gets a yes", s.REASON, gives=(200, c.FREEZE_GIVEN)),
    Row("DELETE", "/api/freeze", freezes.lift, ANSWER, "Lift the freeze", gives=(200, c.FREEZE_GIVEN)),
    Row("GET", "/api/me", clients.show_me, SCOPES, "Show the person and the scopes of this token", gives=(200, c.ME_GIVEN)),
    Row("GET", "/api/counts", endpoints.count_asks, READ, "Count the open asks of each project", gives=(200, s.COUNTS_GIVEN)),
    Row(
        "GET", "/api/events", endpoints.list_events, READ, "List the audit events",
        query=(_number("after", 0, 2**53, "only those after this number"), _LIMIT),
        gives=(200, s.EVENTS_GIVEN),
    ),
    Row("GET", "/api/events/stream", endpoints.stream, READ, "Stream events as they happen (server-sent events)"),
    Row("GET", "/api/people", endpoints.list_people, ADMIN, "List people, tokens and groups", gives=(200, s.PEOPLE_GIVEN)),
    Row("POST", "/api/people", endpoints.add_person, ADMIN, "Add a person; the token is shown once", s.PERSON, gives=(201, s.TOKEN_GIVEN)),
    Row("DELETE", "/api/people/{name}", endpoints.remove_person, ADMIN, "Remove a person", gives=(204, None)),
    Row("POST", "/api/people/{name}/tokens", endpoints.add_token, ADMIN, "Make a token; it is shown once", s.TOKEN, gives=(201, s.TOKEN_GIVEN)),
    Row("DELETE", "/api/tokens/{id}", endpoints.revoke_token, ADMIN, "Revoke a token", gives=(204, None)),
    Row("GET", "/api/openapi.json", endpoints.describe, (), "Show this API as OpenAPI", gives=(200, {"type": "object"})),
    Row("GET", HEALTH, operations.check_health, (), "Check that the process lives", gives=(200, s.thing({"status": {"const": "ok"}}))),
    Row("GET", READY, operations.check_ready, (), "Check that it can serve: 503 tells why not", gives=(200, s.thing({"status": {"const": "ready"}}))),
)  # fmt: skip

ROWS = (*PAGES, *API)
