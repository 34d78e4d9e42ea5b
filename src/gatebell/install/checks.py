"""Check that an installation is complete, starts, and is not overruled by other settings."""

from __future__ import annotations

import os
import re
import subprocess
from typing import TYPE_CHECKING, Any

from gatebell.app import environment
from gatebell.domain.enums import AgentCli
from gatebell.errors import GateError
from gatebell.install import (
    json_entries,
    old_name,
    plans,
    records,
    settings_files,
    text_blocks,
)
from gatebell.install.json_entries import EntryKind
from gatebell.install.places import Place

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from gatebell.install.records import Installed, Written

_LIMIT = re.compile(r"--limit (\d+)")
_MANAGED = "/etc/claude-code/managed-settings.json"
_START_SECONDS = 20

# Seen with claude 2.1.325 and codex 0.166.0; our settings cannot close these gaps.
LEFT_OPEN: dict[str, tuple[str, ...]] = {
    AgentCli.CLAUDE: (
        "a PreToolUse hook whose whole shell is killed lets the tool run",
        "a line without the usual words is not noticed, such as `sh ship.sh` (try: gate gates test)",
        "in -p a write outside the project is refused without a question",
        "up to 2.1.197 it asks no hook in -p: gated calls are denied there",
    ),
    AgentCli.CODEX: (
        "while a question waits in the inbox, Codex shows no dialog of its own",
        "the rules match first words: `git -C . push` runs unasked (try: gate gates test)",
        "the rules do not see into a script or `bash -c`",
        "codex exec rejects gated calls without a question",
        "hooks that you have not trusted are skipped: then Codex asks in its own dialog",
    ),
    # Seen with gemini 0.61.0, opencode 1.18.33 and copilot 1.0.102: docs/decisions/0033.
    AgentCli.GEMINI: (
        "its file tools refuse to write outside its workspace, without a question",
        "in one project (--project) a shell command runs too if our hook is killed",
        "the gates match spellings (try one: gate gates test COMMAND)",
        "after a yes in the inbox, its own mode may ask once more; in -p it may deny",
    ),
    AgentCli.OPENCODE: (
        "with --pure or without the plugin, its file tools are not held",
        "without the plugin, opencode itself asks about each shell command; run rejects it",
        "a plugin that is loaded later can change a call after it was checked",
        "the gates match spellings (try one: gate gates test COMMAND)",
    ),
    AgentCli.COPILOT: (
        "it runs a call whose hook is over the limit of a day, unless its own rules stop it",
        "if the file of hooks is removed or cannot be read, nothing is held",
        "the gates match spellings (try one: gate gates test COMMAND)",
    ),
    AgentCli.CURSOR: (
        "untried: no part of this was tried with Cursor, so try a gated command yourself",
        "only shell commands and writes are held, no other tool",
        "the gates match spellings (try one: gate gates test COMMAND)",
    ),
}
_SWITCHES: dict[str, tuple[str, str]] = {
    AgentCli.GEMINI: ("settings.json", "hooksConfig"),
    AgentCli.COPILOT: ("settings.json", "disableAllHooks"),
}
"""The file in the settings folder of a host, and the key in it, that turn hooks off."""


def check_hosts(environ: Mapping[str, str], cwd: str) -> Iterator[tuple[bool | None, str]]:
    """Yield each check: whether it passed, and a sentence about it.

    None is for a gap of the host that cannot be closed here.
    """
    for installed in installations(environ, cwd):
        if isinstance(installed, str):
            yield False, installed
            continue
        for ok, what in _examine(installed, environ):
            yield ok, f"{installed.cli}: {what}"


def installations(environ: Mapping[str, str], cwd: str) -> Iterator[Installed | str]:
    """Yield the installations of this user and of this project, or why one cannot be read."""
    for cli in plans.HOSTS:
        for project in ("", environment.project(cwd)):
            try:
                found = records.read(plans.record_path(cli, Place(project, environ)))
            except GateError as error:
                yield str(error)
                continue
            if found:
                yield found


def _examine(installed: Installed, environ: Mapping[str, str]) -> Iterator[tuple[bool | None, str]]:
    yield _program(installed)
    if old_name.is_old(installed):
        scope = " --project" if installed.project else ""
        again = f"gate install {installed.cli}{scope} writes it under the new one"
        yield False, f"it was installed under the old name of this program: {again}"
    for written in installed.files:
        if not written.adds_nothing:
            yield _still_there(installed.cli, written)
    if installed.cli == AgentCli.CLAUDE:
        yield from _claude(installed, environ)
    if installed.cli == AgentCli.CODEX:
        yield from _codex(installed, environ)
    if installed.cli in _SWITCHES:
        yield from _find_switch(installed.cli, environ)
    for sentence in LEFT_OPEN[installed.cli]:
        yield None, f"left open by the host: {sentence}"


def _find_switch(cli: str, environ: Mapping[str, str]) -> Iterator[tuple[bool, str]]:
    """Find a setting of the person that turns hooks off."""
    name, key = _SWITCHES[cli]
    path = os.path.join(plans.host(cli).root(Place("", environ)), name)
    try:
        text = settings_files.text_of(settings_files.read(path), path)
        found = json_entries.parse(text, path).get(key)
    except GateError as error:
        yield False, str(error)
        return
    if isinstance(found, dict):
        found = found.get("enabled") is False or "gatebell" in (found.get("disabled") or ())
    if found:
        yield False, f"{path} turns our hook off ({key}): gated calls run without a question"


def _program(installed: Installed) -> tuple[bool, str]:
    again = f"gate install {installed.cli} repairs it"
    try:
        ran = subprocess.run(
            [installed.gate, "--version"], capture_output=True, timeout=_START_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return False, f"{installed.gate} cannot be started ({error}): {again}"
    if ran.returncode:
        return False, f"{installed.gate} ends with exit code {ran.returncode}: {again}"
    return True, f"{installed.gate} runs"


def _still_there(cli: str, written: Written) -> tuple[bool, str]:
    again = f"gate install {cli} puts it back"
    try:
        text = settings_files.text_of(settings_files.read(written.path), written.path)
        if written.block:
            whole = text_blocks.is_whole(text, written.path, written.block)
            return (
                whole,
                f"{written.path} {'is complete' if whole else f'lacks our lines: {again}'}",
            )
        gone = json_entries.missing(text, written.path, written.entries)
    except GateError as error:
        return False, str(error)
    if not gone:
        return True, f"{written.path} is complete"
    return False, f"{written.path} lacks {len(gone)} of our entries ({_name(gone[0])}, …): {again}"


def _name(entry: json_entries.Entry) -> str:
    end = f" {entry.value}" if isinstance(entry.value, str) and entry.kind == EntryKind.ITEM else ""
    return ".".join(entry.path) + end


def _claude(installed: Installed, environ: Mapping[str, str]) -> Iterator[tuple[bool, str]]:
    own = installed.files[0].path
    user = os.path.join(plans.host(AgentCli.CLAUDE).root(Place("", environ)), "settings.json")
    local = os.path.join(installed.project, ".claude", "settings.local.json")
    others = (_MANAGED, user, *((local,) if installed.project else ()))
    for path in dict.fromkeys((own, *others)):
        try:
            document = json_entries.parse(
                settings_files.text_of(settings_files.read(path), path), path
            )
        except GateError as error:
            yield False, str(error)
            continue
        if path == own:
            yield from _limits(path, document)
            yield from _guards(path, document)
        yield from _find_overruled(path, document)


def _find_overruled(path: str, document: dict[str, Any]) -> Iterator[tuple[bool, str]]:
    for key in ("disableAllHooks", "allowManagedHooksOnly"):
        if document.get(key):
            yield False, f"{path} sets {key}: no question leaves Claude Code's own dialog"
    permissions = document.get("permissions")
    mode = permissions.get("defaultMode") if isinstance(permissions, dict) else None
    if mode == "dontAsk":
        yield False, f"{path} sets the mode dontAsk: gated calls are denied without a question"
    if mode == "bypassPermissions":
        yield True, f"{path} sets the mode bypassPermissions: only gated calls are asked about"


def _limits(path: str, document: dict[str, Any]) -> Iterator[tuple[bool, str]]:
    """Find hooks with a longer limit than the host gives them: they could not deny in time."""
    for event, _, hook in hooks_of(document):
        limit = _LIMIT.search(hook.get("command", ""))
        seconds = hook.get("timeout")
        if limit and int(limit[1]) != seconds:
            yield False, f"{path}: the {event} hook has {seconds} s, but --limit says {limit[1]}"


def _guards(path: str, document: dict[str, Any]) -> Iterator[tuple[bool, str]]:
    """Find PreToolUse hooks without the guard of this version, which blocks on any error."""
    before, _, after = plans.host(AgentCli.CLAUDE).guard_hook("\0").partition("\0")
    for event, _, hook in hooks_of(document):
        command = str(hook.get("command"))
        whole = command.startswith(before) and command.endswith(after)
        if event == "PreToolUse" and not whole:
            again = "gate install claude writes it again"
            yield False, f"{path}: the {event} hook lacks the guard of this version: {again}"


def hooks_of(document: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yield our hooks: the event, the position among that event's hooks, and the hook itself."""
    events = document.get("hooks")
    for event, groups in events.items() if isinstance(events, dict) else ():
        for number, group in enumerate(groups if isinstance(groups, list) else ()):
            listed = group.get("hooks") if isinstance(group, dict) else None
            for position, hook in enumerate(listed if isinstance(listed, list) else ()):
                if isinstance(hook, dict) and re.search(
                    rf"gate'? hook ({'|'.join(LEFT_OPEN)})", str(hook.get("command"))
                ):
                    yield event, f"{number}:{position}", hook


def _codex(installed: Installed, environ: Mapping[str, str]) -> Iterator[tuple[bool, str]]:
    own = installed.files[0].path
    user = _codex_settings(environ)
    try:
        document, trusting = _toml(own), _toml(user)
    except GateError as error:
        yield False, str(error)
        return
    yield from _limits(own, document)
    trusted = trusted_hooks(installed, environ)
    unknown = [event for event, _, _ in hooks_of(document) if event not in trusted]
    if unknown:
        names = ", ".join(unknown)
        yield False, f'Codex skips the hooks {names} until you start it and choose "Trust"'
    else:
        yield True, "its hooks are trusted"
    if document.get("features", {}).get("hooks") is False:
        yield False, f"{own} turns hooks off: questions stay in Codex's own dialog"
    if trusting.get("approval_policy") == "never":
        yield False, f'{user} sets approval_policy = "never": gated calls are rejected'


def trusted_hooks(installed: Installed, environ: Mapping[str, str]) -> dict[str, str]:
    """Return the hash under which the person trusts each of our hooks in codex, by event."""
    own = installed.files[0].path
    found = {}
    for key, state in _toml(_codex_settings(environ)).get("hooks", {}).get("state", {}).items():
        for event, where, _ in hooks_of(_toml(own)):
            file, _, rest = key.partition(f":{snake(event)}:")
            if rest == where and os.path.realpath(file) == own and "trusted_hash" in state:
                found[event] = str(state["trusted_hash"])
    return found


def snake(event: str) -> str:
    """Return an event's name in the spelling of codex's trust settings."""
    return re.sub(r"(?<!^)([A-Z])", r"_\1", event).lower()


def _codex_settings(environ: Mapping[str, str]) -> str:
    root = plans.host(AgentCli.CODEX).root(Place("", environ))
    return os.path.realpath(os.path.join(root, "config.toml"))


def _toml(path: str) -> dict[str, Any]:
    text = settings_files.text_of(settings_files.read(path), path)
    # Imported here: only codex's settings are TOML.
    import tomllib

    try:
        return tomllib.loads(text)
    except ValueError as error:
        raise GateError(f"{path} is not TOML: {error}") from None
