"""Every route there is, and who may use it: a path that does not stand here does not exist."""

from __future__ import annotations

from typing import Any

from humangate.domain.logins import SCOPES
from humangate.doors.tasks import WHICH
from humangate.web import api, entrance, members, pages, runs, schemas as s, tasks
from humangate.web.desk import Row

READ, ANSWER, ASK, ADMIN = ("read",), ("answer",), ("ask",), ("admin",)
READ_OR_ASK = ("read", "ask")
ANSWER_OR_ASK = ("answer", "ask")


def _number(name: str, least: int, most: int, about: str) -> tuple[str, dict[str, Any], str]:
    return name, {"type": "integer", "minimum": least, "maximum": most}, about


_LIMIT = _number("limit", 1, 1000, "how many at most (100)")

PAGES = (
    Row("GET", "/", pages.inbox, READ),
    Row("GET", "/asks/{id}", pages.ask, READ),
    Row("POST", "/asks/{id}/answer", pages.answer, ANSWER),
    Row("POST", "/asks/{id}/message", pages.message, ANSWER),
    Row("POST", "/asks/{id}/draft", pages.draft, ANSWER),
    Row("POST", "/asks/{id}/cancel", pages.cancel, ANSWER),
    Row("GET", "/runs", runs.list_page, READ),
    Row("GET", "/runs/{id}", runs.run_page, READ),
    Row("POST", "/runs/{id}/stop", runs.stop, ANSWER),
    Row("POST", "/runs/{id}/resume", runs.resume, ANSWER),
    Row("GET", "/tasks", tasks.tree_page, READ),
    Row("GET", "/tasks/{id}", tasks.task_page, READ),
    Row("GET", "/history", pages.history, READ),
    Row("GET", "/numbers", pages.numbers, READ),
    Row("GET", "/people", members.people, ADMIN),
    Row("POST", "/people", members.add_person, ADMIN),
    Row("POST", "/people/{name}/tokens", members.add_token, ADMIN),
    Row("POST", "/people/{name}/remove", members.remove_person, ADMIN),
    Row("POST", "/tokens/{id}/revoke", members.revoke_token, ADMIN),
    Row("GET", "/login", entrance.login_page),
    Row("POST", "/login", entrance.login),
    Row("GET", "/link/{secret}", entrance.link_page),
    Row("POST", "/link/{secret}", entrance.link),
    Row("POST", "/logout", entrance.logout, SCOPES),
)

API = (
    Row(
        "GET", "/api/asks", api.list_asks, READ, "List asks",
        query=(
            ("status", {"enum": ["pending", "settled"]}, "what is waiting (the default), or what is over"),
            ("project", s.TEXT, "only what waits in this project"),
            ("search", s.TEXT, "of settled ones, those whose question, note or id holds this"),
            _LIMIT,
        ),
        gives=(200, s.ASKS_GIVEN),
    ),
    Row("POST", "/api/asks", api.open_ask, ASK, "Ask", s.REQUEST, gives=(201, s.OPENED_GIVEN)),
    Row("GET", "/api/asks/{id}", api.show_ask, READ_OR_ASK, "One ask", gives=(200, s.ASK_GIVEN)),
    Row(
        "GET", "/api/asks/{id}/wait", api.wait, READ_OR_ASK, "Wait until it is settled",
        query=(
            _number("seconds", 0, 60, "how long at most (30)"),
            ("hears", {"enum": ["true", "false"]}, "come back also when a person asked back"),
        ),
        gives=(200, s.thing({"ask": s.ASK_GIVEN, "asked_back": s.TEXT})),
    ),
    Row("POST", "/api/asks/{id}/take", api.take, ASK, "Be handed the answer", s.TAKING, gives=(200, s.ASK_GIVEN)),
    Row("GET", "/api/asks/{id}/answers", api.list_answers, READ, "All answers, refused ones too", gives=(200, s.ANSWERS_GIVEN)),
    Row("POST", "/api/asks/{id}/answers", api.give_answer, ANSWER, "Answer", s.ANSWER, gives=(201, s.ASK_GIVEN)),
    Row("POST", "/api/answers", api.give_answers, ANSWER, "Give one answer to asks that are alike", s.ALIKE, gives=(200, s.ALIKE_GIVEN)),
    Row("GET", "/api/asks/{id}/messages", api.list_messages, READ_OR_ASK, "The talk around an ask", gives=(200, s.MESSAGES_GIVEN)),
    Row("POST", "/api/asks/{id}/messages", api.say, ANSWER_OR_ASK, "Ask back, or reply", s.WORDS_ABOUT, gives=(200, s.MESSAGES_GIVEN)),
    Row("GET", "/api/asks/{id}/draft", api.get_draft, ANSWER, "Your own draft", gives=(200, s.DRAFT_GIVEN)),
    Row("PUT", "/api/asks/{id}/draft", api.put_draft, ANSWER, "Keep a draft; a soft deadline waits for it", s.DRAFT, gives=(204, None)),
    Row("POST", "/api/asks/{id}/cancel", api.cancel, ANSWER_OR_ASK, "Withdraw an ask", s.REASON, gives=(200, s.ASK_GIVEN)),
    Row("GET", "/api/asks/{id}/events", api.ask_events, READ, "The audit trail of an ask", gives=(200, s.EVENTS_GIVEN)),
    Row(
        "GET", "/api/runs", runs.list_runs, READ, "List runs, the newest first",
        query=(("active", {"enum": ["true", "false"]}, "only those that have not ended"), _LIMIT),
        gives=(200, s.RUNS_GIVEN),
    ),
    Row("GET", "/api/runs/{id}", runs.show_run, READ, "One run with its calls and turns", gives=(200, s.JOURNAL_GIVEN)),
    Row("POST", "/api/runs/{id}/stop", runs.stop_run, ANSWER, "End a run: its agents, its asks", s.REASON, gives=(200, s.RUN_GIVEN)),
    Row("POST", "/api/runs/{id}/resume", runs.resume_run, ANSWER, "Take an ended run up where it stopped", gives=(200, s.RUN_GIVEN)),
    Row(
        "GET", "/api/tasks", tasks.list_tasks, READ, "List tasks of the backlog",
        query=(
            ("project", s.TEXT, "only those of this project"),
            ("which", {"enum": list(WHICH)}, "unfinished (the default): all but closed ones"),
            _LIMIT,
        ),
        gives=(200, s.TASKS_GIVEN),
    ),
    Row("GET", "/api/tasks/{id}", tasks.show_task, READ, "One task with its questions and answers", gives=(200, s.WHOLE_TASK_GIVEN)),
    Row("GET", "/api/counts", api.count_asks, READ, "How many wait in each project", gives=(200, s.COUNTS_GIVEN)),
    Row(
        "GET", "/api/events", api.list_events, READ, "The audit trail",
        query=(_number("after", 0, 2**53, "only those after this number"), _LIMIT),
        gives=(200, s.EVENTS_GIVEN),
    ),
    Row("GET", "/api/events/stream", api.stream, READ, "What happens, as it happens (server-sent events)"),
    Row("GET", "/api/people", api.list_people, ADMIN, "People, tokens and groups", gives=(200, s.PEOPLE_GIVEN)),
    Row("POST", "/api/people", api.add_person, ADMIN, "Add somebody; the token is given this once", s.PERSON, gives=(201, s.TOKEN_GIVEN)),
    Row("DELETE", "/api/people/{name}", api.remove_person, ADMIN, "Remove somebody", gives=(204, None)),
    Row("POST", "/api/people/{name}/tokens", api.add_token, ADMIN, "Make a token; it is given this once", s.TOKEN, gives=(201, s.TOKEN_GIVEN)),
    Row("DELETE", "/api/tokens/{id}", api.revoke_token, ADMIN, "Make a token worthless", gives=(204, None)),
    Row("GET", "/api/openapi.json", api.describe, (), "This document", gives=(200, {"type": "object"})),
    Row("GET", "/api/health", api.health, (), "Whether it works", gives=(200, s.thing({"status": {"const": "ok"}}))),
)  # fmt: skip

ROWS = (*PAGES, *API)
