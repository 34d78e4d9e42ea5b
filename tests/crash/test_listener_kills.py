"""Many agents ask by the script while the listener is killed and started many times."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from tests.support.file_agent import set_up
from tests.support.people import a_person

import gatebell
from gatebell.app.wiring import open_store
from gatebell.domain.asks.answers import Given
from gatebell.services.asks import answer_ask

SCRIPT = str(Path(gatebell.__file__).parent / "install" / "scripts" / "ask-human.sh")
AGENTS = 20
KILLS = 10
WAIT_SECONDS = 25
PAUSE = threading.Event()


class Scene:
    """A project, its store, and the processes that ask, answer, listen and kill there."""

    def __init__(self, folder):
        self.project = str(folder / "project")
        os.mkdir(self.project)
        set_up(self.project)
        self.path = str(folder / "gate.db")
        self.store = open_store(self.path)
        keep = {name: os.environ[name] for name in ("PATH", "PYTHONPATH") if name in os.environ}
        self.environ = keep | {"GATE_STORE": self.path, "HOME": str(folder), "TERM": "dumb"}
        self.over = threading.Event()
        self.started = []

    def listen(self):
        words = [sys.executable, "-m", "gatebell", "listen", "--no-prompt"]
        started = subprocess.Popen(
            words, cwd=self.project, env=self.environ, stdout=subprocess.PIPE, text=True
        )
        self.started.append(started)
        return started

    def close(self):
        for one in self.started:
            one.kill()
            one.wait()
        self.store.close()

    def ask(self, agent, number):
        """Ask one question by the script; return its output and exit code."""
        question = f'What does "agent {agent}" do in step {number}?'
        ran = subprocess.run(
            ["bash", SCRIPT, "--timeout", str(WAIT_SECONDS), question],
            cwd=self.project,
            env=self.environ | {"GATE_ASK_FILES": "1", "CLAUDE_CODE_SESSION_ID": f"s{agent}"},
            capture_output=True, text=True, check=False, timeout=WAIT_SECONDS + 5,
        )  # fmt: skip
        return question, ran.returncode, ran.stdout

    def agent(self, agent):
        """Ask many times while the listener is killed, and once more after that."""
        rounds, is_over = [], False
        while not is_over:
            is_over = self.over.is_set()
            rounds.append(self.ask(agent, len(rounds)))
        return rounds

    def person(self, ended):
        """Answer all waiting questions, in any order, until no agent asks any more."""
        store, dice = open_store(self.path), random.Random(4)
        while not ended.is_set():
            waiting = store.asks.pending(100)
            dice.shuffle(waiting)
            for ask in waiting:
                answer_ask.answer(
                    store, ask.id, a_person(), Given(f"Answer to: {ask.question.prompt}")
                )
            PAUSE.wait(0.05)
        store.close()

    def kill_and_restart(self):
        dice = random.Random(7)
        for _ in range(KILLS):
            listener = self.listen()
            # From its first moments on, even before it has printed anything.
            PAUSE.wait(dice.uniform(0.2, 1.2))
            listener.kill()
            listener.communicate()


@pytest.fixture
def scene(tmp_path):
    made = Scene(tmp_path)
    yield made
    made.close()


@pytest.mark.proves("FILE-102", "FILE-67", "FILE-71", "S4-31", "S4-81", "S4-84", "S4-85")
def test_every_agent_gets_its_answer_despite_listener_kills(scene):
    ended = threading.Event()
    person = threading.Thread(target=scene.person, args=(ended,))
    person.start()
    began = time.monotonic()
    with ThreadPoolExecutor(AGENTS) as pool:
        agents = [pool.submit(scene.agent, number) for number in range(AGENTS)]
        scene.kill_and_restart()
        scene.over.set()
        listener = scene.listen()
        try:
            rounds = [one for agent in agents for one in agent.result()]
        finally:
            ended.set()
            person.join()
    assert time.monotonic() - began < 30
    wrong = [one for one in rounds if one[1:] != (0, f"Answer to: {one[0]}\n")]
    assert wrong == []
    assert len(rounds) >= AGENTS * 2
    asks = scene.store.asks.list_settled(10_000)
    assert sorted(ask.question.prompt for ask in asks) == sorted(one[0] for one in rounds)
    _all_taken(scene, listener)


def _all_taken(scene, listener):
    """Once the files are empty, every answer is known to have been taken."""
    until = time.monotonic() + 10
    while not all(ask.delivered_at for ask in scene.store.asks.list_settled(10_000)):
        assert time.monotonic() < until
        PAUSE.wait(0.05)
    listener.terminate()
    listener.communicate(timeout=60)
    assert os.listdir(os.path.join(scene.project, ".helpers", "questions")) == []
    assert os.listdir(os.path.join(scene.project, ".helpers", "answers")) == []
