"""A new member of AgentCli fails here until each table of agent programs covers it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from gatebell.adapters.agents import session_logs
from gatebell.adapters.agents.open_hosts import SessionHosts
from gatebell.adapters.agents.programs import AgentPrograms
from gatebell.adapters.files import settings_file
from gatebell.domain.enums import AgentCli
from gatebell.domain.people import principals
from gatebell.domain.runs import roles
from gatebell.domain.runs.roles import Role
from gatebell.errors import UsageError
from gatebell.hooks import events
from gatebell.install import checks, plans, rehearsal
from gatebell.mcp import clients, decision_form
from gatebell.services.sessions import session_check
from gatebell.terminal import runs

GEMINI, OPENCODE = AgentCli.GEMINI, AgentCli.OPENCODE
COPILOT, CURSOR = AgentCli.COPILOT, AgentCli.CURSOR
COMMAND, PYTHON, ACP = AgentCli.COMMAND, AgentCli.PYTHON, AgentCli.ACP
SCRIPT = Path(plans.__file__).parent / "scripts" / "ask-human.sh"
TABLES = {
    "roles.ROLE_CLIS": roles.ROLE_CLIS,
    "settings_file.SESSION_CLIS": settings_file.SESSION_CLIS,
    "settings_file.MODELS": settings_file.MODELS,
    "session_logs.READERS": session_logs.READERS,
    "principals.SIGNS": [sign.cli for sign in principals.SIGNS if sign.cli in AgentCli],
    "events.HOOK_CLIS": events.HOOK_CLIS,
    "plans.HOSTS": plans.HOSTS,
    "checks.LEFT_OPEN": checks.LEFT_OPEN,
    "rehearsal.PLAYS": rehearsal.PLAYS,
    "clients.CLIENTS": clients.CLIENTS,
    "decision_form.ASK_PEOPLE": decision_form.ASK_PEOPLE,
    "runs.JOINABLE": runs.JOINABLE,
    "session_check.KEEPING_LOGS": session_check.KEEPING_LOGS,
}
KNOWING_ALL_HOSTS = (
    "principals.SIGNS",
    "events.HOOK_CLIS",
    "plans.HOSTS",
    "checks.LEFT_OPEN",
    "clients.CLIENTS",
)
# A gap is a function that gatebell does not have for this program.
GAPS = {
    **{table: {GEMINI, OPENCODE, COPILOT, CURSOR, COMMAND, PYTHON, ACP} for table in TABLES},
    "roles.ROLE_CLIS": {CURSOR, COMMAND, PYTHON, ACP},
    "settings_file.MODELS": {CURSOR, COMMAND, PYTHON, ACP},
    "settings_file.SESSION_CLIS": {GEMINI, OPENCODE, COPILOT, CURSOR, PYTHON, ACP},
    **{table: {COMMAND, PYTHON, ACP} for table in KNOWING_ALL_HOSTS},
}


@pytest.mark.proves("ENUM-8")
@pytest.mark.parametrize("table", TABLES)
def test_each_table_lacks_only_listed_programs(table):
    assert set(AgentCli) - set(TABLES[table]) == GAPS[table]
    assert all(isinstance(member, AgentCli) for member in TABLES[table])


@pytest.mark.proves("ENUM-8")
def test_script_knows_the_signs_of_programs():
    signs = [sign for sign in principals.SIGNS if sign.cli in AgentCli]
    words = set(re.findall(r"\w+", SCRIPT.read_text(encoding="utf-8")))
    assert words >= {one for sign in signs for one in (*sign.variables, *sign.processes)}


@pytest.mark.proves("ENUM-9")
@pytest.mark.parametrize("cli", ["", "claud", CURSOR, PYTHON])
def test_unknown_program_starts_no_agent(cli):
    with pytest.raises(UsageError, match=r"write cli: claude, codex, .* or command"):
        AgentPrograms().driver(Role("coder", "", cli=cli), None)


@pytest.mark.proves("ENUM-9")
@pytest.mark.parametrize("cli", ["", "claud", GEMINI, OPENCODE, PYTHON])
def test_unknown_program_opens_no_session(cli):
    with pytest.raises(UsageError, match="no session can be opened in"):
        SessionHosts().open(cli)


@pytest.mark.proves("ENUM-9")
@pytest.mark.parametrize("cli", ["", "claud", GEMINI, OPENCODE, COMMAND, PYTHON])
def test_log_of_unknown_program_is_not_read(cli, tmp_path):
    log = tmp_path / "session.jsonl"
    log.write_text("{}")
    with pytest.raises(UsageError, match="only those of claude and codex can"):
        session_logs.read(cli, str(log))
    assert session_logs.read(cli, "") == []
