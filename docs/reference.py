"""Writes docs/cli.md, docs/settings.md and docs/http.md from the program itself: `make docs`."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import TYPE_CHECKING

from gatebell.app.settings import MODEL_WORDS, MODELS, SETTINGS
from gatebell.cli.main import COMMANDS, parser_of
from gatebell.domain.notifications.routes import KEYS
from gatebell.web.api.schemas import ANSWER, REQUEST
from gatebell.web.routes import API

if TYPE_CHECKING:
    from collections.abc import Callable

HERE = Path(__file__).parent
# By its path: this folder is not a package.
wrap_page = runpy.run_path(str(HERE / "wrap.py"))["wrap_page"]

EXIT_CODES = {
    0: "answered; an approval: approved; a run: completed",
    1: "unexpected failure; never a decision",
    2: "usage: the command line itself is wrong",
    3: "timed out; a declared default stands on stdout",
    4: "cancelled",
    5: "not found",
    6: "already answered, or otherwise settled",
    7: "refused: not allowed, or the answer does not fit",
    8: "store trouble: it cannot be read or written",
    10: "rejected",
    11: "not answered yet; the ask stays pending",
    12: "the run failed: an exception of its flow",
    13: "the run is stuck",
    130: "interrupted (Ctrl+C); a wait that is interrupted ends with 11 instead",
}


def wrap_prose(write: Callable[[], str]) -> Callable[[], str]:
    return lambda: wrap_page(write())


@wrap_prose
def cli_page() -> str:
    """The reference of every command."""
    parts = [
        "# The command line",
        "",
        "Written by `make docs` from the program itself. `--json` shapes are in [json.md](json.md).",
        "",
        "| exit code | meaning |",
        "|---|---|",
        *(f"| {code} | {meaning} |" for code, meaning in EXIT_CODES.items()),
        "",
    ]
    for name, about in COMMANDS.items():
        parts += [f"## gate {name}", "", f"{about[0].upper()}{about[1:]}.", ""]
        parts += _arguments(name, parser_of(name))
    return "\n".join(parts)


def _arguments(name: str, parser) -> list[str]:  # noqa: ANN001 - of argparse
    """The arguments of a command, and the commands behind it."""
    actions = [one for one in parser._actions if one.dest != "help"]  # noqa: SLF001 - argparse has no public way to list them
    verbs = {
        verb: inner
        for one in actions
        if isinstance(one.choices, dict)
        for verb, inner in one.choices.items()
    }
    rows = [_row(one.option_strings, one) for one in actions if not isinstance(one.choices, dict)]
    parts = ["| argument | meaning |", "|---|---|", *rows, ""] if rows or not verbs else []
    for verb, inner in verbs.items():
        parts += [f"### gate {name} {verb}", "", inner.description, ""]
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
            "Written by `make docs`. A variable wins over the settings file, the file over the default;",
            "`gate config` shows what holds and where it comes from. The file is",
            "`~/.config/gatebell/config.toml` (or under `$XDG_CONFIG_HOME`), with lines like",
            "`agent_wait_seconds = 500`.",
            "",
            "| setting | variable | default | meaning |",
            "|---|---|---|---|",
            *rows,
            "",
            "Each `[[notify]]` in the file is a route by which notifications go to people",
            "([notifications.md](notifications.md)):",
            "",
            "| key | meaning |",
            "|---|---|",
            *(f"| `{key}` | {meaning} |" for key, meaning in KEYS.items()),
            "",
            "`[models.claude]` and `[models.codex]` say what a role's `heavy`, `medium` and `light` mean",
            "([roles.md](roles.md#models)); empty is the program's own choice:",
            "",
            "| program | heavy | medium | light |",
            "|---|---|---|---|",
            *(
                f"| `{cli}` | {' | '.join(meant[word] or '(its own)' for word in MODEL_WORDS)} |"
                for cli, meant in MODELS.items()
            ),
            "",
            '`[templates]` holds answers ready, as `NAME = "…"` ([roles.md](roles.md#templates)).',
            "",
            "Not settings, but looked at: `GATE_TOKEN` (a personal token), `NO_COLOR`, `VISUAL` and",
            "`EDITOR`, `XDG_DATA_HOME`, and the variables by which an agent's shell is recognised",
            "([trust.md](trust.md)).",
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
            "Written by `make docs` from the route table. A running `gate up` serves the whole of it as",
            "OpenAPI 3.1 at `/api/openapi.json`; [web.md](web.md) tells what it is for.",
            "",
            "Programs come with a token: `Authorization: Bearer gate_…`, made by",
            "`gate person token NAME --scope ask`. A token does no more than its scopes say: `ask` (open",
            "asks, and see, wait for, take and withdraw those), `answer` (asks, and stop and resume runs), `read`",
            "(asks, runs, tasks and events), `admin` (people and tokens). Asks, runs and tasks look as in [json.md](json.md); `asker_gone` of an ask says that no process waits for its answer any more.",
            "",
            "| method | path | scope | takes | what it does |",
            "|---|---|---|---|---|",
            *rows,
            "",
            f"**Asking** (`POST /api/asks`) takes {', '.join(f'`{name}`' for name in REQUEST['properties'])};",
            "only `prompt` is needed. It gives `ask` (as `wait` does), `attached` (the same session had asked this",
            "already) and, for a secret, the `token` that its answer is handed out for.",
            "",
            f"**Answering** takes {', '.join(f'`{name}`' for name in ANSWER['properties'])}. Send the `digest` of the",
            "ask that was shown: an answer to anything else is refused. `for` and `pattern` are those of",
            "`gate answer`.",
            "",
            "**Waiting** (`GET …/wait?seconds=30`) comes back when the ask is settled, or as it is when the time",
            "is over: ask again. It costs neither side a thread. Whoever asked is told that the ask is `answered`, and",
            "gets decision, value and note by `take`, which records that they were handed over, once they",
            "were sent. The same session asking the same again attaches to an ask that is pending or not taken yet.",
            "Whoever asked with a token cannot answer with it.",
            "",
            "**Retrying**: with the header `Idempotency-Key` the first result comes back, and nothing is opened or",
            "answered twice. A secret's `token` comes with the first result only.",
            "",
            "**Runs** have numbers. `GET /api/runs/{id}` adds `calls` and `turns`, its whole journal. Stopping ends its",
            "agents and withdraws its asks; what has ended already is a 409. Resuming tries only what failed or was",
            "not answered again, and leaves a run alone that has not ended; a completed one is a 409. Somebody must drive",
            "it then: `gate up` does.",
            "",
            "**Tasks** are read only: they change by answering what they ask, or with `gate task`. Without `project`",
            "those of every project come, one after the other. `questions` is what a task waits for;",
            "`GET /api/tasks/{id}` adds `history` (every question with its answers), `runs`, `waits_for`,",
            "`needed_by` and `parts`.",
            "",
            "**Events** come as server-sent events: the number as `id`, and `seq`, `at`, `kind`, `subject`,",
            "`actor` as data. The subject of a run's events is `run:42`, that of a task's is its id. Without a number come `draft` (somebody writes an",
            "answer) and `working` (an agent of a run begins or ends to work). Come back with `Last-Event-ID` and what you missed follows (the last 1000). After 15",
            "minutes the stream ends, and you come back.",
            "",
            "**Errors** are `application/problem+json` with a `detail` that says what to do: 400 it does not fit,",
            "401 no login, 403 you may not, 404 there is none for you, 409 somebody was first (your answer is",
            "kept) or a run is in no state for this, 413 too much, 415 not JSON, 422 the answer does not fit the question, 429 too often (`Retry-After`),",
            "503 the store gives trouble.",
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
