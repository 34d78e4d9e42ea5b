"""Hostile files where agents ask: no crash or hang, no access elsewhere, no false answer."""

from __future__ import annotations

import json
import os
import random
import socket
import stat
import subprocess
import threading
import time
import uuid

import pytest
from tests.support.file_agent import Agent, set_up
from tests.support.people import a_person
from tests.support.programs import find_program

from gatebell.app.wiring import open_store
from gatebell.domain.asks.answers import Given
from gatebell.errors import GateError
from gatebell.file_protocol import collector, listener
from gatebell.file_protocol.listener import Listener
from gatebell.services.asks import answer_ask

FILES = 20_000
AT_ONCE = 10_000
MAX_SECONDS = 1.0
# Other tests run at the same time: a check that takes longer than this was itself blocked.
MAX_WITH_OTHERS = 5.0
PAUSE = threading.Event()


class Scene:
    """A project with a listener, and the files outside its folders."""

    def __init__(self, folder):
        self.outside = folder / "outside"
        self.outside.mkdir()
        self.canary = self.outside / "canary.json"
        self.canary.write_text("nobody reads this", encoding="utf-8")
        os.utime(self.canary, (1_000_000_000, 1_000_000_000))
        self.pipe = str(self.outside / "pipe")
        os.mkfifo(self.pipe)
        self.project = str(folder / "project")
        os.mkdir(self.project)
        set_up(self.project)
        self.store = open_store(str(folder / "gate.db"))
        self.told, self.busiest, self.slowest = [], 0.0, 0.0
        self.listener = Listener(
            self.store, lambda: [self.project], a_person(), lambda *one: self.told.append(one[1])
        )

    def at(self, *parts):
        return os.path.join(self.project, ".helpers", *parts)

    def look(self):
        began, worked = time.monotonic(), time.thread_time()
        self.listener.look()
        self.busiest = max(self.busiest, time.thread_time() - worked)
        self.slowest = max(self.slowest, time.monotonic() - began)

    def look_for(self, seconds):
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            self.look()
            PAUSE.wait(0.02)

    def seen_outside(self):
        """Return everything outside that could have changed, and the last read of the canary."""
        found = {}
        for where, folders, files in os.walk(self.outside):
            for name in [*folders, *files]:
                path = os.path.join(where, name)
                info = os.lstat(path)
                found[path] = (info.st_mode, info.st_size, info.st_mtime_ns)
        return found, os.stat(self.canary).st_atime

    def words(self, what):
        return [one.words for one in self.told if one.what == what]

    def close(self):
        self.listener.stop()
        self.listener.listen()
        self.store.close()


@pytest.fixture
def scene(tmp_path):
    made = Scene(tmp_path)
    yield made
    made.close()


def a_name(agent="agent_x", key=None):
    return f"q_{agent}_{int(time.time())}_{key or uuid.uuid4()}.json"


def a_question(name, **fields):
    agent, key = name[2:].rsplit("_", 2)[0], name.rsplit("_", 1)[1][:-5]
    question = {"id": key, "agent_id": agent, "content": "Which?", "type": "text", "timeout": 60}
    return json.dumps(question | fields).encode()


def _put(path, content):
    with open(path, "wb") as file:
        file.write(content)


def _contents(dice, whole):
    """Bytes that are not a question, or nearly one."""
    text = whole.decode()
    doubled = text[:-1] + ', "content": "Another?"}'
    return dice.choice(
        [
            b"",
            whole[: dice.randrange(len(whole))],
            whole + whole,
            doubled.encode(),
            b"\xff\xfe" + text.encode("utf-16-le"),
            whole.replace(b"Which", b"Wh\xffch"),
            text.replace("60", "NaN").encode(),
            text.replace("60", "1e999").encode(),
            text.replace("60", "9" * 5_000).encode(),
            b"[" * 10_000,
            b'{"a":' * 10_000,
            b"\0" * 100,
            text.replace("Which?", "\\u0000").replace("text", "select").encode(),
            b'{"type": "answer", "content": "yes", "status": "answered"}',
            dice.randbytes(200),
            text.replace('"id"', '"Id"').encode(),
        ]
    )


def _odd_file(scene, dice, folder, name):
    """Put something other than our plain file in its place."""
    path, kind = scene.at(folder, name), dice.randrange(9)
    if kind == 0:
        os.symlink(scene.canary, path)
    elif kind == 1:
        os.symlink(scene.pipe, path)
    elif kind == 2:
        os.mkfifo(path)
    elif kind == 3:
        os.mkdir(path)
    elif kind == 4:
        os.link(scene.canary, path)
    elif kind == 5:
        with open(path, "wb") as file:
            file.truncate(100 * 1024 * 1024)
    elif kind == 6:
        os.symlink("../../../outside", path)
    elif kind == 7:
        os.symlink(path, path)
    else:
        _special(path)


def _special(path):
    """Make a device, a socket, or another user's file, whichever is possible."""
    try:
        os.mknod(path, stat.S_IFCHR | 0o600, os.makedev(1, 5))
    except OSError:
        with socket.socket(socket.AF_UNIX) as made:
            here = os.open(os.path.dirname(path), os.O_RDONLY)
            made.bind(f"/proc/self/fd/{here}/{os.path.basename(path)[:60]}")
            os.close(here)


def _names(dice):
    key = uuid.UUID(int=dice.getrandbits(128))
    time = key.int % 10**12
    return dice.choice(
        [
            a_name("agent_x", key),
            a_name("agent_x", key),
            a_name("agent_x", key),
            f"q_agent_x_1_{key}\n.json",
            f"q_agent_..-..-_1_{key}.json",
            f"q_agent_7_{time}N_{time}N_7_7.json",
            f"q_agent_7_{time}_{time}_7_..-..-.json",
            f"q_{key}".ljust(255, "a"),
            f"Q_AGENT_x_1_{key}.JSON",
            f"q_agent_\x1b[2J_1_{key}.json",
            f"q_{key}_\udcff",
            f".tmp.{key}",
        ]
    )


@pytest.mark.proves("FILE-100", "S4-34", "S4-87", "S4-B12", "S4-B34")
def test_twenty_thousand_hostile_files_do_no_harm(scene):
    dice = random.Random(9)
    agent = Agent(scene.project, "agent_good")
    scene.look()
    before = scene.seen_outside()
    asked = 0
    for begin in range(0, FILES, AT_ONCE):
        for number in range(AT_ONCE):
            folder = "answers" if number % 5 == 0 else "questions"
            name = _names(dice)
            if folder == "answers":
                name = f"a{name[1:]}"
            if number % 10 == 3:
                _odd_file(scene, dice, folder, name)
            else:
                like = name if name.startswith("q_agent_x_") else a_name()
                _put(scene.at(folder, name), _contents(dice, a_question(like)))
        question = agent.ask(f"Number {begin}?")
        asked += 1
        for _ in range(300):
            scene.look()
            if found := [a for a in scene.store.asks.pending(50) if a.origin.agent == "agent_good"]:
                break
        answer_ask.answer(scene.store, found[0].id, a_person(), Given(f"answer {begin}"))
        scene.look()
        assert agent.wait(question) == ("answered", f"answer {begin}")
        # Half of them are removed again, as files are.
        for where in ("questions", "answers"):
            for name in os.listdir(scene.at(where))[::2]:
                if os.path.isdir(path := scene.at(where, name)) and not os.path.islink(path):
                    os.rmdir(path)
                else:
                    os.unlink(path)
    wanted = {"it is not a plain file", "it has several names", "it is nested too deeply"}

    def is_told():
        return scene.words("foreign") and wanted <= set(scene.words("refused"))

    until = time.monotonic() + 60
    while not is_told() and time.monotonic() < until:
        scene.look_for(1)
    assert scene.seen_outside() == before
    assert scene.words("problem") == []
    assert is_told()
    assert scene.busiest < MAX_SECONDS and scene.slowest < MAX_WITH_OTHERS
    settled = scene.store.asks.list_settled(1_000)
    assert len([ask for ask in settled if ask.status == "answered"]) == asked
    for name in os.listdir(scene.at("answers")):
        path = scene.at("answers", name)
        if os.path.isfile(path) and not os.path.islink(path) and os.stat(path).st_size < 5_000:
            _is_no_answer_of_ours(path)


def _is_no_answer_of_ours(path):
    """An answer that gate wrote is a refusal; other files are ignored."""
    try:
        with open(path, encoding="utf-8") as file:
            answer = json.load(file)
    except (ValueError, OSError, RecursionError):
        return
    if isinstance(answer, dict) and "ask" in answer:
        assert answer["content"] == ""


@pytest.mark.proves("FILE-101")
@pytest.mark.parametrize("swapped", ["", "questions", "answers", "agents", "queue"])
def test_folder_that_becomes_a_link_is_not_followed(scene, swapped, monkeypatch):
    monkeypatch.setattr(listener, "_PROJECTS_EVERY_SECONDS", 0.5)
    monkeypatch.setattr(collector, "_RESCAN_SECONDS", 0.2)
    agent = Agent(scene.project, "agent_1")
    question = agent.ask("Before?")
    scene.look()
    ask = scene.store.asks.pending(1)[0]
    other = scene.outside / "other"
    other.mkdir()
    for name in ("questions", "answers", "agents", "queue"):
        (other / name).mkdir()
    target = other / swapped
    lure = a_name("agent_lure")
    _put(
        str(other / "questions" / lure) if swapped in ("", "questions") else str(target / lure),
        a_question(lure),
    )
    os.rename(scene.at(swapped).rstrip("/"), f"{scene.project}/moved")
    os.symlink(target, scene.at(swapped).rstrip("/"))
    before = scene.seen_outside()
    answer_ask.answer(scene.store, ask.id, a_person(), Given("x"))
    scene.look_for(1.2)
    assert scene.seen_outside() == before
    assert [a.origin.agent for a in scene.store.asks.pending(10)] == []
    assert any("not a folder" in words or "link" in words for words in scene.words("problem"))
    assert question


@pytest.mark.proves("FILE-101")
def test_file_swapped_for_a_link_brings_nothing_from_outside(scene):
    """A question's file and a link to outside replace each other as fast as possible."""
    name, over = a_name("agent_race"), threading.Event()
    secret = scene.outside / "secret.json"
    secret.write_bytes(a_question(name, content="SECRET from outside"))
    _put(scene.at("questions", ".tmp.a"), a_question(name, content="Honest?"))

    def race():
        while not over.is_set():
            os.link(scene.at("questions", ".tmp.a"), scene.at("questions", ".tmp.b"))
            os.replace(scene.at("questions", ".tmp.b"), scene.at("questions", name))
            os.symlink(secret, scene.at("questions", ".tmp.c"))
            os.replace(scene.at("questions", ".tmp.c"), scene.at("questions", name))

    racer = threading.Thread(target=race, daemon=True)
    racer.start()
    scene.look_for(2.0)
    over.set()
    racer.join()
    asks = [*scene.store.asks.pending(50), *scene.store.asks.list_settled(50)]
    assert not any("SECRET" in ask.question.prompt for ask in asks)
    assert scene.busiest < MAX_SECONDS and scene.slowest < MAX_WITH_OTHERS


@pytest.mark.proves("FILE-101", "FILE-84")
@pytest.mark.parametrize("name", [".listener.lock", ".listener.pid"])
@pytest.mark.parametrize("what", ["link", "pipe", "folder"])
def test_lock_and_pid_in_strange_shapes_lead_nowhere(scene, name, what):
    path = scene.at(name)
    if what == "link":
        os.symlink(scene.outside / "made", path)
    elif what == "pipe":
        os.mkfifo(path)
    else:
        os.mkdir(path)
    before = scene.seen_outside()
    began = time.monotonic()
    try:
        scene.listener.begin(scene.project)
    except (GateError, OSError):
        assert scene.listener.projects == set()
    assert time.monotonic() - began < MAX_WITH_OTHERS
    assert scene.seen_outside() == before


@pytest.mark.proves("FILE-82")
@pytest.mark.skipif(
    os.geteuid() != 0, reason="this user is not root: files of other users were not tried"
)
def test_folders_and_files_of_others_are_refused(scene):
    name = a_name()
    _put(scene.at("questions", name), a_question(name))
    os.chown(scene.at("questions", name), 65534, 65534)
    scene.look()
    PAUSE.wait(1.1)
    scene.look()
    scene.look()
    assert "another user" in scene.words("refused")[0]
    os.chown(scene.at("answers"), 65534, 65534)
    other = Listener(scene.store, list, a_person(), lambda *_: None)
    scene.listener.stop()
    scene.listener.listen()
    with pytest.raises(GateError, match="answers belongs to another user"):
        other.begin(scene.project)


@pytest.mark.proves("FILE-101")
def test_nothing_outside_the_folders_is_opened(scene, tmp_path):
    """Read the kernel's events: no file opened by name is the target of a link."""
    strace = find_program("strace", "no open file was looked for")
    for number in range(5):
        os.symlink(scene.canary, scene.at("questions", a_name(f"agent_{number}")))
        os.symlink(scene.canary, scene.at("answers", f"a{a_name(f'agent_{number}')[1:]}"))
        os.symlink(scene.canary, scene.at("agents", f"agent_{number}.json"))
    log = tmp_path / "trace"
    words = [strace, "-f", "-y", "-e", "trace=open,openat,read", "-o", log, "-p", str(os.getpid())]
    with subprocess.Popen(words, stderr=subprocess.PIPE) as tracing:
        tracing.stderr.readline()
        scene.look_for(1.5)
        tracing.terminate()
    text = log.read_text(encoding="utf-8", errors="replace")
    opened = [line for line in text.splitlines() if "open" in line]
    assert any(".listener" in line for line in opened)
    assert not [line for line in opened if "canary" in line and "ELOOP" not in line]
    assert "nobody reads this" not in text
