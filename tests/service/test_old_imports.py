"""Flow files that import the package under its old name."""

from __future__ import annotations

import logging
import subprocess
import sys

import pytest

from gatebell import errors
from gatebell.adapters.files import flow_files, old_imports
from gatebell.api import phases
from gatebell.errors import UsageError
from gatebell.testing import FakeClock


@pytest.fixture(autouse=True)
def nothing_accepted():
    """Each test is a process that has loaded no flow file."""
    yield
    sys.meta_path[:] = [
        one for one in sys.meta_path if type(one).__module__ != old_imports.__name__
    ]
    old_imports.forget()


def load(folder, source, **beside):
    for name, text in beside.items():
        (folder / f"{name}.py").write_text(text)
    path = folder / "deploy.py"
    path.write_text(source)
    return flow_files.load(str(path), *flow_files.read(str(path)))


def sentences(caplog):
    return [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]


@pytest.mark.proves("NAME-6")
@pytest.mark.parametrize(
    ("source", "real"),
    [
        ("from humangate.errors import GateError as found", errors.GateError),
        ("import humangate.errors\nfound = humangate.errors.GateError", errors.GateError),
        ("import humangate.testing as t\nfound = t.FakeClock", FakeClock),
        ("from humangate import GateError as found", errors.GateError),
        ("from humangate.phases import State as found", phases.State),
        ("from humangate import phases\nfound = phases.State", phases.State),
        ("def work():\n    from humangate.phases import State\n    return State", phases.State),
    ],
)
def test_old_import_gives_the_same_thing(tmp_path, caplog, source, real):
    module = load(tmp_path, source)
    found = module.work() if hasattr(module, "work") else module.found
    assert found is real
    (said,) = sentences(caplog)
    about = "imports humangate, which is called gatebell now: change the name in that file"
    assert said == f"{tmp_path}/deploy.py {about}"


@pytest.mark.proves("NAME-6")
def test_flow_with_old_imports_is_found(tmp_path):
    module = load(tmp_path, "import humangate\n\n@humangate.flow\ndef deploy(prompt):\n    pass\n")
    assert list(flow_files.find_flows(module)) == ["deploy"]


@pytest.mark.proves("NAME-6")
def test_file_beside_a_flow_may_import_the_old_name(tmp_path, caplog):
    module = load(
        tmp_path, "from words import WORD", words="import humangate.errors\nWORD = 'hi'\n"
    )
    assert module.WORD == "hi"
    (said,) = sentences(caplog)
    assert said.startswith(f"{tmp_path}/words.py imports humangate")


@pytest.mark.proves("NAME-6")
def test_each_file_is_named_once(tmp_path, caplog):
    for folder in ("one", "two", "one"):
        (tmp_path / folder).mkdir(exist_ok=True)
        load(tmp_path / folder, "from humangate import flow, ask\nimport humangate.testing\n")
    load(tmp_path / "one", "from humangate import flow\n")
    assert [said.split()[0] for said in sentences(caplog)] == [
        f"{tmp_path}/one/deploy.py",
        f"{tmp_path}/two/deploy.py",
    ]


@pytest.mark.proves("NAME-6")
def test_new_name_is_loaded_without_a_word(tmp_path, caplog):
    load(tmp_path, "from gatebell import flow\nimport json\n")
    assert sentences(caplog) == []


@pytest.mark.proves("NAME-6")
def test_unknown_old_module_is_an_error(tmp_path):
    with pytest.raises(
        UsageError, match=r"deploy.py, line 1: .*No module named 'gatebell.nothing'"
    ):
        load(tmp_path, "import humangate.nothing\n")


@pytest.mark.proves("NAME-6")
def test_old_version_beside_this_one_is_not_loaded(tmp_path, monkeypatch):
    package = tmp_path / "site" / "humangate"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("raise RuntimeError('the old version')\n")
    monkeypatch.syspath_prepend(package.parent)
    assert load(tmp_path, "from humangate import GateError").GateError is errors.GateError


@pytest.mark.proves("NAME-6")
def test_another_programs_module_stays(tmp_path, monkeypatch):
    other = type(sys)("humangate")
    monkeypatch.setitem(sys.modules, "humangate", other)
    load(tmp_path, "import json\n")
    assert sys.modules["humangate"] is other


@pytest.mark.proves("NAME-6")
def test_no_package_of_the_old_name_is_shipped(tmp_path):
    looks = (
        "import gatebell.api.flows, importlib.util; print(importlib.util.find_spec('humangate'))"
    )
    ran = subprocess.run(
        [sys.executable, "-c", looks], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert ran.stdout == "None\n"
