"""Flow files and role files: how they are found, read and refused."""

from __future__ import annotations

import os
import sys
import traceback
from pathlib import Path

import pytest
from tests.support.plain_project import home, project, write

from gatebell.adapters.files import flow_files, role_files, text_files
from gatebell.adapters.files.signal_files import LocalSignalFiles
from gatebell.domain.runs import signals
from gatebell.errors import NotFoundError, RefusedError, UsageError

__all__ = ["home", "project"]

COME_ALONG = ("code", "design", "docs", "pm", "review", "test")
FLOW = """\
def flow(function):
    function.gatebell_flow = True
    return function

"""


def load(path: str):
    return flow_files.load(path, *flow_files.read(path))


def flow_named(*names: str) -> str:
    return FLOW + "\n".join(f"@flow\ndef {name}(prompt): return '{name}'\n" for name in names)


@pytest.mark.proves("RUN-230")
def test_role_of_the_project_comes_first(home, project):
    places = [
        project / ".gate/agents",
        project / ".claude/agents",
        home / "config/gatebell/agents",
        home / "home/.claude/agents",
    ]
    for place in reversed(places):
        write(place / "coder.md", f"from {place}")
        found = role_files.find(str(project), "coder")
        assert found.instructions == f"from {place}"
        assert found.source == str(place / "coder.md")


@pytest.mark.proves("RUN-230", "LAW-10")
def test_missing_role_says_which_file_to_write(project):
    write(project / ".gate/agents/reviewer.md")
    write(project / ".claude/agents/architect.md")
    with pytest.raises(NotFoundError) as caught:
        role_files.find(str(project), "coder")
    sentence = str(caught.value)
    there = "architect, code, design, docs, pm, review, reviewer, test"
    assert f"there is no role 'coder'; there are {there}; did you mean 'code'? Write" in sentence
    assert str(project / ".gate/agents/coder.md") in sentence
    with pytest.raises(UsageError, match="is not a name for a role"):
        role_files.find(str(project), "../../coder")


@pytest.mark.proves("RUN-231")
def test_all_roles_are_listed_with_faults_of_the_others(home, project):
    write(project / ".gate/agents/coder.md", "ours")
    write(project / ".gate/agents/broken.md", "---\nlimit: 3\n---\n")
    write(project / ".claude/agents/coder.md", "hidden")
    write(project / ".claude/agents/architect.md", "---\nunknown: key\n---\nplans")
    write(project / ".claude/agents/README.md", "not a role")
    write(project / ".claude/agents/.hidden.md", "")
    write(home / "home/.claude/agents/broken.md", "hidden by the broken one")
    write(home / "home/.claude/agents/my agent.md", "")
    found = role_files.list_roles(str(project))
    own = [one for one in found.roles if one.name not in COME_ALONG]
    assert [(one.name, one.instructions) for one in own] == [
        ("architect", "plans"),
        ("coder", "ours"),
    ]
    assert [problem.partition(":")[0] for problem in found.problems] == [
        f"{project}/.gate/agents/broken.md, line 2",
        "'my agent' is not a name for a role",
    ]
    elsewhere = [one.name for one in role_files.list_roles(str(home / "nowhere")).roles]
    assert elsewhere == sorted(["broken", *COME_ALONG])


@pytest.mark.proves("RUN-232", "LAW-10")
def test_unreadable_or_foreign_file_is_refused_with_a_sentence(home, project):
    agents = project / ".gate/agents"
    outside = write(home / "outside.md", "elsewhere")
    agents.mkdir(parents=True)
    (agents / "link.md").symlink_to(outside)
    (agents / "inner.md").symlink_to(write(project / "docs/inner.md", "inside"))
    (agents / "dangling.md").symlink_to(project / "nothing")
    (agents / "folder.md").mkdir()
    os.mkfifo(agents / "pipe.md")
    (agents / "huge.md").write_bytes(b"x" * (text_files.MAX_BYTES + 1))
    (agents / "latin.md").write_bytes("a\nü".encode("latin-1"))
    assert role_files.find(str(project), "inner").instructions == "inside"
    refused = {
        "link": (RefusedError, "leads out of"),
        "dangling": (UsageError, "cannot be read: No such file"),
        "folder": (UsageError, "is not a regular file"),
        "pipe": (UsageError, "is not a regular file"),
        "huge": (UsageError, "is longer than"),
        "latin": (UsageError, "line 2: this is not UTF-8"),
    }
    for name, (kind, sentence) in refused.items():
        with pytest.raises(kind, match=sentence) as caught:
            role_files.find(str(project), name)
        assert str(agents / f"{name}.md") in str(caught.value)
    assert len(role_files.list_roles(str(project)).problems) == len(refused)


@pytest.mark.proves("S2-7", "S2-B2", "RUN-214")
def test_every_turn_has_a_signal_file_of_its_own(project):
    path = write(project / signals.signal_file("coder", "t-7k2"), "{}")
    assert path == str(project / ".agents/signals/coder-t-7k2.json")
    files = LocalSignalFiles()
    assert files.read(str(project), "coder", "t-7k2") == "{}"
    assert files.read(str(project), "coder", "t-7k3") is None


@pytest.mark.proves("RUN-233")
def test_flow_files_are_found_by_path_and_by_name(home, project, monkeypatch):
    ours = write(project / ".gate/flows/feature.py")
    write(home / "config/gatebell/flows/feature.py")
    users = write(home / "config/gatebell/flows/release.py")
    write(project / ".gate/flows/_helpers.py")
    write(project / ".gate/flows/notes.txt")
    elsewhere = write(project / "flows/other.py")
    monkeypatch.chdir(project)
    found = {named: flow_files.find(str(project), named)
             for named in ("feature", "feature:deploy", "release", "flows/other.py", "./flows/other.py:x")}  # fmt: skip
    assert found == {
        "feature": ours,
        "feature:deploy": ours,
        "release": users,
        "flows/other.py": elsewhere,
        "./flows/other.py:x": elsewhere,
    }
    assert [tuple(one) for one in flow_files.list_files(str(project))] == [
        ("feature", ours),
        ("release", users),
    ]
    assert flow_files.split_flow_name("a.py:b") == ("a.py", "b")
    assert flow_files.split_flow_name("/a:1/b.py") == ("/a:1/b.py", "")


@pytest.mark.proves("RUN-233", "LAW-10")
def test_missing_flow_lists_the_existing_ones(project):
    with pytest.raises(NotFoundError, match=r"write one to \.gate/flows/"):
        flow_files.find(str(project), "feature")
    write(project / ".gate/flows/release.py")
    with pytest.raises(NotFoundError, match=r"no flow 'feature' .*; there are release"):
        flow_files.find(str(project), "feature")
    with pytest.raises(NotFoundError, match=r"no flow file .*/x\.py; there are release"):
        flow_files.find(str(project), "x.py")
    with pytest.raises(NotFoundError):
        flow_files.find(str(project), "../project/.gate/flows/release")


@pytest.mark.proves("RUN-234")
def test_nothing_is_read_from_a_folder_that_agents_write(home, project):
    worktree = home / "data/worktrees/run-12/shop"
    path = write(worktree / ".gate/flows/feature.py", flow_named("feature"))
    write(worktree / ".gate/agents/coder.md")
    (project / ".gate/flows").mkdir(parents=True)
    (project / ".gate/flows/link.py").symlink_to(path)
    (home / "link.py").symlink_to(path)
    for named in (path, str(home / "link.py")):
        with pytest.raises(RefusedError, match="is in the worktree of a run"):
            flow_files.find(str(project), named)
        with pytest.raises(RefusedError, match="is in the worktree of a run"):
            flow_files.read(named)
    with pytest.raises(RefusedError, match="leads out of"):
        flow_files.find(str(project), "link")
    with pytest.raises(RefusedError, match="is in the worktree of a run"):
        flow_files.find(str(worktree), "feature")
    with pytest.raises(RefusedError, match="is in the worktree of a run"):
        role_files.find(str(worktree), "coder")


@pytest.mark.proves("RUN-235")
def test_flow_file_is_a_module_of_its_own(project):
    # A dataclass looks up its module; it must find that of the flow file.
    body = (
        "\ufefffrom __future__ import annotations\nfrom dataclasses import dataclass\n"
        "@dataclass\nclass Plan:\n    steps: list[str]\nran = __name__, __file__\n"
    )
    path = write(project / ".gate/flows/json.py", body)
    # The first load also imports the modules of the loader.
    load(write(project / ".gate/flows/first.py", ""))
    before, search = set(sys.modules), list(sys.path)
    module = load(path)
    assert module.Plan(["a"]).steps == ["a"]
    name, file = module.ran
    assert file == path and name != "json" and name.startswith("_gate_flow_json_")
    assert set(sys.modules) - before == {name} and sys.path == search
    assert load(path) is module
    write(Path(path), body + "# changed")
    assert load(path) is not module and load(path).__name__ != name


@pytest.mark.proves("RUN-235")
def test_flow_file_inherits_no_future_import(project):
    path = write(project / "f.py", "def f(x: 1 + 1): ...\nkind = f.__annotations__['x']\n")
    assert load(path).kind == 2


@pytest.mark.proves("RUN-236")
def test_modules_beside_a_flow_are_reloaded_when_changed(project, monkeypatch):
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    one = write(project / "one/feature.py", "import helpers\nfrom pack import inner\n")
    write(project / "one/helpers.py", "word = 'one'")
    write(project / "one/pack/__init__.py")
    write(project / "one/pack/inner.py", "import helpers\nword = helpers.word")
    two = write(project / "two/feature.py", "import helpers\n")
    write(project / "two/helpers.py", "word = 'two'")
    # It has the name of a module of Python, which must stay unchanged.
    write(project / "two/colorsys.py", "word = 'mine'")
    first, second = load(one), load(two)
    assert (first.helpers.word, first.inner.word, second.helpers.word) == ("one", "one", "two")
    assert "helpers" not in sys.modules and "pack" not in sys.modules
    assert not list(project.rglob("__pycache__")) and not sys.dont_write_bytecode
    assert load(one) is first
    write(project / "one/pack/inner.py", "word = 'another'")
    assert load(one).inner.word == "another"
    (project / "one/helpers.py").unlink()
    with pytest.raises(UsageError, match="No module named 'helpers'"):
        load(one)
    write(Path(two), "import colorsys\nimport helpers\n")
    assert not hasattr(load(two).colorsys, "word")


@pytest.mark.proves("RUN-236")
def test_search_path_changed_by_a_flow_file_is_kept(project, monkeypatch):
    monkeypatch.setattr(sys, "path", [str(project), *sys.path])
    path = write(project / "f.py", "import sys\nsys.path.append('/nowhere')\n")
    load(path)
    assert sys.path[0] == str(project) and sys.path[-1] == "/nowhere"
    monkeypatch.setattr(sys, "path", ["/only"])
    load(write(project / "g.py", "import sys\nsys.path.clear()\n"))
    assert sys.path == []


@pytest.mark.proves("RUN-237", "LAW-10")
@pytest.mark.parametrize(
    ("source", "sentence"),
    [
        ("x = 1\ndef (:\n", "line 2: the flow file cannot be loaded: SyntaxError: "),
        ("x = 1\n\n1 / 0\n", "line 3: the flow file cannot be loaded: ZeroDivisionError: division"),
        ("import nowhere_at_all\n", "line 1: the flow file cannot be loaded: ModuleNotFoundError"),
        ("import sys\nsys.exit('no')\n", "line 2: the flow file cannot be loaded: SystemExit: no"),
        ("import helpers\n", "line 1: the flow file cannot be loaded: SyntaxError: "),
        ("a\0b", ": the flow file cannot be loaded: "),
    ],
)
def test_flow_file_with_an_error_names_the_place(project, source, sentence):
    path = write(project / "feature.py", source)
    write(project / "helpers.py", "def (:")
    before = set(sys.modules)
    with pytest.raises(UsageError) as caught:
        load(path)
    assert str(caught.value).startswith(path) and sentence in str(caught.value)
    assert {name for name in set(sys.modules) - before if "feature" in name} == set()


@pytest.mark.proves("RUN-237")
def test_tracebacks_show_the_lines_that_were_run(project):
    path = write(project / "f.py", "def fail():\r\n    raise ValueError('so')\r\n")
    module = load(path)
    write(Path(path), "# nothing\n# of it\n")
    with pytest.raises(ValueError) as caught:
        module.fail()
    shown = "".join(traceback.format_exception(caught.value))
    assert f'"{path}", line 2' in shown and "raise ValueError('so')" in shown


@pytest.mark.proves("RUN-238")
def test_flow_is_chosen_by_request_file_name_or_alone(project):
    several = load(write(project / "my-feature.py", flow_named("release", "my_feature")))
    assert list(flow_files.find_flows(several)) == ["release", "my_feature"]
    assert flow_files.choose(several)[1]("x") == "my_feature"
    assert flow_files.choose(several, "release")[0] == "release"
    only = load(write(project / "x.py", flow_named("feature")))
    assert flow_files.choose(only)[0] == "feature"
    path = write(project / "y.py", flow_named("one", "two"))
    with pytest.raises(UsageError, match=r"has one, two: choose one, for example .*y\.py:one"):
        flow_files.choose(load(path))
    with pytest.raises(UsageError, match="has feature: choose one"):
        flow_files.choose(only, "flow")
    nothing = write(project / "z.py", "from unittest.mock import call, Mock\nm = Mock()\nn = 3\n")
    with pytest.raises(UsageError, match="has no flow: write @flow"):
        flow_files.choose(load(nothing))
