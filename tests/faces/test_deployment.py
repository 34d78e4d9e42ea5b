"""The files of deploy/, checked by linters; test_rolling_upgrade.py runs their commands."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.support.compose_stage import FOLDER, list_in_order, read_compose
from tests.support.programs import find_program

from gatebell.cli.main import parser_of

OURS = ("migrate", "server-a", "server-b", "worker")


def run_tool(name, *words):
    """Run a linter of the developers' tools."""
    path = Path(sys.executable).parent / name
    if not path.exists():
        pytest.skip(f"{name} is not installed: the files of deploy/ were not checked by it")
    done = subprocess.run([path, *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.proves("DEPLOY-1")
def test_linter_accepts_the_dockerfile():
    run_tool("hadolint", "--failure-threshold=style", FOLDER / "Dockerfile")


@pytest.mark.proves("DEPLOY-1")
def test_compose_file_has_the_schema_of_its_format():
    run_tool("check-jsonschema", "--builtin-schema", "vendor.compose-spec", FOLDER / "compose.yaml")


@pytest.mark.proves("DEPLOY-1")
def test_systemd_knows_every_line_of_the_units(tmp_path):
    verify = find_program("systemd-analyze", "the units of deploy/systemd were not checked by it")
    for unit in (FOLDER / "systemd").iterdir():
        text = unit.read_text(encoding="utf-8")
        # It also looks for the program.
        named = tmp_path / unit.name.replace("@.", "@4284.")
        named.write_text(text.replace("/opt/gate/bin/gate", sys.executable))
        done = subprocess.run(
            [verify, "verify", named], capture_output=True, text=True, check=False
        )
        assert (done.returncode, done.stdout + done.stderr) == (0, "")
        command = re.search(r"^ExecStart=\S+ (\w+) (.+)$", text, re.MULTILINE)
        assert parser_of(command[1]).parse_args(command[2].replace("%i", "4284").split())


@pytest.mark.proves("DEPLOY-2")
def test_containers_have_few_rights_and_secrets_in_files():
    compose = read_compose(GATE_NAME="gate.example.org")
    services = compose["services"]
    for name, one in services.items():
        assert one["cap_drop"] == ["ALL"], name
        assert one["security_opt"] == ["no-new-privileges:true"], name
        # Agents write files of their programs; Caddy binds the ports below 1024.
        assert one.get("read_only") is (name != "worker"), name
        assert "user" in one or name == "proxy", name
    for name in OURS:
        assert services[name]["user"] == "10001:10001" and services[name]["secrets"] == ["store"]
    written = (FOLDER / "compose.yaml").read_text(encoding="utf-8")
    assert not re.search(r"GATE_STORE:|POSTGRES_PASSWORD:|GATE_TOKEN", written)
    # Nothing but the proxy can be reached from outside.
    assert [name for name, one in services.items() if "ports" in one] == ["proxy"]
    assert compose["networks"]["data"] == {"internal": True}
    assert [name for name, one in services.items() if "keys:/var/lib/gate-keys" in
            one.get("volumes", ())] == ["migrate", "server-a", "server-b"]  # fmt: skip


@pytest.mark.proves("DEPLOY-2")
def test_servers_wait_for_migrate_and_are_probed():
    services = read_compose(GATE_NAME="gate.example.org")["services"]
    order = list_in_order(services)
    assert order.index("postgres") < order.index("migrate") < order.index("server-a")
    for name in ("server-a", "server-b"):
        one = services[name]
        assert one["depends_on"]["migrate"]["condition"] == "service_completed_successfully"
        assert "/api/ready" in one["healthcheck"]["test"][-1]
        assert one["stop_grace_period"] == "30s"
    # While its image sets the database up, the server answers on its socket, and then ends again.
    assert "--host=127.0.0.1" in services["postgres"]["healthcheck"]["test"]
    settings = services["postgres"]["command"]
    assert "max_wal_size=512MB" in settings
    caddy = (FOLDER / "Caddyfile").read_text(encoding="utf-8")
    assert "reverse_proxy server-a:4284 server-b:4284" in caddy and "/api/ready" in caddy
    with pytest.raises(AssertionError, match="GATE_NAME must be set"):
        read_compose()
