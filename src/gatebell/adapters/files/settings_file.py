"""Read the settings file, and the variables that win over it."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any

from gatebell.adapters.system.folders import settings_file
from gatebell.domain.enums import AgentCli, ChannelKind
from gatebell.domain.records import NamedTuple
from gatebell.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gatebell.domain.notifications.routes import Route


class Setting(NamedTuple):
    """One setting of the user."""

    name: str
    variable: str
    default: str
    meaning: str


SETTINGS = (
    Setting(
        "store",
        "GATE_STORE",
        "",
        "Where the inbox is kept: a file, an existing folder, or sqlite:///PATH. "
        "By default gatebell/gate.db in your data folder. "
        "For servers and workers also postgresql://USER@HOST/DATABASE (postgres.md).",
    ),
    Setting(
        "server",
        "GATE_SERVER",
        "",
        "The server that keeps the asks, instead of a store on this machine: "
        "https://gate.example.org (server.md).",
    ),
    Setting(
        "ca",
        "GATE_CA",
        "",
        "A file with the certificates that the server's certificate is checked with; by default "
        "those of the system.",
    ),
    Setting(
        "agent_wait_seconds",
        "GATE_AGENT_WAIT_SECONDS",
        "100",
        "How long a wait in an agent's shell lasts before it says NOT ANSWERED YET.",
    ),
    Setting(
        "url",
        "GATE_URL",
        "",
        "Where the web inbox is reached, for links in notifications: https://gate.example.org.",
    ),
    Setting(
        "notify_cmd",
        "GATE_NOTIFY_CMD",
        "",
        "A command to run when an ask waits (notifications.md).",
    ),
    Setting(
        "push_services",
        "GATE_PUSH_SERVICES",
        "",
        "Further push services that may be called for people's devices, as hosts with commas "
        "between them: push.example.org (notifications.md).",
    ),
    Setting(
        "telegram_token_file",
        "GATE_TELEGRAM_TOKEN_FILE",
        "",
        "A file with the token of your Telegram bot; with it, people answer there (chat.md).",
    ),
    Setting(
        "telegram_url",
        "GATE_TELEGRAM_URL",
        "https://api.telegram.org",
        "The Bot API server: that of Telegram, or one of your own.",
    ),
    Setting(
        "slack_token_file",
        "GATE_SLACK_TOKEN_FILE",
        "",
        "A file with the two tokens of your Slack app, xoxb-… and xapp-…, one on each line "
        "(chat.md).",
    ),
    Setting(
        "slack_url",
        "GATE_SLACK_URL",
        "https://slack.com/api/",
        "The address of Slack's API; for GovSlack https://slack-gov.com/api/.",
    ),
    Setting(
        "chat_calls",
        "GATE_CHAT_CALLS",
        "yes",
        "Whether tool calls may be decided in chats: yes or no.",
    ),
    Setting(
        "session_cli",
        "GATE_SESSION_CLI",
        AgentCli.CLAUDE,
        "The program in which a session is opened: claude, codex, or command.",
    ),
    Setting(
        "session_command",
        "GATE_SESSION_COMMAND",
        "",
        "The command that `command` opens; {prompt_file} in it, and GATE_PROMPT_FILE, "
        "name the file with the question.",
    ),
    Setting(
        "dialog",
        "GATE_DIALOG",
        "auto",
        "The program that shows questions on the desktop: auto, tkinter, zenity, yad, osascript, "
        "dialog (in the terminal), or off (dialogs.md).",
    ),
    Setting(
        "store_file",
        "GATE_STORE_FILE",
        "",
        "A file with the address of a PostgreSQL store, used if no store is named: the password "
        "is then in no variable.",
    ),
    Setting(
        "key_file",
        "GATE_KEY_FILE",
        "",
        "The file with the keys of secrets in a PostgreSQL store; its servers share it.",
    ),
    Setting(
        "pool",
        "GATE_POOL",
        "default",
        "The pool of this host's workers; they drive the runs of their pool that have no host "
        "(engines.md).",
    ),
    Setting(
        "travel",
        "GATE_TRAVEL",
        "",
        "Where the waiting runs of this host's workers go, so that any host of the pool continues "
        "them: origin, or the address of a git repository (hosts.md). By default they stay.",
    ),
    Setting(
        "temporal",
        "GATE_TEMPORAL",
        "127.0.0.1:7233",
        "The address of the Temporal server, for the engine temporal (engines.md).",
    ),
    Setting(
        "temporal_namespace",
        "GATE_TEMPORAL_NAMESPACE",
        "default",
        "The namespace on the Temporal server.",
    ),
)
SESSION_CLIS = (AgentCli.CLAUDE, AgentCli.CODEX, AgentCli.COMMAND)
MODEL_WORDS = ("heavy", "medium", "light")
MODELS: dict[str, dict[str, str]] = {
    AgentCli.CLAUDE: dict(zip(MODEL_WORDS, ("opus", "sonnet", "haiku"), strict=True)),
    AgentCli.CODEX: dict.fromkeys(MODEL_WORDS, ""),
    AgentCli.GEMINI: dict.fromkeys(MODEL_WORDS, ""),
    AgentCli.OPENCODE: dict.fromkeys(MODEL_WORDS, ""),
    AgentCli.COPILOT: dict.fromkeys(MODEL_WORDS, ""),
}
"""The models that heavy, medium and light mean for each program; "" is its own default."""
_TOKENS = {
    ChannelKind.TELEGRAM: (r"\d{1,20}:[A-Za-z0-9_-]{20,100}",),
    ChannelKind.SLACK: (r"xoxb-[A-Za-z0-9-]{5,200}", r"xapp-[A-Za-z0-9-]{5,300}"),
}
"""What the file of a chat's tokens must have."""
ROUTES, _MODELS, TEMPLATES = "notify", "models", "templates"


class Value(NamedTuple):
    """A setting's value and its source."""

    text: str
    source: str


def read_settings(environ: Mapping[str, str]) -> dict[str, Value]:
    """Return every setting by its name."""
    path = settings_file(environ)
    written = read_file(path)
    found = {}
    for setting in SETTINGS:
        if value := environ.get(setting.variable):
            found[setting.name] = Value(value, setting.variable)
        elif setting.name in written:
            if setting.name == "store" and not _is_absolute(str(written["store"])):
                raise UsageError(f"store in {path} must be an absolute path")
            found[setting.name] = Value(str(written[setting.name]), path)
        else:
            found[setting.name] = Value(setting.default, "default")
    return found


def _is_absolute(store: str) -> bool:
    return os.path.isabs(store) or "://" in store


def read_file(path: str) -> dict[str, Any]:
    """Return the content of the settings file, by name; empty if the file is missing."""
    if not os.path.exists(path):
        return {}
    # Imported here: most users have no settings file, and the module loads slowly.
    import tomllib

    try:
        with open(path, "rb") as file:
            written = tomllib.load(file)
    except (OSError, ValueError) as error:
        raise UsageError(f"the settings file {path} cannot be read: {error}") from None
    known = [*(setting.name for setting in SETTINGS), ROUTES, _MODELS, TEMPLATES]
    for name in written:
        if name not in known:
            # Imported here: only errors need it.
            from gatebell.domain.text.suggestions import suggest

            near = suggest(name, known) or f"; the settings are {', '.join(known)}"
            raise UsageError(f"{path} sets {name!r}, which is not a setting{near}")
    return written


def session_command(environ: Mapping[str, str]) -> list[str]:
    """Return the command that opens a session; empty if it is not set."""
    # Imported here: only the opening of a session needs it.
    import shlex

    value = read_settings(environ)["session_command"]
    try:
        words = shlex.split(value.text)
    except ValueError as error:
        raise UsageError(f"session_command ({value.source}) is not a command: {error}") from None
    # It is started in folders that others can write to.
    if words and os.sep in words[0] and not os.path.isabs(words[0]):
        raise UsageError(
            f"session_command ({value.source}) must begin with a name or an absolute path"
        )
    return words


def models(environ: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """Return the models for heavy, medium and light of each program: the settings', else MODELS."""
    path = settings_file(environ)
    found = {cli: dict(meant) for cli, meant in MODELS.items()}
    for cli, table in read_table(path, _MODELS).items():
        if cli not in found:
            raise UsageError(f"{path} sets models.{cli}: expected one of {', '.join(found)}")
        if not isinstance(table, dict):
            raise UsageError(
                f"models.{cli} in {path} must be a table: write [models.{cli}] above it"
            )
        for word, model in table.items():
            if word not in found[cli]:
                raise UsageError(
                    f"{path} sets models.{cli}.{word}: expected one of {', '.join(found[cli])}"
                )
            if not isinstance(model, str):
                raise UsageError(f"models.{cli}.{word} in {path}: expected a text, got {model!r}")
            found[cli][word] = model
    return found


def read_table(path: str, name: str) -> dict[str, Any]:
    """Return one table of the settings file."""
    table = read_file(path).get(name, {})
    if not isinstance(table, dict):
        raise UsageError(f"{name} in {path} must be a table: write [{name}] above it")
    return table


def inbox_url(environ: Mapping[str, str]) -> str:
    """Return the address of the web inbox without a slash at the end, or ""."""
    value = read_settings(environ)["url"]
    scheme, _, rest = value.text.rstrip("/").partition("://")
    # Many systems see these messages: their links must not contain anything that signs people in.
    if value.text and (scheme not in ("http", "https") or not rest or set(rest) & set("@?# \t\n")):
        raise UsageError(
            f"url ({value.source}): expected https://HOST or http://HOST:PORT, without user@ and ?"
        )
    return value.text.rstrip("/")


def push_services(environ: Mapping[str, str]) -> tuple[str, ...]:
    """Return the hosts of the push services that may be called."""
    # Imported here: only servers and senders need it.
    from gatebell.domain.notifications.devices import PUSH_SERVICES

    value = read_settings(environ)["push_services"]
    named = [one.strip().lower() for one in value.text.split(",") if one.strip()]
    for one in named:
        if not set(one) <= set("abcdefghijklmnopqrstuvwxyz0123456789.-:"):
            raise UsageError(
                f"push_services ({value.source}): expected hosts such as push.example.org, "
                f"got {one!r}"
            )
    return (*PUSH_SERVICES, *named)


def chat_access(environ: Mapping[str, str], chat: ChannelKind) -> tuple[str, tuple[str, ...]]:
    """Return the address of a chat's service, and the tokens of its file; none if it is not set up.

    Raises:
        UsageError: The file cannot be read, or is not such a file.
    """
    path, source = read_settings(environ)[f"{chat}_token_file"]
    if not path:
        return "", ()
    url = chat_url(environ, chat)
    try:
        with open(os.path.expanduser(path), encoding="utf-8") as file:
            words = file.read(10_000).split()
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or "it is not a text"
        raise UsageError(
            f"the file {path} of {chat}_token_file ({source}) cannot be read: {why}"
        ) from None
    found = find_tokens(chat, words)
    if not found:
        # Without its content: it is a secret.
        raise UsageError(f"the file {path} has no token of {chat}: docs/chat.md says what it holds")
    return url, found


def chat_url(environ: Mapping[str, str], chat: ChannelKind) -> str:
    """Return the address of a chat's service."""
    url, source = read_settings(environ)[f"{chat}_url"]
    if not re.match(r"https://[^\s/?#@]|http://(127\.0\.0\.1|localhost)[:/]", url):
        raise UsageError(
            f"{chat}_url ({source}): expected https://HOST, or http:// with 127.0.0.1: the token "
            "is sent there"
        )
    return url


def find_tokens(chat: ChannelKind, words: Sequence[str]) -> tuple[str, ...]:
    """Return the tokens of a chat among these words; none if one is missing."""
    found = [next((word for word in words if re.fullmatch(one, word)), "") for one in _TOKENS[chat]]
    return tuple(found) if all(found) else ()


def chat_calls(environ: Mapping[str, str]) -> bool:
    """Return whether tool calls are decided in chats."""
    value = read_settings(environ)["chat_calls"]
    if value.text not in ("yes", "no"):
        raise UsageError(f"chat_calls ({value.source}): expected yes or no, got {value.text!r}")
    return value.text == "yes"


def routes(environ: Mapping[str, str]) -> tuple[Route, ...]:
    """Return the routes of notices: those of the settings file, and notify_cmd."""
    path = settings_file(environ)
    written = read_file(path)
    tables = written.get(ROUTES, [])
    command = environ.get("GATE_NOTIFY_CMD") or str(written.get("notify_cmd", ""))
    if not tables and not command:
        return ()
    # Imported here: most commands never send anything.
    from gatebell.domain.notifications.routes import Route, parse_route

    if not isinstance(tables, list):
        raise UsageError(f"{ROUTES} in {path} must be a list: write [[notify]] above each route")
    found: dict[str, Route] = {}
    for number, table in enumerate(tables, 1):
        where = f"{ROUTES} number {number} in {path}"
        route = parse_route(table, where)
        if route.name in found:
            raise UsageError(f"{where} repeats an earlier route: remove one of them")
        found[route.name] = route
    if command:
        route = Route(ChannelKind.COMMAND, command)
        found.setdefault(route.name, route)
    return tuple(found.values())
