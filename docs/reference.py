"""Writes docs/cli.md, docs/settings.md and docs/http.md from the program itself: `make docs`."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import TYPE_CHECKING

from gatebell.app.settings import MODEL_WORDS, MODELS, SETTINGS
from gatebell.cli.commands import COMMANDS
from gatebell.cli.help_pages import EXIT_CODES, split_description
from gatebell.cli.main import parser_of
from gatebell.domain.notifications.routes import KEYS
from gatebell.web.api.schemas import ANSWER, REQUEST
from gatebell.web.routes import API

if TYPE_CHECKING:
    from collections.abc import Callable

HERE = Path(__file__).parent
# By its path: this folder is not a package.
wrap_page = runpy.run_path(str(HERE / "wrap.py"))["wrap_page"]


def wrap_prose(write: Callable[[], str]) -> Callable[[], str]:
    return lambda: wrap_page(write())


@wrap_prose
def cli_page() -> str:
    """The reference of every command."""
    parts = [
        "# The command line",
        "",
        "With this page you look up commands and options. `make docs` writes it from the program. The",
        "output of `--json` is in [json.md](json.md).",
        "",
        "| exit code | meaning |",
        "|---|---|",
        *(f"| {code} | {meaning} |" for code, meaning in EXIT_CODES.items()),
        "",
    ]
    for name, about in COMMANDS.items():
        parts += [f"## gate {name}", "", f"{about[0].upper()}{about[1:]}.", ""]
        parser = parser_of(name)
        parts += [*_examples(parser), *_arguments(name, parser)]
    return "\n".join(parts)


def _examples(parser) -> list[str]:  # noqa: ANN001 - of argparse
    """The examples of a command, a line each."""
    return [*(f"- `{one}`" for one in split_description(parser.description).examples), ""]


def _arguments(name: str, parser) -> list[str]:  # noqa: ANN001 - of argparse
    """The arguments of a command, and the commands behind it."""
    actions = [one for one in parser._actions if one.dest != "help"]  # noqa: SLF001 - argparse has no public way to list them
    verbs = {
        verb: inner
        for one in actions
        if isinstance(one.choices, dict)
        for verb, inner in one.choices.items()
    }
    rows = []
    for one in actions:
        if hasattr(one, "verbs"):
            rows += [f"| `{verb}` | {about} |" for verb, about in one.verbs.items()]
        elif not isinstance(one.choices, dict):
            rows.append(_row(one.option_strings, one))
    parts = ["| argument | meaning |", "|---|---|", *rows, ""] if rows or not verbs else []
    for verb, inner in verbs.items():
        summary = split_description(inner.description).summary
        parts += [f"### gate {name} {verb}", "", summary, "", *_examples(inner)]
        parts += _arguments(f"{name} {verb}", inner)
    return parts


def _row(flags: list[str], action) -> str:  # noqa: ANN001 - argparse's own class is private
    value = f" {action.metavar}" if action.metavar and flags else ""
    choices = ", ".join(map(str, action.choices)) if action.choices else ""
    text = (action.help or choices).replace("|", "or")
    return f"| `{', '.join(flags) or action.dest}{value}` | {text} |"


@wrap_prose
def settings_page() -> str:
    """The reference of every setting."""
    rows = [
        f"| `{s.name}` | `{s.variable}` | {s.default or '(see there)'} | {s.meaning} |"
        for s in SETTINGS
    ]
    return "\n".join(
        [
            "# Settings",
            "",
            "With this page you find the name and default of a setting. A variable wins over the settings",
            "file, and the file over the default. `gate config` shows each value and its source. The file is",
            "`~/.config/gatebell/config.toml` (or under `$XDG_CONFIG_HOME`), with lines like",
            "`agent_wait_seconds = 500`.",
            "",
            "| setting | variable | default | meaning |",
            "|---|---|---|---|",
            *rows,
            "",
            "Each `[[notify]]` in the file is a route for notifications",
            "([notifications.md](notifications.md)):",
            "",
            "| key | meaning |",
            "|---|---|",
            *(f"| `{key}` | {meaning} |" for key, meaning in KEYS.items()),
            "",
            "`[models.claude]` and `[models.codex]` name the models for a role's `heavy`, `medium` and `light`",
            "([roles.md](roles.md#models)); empty is the program's own choice:",
            "",
            "| program | heavy | medium | light |",
            "|---|---|---|---|",
            *(
                f"| `{cli}` | {' | '.join(meant[word] or '(its own)' for word in MODEL_WORDS)} |"
                for cli, meant in MODELS.items()
            ),
            "",
            '`[templates]` has prepared answers, as `NAME = "…"` ([roles.md](roles.md#templates)).',
            "",
            "gatebell also reads `GATE_TOKEN` (a personal token), `GATE_HOST` (the name of this host,",
            "if several hosts share a store; by default the id of the machine), `NO_COLOR`, `VISUAL`",
            "and `EDITOR`, `XDG_DATA_HOME`, and the variables that show an agent's shell",
            "([trust.md](trust.md)). Agents get no token, no `GATE_KEY_FILE` and no address of a",
            "database server.",
            "",
        ]
    )


@wrap_prose
def http_page() -> str:
    """The reference of the HTTP API."""
    rows = [
        f"| `{row.method}` | `{row.path}` | {' or '.join(row.needs) or '(everybody)'} "
        f"| {_takes(row)} | {row.about} |"
        for row in API
    ]
    return "\n".join(
        [
            "# The HTTP API",
            "",
            "With this page you write programs that ask and answer over HTTP. Start the server, make a",
            "token, and ask:",
            "",
            "```sh",
            "$ gate up --detach",
            "$ gate person add ada",
            "$ TOKEN=$(gate person token ada --scope ask)",
            '$ curl -s http://127.0.0.1:4283/api/asks -H "Authorization: Bearer $TOKEN" \\',
            """    -H "Content-Type: application/json" -d '{"prompt": "Deploy?", "kind": "approval"}'""",
            "$ gate down",
            "```",
            "",
            "`make docs` writes this page from the route table. `gate up` serves the API as OpenAPI 3.1 at",
            "`/api/openapi.json`. [web.md](web.md) shows how to reach it from other machines.",
            "",
            "| scope of the token | allows |",
            "|---|---|",
            "| `ask` | open asks; see, wait for, take and withdraw them |",
            "| `answer` | answer asks; create and change tasks; stop and resume runs |",
            "| `read` | read asks, runs, tasks and events |",
            "| `admin` | manage people and tokens |",
            "| `metrics` | see the figures of the server ([operating.md](operating.md)) |",
            "",
            "Asks, runs and tasks have the fields of [json.md](json.md). If no process waits for an ask any",
            "more, `asker_gone` is true, in the reply to an answer too.",
            "",
            "| method | path | scope | takes | effect |",
            "|---|---|---|---|---|",
            *rows,
            "",
            "## Asking",
            "",
            f"`POST /api/asks` takes {', '.join(f'`{name}`' for name in REQUEST['properties'])}.",
            "Only `prompt` is required. It returns:",
            "",
            "- `ask`: the same object as `wait`",
            "- `attached`: true if the same session had asked this already",
            "- `token`: for a secret; present it to `take`",
            "",
            "If a session asks the same thing again before it took the answer, it gets its first ask.",
            "",
            "With `?wait=N`, up to 55, the reply comes when the ask is settled, when a person asked back,",
            "or after N seconds: one request is enough for a quick answer. Then call `wait` if the ask is",
            "still `pending`, and `take` if it is `answered`. Send an `Idempotency-Key`, so that the same",
            "request finds the same ask after a lost connection. An ask for a secret returns at once,",
            "because its `token` would be lost with the connection. The commands of gatebell do not use",
            "this: they show or record the ask's id before they wait.",
            "",
            "An ask of the kind `session` has `terms` ([sessions.md](sessions.md)): `answer` (`approval`,",
            "`choice`, `text` or `form`), `system_prompt`, `model`, `cwd`, `session_seconds`,",
            "`capture_transcript` and `max_attempts`. `host` names the machine that has the folder; without",
            "it, that is the address of the client.",
            "",
            "## Answering",
            "",
            f"`POST /api/asks/{{id}}/answers` takes {', '.join(f'`{name}`' for name in ANSWER['properties'])}.",
            "Send the `digest` of the ask that you showed: if it differs, the answer is refused. `for` and",
            "`pattern` are those of `gate answer`. The token that opened an ask cannot answer it.",
            "",
            "## Waiting",
            "",
            "`GET /api/asks/{id}/wait?seconds=30` returns when the ask is settled or the time is over. Then",
            "call it again. The asker sees only that the ask is `answered`. It gets decision, value and note",
            "by `take`, which records that they were handed over after they were sent. With `keep` it",
            "records nothing: take again, without it, once you have used the answer.",
            "",
            "`seconds` may be up to 300. From 30 on, the server ends a wait that is not answered after a part",
            "of it: 35 to 60 seconds for 60. Above 60 blanks come before the JSON, one every 25 seconds, so",
            "that proxies keep the connection. If the server ends during a wait, the reply has `Retry-After`:",
            "wait that many seconds, then ask any server. If the connection breaks, do the same.",
            "",
            "## Retrying",
            "",
            "Send the header `Idempotency-Key`. A second request with the same key returns the first result,",
            "and nothing is opened or answered twice. A secret's `token` comes with the first result only.",
            "",
            "## Runs and tasks",
            "",
            "- `POST /api/runs` starts a run without a folder, for a worker that has a checkout of the",
            "  project ([server.md](server.md)). `flow` is the name of a flow there, not a path.",
            "  `source_digest` is the SHA-256 of your copy of its file; if it differs from the worker's, the",
            "  audit trail says so. `has_worker` tells whether such a worker lives. The same request again",
            "  starts a second run.",
            "- `GET /api/runs/{id}` adds the journal: `calls` and `turns`.",
            "- Stopping a run ends its agents and withdraws its asks. For an ended run the reply is 409.",
            "- Resuming repeats only calls that failed or were not answered. It does nothing to a run that",
            "  has not ended; for a completed run the reply is 409. The worker of its host then drives the run.",
            "  `accept` is the path of a call whose record is kept as it is.",
            "- People create and change tasks here. Without `project` the tasks of all projects are listed.",
            "  `questions` has the open ones. A new task needs `title` and `project`, the folder of your project.",
            "  Send its `project_key` too: by it, workers and clones on other machines find the task.",
            "- `GET /api/tasks/{id}` adds `history`, `runs`, `waits_for`, `needed_by` and `parts`.",
            "- `GET /api/task-events` returns `events` and `head`. Ask again with `after` = `head`.",
            "",
            "## Rules",
            "",
            "`GET /api/rules` has an `ETag` of its content. Send it as `If-None-Match`: if nothing has",
            "changed, the reply is 304, without a body.",
            "",
            "## Events",
            "",
            "`GET /api/events/stream` sends server-sent events. Their `id` is the event's number. Their data",
            "has `seq`, `at`, `kind`, `subject` and `actor`. The subject of a run's event is `run:42`, of a",
            "task's event the task's id. Two kinds have no number: `draft` (a person writes an answer) and",
            "`working` (an agent of a run starts or stops work).",
            "",
            "The stream ends after 15 minutes. Connect again with `Last-Event-ID`: you get the missed events,",
            "at most 1000.",
            "",
            "## Errors",
            "",
            "Errors are `application/problem+json`. `detail` says what to do.",
            "",
            "| status | meaning |",
            "|---|---|",
            "| 400 | the request is wrong |",
            "| 401 | no login |",
            "| 403 | not allowed |",
            "| 404 | not found, or not visible to you |",
            "| 409 | another answer was first (yours is kept), or the run's state does not allow this |",
            "| 413 | too large |",
            "| 415 | not JSON |",
            "| 422 | the answer does not fit the question |",
            "| 429 | too many requests: see `Retry-After` |",
            "| 503 | the store cannot be read or written |",
            "",
        ]
    )


def _takes(row) -> str:  # noqa: ANN001 - a row of the route table
    if row.body in (REQUEST, ANSWER):
        return "see below"
    body = [f"`{name}`" for name in (row.body or {}).get("properties", {})]
    return ", ".join([*body, *(f"`?{name}=`" for name, _, _ in row.query)])


if __name__ == "__main__":
    (HERE / "http.md").write_text(http_page(), encoding="utf-8")
    (HERE / "cli.md").write_text(cli_page(), encoding="utf-8")
    (HERE / "settings.md").write_text(settings_page(), encoding="utf-8")
