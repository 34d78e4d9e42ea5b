"""Builds the packages and tries them as a new user would: `make package`.

Each installation has an environment, a home and a store of its own, in a temporary folder.
"""

from __future__ import annotations

import os
import pty
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from urllib.request import ProxyHandler, build_opener

ROOT = Path(__file__).parents[1]
DIST = ROOT / "dist"
TOOLS = Path(sys.executable).parent
# For each extra, a module that only it brings.
EXTRAS = {
    "": "textual",
    "notify": "apprise",
    "postgres": "procrastinate",
    "temporal": "temporalio",
    "all": "apprise, procrastinate, temporalio",
}
_BLOCK = re.compile(r"^```sh[^\n]*\n(uv tool install.*?)^```$", re.MULTILINE | re.DOTALL)


def main() -> int:
    shutil.rmtree(DIST, ignore_errors=True)
    run("build", TOOLS / "python", "-m", "build", "--no-isolation", "--outdir", DIST, ROOT)
    (wheel,), (sdist,) = DIST.glob("*.whl"), DIST.glob("*.tar.gz")
    run("twine check", TOOLS / "twine", "check", "--strict", wheel, sdist)
    with tempfile.TemporaryDirectory(prefix="gate-packages-") as folder:
        for extra, modules in EXTRAS.items():
            try_pip(Path(folder), f"{wheel}[{extra}]" if extra else str(wheel), extra, modules)
        try_pip(Path(folder), str(sdist), "sdist", "textual")
        try_uvx(Path(folder), wheel)
        try_pipx(Path(folder), wheel)
        follow_readme(Path(folder), wheel)
    print(f"All of it worked: {wheel.name}, {sdist.name}")
    return 0


def run(what: str, *words: str | Path, **environ: str) -> str:
    """Run a program; return its output, or end with it."""
    print(f"{what} …", flush=True)
    around = {name: value for name, value in os.environ.items() if name[:5] != "GATE_"}
    done = subprocess.run(
        [str(word) for word in words], env=around | environ, stdin=subprocess.DEVNULL,
        capture_output=True, text=True, check=False, timeout=600,
    )  # fmt: skip
    if done.returncode:
        sys.exit(f"{what} failed with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout


def make_home(folder: Path, name: str) -> dict[str, str]:
    """Return the variables of an empty home."""
    home = folder / f"home-{name or 'plain'}"
    home.mkdir()
    # Only what was downloaded stays; it would take minutes again.
    cache = os.environ.get("UV_CACHE_DIR") or str(Path.home() / ".cache" / "uv")
    return {"HOME": str(home), "UV_CACHE_DIR": cache}


def try_pip(folder: Path, package: str, name: str, modules: str) -> None:
    place, home = folder / f"venv-{name or 'plain'}", make_home(folder, name)
    run(f"empty environment for {name or 'the wheel'}", sys.executable, "-m", "venv", place)
    run(f"pip install {package}", place / "bin" / "pip", "install", "--quiet", package)
    run(f"import {modules}", place / "bin" / "python", "-c", f"import {modules}")
    check_demo(run("gate demo", place / "bin" / "gate", "demo", **home))


def check_demo(said: str) -> None:
    if said.count("went on and wrote") != 3:
        sys.exit(f"the demo did not end as expected:\n{said}")


def try_uvx(folder: Path, wheel: Path) -> None:
    home = make_home(folder, "uvx")
    said = run("uvx", TOOLS / "uvx", "--from", wheel, "gate", "demo", **home)
    check_demo(said)


def try_pipx(folder: Path, wheel: Path) -> None:
    place, home = folder / "venv-pipx", make_home(folder, "pipx")
    run("empty environment for pipx", sys.executable, "-m", "venv", place)
    run("pip install pipx", place / "bin" / "pip", "install", "--quiet", "pipx")
    run("pipx install", place / "bin" / "pipx", "install", wheel, **home)
    run("gate of pipx", Path(home["HOME"]) / ".local" / "bin" / "gate", "--version", **home)


def read_install_lines() -> list[str]:
    """Return the lines with which README installs gatebell, without comments."""
    (block,) = _BLOCK.findall((ROOT / "README.md").read_text(encoding="utf-8"))
    return [line.partition("#")[0].strip() for line in block.splitlines()]


def follow_readme(folder: Path, wheel: Path) -> None:
    """Type the lines of README in a shell with an empty home, and open the inbox."""
    home = make_home(folder, "readme")
    programs = Path(home["HOME"]) / ".local" / "bin"
    home["PATH"] = f"{programs}:{TOOLS}:{os.environ['PATH']}"
    install, claude, up = read_install_lines()
    run(install, "/bin/sh", "-c", install.replace("gatebell", str(wheel)), **home)
    print(f"{claude} …", flush=True)
    agree(claude, os.environ | home)
    written = Path(home["HOME"]) / ".claude" / "settings.json"
    assert "hook claude" in written.read_text(encoding="utf-8"), "no hook was written"
    print(f"{up} …", flush=True)
    command = [str(programs / "gate"), *up.split()[1:], "--port=0"]
    with subprocess.Popen(
        command, env=os.environ | home, stdout=subprocess.PIPE, text=True
    ) as inbox:
        try:
            assert inbox.stdout
            link = re.findall(r"http\S+", inbox.stdout.readline())[0]
            page = build_opener(ProxyHandler({})).open(link, timeout=10).read().decode()
            assert "Open the inbox" in page, page
        finally:
            inbox.terminate()


def agree(line: str, environ: dict[str, str]) -> None:
    """Type a line in a terminal, and say yes to its question."""
    screen, terminal = pty.openpty()
    with subprocess.Popen(
        ["/bin/sh", "-c", line], env=environ, stdin=terminal, stdout=terminal, stderr=terminal,
        start_new_session=True,
    ) as process:  # fmt: skip
        os.close(terminal)
        seen = b""
        while b"[y/N] " not in seen:
            seen += os.read(screen, 4096)
        os.write(screen, b"y\n")
        while process.poll() is None:
            try:
                seen += os.read(screen, 4096)
            except OSError:
                break
    os.close(screen)
    if process.returncode:
        sys.exit(f"{line} failed with {process.returncode}:\n{seen.decode(errors='replace')}")


if __name__ == "__main__":
    sys.exit(main())
