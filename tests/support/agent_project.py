"""A project with flows and roles, for runs of the real claude."""

from __future__ import annotations

import json
import shlex
import subprocess

import pytest

from gatebell.install.scripted_model import text
from tests.support.waiting import eventually

ROLES = ("architect", "coder", "reviewer", "deployer", "test-runner", "autonomous-agent")


class Project:
    """A project with flows and roles, in a house where ada answers."""

    def __init__(self, house):
        self.house = house
        program = shlex.join([*house.network.prefix, house.programs.claude])
        (house.bin / "claude").write_text(f'#!/bin/sh\nexec {program} "$@"\n', encoding="utf-8")
        (house.bin / "claude").chmod(0o755)
        house.claude_settings.unlink()
        for folder in ("agents", "flows"):
            (house.project / ".gate" / folder).mkdir(parents=True)
        for role in ROLES:
            words = f"---\ndescription: a {role}\n---\nYou are the {role} of this project.\n"
            self._write(f"agents/{role}.md", words)
        git = ["git", "-c", "user.name=ada", "-c", "user.email=ada@example.org"]
        subprocess.run([*git, "add", "."], cwd=house.project, check=True)
        subprocess.run([*git, "commit", "-qm", "begin"], cwd=house.project, check=True)

    def _write(self, name, words):
        (self.house.project / ".gate" / name).write_text(words, encoding="utf-8")

    def start(self, flow, prompt="Add login", flow_name="feature"):
        """Start `gate run` in a process of its own, as a person does."""
        self._write("flows/feature.py", flow)
        self.process = subprocess.Popen(
            [self.house.bin / "gate", "run", f"feature:{flow_name}", prompt],
            env=self.house.environ, cwd=self.house.project, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip

    def wait_for_ask(self, prompt):
        """Wait for the pending ask of this prompt, and return it."""

        def look():
            if self.process.poll() is not None:
                raise AssertionError(self.process.stdout.read())
            return [a for a in self.store.asks.pending(9) if prompt in a.question.prompt]

        return eventually(look, 90)[0]

    @property
    def store(self):
        return self.house.store

    def answer(self, prompt, *words):
        ask = self.wait_for_ask(prompt)
        self.house.answer(ask, *words)
        return ask

    def end(self):
        out, _ = self.process.communicate(timeout=60)
        return self.store.runs.get(1), out

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.communicate()

    def calls(self):
        return {call.path: call for call in self.store.runs.calls(1)}

    def sent(self, number):
        """Return the text of this turn's request to the model."""
        turn = self.store.runs.turns(1)[number]
        found = [json.dumps(r["messages"]) for r in self.house.model.requests]
        return next(words for words in found if turn.id in words)


def report(status, summary="", **more):
    return text(json.dumps({"status": status, "summary": summary, **more}))


@pytest.fixture
def project(house):
    made = Project(house)
    yield made
    made.close()
