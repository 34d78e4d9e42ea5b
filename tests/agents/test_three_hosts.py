"""The real claude on one host, the server on another, and the person who decides on a third."""

from __future__ import annotations

import signal
import time

import pytest
from tests.support.three_hosts import AgentMachine, Hosts
from tests.support.waiting import eventually

from gatebell.install.scripted_model import text, tool

LIMIT_SECONDS = 30
TOUCH = tool("Bash", command="touch gated", description="make a file")
ATTEMPTS = """
id=$(gate ask --no-wait --kind approval "Deploy?")
for name in "" "--as ada"; do gate answer $id yes $name; echo "code $?"; done
gate uninstall claude --as ada; echo "code $?"
gate gates add 'Bash(ls *)'; echo "code $?"
"""


@pytest.fixture(scope="module")
def hosts(tmp_path_factory):
    made = Hosts(tmp_path_factory.mktemp("hosts"))
    yield made
    made.close()


@pytest.fixture
def machine(tmp_path, programs, hosts):
    made = AgentMachine(tmp_path, programs, hosts)
    made.install("claude")
    with made.model:
        yield made
        made.close()


@pytest.mark.proves("REMOTE-42", "LAW-3")
def test_person_on_another_host_decides_for_claude(hosts, machine):
    refused = tool("Bash", command="touch gated-2", description="make a file")
    question = tool("ask_human", question="Which database?")
    tricks = tool("Bash", command=ATTEMPTS, description="try to answer")
    agent = machine.run_claude([TOUCH, refused, question, tricks, text("done")])
    for answer, name in (("yes", "gated"), ("no", "gated-2")):
        (ask,) = machine.wait_for_asks(seconds=90)
        assert ask.question.call.subject == f"touch {name}" and not machine.ran(name)
        assert ask.origin.project == str(machine.project)
        for words in ([], ["--as", "ada"]):
            assert hosts.agent.gate("answer", ask.id, "yes", *words).code == 7, "by its own token"
        machine.answer(ask, answer)
        machine.wait_for_settled(ask)
    (ask,) = machine.wait_for_asks(seconds=90)
    assert ask.question.prompt == "Which database?"
    machine.answer(ask, "SQLite")
    agent.result(120)
    assert machine.ran("gated") and not machine.ran("gated-2")
    results = machine.wait_for_results()
    assert "SQLite" in results[2] and results[3].count("code 7") == 4, results
    (mine,) = machine.wait_for_asks(seconds=90)
    assert mine.question.prompt == "Deploy?", "its own attempt settled nothing"
    hosts.person.must("answer", mine.id, "no", "--as", "ada")
    assert not list(machine.folder.rglob("gate.db")), "the agent's host has no store"


@pytest.mark.proves("REMOTE-43", "LAW-3")
@pytest.mark.parametrize(
    "fault", ["killed", "cut", pytest.param("frozen", marks=pytest.mark.matrix)]
)
def test_call_that_waits_does_not_run_without_server(hosts, machine, fault):
    machine.limit_hook(LIMIT_SECONDS)
    agent = machine.run_claude([TOUCH, text("done")])
    (ask,) = machine.wait_for_asks(seconds=90)
    eventually(lambda: hosts.count_waits() == 1)
    begin = {"killed": hosts.kill_server, "cut": cut_agent(hosts), "frozen": hosts.stop_server}
    end = {
        "killed": hosts.serve,
        "cut": lambda: hosts.mend(hosts.agent),
        "frozen": lambda: hosts.stop_server(signal.SIGCONT),
    }
    began = time.monotonic()
    begin[fault]()
    try:
        (result,) = machine.wait_for_results(60)
        took = time.monotonic() - began
    finally:
        end[fault]()
    agent.result(120)
    assert not machine.ran() and "cannot be reached" in result
    assert took < LIMIT_SECONDS, "the hook itself said no, before its host gave up"
    # The yes comes too late: the ask may be withdrawn already. New asks are taken again.
    hosts.person.gate("answer", ask.id, "yes", "--as", "ada")
    assert not machine.ran()
    again = machine.run_claude([TOUCH, text("done")])
    (ask,) = machine.wait_for_asks(seconds=90)
    machine.answer(ask, "no")
    again.result(120)
    assert not machine.ran()


def cut_agent(hosts):
    return lambda: hosts.cut(hosts.agent)
