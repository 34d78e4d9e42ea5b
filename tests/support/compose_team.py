"""A team that uses the services of deploy/compose.yaml, behind a proxy with TLS."""

from __future__ import annotations

import re
from contextlib import ExitStack, closing
from types import SimpleNamespace

import httpx
import pytest

from gatebell.app.wiring import open_postgres, open_throwaway_store
from gatebell.services.people import manage_people
from tests.support import postgres_server
from tests.support.certificates import make_certificates
from tests.support.compose_stage import Stage, read_compose
from tests.support.people import a_person
from tests.support.programs import find_program
from tests.support.shells import Shell
from tests.support.tls_proxy import TlsProxy
from tests.support.waiting import eventually


class ComposeTeam:
    """PostgreSQL with the settings of the file, the proxy, and the services, not started yet."""

    def __init__(self, folder, stack):
        self.folder = folder
        self.tokens = {}
        self.project = folder / "projects" / "project"
        self.project.mkdir(parents=True)
        certificates = make_certificates(folder, "DNS:localhost")
        self.proxy = stack.enter_context(closing(TlsProxy(certificates)))
        name = f"localhost:{self.proxy.port}"
        services = read_compose(GATE_NAME=name)["services"]
        settings = [one for one in services["postgres"]["command"] if "=" in one]
        self.database = postgres_server.Server((*settings, "fsync=off"))
        stack.callback(self.database.stop)
        self.stage = stack.enter_context(closing(Stage(folder, services)))
        (folder / "secrets").mkdir()
        self.dsn = self.database.dsn("postgres")
        (folder / "secrets" / "store").write_text(f"{self.dsn}\n")
        self._client = {"GATE_SERVER": f"https://{name}", "GATE_CA": certificates.ca}
        self._client |= {"HOME": str(folder), "PATH": self.stage.environ("migrate")["PATH"]}

    def start_everything(self):
        """Start the services in their order, as docs/deployment.md says; return the store."""
        assert self.stage.run("migrate").startswith("ran 0001_store.sql")
        # Otherwise an agent that runs these tests could not add people.
        with closing(open_throwaway_store(self.dsn)) as store:
            self.tokens["probe"] = manage_people.add(store, a_person("root"), "probe", ("metrics",))
        for name, scopes in (("ada", ("answer", "read")), ("agents", ("ask",))):
            words = [word for scope in scopes for word in ("--scope", scope)]
            out = self.stage.run("migrate", "gate", "person", "add", name, *words)
            self.tokens[name] = out.splitlines()[0]
        for name in ("server-a", "server-b"):
            self.start_server(name)
        return open_postgres(self.dsn)

    def start_server(self, name):
        """Start a server; the proxy knows it when it is healthy."""
        self.stage.start(name)
        eventually(lambda: self.stage.is_healthy(name))
        self.proxy.ports = list(self.stage.ports.values())

    def stop_server(self, name):
        """End a server as Docker does; the proxy then uses the others."""
        port = self.stage.ports.pop(name)
        self.proxy.ports = [one for one in self.proxy.ports if one != port]
        return self.stage.stop(name)

    def count_waits(self, name):
        """Return how many clients wait at a server, by its metrics."""
        address = f"http://127.0.0.1:{self.stage.ports[name]}/metrics"
        shown = httpx.get(address, headers={"authorization": f"Bearer {self.tokens['probe']}"})
        return int(re.search(r"^gate_waits (\d+)$", shown.text, re.MULTILINE)[1])

    def make_house(self, store):
        """Return what the project of runs needs, in the folder of the worker."""
        ada = SimpleNamespace(folder=self.project)
        return SimpleNamespace(ada=ada, folder=self.folder, store=store)

    def look_ready(self, name):
        """Return the status of the ready route of a server, and what it says."""
        found = httpx.get(f"http://127.0.0.1:{self.stage.ports[name]}/api/ready")
        return found.status_code, found.text

    def open_shell(self, person):
        """Return the shell of somebody on another machine, who knows the proxy and a token."""
        environ = self._client | {"GATE_TOKEN": self.tokens[person]}
        return Shell(self.project, environ, "ada" if person == "ada" else "")


@pytest.fixture
def team(tmp_path, monkeypatch):
    find_program("openssl", "the services of deploy/ were not tried behind TLS")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    with ExitStack() as stack:
        yield ComposeTeam(tmp_path, stack)
