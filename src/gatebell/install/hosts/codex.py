"""Codex: rules that make it ask, hooks that carry the question, the MCP server."""

from __future__ import annotations

import json
import os
import re
import shlex
from typing import TYPE_CHECKING, Any

from gatebell.domain.enums import AgentCli
from gatebell.domain.permissions.acts import Act, name_gate
from gatebell.domain.permissions.rules import OUTSIDE
from gatebell.errors import UsageError
from gatebell.install.background_hook import hand_over_hook
from gatebell.install.default_gates import SPELLINGS_NOTE
from gatebell.install.instructions import INSTRUCTIONS
from gatebell.install.places import Target, Wanted
from gatebell.install.text_blocks import build_comment_block

if TYPE_CHECKING:
    from gatebell.install.default_gates import Rules
    from gatebell.install.places import Place
    from gatebell.install.text_blocks import Block

NAME = AgentCli.CODEX

_DAY_SECONDS = 86_400
# Codex itself limits a SessionEnd hook to this [seen with 0.166.0].
_SESSION_END_SECONDS = 3
_RETIRE_SECONDS = 30
_PREFIX = re.compile(r"Bash\(([^*]+?)(?::\*| \*)?\)")
# A prefix consists of whole words, so each spelling needs its own entry. Codex has no patterns:
# an option with a value before the subcommand cannot be expressed.
_BEFORE = (("sudo",), ("env",), ("command",), ("time",), ("nohup",), ("xargs",))
_RECURSIVE = ["-r", "-R", "-rf", "-fr", "-Rf", "-fR", "--recursive"]
_SPELLED_OUT: dict[str, list[list[Any]]] = {
    name_gate(Act.PUSH): [
        ["git", "push"], ["git", ["--no-pager", "-P"], "push"], ["git", "subtree", "push"],
        ["git", "lfs", "push"], ["hg", "push"], ["gh", "pr", "merge"], ["jj", "git", "push"],
    ],
    name_gate(Act.PUBLISH): [
        [["npm", "pnpm", "yarn", "bun", "cargo", "poetry", "uv", "hatch", "flit", "pdm", "lerna", "vsce",
          "deno"], "publish"],
        ["pnpm", "-r", "publish"], ["yarn", "npm", "publish"], ["npm", "unpublish"],
        ["twine", "upload"], [["python", "python3"], "-m", "twine", "upload"],
        [["uvx", "pipx"], "twine", "upload"], ["uv", "run", "twine", "upload"], ["cargo", "yank"],
        [["docker", "podman", "gem", "helm"], "push"], ["docker", ["image", "compose", "manifest"], "push"],
        ["docker-compose", "push"], ["gh", "release", ["create", "upload", "delete", "edit"]],
        [["npx", "bunx"], ["semantic-release", "release-it", "np"]], ["goreleaser", "release"],
        ["dotnet", "nuget", "push"],
    ],
    name_gate(Act.DEPLOY): [
        [["terraform", "tofu", "terragrunt"], ["apply", "destroy", "import"]],
        ["terragrunt", "run-all", ["apply", "destroy"]], ["pulumi", ["up", "update", "destroy"]],
        [["kubectl", "oc"], ["apply", "delete", "create", "replace", "patch", "scale", "edit", "set", "drain"]],
        ["kubectl", "rollout", ["restart", "undo"]], ["helm", ["install", "upgrade", "uninstall", "rollback", "delete"]],
        [["fly", "flyctl", "vercel", "wrangler", "netlify", "firebase", "serverless", "sls", "cdk", "sam",
          "eb", "kamal"], "deploy"],
        ["vercel", "--prod"], ["wrangler", ["publish", "pages"]],
        [["npx", "bunx"], ["vercel", "wrangler", "netlify", "firebase", "serverless", "cdk"], "deploy"],
        ["gcloud", ["app", "run", "functions"], "deploy"], ["aws", "deploy"], ["aws", "s3", ["sync", "rm"]],
        ["aws", "cloudformation", ["deploy", "delete-stack", "create-stack", "update-stack"]],
        ["ansible-playbook"], ["docker", "stack", "deploy"], ["railway", "up"],
    ],
    name_gate(Act.DELETE): [
        ["rm", _RECURSIVE], ["git", "clean"], ["git", "rm", _RECURSIVE], ["find", ".", "-delete"],
        ["rimraf"], [["npx", "bunx"], "rimraf"],
    ],
    name_gate(Act.EVAL): [["eval"]],
}  # fmt: skip


def root(place: Place) -> str:
    return place.folder("CODEX_HOME", ".codex")


def plan_targets(place: Place, gate: str, rules: Rules) -> Wanted:
    folder = os.path.join(place.project, ".codex") if place.project else root(place)
    memory = os.path.join(place.project or folder, "AGENTS.md")
    prefixes = {pattern: list_prefixes(pattern) for pattern in rules.gates}
    denied = {pattern: list_prefixes(pattern) for pattern in rules.denials}
    targets = [
        Target(os.path.join(folder, "config.toml"), block=_settings(place, gate)),
        Target(memory, block=INSTRUCTIONS),
    ]
    lines = [_rule(one, "prompt") for found in prefixes.values() for one in found]
    lines += [_rule(one, "forbidden") for found in denied.values() for one in found]
    if lines:
        path = os.path.join(folder, "rules", "gatebell.rules")
        targets.insert(1, Target(path, block=build_comment_block(*lines)))
    return Wanted(tuple(targets), tuple(_notes(place, prefixes | denied)))


def list_prefixes(pattern: str) -> list[list[Any]]:
    """Return the first words of a gated command; none if codex's rules cannot express it."""
    if pattern in _SPELLED_OUT:
        words = _SPELLED_OUT[pattern]
        return [*words, *([*before, *one] for before in _BEFORE for one in words)]
    found = _PREFIX.fullmatch(pattern)
    try:
        return [list(shlex.split(found[1]))] if found else []
    except ValueError:
        return []


def _notes(place: Place, prefixes: dict[str, Any]) -> list[str]:
    notes = []
    if unsaid := [pattern for pattern, found in prefixes.items() if not found]:
        notes.append(f"Codex's rules cannot express these, so it may not ask: {', '.join(unsaid)}")
    if prefixes:
        notes.append(SPELLINGS_NOTE)
    if OUTSIDE in unsaid:
        notes.append(
            "Codex's own sandbox holds writes outside the project, unless you turned it off."
        )
    if place.project:
        notes.append("Codex reads a project's .codex folder only once you trust the project.")
    notes.append('Codex will ask you once to trust these hooks: choose "Trust".')
    notes.append(
        "Codex does not start without gate: run gate uninstall codex before you remove it."
    )
    return notes


def check(text: str, path: str) -> None:
    """Refuse settings that are not TOML, or that have another server of our name."""
    # Imported here: only codex's settings are TOML.
    import tomllib

    try:
        document = tomllib.loads(text)
    except ValueError as error:
        raise UsageError(
            f"{path} is not TOML, so it is left alone: {error}. Repair it, then try again"
        ) from None
    server = document.get("mcp_servers", {}).get("gatebell", {})
    # A table of permissions for its tools is not a server.
    if not isinstance(server, dict) or server.keys() & {"command", "url"}:
        raise UsageError(
            f"{path} has an MCP server gatebell already, and gate did not write it: "
            "remove it, then install again"
        )


def drop_tables(text: str, block: Block) -> str:
    """Drop the tables below our server, which is gone.

    Codex does not start with settings of a server that has no command [seen with 0.166.0].
    """
    beneath = tuple(f"{line[:-1]}." for line in block.lines if line.startswith("[mcp_servers."))
    kept: list[str] = []
    gap, is_beneath = "", False
    for line in text.splitlines(keepends=True):
        if line.startswith("["):
            was_beneath, is_beneath = is_beneath, line.startswith(beneath)
            if is_beneath and not was_beneath:
                gap = "" if not kept or kept[-1].strip() else kept.pop()
            if was_beneath and not is_beneath:
                kept.append(gap)
        if not is_beneath:
            kept.append(line)
    return "".join(kept)


def _settings(place: Place, gate: str) -> Any:
    # exec: then the hook's parent is the host itself, so the hook notices its end.
    hook = f"exec {shlex.quote(gate)} hook codex"
    lines = [
        "[mcp_servers.gatebell]",
        f"command = {json.dumps(gate)}",
        'args = ["mcp"]',
        # Codex passes almost no environment to its servers [seen with 0.166.0].
        'env_vars = ["GATE_STORE", "XDG_DATA_HOME", "XDG_CONFIG_HOME"]',
        "required = true",
        f"tool_timeout_sec = {_DAY_SECONDS}",
        'default_tools_approval_mode = "approve"',
        *_hook("PermissionRequest", f"{hook} --limit {_DAY_SECONDS}"),
        'statusMessage = "waiting for a person: gate inbox"',
        f"timeout = {_DAY_SECONDS}",
    ]
    hand_over = hand_over_hook(place, f"{shlex.quote(gate)} hook codex")
    lines += [*_hook("PostToolUse", hand_over), f"timeout = {_RETIRE_SECONDS}"]
    for event, seconds in (
        ("Stop", _RETIRE_SECONDS),
        ("UserPromptSubmit", _RETIRE_SECONDS),
        ("SessionEnd", _SESSION_END_SECONDS),
    ):
        lines += [*_hook(event, hook), f"timeout = {seconds}"]
    return build_comment_block(*lines)


def _hook(event: str, command: str) -> list[str]:
    return [
        "",
        f"[[hooks.{event}]]",
        f"[[hooks.{event}.hooks]]",
        'type = "command"',
        f"command = {json.dumps(command, ensure_ascii=False)}",
    ]


def _rule(words: list[Any], decision: str) -> str:
    why = {"prompt": "a person decides", "forbidden": "a person has ruled this out"}[decision]
    return (
        f'prefix_rule(pattern = {json.dumps(words)}, decision = "{decision}", '
        f'justification = "{why} (gatebell)")'
    )
