"""Runs that travel: sent when they park, and continued on the host that takes them."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.support.flow_harness import Crash, Harness, Mortal, done, needs
from tests.support.git_project import git, write
from tests.support.people import a_person
from tests.support.two_hosts import KEY, HostFolders, make_remote

from gatebell import run
from gatebell.adapters.agents.travelling_logs import TravellingLogs
from gatebell.adapters.tables.members import StoredMembers
from gatebell.api import flows
from gatebell.app import engines, travelling
from gatebell.app.engines import Part
from gatebell.domain.enums import AgentCli, MemberKind, RunState
from gatebell.domain.members import Member
from gatebell.domain.runs import own_paths, travel
from gatebell.domain.runs.runs import RunChange
from gatebell.errors import AgentRefusedError, GateError, NotFoundError, RefusedError, UsageError
from gatebell.services import audit
from gatebell.services.runs import claims, lost_hosts, manage_runs
from gatebell.services.runs.claims import Keeper
from gatebell.services.runs.dependencies import Travel
from gatebell.services.runs.lost_hosts import LostHosts

ADA = a_person("ada")
A, B = "host-a", "host-b"
BEGIN = f"Begin from the copy at the remote; the work on {B} stays there"


class Logs:
    """The session logs of one host."""

    def __init__(self):
        self.kept = {}
        self.wrote = []

    def read(self, cli, session):
        return (f"{session}.jsonl", self.kept[session]) if session in self.kept else None

    def write(self, name, content, before, folder):
        self.wrote.append((name, content, before, folder))


class Team(Harness):
    """One store, and two hosts whose workers let runs travel."""

    def __init__(self, folder):
        super().__init__(folder)
        remote = make_remote(folder)
        self.remote, self.hosts_of, self.logs = remote, {}, {}
        for name in (A, B):
            (folder / name).mkdir()
            self.hosts_of[name], self.logs[name] = HostFolders(folder / name, remote), Logs()
        self.drivers = {name: self.build(name) for name in (A, B)}

    def build(self, name, **more):
        host = self.hosts_of[name]
        needed = self.dependencies()._replace(
            workspace=host.workspace, travel=Travel(host.carrier, self.logs[name])
        )
        self._drivers.append(Mortal(self.store, needed._replace(**more)))
        return self._drivers[-1]

    @contextmanager
    def on(self, name):
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("GATE_HOST", name)
            yield

    def start_on(self, name, work):
        self.flow, project = flows.flow(work), str(self.hosts_of[name].clone)
        wanted = manage_runs.RunRequest(
            "feature", f"{project}/feature.py", self.source, "Add login", project, project_key=KEY
        )
        with self.on(name):
            made, _ = manage_runs.start(self.store, self.hosts_of[name].workspace, wanted, ADA)
        self.run_id = made.id
        return made

    def drive_on(self, name, driver=None):
        driver = driver or self.drivers[name]
        driver.crashed = False
        with self.on(name):
            return driver.drive(self.run())

    def beat(self, name, kind=MemberKind.WORKER):
        with self.on(name):
            now = self.store.now()
            member = Member(kind, str(self.store.machine.me()), "", now, now)
        self.store.members.beat(member)
        return member

    def look(self, name=A):
        with self.on(name):
            LostHosts(self.store).look()


@pytest.fixture
def team(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "share"))
    made = Team(tmp_path)
    yield made
    made.close()


def ask_once(team):
    """A flow whose agent changes files, asks, and goes on."""

    def work(order, _):
        write(order.cwd, made_txt="by the agent\n")
        (Path(order.cwd) / "made.txt").chmod(0o600)
        return needs("Which?")

    team.agent("coder", work, done("ready"))
    return lambda _: run("coder").summary


def park_on(team, name=A):
    team.start_on(name, ask_once(team))
    return team.drive_on(name)


@pytest.mark.proves("HOST-40")
def test_parked_run_goes_on_at_another_host(team):
    parked = park_on(team)
    assert (parked.state, parked.host, parked.pool) == (RunState.WAITING_HUMAN, "", "ci")
    (ref,) = git(team.remote, "for-each-ref", "--format=%(refname)", "refs/gatebell").split()
    assert ref.startswith(f"refs/gatebell/run-{parked.id}/")
    (turn,) = team.store.runs.turns(parked.id)
    team.logs[A].kept[turn.session] = b"said\n"
    team.answer("this one")
    driven = team.drive_on(B)
    assert (driven.state, driven.result, driven.host) == (RunState.COMPLETED, "ready", B)
    made = Path(driven.folder) / "made.txt"
    assert made.read_text() == "by the agent\n" and made.stat().st_mode & 0o777 == 0o600
    assert str(team.hosts_of[B].clone.parent) in driven.folder
    first, second = team.agents["coder"].orders
    assert second.session == first.session and second.cwd == driven.folder != first.cwd
    assert second.project == str(team.hosts_of[B].clone) and not second.fresh
    assert "differs from the snapshot" not in second.text
    assert git(team.remote, "for-each-ref", "refs/gatebell") == "", "a completed run leaves nothing"
    assert [one for one in team.events() if one in ("run.left", "run.arrived")] == [
        "run.left",
        "run.arrived",
    ]
    assert team.store.runs.get(driven.id).project == str(team.hosts_of[A].clone)
    checked = audit.Checked()
    for _ in audit.check(team.store, checked):
        pass
    assert checked.faults == []


@pytest.mark.proves("HOST-41")
def test_session_logs_travel_with_the_run(team):
    team.start_on(A, ask_once(team))
    team.logs[A].kept = Everything()
    team.drive_on(A)
    team.answer("this one")
    driven = team.drive_on(B)
    (turn, _) = team.store.runs.turns(driven.id)
    [(name, content, before, folder)] = team.logs[B].wrote
    assert (name, content) == (f"{turn.session}.jsonl", b"said\n")
    assert folder == driven.folder and str(team.hosts_of[A].clone.parent) in before


class Everything(dict):
    """Logs of every session."""

    def __contains__(self, session):
        return True

    def __missing__(self, session):
        return b"said\n"


@pytest.mark.proves("HOST-42")
def test_same_host_continues_its_own_folder(team):
    parked = park_on(team)
    (Path(parked.folder) / "ignored").mkdir()
    team.answer("this one")
    driven = team.drive_on(A)
    assert (driven.result, driven.host, driven.folder) == ("ready", A, parked.folder)
    assert (Path(parked.folder) / "ignored").is_dir() and team.logs[A].wrote == []


@pytest.mark.proves("HOST-43")
def test_run_that_cannot_be_sent_stays_at_home(team):
    carrier = team.hosts_of[A].carrier
    carrier._remotes[str(team.hosts_of[A].clone)] = carrier._find_remote(
        team.hosts_of[A].make(9)
    )._replace(address="/nowhere.git")
    parked = park_on(team)
    assert (parked.state, parked.host, parked.pool) == (RunState.WAITING_HUMAN, A, "")
    assert "Which?" in parked.reason and f"It stays on host {A}" in parked.reason
    assert any("was not sent to pool ci" in text for _, text in team.said)
    team.answer("this one")
    with team.on(B):
        assert claims.claim(team.store, team.run()) is None
    assert team.drive_on(A).result == "ready"


@pytest.mark.proves("HOST-43")
def test_driver_that_lost_its_run_while_sending_changes_nothing(team):
    team.start_on(A, ask_once(team))
    carrier = team.hosts_of[A].carrier
    send = carrier.send

    def lose(*given):
        sent = send(*given)
        before = team.run()
        assert team.store.runs.change(RunChange(before._replace(claim=before.claim + 1)), before)
        return sent

    carrier.send = lose
    team.drive_on(A)
    assert (team.run().state, team.run().host) == (RunState.RUNNING, A)
    assert own_paths.TRAVEL not in {call.path for call in team.store.runs.calls(team.run_id)}


@pytest.mark.proves("HOST-43")
def test_run_stays_while_its_session_is_open(team):
    team.start_on(A, ask_once(team))
    carrier = team.hosts_of[A].carrier
    send = carrier.send

    def join(given, files):
        (turn,) = team.store.runs.turns(given.id)
        visit = turn._replace(id="t-visit", number=2, by="person:ada", ended_at=None)
        with team.store.transaction():
            team.store.runs.write_turn(visit)
        return send(given, files)

    carrier.send = join
    parked = team.drive_on(A)
    assert parked.host == A and "session is open" in parked.reason


@pytest.mark.proves("HOST-43")
def test_run_comes_back_if_its_session_was_opened(team, monkeypatch):
    team.start_on(A, ask_once(team))
    real = travel.leave

    def join(change, *given):
        (turn,) = team.store.runs.turns(change.run.id)
        with team.store.transaction():
            team.store.runs.write_turn(
                turn._replace(id="t-visit", number=2, by="person:ada", ended_at=None)
            )
        return real(change, *given)

    monkeypatch.setattr(travel, "leave", join)
    parked = team.drive_on(A)
    assert (parked.state, parked.host) == (RunState.WAITING_HUMAN, A)
    assert not travel.is_under_way(team.calls()[own_paths.TRAVEL])


@pytest.mark.proves("HOST-44")
def test_run_waits_in_its_pool_for_a_folder(team):
    park_on(team)
    team.answer("this one")
    stays = team.build(B, travel=None)
    waiting = team.drive_on(B, stays)
    assert (waiting.state, waiting.host, waiting.pool) == (RunState.READY, "", "ci")
    assert (
        waiting.ready_at and f"no worker of host {B} that travels has the project" in waiting.reason
    )
    hidden = team.remote.rename(team.remote.with_name("hidden"))
    team.clock.advance(31)
    again = team.drive_on(B)
    assert (again.state, again.host) == (RunState.READY, "") and "cannot be made" in again.reason
    hidden.rename(team.remote)
    team.clock.advance(31)
    assert team.drive_on(B).result == "ready"


@pytest.mark.proves("HOST-34")
def test_changed_remote_stops_the_run(team):
    park_on(team)
    (ref,) = git(team.remote, "for-each-ref", "--format=%(refname)", "refs/gatebell").split()
    git(team.remote, "update-ref", ref, "main")
    team.answer("this one")
    stuck = team.drive_on(B)
    assert stuck.state == RunState.STUCK and "another program has changed it" in stuck.reason
    assert len(team.agents["coder"].orders) == 1


@pytest.mark.proves("HOST-45")
def test_folder_is_set_up_again_on_the_new_host(team):
    project = team.hosts_of[A].clone
    (project / ".gate").mkdir()
    write(project / ".gate", setup="#!/bin/sh\nmkdir -p ignored && echo made >ignored/deps\n")
    (project / ".gate/setup").chmod(0o755)
    (team.hosts_of[B].clone / ".gate").mkdir()
    write(
        team.hosts_of[B].clone / ".gate",
        setup="#!/bin/sh\nmkdir -p ignored && echo other >ignored/deps\n",
    )
    (team.hosts_of[B].clone / ".gate/setup").chmod(0o755)
    parked = park_on(team)
    assert (Path(parked.folder) / "ignored/deps").read_text() == "made\n"
    team.answer("this one")
    assert (Path(team.drive_on(B).folder) / "ignored/deps").read_text() == "other\n"


@pytest.mark.proves("HOST-46")
def test_kept_run_and_run_in_place_stay(team):
    team.start_on(A, ask_once(team))
    with team.on(A):
        keeper = Keeper(team.store)
        parked = team.drivers[A].drive(team.run(), keeper)
        assert (parked.state, parked.host) == (RunState.WAITING_HUMAN, A)
        keeper.let_go()
    team.store.runs.change(RunChange(team.run()._replace(host="", pool="ci")), team.run())
    with team.on(A):
        assert Keeper(team.store).keep(team.run()) is None
        with pytest.raises(RefusedError, match="waits in pool ci and has no folder now"):
            manage_runs.resume(team.store, team.run_id, ADA)


@pytest.mark.proves("HOST-46")
def test_stopped_run_is_resumed_in_its_pool(team):
    park_on(team)
    team.stop("later")
    with team.on(A):
        resumed = manage_runs.resume(team.store, team.run_id, ADA, keeper=Keeper(team.store))
    assert (resumed.state, resumed.host, resumed.pool, resumed.owner) == ("ready", "", "ci", "")
    assert team.drive_on(B).state == RunState.WAITING_HUMAN


# Lost hosts


def lose_b(team):
    """Let host B take a run, and be lost while its agent works."""
    park_on(team)
    team.beat(B)
    team.agents["coder"]._script.insert(0, Crash())
    team.answer("this one")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("gatebell.testing.agents._PROCESS", f"{B}/boot/1/1")
        team.drive_on(B)
    assert team.run().host == B


@pytest.mark.proves("HOST-50", "HOST-51")
def test_lost_host_becomes_a_question(team):
    lose_b(team)
    running = team.run()
    assert running.state == RunState.RUNNING
    team.clock.advance(599)
    team.look()
    assert team.pending() == []
    team.clock.advance(2)
    for _ in range(3):
        team.look()
        team.look(B + "-2")
    ask = team.ask()
    assert f"Host {B} is lost" in ask.question.prompt and len(ask.question.options) == 3
    assert team.run() == running, "nothing is taken over by time"
    team.clock.advance(36_000)
    team.look()
    assert team.run() == running and team.drive_on(A) == running
    team.answer(BEGIN)
    team.look()
    released = team.run()
    assert (released.state, released.host, released.pool) == (RunState.READY, "", "ci")
    assert released.claim == running.claim + 1 and team.events()[-1] == "run.released"
    assert not team.store.runs.change(RunChange(running._replace(reason="late")), running)
    driven = team.drive_on(A)
    assert (driven.result, driven.host) == ("ready", A) and team.pending() == []
    assert "You were interrupted" in team.agents["coder"].orders[-1].text
    assert (Path(driven.folder) / "made.txt").exists()
    team.look()
    assert all(one.kind != MemberKind.LOST for one in team.store.members.all())


@pytest.mark.proves("HOST-51")
def test_answer_to_wait_leaves_the_run_to_its_host(team):
    lose_b(team)
    running = team.run()
    team.clock.advance(601)
    team.look()
    team.answer(f"Wait for {B}")
    for _ in range(3):
        team.look()
    assert team.run() == running and team.pending() == []
    team.clock.advance(60)
    assert team.drive_on(B).result == "ready"


@pytest.mark.proves("HOST-51")
def test_answer_to_stop_ends_the_run(team):
    lose_b(team)
    team.clock.advance(601)
    team.look()
    team.answer("Stop the run")
    team.look()
    stopped = team.run()
    assert stopped.state == RunState.STUCK and f"host {B} is lost" in stopped.reason


@pytest.mark.proves("HOST-51")
def test_run_that_never_travelled_can_only_wait_or_stop(team):
    team.agent("coder", needs("Which?"), done("ready"))
    stays = team.build(B, travel=None)
    team.start_on(B, lambda _: run("coder").summary)
    team.drive_on(B, stays)
    team.beat(B)
    team.clock.advance(601)
    team.look()
    ask = team.ask("is lost")
    assert ask.question.options[:2] == (f"Wait for {B}", "Stop the run")
    assert "all of its work is on" in ask.question.context


@pytest.mark.proves("HOST-51")
def test_question_names_calls_whose_files_are_only_there(team):
    park_on(team)
    team.beat(B)
    team.agent("reviewer", Crash(), done())
    work = team.flow.work
    team.flow = flows.flow(lambda prompt: [work(prompt), run("reviewer").status][-1])
    team.clock.advance(1)
    team.answer("this one")
    team.drive_on(B)
    team.clock.advance(601)
    team.look()
    told = team.ask("is lost").question.context
    assert "Call 1 ended after that: its result is recorded and stays" in told
    assert told.endswith(f"but its changes to files are only on {B}.")


@pytest.mark.proves("HOST-52")
def test_host_that_reports_again_takes_its_questions_back(team):
    lose_b(team)
    team.clock.advance(601)
    team.look()
    assert team.ask("is lost")
    team.beat(B)
    team.look()
    assert team.pending() == []
    assert all(one.kind != MemberKind.LOST for one in team.store.members.all())


@pytest.mark.proves("HOST-50")
def test_two_processes_agree_since_when_a_host_is_lost(team, monkeypatch):
    """Else each would ask its own question about a run."""
    lose_b(team)
    team.clock.advance(601)
    read = StoredMembers.all

    def read_and_be_overtaken(members):
        found = read(members)
        monkeypatch.setattr(StoredMembers, "all", read)
        team.clock.advance(1)
        team.look()
        return found

    monkeypatch.setattr(StoredMembers, "all", read_and_be_overtaken)
    team.look()
    (lost,) = (one for one in team.store.members.all() if one.kind == MemberKind.LOST)
    assert lost.joined_at == team.store.now() and team.ask("is lost")


@pytest.mark.proves("HOST-53")
def test_forgotten_host_is_asked_about_at_once(team):
    lose_b(team)
    agent = a_person("ada")._replace(verified=False, agent=SeenAgent())
    with team.on(A):
        with pytest.raises(AgentRefusedError, match="says that a host is lost"):
            lost_hosts.forget(team.store, B, agent)
        with pytest.raises(RefusedError, match="so it is not lost"):
            lost_hosts.forget(team.store, A, ADA)
        with pytest.raises(NotFoundError, match="gate host list"):
            lost_hosts.forget(team.store, "nobody", ADA)
        (ask,) = lost_hosts.forget(team.store, B, ADA)
        team.clock.advance(1)
        assert lost_hosts.forget(team.store, B, ADA) == [ask], "asked once"
    (told, _) = team.store.audit.of_subject(f"host:{B}")
    assert (told.event.kind, told.event.actor) == ("host.forgotten", "person:ada")
    (view,) = (one for one in lost_hosts.list_hosts(team.store) if one.name == B)
    assert view.is_lost and [one.id for one in view.runs] == [team.run_id]
    team.answer(BEGIN)
    team.look()
    assert team.run().host == "" and team.drive_on(A).result == "ready"


class SeenAgent:
    because = "the variable CLAUDECODE is set"


@pytest.mark.proves("HOST-53")
def test_answer_to_wait_is_asked_again_after_forget(team):
    lose_b(team)
    team.clock.advance(601)
    team.look()
    team.answer(f"Wait for {B}")
    team.look()
    team.clock.advance(1)
    with team.on(A):
        (ask,) = lost_hosts.forget(team.store, B, ADA)
    assert ask.pending


@pytest.mark.proves("HOST-53")
def test_forget_sees_an_answer_to_wait_first(team):
    lose_b(team)
    team.clock.advance(601)
    team.look()
    team.answer(f"Wait for {B}")
    team.clock.advance(1)
    with team.on(A):
        (ask,) = lost_hosts.forget(team.store, B, ADA)
    assert ask.pending


@pytest.mark.proves("HOST-50")
def test_host_that_ended_its_workers_is_not_lost(team):
    park_on(team)
    member = team.beat(B)
    team.store.members.leave(member)
    team.clock.advance(601)
    team.look()
    assert team.pending() and not [a for a in team.pending() if "is lost" in a.question.prompt]


# Addresses and logs


@pytest.fixture
def worker(tmp_path, monkeypatch):
    """A project with an origin, and the settings of a worker that lets runs travel."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "share"))
    monkeypatch.setenv("GATE_TRAVEL", "origin")
    monkeypatch.setattr(engines, "find_engine", lambda _: engines.PROCRASTINATE)
    project = tmp_path / "shop"
    git(tmp_path, "init", "-q", project)
    git(project, "remote", "add", "origin", "https://gate.example.org/shop.git")
    store = Harness(tmp_path).store
    return store, project, Part([str(project)], pool="ci")


@pytest.mark.proves("HOST-37")
def test_address_of_origin_stays_that_of_the_first_start(worker, monkeypatch):
    store, project, part = worker
    made = travelling.build_travel(store, part)
    assert made.carrier.pool == "ci"
    assert made.carrier.find_project("gate.example.org/shop") == str(project)
    git(project, "config", "remote.origin.url", "https://evil.example.org/shop.git")
    with pytest.raises(UsageError, match="another one than when a worker first used it"):
        travelling.build_travel(store, part)
    monkeypatch.setenv("GATE_TRAVEL", "git@gate.example.org:shop.git")
    chosen = travelling.build_travel(store, part).carrier
    assert chosen._remotes[str(project)].address == "git@gate.example.org:shop.git"
    monkeypatch.setenv("GATE_TRAVEL", "ext::sh")
    with pytest.raises(UsageError, match=r"travel \(GATE_TRAVEL\): expected https://HOST/PATH"):
        travelling.build_travel(store, part)
    monkeypatch.delenv("GATE_TRAVEL")
    assert travelling.build_travel(store, part) is None


@pytest.mark.proves("HOST-46")
def test_runs_travel_only_where_engines_serve_pools(worker, monkeypatch):
    store, _, part = worker
    monkeypatch.undo()
    monkeypatch.setenv("GATE_TRAVEL", "origin")
    with pytest.raises(UsageError, match="needs a store on PostgreSQL, with the engine"):
        travelling.build_travel(store, part)


@pytest.mark.proves("HOST-37")
def test_project_without_a_shared_key_cannot_travel(worker, tmp_path):
    store, project, part = worker
    git(project, "config", "remote.origin.url", "ext::sh")
    with pytest.raises(UsageError, match="no other host knows"):
        travelling.build_travel(store, part)
    (project / ".gate").mkdir()
    write(project / ".gate", project="shop\n")
    with pytest.raises(UsageError, match=f"origin of {project}: expected https://HOST/PATH"):
        travelling.build_travel(store, part)


@pytest.mark.proves("HOST-41")
def test_logs_are_found_and_laid_where_programs_look(tmp_path):
    here = {
        "CLAUDE_CONFIG_DIR": str(tmp_path / "a/claude"),
        "CODEX_HOME": str(tmp_path / "a/codex"),
    }
    there = {
        "CLAUDE_CONFIG_DIR": str(tmp_path / "b/claude"),
        "CODEX_HOME": str(tmp_path / "b/codex"),
    }
    session = "01a1ecc4-f313-70a1-8bbb-a60c56e43b9a"
    claude = tmp_path / f"a/claude/projects/-x/{session}.jsonl"
    codex = tmp_path / f"a/codex/sessions/2026/11/18/rollout-2026-11-18T03-48-12-{session}.jsonl"
    for path in (claude, codex):
        path.parent.mkdir(parents=True)
    claude.write_text('{"cwd": "/old/shop"}\n')
    codex.write_text(
        '{"type": "turn_context", "payload": {"cwd": "/old/shop", "roots": ["/old/shop/x", "/old/shops"]}}\n'
        '{"type": "response_item", "payload": "/old/shop"}\n{"type": "event_m'
    )
    source, target = TravellingLogs(here), TravellingLogs(there)
    for cli in (AgentCli.CLAUDE, AgentCli.CODEX):
        name, content = source.read(cli, session)
        target.write(name, content, "/old/shop", "/new.d/shop")
        target.write(name, content, "/old/shop", "/new.d/shop")
    laid = tmp_path / f"b/claude/projects/-new-d-shop/{session}.jsonl"
    assert laid.read_text() == claude.read_text() and laid.stat().st_mode & 0o777 == 0o600
    moved = (tmp_path / "b/codex" / codex.relative_to(tmp_path / "a/codex")).read_text()
    assert '"/new.d/shop"' in moved and '["/new.d/shop/x", "/old/shops"]' in moved
    assert moved.endswith('"payload": "/old/shop"}\n{"type": "event_m')
    assert source.read(AgentCli.CLAUDE, "unknown") is None
    assert source.read(AgentCli.COMMAND, session) is None
    for name in ("../evil.jsonl", "x.txt", ".jsonl"):
        with pytest.raises(GateError, match="not the name of a session log"):
            target.write(name, b"", "/a", "/b")


@pytest.mark.proves("HOST-35")
def test_link_in_place_of_a_log_is_not_sent(tmp_path, monkeypatch):
    key = tmp_path / "id_rsa"
    key.write_text("secret\n")
    log = tmp_path / "claude/projects/x/s1.jsonl"
    log.parent.mkdir(parents=True)
    log.symlink_to(key)
    logs = TravellingLogs({"CLAUDE_CONFIG_DIR": str(tmp_path / "claude")})
    with pytest.raises(GateError, match="cannot be read"):
        logs.read(AgentCli.CLAUDE, "s1")
    log.unlink()
    log.write_bytes(b"x" * 20)
    monkeypatch.setattr("gatebell.adapters.agents.travelling_logs._MAX_BYTES", 10)
    with pytest.raises(GateError, match="is larger than"):
        logs.read(AgentCli.CLAUDE, "s1")
