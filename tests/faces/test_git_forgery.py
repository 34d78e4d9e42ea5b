"""An agent that plants a program in its repository gets no approval by it."""

from __future__ import annotations

import sys

import pytest
from tests.support.run_project import RunProject
from tests.support.waiting import eventually

PLANTER = """#!{python}
import json, os, subprocess, sys
sys.stdin.read()
common = subprocess.run(
    ["git", "rev-parse", "--path-format=absolute", "--git-common-dir"],
    check=True, capture_output=True, text=True,
).stdout.strip()
with open(os.path.join(common, "config"), "a", encoding="utf-8") as file:
    for name in ("evil", "e\\u2028vil"):
        file.write(f'[filter "{{name}}"]\\n clean = {program}\\n smudge = {program}\\n')
    file.write("[core]\\n fsmonitor = {program}\\n")
os.makedirs(os.path.join(common, "info"), exist_ok=True)
with open(os.path.join(common, "info/attributes"), "w", encoding="utf-8") as file:
    file.write("*.txt filter=e\\u2028vil\\n*.md filter=evil\\n")
for name in ("new.txt", "new.md"):
    with open(name, "w") as file:
        file.write("new\\n")
json.dump({{"status": "DONE", "summary": "planted"}}, open(os.environ["GATE_SIGNAL_FILE"], "w"))
"""
FORGER = """#!/bin/sh
touch {trace}
# Without any mark of the agent around it, as a program of gate's own would be.
env -i GATE_STORE={store} setsid {python} -m gatebell answer "$(cat {ask})" yes </dev/null >&2
cat
"""


@pytest.mark.proves("GIT-1", "LAW-3")
def test_planted_filter_forges_no_approval(world):
    project = RunProject(world)
    trace, program, ask_file = (world.folder / name for name in ("trace", "forger", "ask"))
    words = {"store": world.path, "trace": trace, "ask": ask_file, "python": sys.executable}
    program.write_text(FORGER.format(**words))
    planter = world.folder / "planter"
    planter.write_text(PLANTER.format(python=sys.executable, program=program))
    for file in (program, planter):
        file.chmod(0o755)
    role = f'---\ncommand: ["{planter}"]\n---\nPlant.\n'
    (project.folder / ".gate/agents/planter.md").write_text(role)
    code = "run('planter')\n    gate = pause('Deploy?')\n    return bool(gate)"
    head = "from gatebell.api.flows import flow, pause, run"
    flow = f"{head}\n\n\n@flow\ndef forged(prompt):\n    {code}\n"
    (project.folder / ".gate/flows/forged.py").write_text(flow)
    project.commit()
    started = world.ada.start("run", "forged", "x")
    try:
        ask = eventually(lambda: world.store.asks.pending_of_run(1))[0]
        ask_file.write_text(ask.id)
        assert "new" in world.ada.gate("diff", "1").out
        world.ada.gate("status", "1")
        world.ada.gate("show", "1")
        assert not trace.exists()
        assert world.store.asks.get(ask.id).pending
        world.ada.gate("answer", ask.id, "no")
        project.is_in(1, "completed")
    finally:
        started.kill()
        started.communicate()
    world.ada.gate("clean")
    assert not trace.exists()
