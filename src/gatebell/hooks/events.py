"""One function per event of a host; each returns the reply to the host."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from gatebell.app import environment, wiring
from gatebell.domain.asks.asks import Origin
from gatebell.domain.enums import AgentCli
from gatebell.domain.permissions.calls import ATTENDED, WRITERS, explain_end
from gatebell.domain.permissions.rules import OUTSIDE, list_triggers
from gatebell.domain.records import NamedTuple
from gatebell.domain.runs.session_log import Step, has_result
from gatebell.errors import GateError
from gatebell.hooks import replies
from gatebell.ports.calls.waiting_calls import Held

if TYPE_CHECKING:
    from collections.abc import Callable

    from gatebell.domain.people.principals import Caller
    from gatebell.domain.permissions.calls import Call
    from gatebell.ports.backends.backend import Backend

HOOK_CLIS = (
    AgentCli.CLAUDE,
    AgentCli.CODEX,
    AgentCli.GEMINI,
    AgentCli.OPENCODE,
    AgentCli.COPILOT,
    AgentCli.CURSOR,
)

_SUB_AGENT = " sub-agent "
# Claude Code submits this itself, when a sub-agent in the background ends.
_NOTIFICATION = "<task-notification>"
_NOT_IN_NAMES = re.compile(r"[^\w.:-]")


class Hook(NamedTuple):
    """One event, and the options of the hook."""

    cli: str
    event: dict[str, Any]
    limit_seconds: float
    defer: bool
    host_pid: int = 0
    """The process of the host, if it is not the parent of this one."""

    def text(self, name: str) -> str:
        found = self.event.get(name)
        return found if isinstance(found, str) else ""

    @property
    def caller(self) -> Caller:
        because = f"a hook of {self.cli} is running"
        return wiring.agent_caller(self.cli, self.text("session_id"), "hook", because)

    @property
    def call(self) -> Call:
        return wiring.call(self.text("tool_name"), self.event.get("tool_input"), self.text("cwd"))

    @property
    def sub_agent(self) -> str:
        """The name of the sub-agent that the event is about, after its parent; empty without one."""
        number, kind = (_NOT_IN_NAMES.sub("", self.text(one)) for one in ("agent_id", "agent_type"))
        return f"{self.cli}{_SUB_AGENT}{kind[:24]} {number[-6:]}" if number else ""

    def origin(self, caller: Caller, call_id: str = "") -> Origin:
        where = wiring.origin(caller, folder=self.text("cwd"))
        return where._replace(tool_use_id=call_id, agent=self.sub_agent or where.agent)

    def steps(self) -> list[Step]:
        return wiring.session_steps(self.cli, self.text("transcript_path"))


class Reply(NamedTuple):
    """The JSON to print, and the function to call once it is printed."""

    json: dict[str, Any] | None = None
    handed_over: Callable[[], object] = lambda: None


def _is_joined(backend: Backend, turn_id: str) -> bool:
    """Whether a person has this session open, and so no driver is there."""
    if backend.store is None:
        return False
    turn = backend.store.runs.turn(turn_id)
    return turn is not None and bool(turn.by)


def permission_request(hook: Hook) -> Reply:
    """Decide whether a call may run. The host may show its own dialog at the same time."""
    backend = wiring.open_backend()
    if (turn_id := os.environ.get("GATE_TURN")) and not _is_joined(backend, turn_id):
        # In a turn of a flow the agent's driver is asked as well, and knows the run that waits.
        return Reply()
    held, caller = _build_held(hook, hook.limit_seconds)
    decided = backend.decide(held, caller)
    if decided.input and decided.edited_by:
        edited = wiring.call(held.call.tool, decided.input, held.call.cwd)
        # Seen: Codex takes no edited input, and Claude Code none that meets a rule to ask.
        if hook.cli == AgentCli.CODEX or backend.is_gated(edited, held.origin, held.folders):
            decided = backend.instead(decided.edited_by, held, edited)
    return Reply(replies.permission(decided), lambda: backend.hand_over(decided, held))


def pre_tool_use(hook: Hook) -> Reply:
    """Check a call before it runs; most calls need no decision."""
    call = hook.call
    if hook.defer:
        held, caller = _build_held(hook, hook.limit_seconds)
        backend = wiring.open_gates()
        if backend.is_gated(call, held.origin, held.folders, is_harmless=held.is_harmless):
            # Seen with 2.1.325: anywhere but with -p it runs a call that is put off.
            if os.environ.get(ATTENDED) != "0":
                return Reply(replies.ask_first("this is gated, and only claude -p can put it off"))
            return Reply(replies.before_use(backend.defer(held, caller)))
    if call.tool in WRITERS and not _is_inside(call.real_path, _project(hook)):
        reason = f"{OUTSIDE}: {call.subject}"
        if hook.cli == AgentCli.CODEX:
            # Seen with 0.166.0: told to ask, it runs the call.
            return Reply(replies.deny("PreToolUse", reason))
        return Reply(replies.ask_first(reason))
    return Reply()


def hold_call(hook: Hook) -> Reply:
    """Decide about a call of a host without rules to ask: by our gates, before the call runs."""
    held, caller = _build_held(hook, hook.limit_seconds)
    backend = wiring.open_gates()
    leaves = held.call.tool in WRITERS and not _is_inside(held.call.real_path, _project(hook))
    is_gated = backend.is_gated(held.call, held.origin, held.folders, is_harmless=held.is_harmless)
    if not leaves and not is_gated:
        return Reply(replies.go_on(hook.cli, hook.event))
    decided = backend.decide(held, caller)
    if decided.input and decided.edited_by:
        # Its input is in our words, not in those of the host, so the agent makes the call itself.
        edited = wiring.call(held.call.tool, decided.input, held.call.cwd)
        decided = backend.instead(decided.edited_by, held, edited)
    if decided.allow:
        said = replies.go_on(hook.cli, hook.event, agreed=True)
    else:
        said = replies.refuse(hook.cli, decided.message or "No person decided about this call")
    return Reply(said, lambda: backend.hand_over(decided, held))


def _project(hook: Hook) -> str:
    """Return the folder that may be written without asking: never the whole disk or home."""
    found = os.environ.get("CLAUDE_PROJECT_DIR") or environment.project(hook.text("cwd"))
    return "" if found in ("/", os.path.expanduser("~")) else found


def prompt_submitted(hook: Hook) -> Reply:
    """Note that a person typed here, and that the turn before has ended."""
    backend = wiring.open_backend()
    _retire_calls(hook, backend)
    turn_id = os.environ.get("GATE_TURN")
    # A flow writes the prompts of its turns, and a script those of claude -p.
    is_typed = (not turn_id or _is_joined(backend, turn_id)) and not (
        hook.sub_agent or hook.text("prompt").startswith(_NOTIFICATION)
    )
    if backend.store and is_typed and os.environ.get(ATTENDED) != "0":
        # Without it, a notice comes earlier: no reason to fail.
        with suppress(GateError):
            backend.store.presence.see([environment.user_name()])
    return _hand_over(hook, backend)


def turn_ended(hook: Hook) -> Reply:
    """Remove the asks from the inbox for which this session no longer waits.

    Answers of background asks that have come hold the turn; without one it ends.
    """
    backend = wiring.open_backend()
    _retire_calls(hook, backend)
    return _hand_over(hook, backend)


def session_ended(hook: Hook) -> Reply:
    """Remove the asks from the inbox for which this session no longer waits."""
    _retire_calls(hook, wiring.open_backend())
    return Reply()


def tool_used(hook: Hook) -> Reply:
    """Pass on the answers of background asks that have come."""
    return _hand_over(hook, wiring.open_backend())


def _hand_over(hook: Hook, backend: Backend) -> Reply:
    """Return the answers of background asks for this session, or nothing."""
    # Imported here: events about a call have no such answers.
    from gatebell.app import background

    caller = hook.caller
    origin = Origin(cwd=hook.text("cwd"), session=f"{hook.cli}/{hook.text('session_id')}")
    found = background.collect(backend, origin, caller)
    if found is None:
        return Reply()
    return Reply(replies.tell_agent(hook.text("hook_event_name"), found.text), found.done)


def _retire_calls(hook: Hook, backend: Backend) -> None:
    caller = hook.caller
    pending = backend.pending_of_session(Origin(session=f"{hook.cli}/{hook.text('session_id')}"))
    held = [ask for ask in pending if ask.question.call and not ask.deferred]
    steps = hook.steps() if held else []
    for ask in held:
        if not _is_over(hook, ask.origin.agent):
            continue
        call_id = ask.origin.tool_use_id
        if not call_id or has_result(steps, call_id):
            backend.retire(ask, caller, explain_end(os.environ))


def _is_over(hook: Hook, agent: str) -> bool:
    """Return whether the event ends the turn of this agent: a session has several at once."""
    if hook.event.get("hook_event_name") == "SessionEnd" or agent == hook.sub_agent:
        return True
    if _SUB_AGENT not in agent:
        return not hook.sub_agent
    # Claude Code names the sub-agents that still work when its own turn ends.
    tasks = hook.event.get("background_tasks")
    if not isinstance(tasks, list):
        return False
    return not any(isinstance(one, dict) and one.get("type") == "subagent" for one in tasks)


HANDLERS: dict[str, Callable[[Hook], Reply]] = {
    "PermissionRequest": permission_request,
    "PreToolUse": pre_tool_use,
    "PostToolUse": tool_used,
    "PostToolUseFailure": tool_used,
    "Stop": turn_ended,
    "UserPromptSubmit": prompt_submitted,
    "SessionEnd": session_ended,
}


def _build_held(hook: Hook, limit_seconds: float) -> tuple[Held, Caller]:
    call, caller, log = hook.call, hook.caller, hook.text("transcript_path")
    origin = hook.origin(caller, hook.text("tool_use_id"))
    is_harmless, runs_ungated = _judge(hook, call)
    held = Held(
        call,
        origin,
        limit_seconds,
        wiring.hook_host(
            call, origin, log, of_helper=bool(hook.event.get("agent_id")), pid=hook.host_pid
        ),
        project=_project(hook),
        folders=(os.environ.get("CLAUDE_PROJECT_DIR", ""),),
        is_harmless=is_harmless,
        runs_ungated=runs_ungated,
    )
    return held, caller


def _judge(hook: Hook, call: Call) -> tuple[bool, bool]:
    """Return whether a command is proven harmless, and whether its host would run it then."""
    if not call.command or not list_triggers(call.command):
        return False, False
    verdict = wiring.judge_command(call.command)
    if verdict.finding or call.has_more or hook.cli != AgentCli.CLAUDE:
        return not verdict.finding, False
    # Imported here: few calls match a wide pattern and are harmless.
    from gatebell.hooks.host_rules import runs_ungated

    mode, cwd = hook.text("permission_mode"), hook.text("cwd")
    return True, runs_ungated(os.environ, _project(hook), mode, verdict, cwd)


def _is_inside(path: str, folder: str) -> bool:
    real = os.path.realpath(folder).rstrip(os.sep) + os.sep
    return bool(folder) and path.startswith(real)
