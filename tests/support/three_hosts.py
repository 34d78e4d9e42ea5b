"""Three hosts with networks of their own: a server, an agent's machine, and a person's machine.

Each is a network namespace. Two cables join the server's host with the others, and can be cut.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import ssl
import subprocess
import sys
from contextlib import closing

import httpx
import pytest

from gatebell.app.wiring import open_postgres
from gatebell.services.people import manage_people
from tests.support.agent_house import GATED, House
from tests.support.agent_programs import Network
from tests.support.certificates import make_certificates
from tests.support.people import a_person
from tests.support.postgres_server import add_database
from tests.support.programs import find_program
from tests.support.shells import Ran

ADDRESS, PORT = "10.77.0.1", 4283
URL = f"https://{ADDRESS}:{PORT}"
_UNTRIED = "no agent on another host was tried"


class Machine:
    """A host: its network, its home, and its name."""

    def __init__(self, folder, name, **environ):
        self.network = Network()
        self.name = name
        self.home = folder / name
        self.home.mkdir()
        self.environ = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.home),
            "LANG": "C.UTF-8",
            "TERM": "dumb",
            "GATE_HOST": name,
            **environ,
        }

    def start(self, *words, **more):
        command = [*self.network.prefix, sys.executable, "-m", "gatebell", *words]
        return subprocess.Popen(
            command, env=self.environ, cwd=self.home, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **more,
        )  # fmt: skip

    def gate(self, *words):
        process = self.start(*words)
        out, err = process.communicate(timeout=60)
        return Ran(process.returncode, out, err)

    def must(self, *words):
        ran = self.gate(*words)
        assert ran.code == 0, ran
        return ran.out

    def sign_in(self, token):
        file = self.home / "token.txt"
        file.write_text(token, encoding="utf-8")
        self.must("login", URL, "--token-file", str(file))

    def ip(self, *words):
        _run(*self.network.prefix, "ip", *words)


class Hosts:
    """A server on PostgreSQL with TLS, and two machines that know its address and a token each."""

    def __init__(self, folder):
        find_program("ip", _UNTRIED)
        find_program("openssl", _UNTRIED)
        self.address = add_database(f"gate_hosts_{os.getpid()}")
        self.ca, self.cert, self.key = make_certificates(folder, f"IP:{ADDRESS}")
        (folder / "store").write_text(self.address, encoding="utf-8")
        store, keys = str(folder / "store"), str(folder / "keys.json")
        self.server = Machine(folder, "server", GATE_STORE_FILE=store, GATE_KEY_FILE=keys)
        self.agent = Machine(folder, "agent", GATE_CA=self.ca)
        self.person = Machine(folder, "person", GATE_CA=self.ca)
        if not self.server.network.file:
            pytest.skip(f"networks are not permitted here: {_UNTRIED}")
        self._join()
        self.processes = []
        self.server.must("store", "migrate")
        with closing(open_postgres(self.address)) as store:
            self.person_token = manage_people.add(store, a_person("root"), "ada")
            self._metrics = manage_people.token(store, a_person("root"), "ada", ("metrics",))
            agent = manage_people.token(store, a_person("root"), "ada", ("ask",), "agent's host")
        self.serve()
        self.agent.sign_in(agent)
        self.person.sign_in(self.person_token)

    def _join(self):
        self.server.ip("address", "add", f"{ADDRESS}/32", "dev", "lo")
        for number, machine in enumerate((self.agent, self.person), 1):
            near, far = f"10.77.{number}.1", f"10.77.{number}.2"
            # Made inside, so that no name of a device is taken on the test's own network.
            where = f"/proc/{os.getpid()}/fd/{machine.network.file}"
            self.server.ip("link", "add", machine.name, "type", "veth", "peer", "name", "cable",
                           "netns", where)  # fmt: skip
            for one, device, address in (
                (self.server, machine.name, near),
                (machine, "cable", far),
            ):
                one.ip("address", "add", f"{address}/24", "dev", device)
                one.ip("link", "set", device, "up")
            machine.ip("route", "add", ADDRESS, "via", near)

    def cut(self, machine):
        """Pull the cable: packets are lost, and no connection is closed."""
        self.server.ip("link", "set", machine.name, "down")

    def mend(self, machine):
        self.server.ip("link", "set", machine.name, "up")

    def serve(self):
        """Start a server at the one address, where there is none now."""
        tls = ("--tls-cert", self.cert, "--tls-key", self.key)
        process = self.server.start("serve", "--host", ADDRESS, "--port", str(PORT), *tls)
        first = process.stderr.readline()
        assert re.search(f"serving {URL}$", first), first + process.communicate(timeout=60)[1]
        self.processes.append(process)

    def count_waits(self):
        """Return how many clients wait at the server, by its metrics."""
        signed = {"authorization": f"Bearer {self._metrics}"}
        known = ssl.create_default_context(cafile=self.ca)

        def read():
            return httpx.get(f"{URL}/metrics", headers=signed, verify=known).text

        shown = self.person.network.inside(read)
        return int(re.search(r"^gate_waits (\d+)$", shown, re.MULTILINE)[1])

    def kill_server(self):
        process = self.processes.pop()
        process.send_signal(signal.SIGKILL)
        process.communicate()

    def stop_server(self, number=signal.SIGSTOP):
        """Freeze the server: connections stay open, and nothing is answered."""
        self.processes[-1].send_signal(number)

    def close(self):
        while self.processes:
            self.kill_server()


class AgentMachine(House):
    """The real claude on the agent's host, with no store; asks are looked at on the server."""

    def __init__(self, folder, programs, hosts):
        super().__init__(folder, programs, hosts.agent.network)
        self.hosts = hosts
        self.store.close()
        shutil.rmtree(folder / "store")
        self.store = open_postgres(hosts.address)
        for name in ("GATE_STORE", "GATE_TOKEN"):
            self.environ.pop(name, None)
        self.environ |= {"GATE_HOST": "agent", "GATE_CA": hosts.ca}
        shutil.copytree(hosts.agent.home / ".config", self.home / ".config")

    def install(self, cli):
        """Install as the machine's owner; with her token this works in an agent's shell, too."""
        words = [word for pattern in GATED for word in ("--gate", pattern)]
        ran = subprocess.run(
            [*self.network.prefix, self.bin / "gate", "install", cli, "--yes", *words, "--as", "ada"],
            env=self.environ | {"GATE_TOKEN": self.hosts.person_token}, cwd=self.project,
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert ran.returncode == 0, ran.stderr

    def limit_hook(self, seconds):
        """Give the hook a shorter time limit, as its host and gate both know it."""
        words = (
            ("--limit 86400", f"--limit {seconds}"),
            ('"timeout": 86400', f'"timeout": {seconds}'),
        )
        for old, new in words:
            self.change_settings(lambda text, old=old, new=new: text.replace(old, new))

    def answer(self, ask, *words):
        ran = self.hosts.person.gate("answer", ask.id, *words, "--as", "ada")
        assert ran.code in (0, 10), ran.err
        return ran

    def processes(self, *words):
        """No mark is needed to end them: they end with claude."""
        return []


def _run(*words):
    ran = subprocess.run(words, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, (words, ran.stderr)
