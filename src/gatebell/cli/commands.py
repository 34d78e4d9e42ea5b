"""The commands: the module of each one, its line in the help, and its group there."""

from __future__ import annotations

MODULES = {
    "inbox": ("cli.asks.inbox", "list the asks that wait, or answer them one by one"),
    "answer": ("cli.asks.answer", "answer one ask, or several alike"),
    "ask-back": ("cli.asks.ask_back", "ask the asker something; the ask stays open"),
    "show": ("cli.asks.show", "show an ask, a run or a task with everything about it"),
    "history": ("cli.asks.history", "list settled asks"),
    "tui": ("cli.runs.tui", "show asks, runs and tasks on one screen: look, answer, stop"),
    "ask": ("cli.asks.ask", "ask a person and wait for the answer"),
    "wait": ("cli.asks.wait", "wait for the answer to an earlier ask"),
    "cancel": ("cli.asks.cancel", "withdraw an ask"),
    "reply": ("cli.asks.reply", "reply to a person's message about your ask"),
    "listen": ("cli.asks.listen", "answer questions that agents wrote into files"),
    "template": ("cli.asks.template", "manage prepared answers: list, show, set, delete"),
    "dialog": ("cli.asks.dialog", "list or test the windows that can show a question"),
    "respond": ("cli.tasks.respond", "answer a task that waits for you, as gate answer does"),
    "install": (
        "cli.setup.install",
        "let Claude Code, Codex, Gemini CLI, opencode, Copilot … ask here",
    ),
    "uninstall": ("cli.setup.uninstall", "undo gate install, byte for byte"),
    "gates": ("cli.permissions.gates", "manage the tool calls that need a person or are denied"),
    "grants": ("cli.permissions.grants", "list or revoke permissions beyond one tool call"),
    "freeze": ("cli.freezes.freeze", "freeze everything: no turn begins, no tool call gets a yes"),
    "unfreeze": ("cli.freezes.unfreeze", "lift the freeze"),
    "run": ("cli.runs.run", "run a flow: agents work, people answer their questions"),
    "list": ("cli.runs.list", "list runs and their open questions"),
    "watch": ("cli.runs.watch", "follow a run until it ends"),
    "logs": ("cli.runs.logs", "print the output of a run's agents"),
    "diff": ("cli.runs.diff", "show the changes that a run's agents made"),
    "continue": (
        "cli.sessions.continue_session",
        "open the session of an agent that waits for you",
    ),
    "stop": ("cli.runs.stop", "end a run, its agents and its asks"),
    "resume": ("cli.runs.resume", "continue a run where it stopped"),
    "status": ("cli.runs.status", "show the progress of one run, as gate show does"),
    "plan": ("cli.runs.plan", "print a run as XML: calls, branches and people's answers"),
    "flows": ("cli.runs.flows", "list flows, or show one"),
    "agents": ("cli.runs.agents", "list the roles that flows and tasks can use"),
    "signal": ("cli.runs.signal", "send a signal that a run waits for"),
    "kill": ("cli.runs.stop", "the same as stop"),
    "delete": ("cli.runs.delete", "delete a run that has ended"),
    "clean": ("cli.runs.clean", "remove the folders of completed runs if no work would be lost"),
    "task": ("cli.tasks.task", "manage the backlog: create, list, show, close, import …"),
    "worker": ("cli.workers.worker", "drive runs as they become ready, and work on tasks"),
    "host": ("cli.workers.host", "list the hosts that drive runs, or say that one is lost"),
    "up": ("cli.server.up", "serve the web inbox, drive runs, send notifications"),
    "down": ("cli.server.down", "stop gate up"),
    "link": ("cli.server.link", "print a link that signs you in to the web inbox"),
    "serve": ("cli.server.serve", "serve the web inbox and the HTTP API to a team"),
    "person": ("cli.people.person", "manage people, their personal tokens and their groups"),
    "login": ("cli.setup.login", "sign in to a server that keeps the asks of many machines"),
    "logout": ("cli.setup.logout", "sign out of a server"),
    "setup": ("cli.setup.setup", "set everything up: agents, notifications, your phone"),
    "init": ("cli.setup.init", "set up a project: backlog, roles, questions in files"),
    "notify": ("cli.notifications.notify", "list or test the routes that notify you"),
    "doctor": ("cli.setup.doctor", "check the store and the installation, explain problems"),
    "holdtest": ("cli.setup.holdtest", "break a gate in every way: does the host hold the call?"),
    "config": ("cli.setup.config", "show the settings and their sources"),
    "demo": ("cli.setup.demo", "show gatebell at work in a throwaway project"),
    "store": ("cli.setup.store", "set up, check or fill a PostgreSQL store"),
    "engine": ("cli.workers.engine", "check or choose the engine that drives runs on many hosts"),
    "audit": ("cli.setup.audit", "read and verify the audit trail: log, verify, head"),
    "completion": ("cli.setup.completion", "print a completion script for your shell"),
    "mcp": ("mcp.command", "serve the tools with which agents ask (an MCP server)"),
    "hook": ("hooks.command", "decide about an agent's tool call (hosts run this)"),
}
"""The module of each command, and its line in the help."""

COMMANDS = {name: about for name, (_, about) in MODULES.items()}

GROUPS = {
    "Answer": ("inbox", "answer", "ask-back", "show", "history"),
    "Ask": ("ask", "wait"),
    "Agents": ("install", "gates", "freeze"),
    "Runs": ("run", "list", "watch", "logs", "diff", "continue", "stop", "resume"),
    "Backlog": ("task", "worker"),
    "Serve": ("up", "serve"),
    "Set up": ("setup", "init", "doctor", "demo"),
}
"""The commands of `gate --help`; `gate help all` lists the others, too."""

PLUMBING = ("respond", "status", "plan", "signal", "kill", "completion", "mcp", "hook")
"""Commands that programs run, and older words; `gate help all` lists them last."""
