"""`gate link --qr`: what it checks before it draws."""

from __future__ import annotations

import fcntl
import os
import pty
import struct
import subprocess
import sys
import termios

import pytest
from tests.support.phone_world import PhoneWorld


@pytest.fixture
def world(tmp_path):
    made = PhoneWorld(tmp_path)
    yield made
    made.close()


@pytest.fixture
def public(world):
    """Start the inbox behind the proxy; return the world, and how to make links."""
    token = world.gate("person", "add", "ada").stdout.strip()
    up = world.gate("up", "--detach", f"--port={world.port}", f"--public-url={world.url}")
    assert up.returncode == 0, up.stderr
    return world, {"GATE_TOKEN": token}


def run_in_terminal(world, columns, *words, **environ):
    """Run gate in a terminal of this width; return its exit code and its screen."""
    main, side = pty.openpty()
    fcntl.ioctl(side, termios.TIOCSWINSZ, struct.pack("HHHH", 60, columns, 0, 0))
    process = subprocess.Popen(
        [sys.executable, "-m", "gatebell", *words], env=world.environ | environ, cwd=world.home,
        stdin=side, stdout=side, stderr=side, start_new_session=True,
    )  # fmt: skip
    os.close(side)
    seen = b""
    try:
        while part := os.read(main, 65536):
            seen += part
    except OSError:
        pass
    os.close(main)
    return process.wait(30), seen.decode()


@pytest.mark.proves("SETUP-10")
def test_code_is_drawn_when_the_address_answers(public):
    world, environ = public
    drawn = world.gate("link", "--qr", "--as", "ada", **environ)
    assert drawn.returncode == 0 and drawn.stderr == ""
    assert drawn.stdout.startswith(f"{world.url}/link/") and "█" in drawn.stdout
    code, screen = run_in_terminal(world, 45, "link", "--qr", "--as", "ada", **environ)
    assert code == 0 and "\x1b[38;5;231;48;5;16m█" in screen
    code, screen = run_in_terminal(world, 30, "link", "--qr", "--as", "ada", **environ)
    assert code == 2 and "and this terminal has 30" in screen and "█" not in screen


@pytest.mark.proves("SETUP-10")
def test_code_of_an_address_of_this_machine_is_refused(world):
    world.gate("up", "--detach", f"--port={world.port}")
    refused = world.gate("link", "--qr")
    assert refused.returncode == 2 and refused.stdout == ""
    assert f"a phone cannot reach http://127.0.0.1:{world.port}" in refused.stderr
    assert "gate setup" in refused.stderr


@pytest.mark.proves("SETUP-10")
def test_code_is_refused_when_another_server_answers(public):
    world, environ = public
    world.proxy.ports = [int(world.ntfy.url.rpartition(":")[2])]
    refused = world.gate("link", "--qr", "--as", "ada", **environ)
    assert refused.returncode == 1 and "█" not in refused.stdout
    assert f"{world.url}: the proxy does not reach gate up (HTTP 501)" in refused.stderr


@pytest.mark.proves("SETUP-10")
def test_code_is_drawn_with_a_warning_when_nothing_answers(public):
    world, environ = public
    world.proxy.ports = []
    drawn = world.gate("link", "--qr", "--as", "ada", **environ)
    assert drawn.returncode == 0 and "█" in drawn.stdout, drawn
    assert "This machine could not open it" in drawn.stderr
