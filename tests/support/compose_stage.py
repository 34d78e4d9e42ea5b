"""The services of deploy/compose.yaml as processes, where containers cannot run.

The commands, variables, order and probes are those of the file. Only the places differ: a container
has its own files, ports and network, and here all of them share one machine.
"""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
from graphlib import TopologicalSorter
from pathlib import Path

import yaml

FOLDER = Path(__file__).parents[2] / "deploy"
_VARIABLE = re.compile(r"\$\{(\w+)(?::([-?])([^}]*))?\}")


def read_compose(**variables) -> dict:
    """Return the file with its variables replaced, as `docker compose config` does."""

    def replace(found) -> str:
        name, sign, rest = found.groups()
        if value := variables.get(name):
            return value
        assert sign == "-", f"{name} must be set: {rest}"
        return rest

    text = (FOLDER / "compose.yaml").read_text(encoding="utf-8")
    return yaml.safe_load(_VARIABLE.sub(replace, text))


def list_in_order(services) -> list[str]:
    """Return the names of the services, each after those that it needs."""
    needs = {name: list(one.get("depends_on", ())) for name, one in services.items()}
    return list(TopologicalSorter(needs).static_order())


class Stage:
    """The places that stand for those of the containers."""

    def __init__(self, folder, services):
        self.folder = folder
        self.services = services
        self.ports = {}
        self.image = {}
        """More variables of the services that start from now on; they choose the program."""
        self._running = {}

    def environ(self, name):
        """Return the variables of a service, and nothing of the test's own."""
        home = self.folder / "homes" / name
        home.mkdir(parents=True, exist_ok=True)
        # `gate` and `python` are found first where the image has them: in one environment.
        base = {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "HOME": str(home)}
        base |= self.image
        mine = self.services[name].get("environment", {})
        return base | {key: self._place(str(value)) for key, value in mine.items()}

    def _place(self, text):
        for there, here in (("/run/secrets", "secrets"), ("/var/lib/gate-keys", "keys")):
            (self.folder / here).mkdir(exist_ok=True)
            text = text.replace(there, str(self.folder / here))
        return text

    def _words(self, name, words):
        if name in self.ports:
            # Each container has the port and the address for itself.
            words = [one.replace("4284", str(self.ports[name])) for one in words]
            words = [one.replace("0.0.0.0", "127.0.0.1") for one in words]
            words = [one.replace("172.30.84.0/28", "127.0.0.1") for one in words]
        return words

    def run(self, name, *words, cwd=None):
        """Run a command in a service, as `docker compose run` does; return its output."""
        command = self._words(name, list(words) or self.services[name]["command"])
        done = subprocess.run(
            command, env=self.environ(name), cwd=cwd, capture_output=True, text=True, check=False,
            timeout=60,
        )  # fmt: skip
        assert done.returncode == 0, (command, done.stdout, done.stderr)
        return done.stdout

    def start(self, name, cwd=None):
        """Start a service, and return its process."""
        if "server" in name:
            with socket.create_server(("127.0.0.1", 0)) as free:
                self.ports[name] = free.getsockname()[1]
        log = (self.folder / f"{name}.log").open("wb")
        with log:
            self._running[name] = subprocess.Popen(
                self._words(name, self.services[name]["command"]),
                env=self.environ(name), cwd=cwd, stdout=log, stderr=log,
            )  # fmt: skip
        return self._running[name]

    def is_healthy(self, name):
        """Run the probe of a service once."""
        kind, *probe = self.services[name]["healthcheck"]["test"]
        assert kind == "CMD"
        done = subprocess.run(
            self._words(name, probe), env=self.environ(name), capture_output=True, check=False
        )
        assert self._running[name].poll() is None, self.read_log(name)
        return done.returncode == 0

    def stop(self, name):
        """End a service as Docker does; return its exit code, which it must have in time."""
        process = self._running.pop(name)
        process.send_signal(signal.SIGTERM)
        return process.wait(int(self.services[name]["stop_grace_period"].removesuffix("s")))

    def read_log(self, name):
        return (self.folder / f"{name}.log").read_text(encoding="utf-8")

    def close(self):
        for process in self._running.values():
            process.kill()
            process.wait()
