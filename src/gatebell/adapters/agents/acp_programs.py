"""How each program with the agent client protocol is started, so that it asks before it acts."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NamedTuple

from gatebell.adapters.agents import agent_process
from gatebell.domain.enums import AgentCli
from gatebell.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gatebell.ports.agents import Order

SERVER = "gatebell"
"""The name of our MCP server, as `gate install` uses it."""
_NEVER = ("yolo", "auto_edit", "allow-all", "bypass", "danger", "autopilot", "--auto")
# Without these, opencode 1.18.33 asks about nothing.
_OPENCODE = {
    "*": "ask",
    **dict.fromkeys(("read", "glob", "grep", "list", "todowrite", "todoread"), "allow"),
    f"{SERVER}_*": "allow",
}


class AcpProgram(NamedTuple):
    """A program that is known by its name."""

    words: tuple[str, ...]
    package: str
    """Its package on npm."""
    environ: Mapping[str, str] = {}
    loads: bool = True
    """Whether a session can be loaded; `initialize` may promise it wrongly."""
    names_commands: bool = False
    """Whether the title of a shell call is its whole command, and there is no other input."""


PROGRAMS: dict[str, AcpProgram] = {
    AgentCli.GEMINI: AcpProgram(
        ("gemini", "--acp", "--approval-mode", "default"),
        "@google/gemini-cli",
        # In a trusted folder, its settings could allow commands and start servers.
        {"GEMINI_CLI_TRUST_WORKSPACE": "false"},
        # Gemini 0.61.0 repeats the old messages after its reply, among the new ones. In the minute
        # in which a session began, loading it even empties its log.
        loads=False,
        names_commands=True,
    ),
    AgentCli.OPENCODE: AcpProgram(
        ("opencode", "acp"),
        "opencode-ai",
        {
            "OPENCODE_PERMISSION": json.dumps(_OPENCODE),
            # The permissions of an agent in the worktree's opencode.json would win over ours.
            "OPENCODE_DISABLE_PROJECT_CONFIG": "1",
        },
    ),
    AgentCli.COPILOT: AcpProgram(("copilot", "--acp"), "@github/copilot"),
}


def find_program(cli: str) -> AcpProgram:
    """Return what is known about a program; for a role's own command, the usual behaviour."""
    return PROGRAMS.get(cli, AcpProgram((), ""))


def build_command(order: Order) -> list[str]:
    """Return the command line of the role's program.

    Raises:
        UsageError: The role asks for something that the protocol cannot do, or for no questions.
    """
    role = order.role
    known = find_program(role.cli)
    words = (*(known.words or role.command), *_name_model(order), *role.arguments)
    for word in (*role.command, *role.arguments):
        if any(never in word for never in _NEVER):
            raise UsageError(
                f"{word} in the role {role.name} lets the agent do everything without asking: "
                "remove it; people decide in the inbox about the agent's actions"
            )
    if role.tools:
        raise UsageError(
            f"{role.cli} cannot be limited to certain tools: remove tools from the role {role.name}"
        )
    remedy = (
        f"install it (npm install -g {known.package}), or put the folder it is in on the PATH"
        if known.package
        else f"it is the command of the role {role.name}"
    )
    return [agent_process.find_program(words[0], order, remedy), *words[1:]]


def build_environ(order: Order) -> dict[str, str]:
    """Return the variables of the agent: those of the order, and those that make it ask."""
    more = dict(find_program(order.role.cli).environ)
    if order.role.cli == AgentCli.OPENCODE and order.role.model:
        more["OPENCODE_CONFIG_CONTENT"] = json.dumps({"model": order.role.model})
    return {**order.environ, **more}


def _name_model(order: Order) -> tuple[str, ...]:
    role = order.role
    if not role.model or role.cli == AgentCli.OPENCODE:
        return ()
    if role.cli not in PROGRAMS:
        raise UsageError(
            f"the protocol has no word for a model: write it into the command of {role.name}"
        )
    return ("--model", role.model)
