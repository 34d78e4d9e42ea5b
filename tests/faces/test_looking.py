"""`gate`, `gate inbox`, `show`, `history`, `audit`, `doctor`, `config`, `completion`, `--help`."""

from __future__ import annotations

import ast
import json
import os
import re
import runpy
import subprocess
import sys
from datetime import datetime, timedelta, timezone
from itertools import pairwise
from pathlib import Path

import apsw
import pytest
from bench.hot import SLOW_MODULES
from tests.support.code_blocks import split_gate_commands
from tests.support.people import a_person

from gatebell import errors
from gatebell.app.wiring import local_backend
from gatebell.cli.commands import COMMANDS, GROUPS
from gatebell.cli.main import main, parse_words, parser_of
from gatebell.domain import records
from gatebell.domain.asks.answers import Given
from gatebell.domain.asks.asks import Origin
from gatebell.domain.permissions.calls import headline, make_call
from gatebell.services.asks import answer_ask, create_ask
from gatebell.services.asks.create_ask import Request
from gatebell.terminal.asks import ask_lines

ROOT = Path(__file__).parents[2]


@pytest.mark.proves("CLI-8")
def test_inbox_shows_asker_question_age_and_blocked_run(world):
    assert "Nothing is waiting" in world.ada.gate().out
    first = world.ask("Which\ndatabase?", "--from", "coder")
    second = world.ask(
        "Deploy now?", "--kind", "approval", "--priority", "urgent", "--from", "deployer"
    )
    lines = world.ada.gate().out.splitlines()
    assert re.match(
        rf"{second}\s+\d+s\s+deployer\s+approval\s+\[urgent\] Deploy now\?\s+project", lines[0]
    )
    assert re.match(
        rf"{first}\s+\d+s\s+coder\s+text\s+Which  ⏎  database\?", lines[1].replace(" ⏎ ", "  ⏎  ")
    )
    assert f"gate answer {second}" in lines[-1]
    assert world.ada.gate("inbox", "--ids").out.split() == [second, first]
    assert [ask["id"] for ask in json.loads(world.ada.gate("inbox", "--json").out)] == [
        second,
        first,
    ]
    assert "and more: gate inbox --limit 4" in world.ada.gate("inbox", "--limit", "1").out
    elsewhere = str(world.folder / "home")
    told = world.ada.gate("inbox", "--project", elsewhere).out
    assert f"Nothing is waiting in {elsewhere}" in told
    assert first in world.ada.gate("inbox", "--project", ".").out


@pytest.mark.proves("CLI-8", "WEB-114")
def test_lists_name_a_file_as_in_its_project(world):
    project = "/projects/a-shop-with-a-long-name-that-fills-the-line"
    given = {"file_path": f"{project}/shop/totals.py", "content": "x"}
    call = make_call("Write", given, project, "main")
    request = Request(headline(call), "approval", call=call)
    ask = create_ask.ask(world.store, request, Origin(project), a_person("ada")).ask
    assert "  Change shop/totals.py?  " in world.ada.gate("inbox").out
    world.ada.gate("answer", ask.id, "yes")
    assert "  Change shop/totals.py?  " in world.ada.gate("history").out


@pytest.mark.proves("CLI-8", "LAW-8", "ASK-26")
def test_show_has_everything_about_an_ask(world):
    ask_id = world.ask(
        "Deploy?", "--kind", "approval", "--timeout", "1h", "--confidence", "0.8", "--priority", "high",
        "--context", "-", shell=world.claude,
    )  # fmt: skip
    out = world.ada.gate("show", ask_id).out
    for part in (f"{ask_id}  approval", "by claude, high, the asker is 80% sure", "session claude/s1",
                 "│ Deploy?", "Context", "Times out in 59 min", "Trust: L0", f"gate answer {ask_id}"):  # fmt: skip
        assert part in out
    assert "ask.opened" in world.ada.gate("show", ask_id, "--audit").out
    world.ada.gate("answer", ask_id, "no", "--note", "too late")
    shown = json.loads(world.ada.gate("show", ask_id, "--json").out)
    assert [one["outcome"] for one in shown["answers"]] == ["settled"] and len(shown["audit"]) == 2
    out = world.ada.gate("show", ask_id).out
    assert "Rejected by person:ada via cli" in out and "│ too late" in out
    claimed = world.ask("Name?")
    answer_ask.answer(world.store, claimed, a_person("sue"), Given("x"))
    assert "by person:sue (claimed)" in world.ada.gate("show", claimed).out
    assert world.ada.gate("show", "a-zzzz").code == 5


@pytest.mark.proves("CLI-8")
def test_show_lists_the_fields_of_a_form(world):
    schema = '{"properties":{"n":{"type":"integer","description":"how many"},"c":{"enum":["a","b"]},"y":{"type":"boolean"}},"required":["n"]}'
    out = world.ada.gate("show", world.ask("F?", "--schema", schema)).out
    for field in ("n (whole number) how many", "c (a or b, optional)", "y (yes or no, optional)"):
        assert f"\n  {field}" in out, out
    assert (
        '│ {"type": "array"}'
        in world.ada.gate("show", world.ask("L?", "--schema", '{"type":"array"}')).out
    )


@pytest.mark.proves("ASK-26", "LAW-8")
def test_long_texts_are_cut_with_an_announcement(world):
    path = world.folder / "context"
    path.write_text("line\n" * 4000)
    ask_id = world.ask("Which?", "--context", str(path), "--default", "x", "--timeout", "1h")
    out = world.ada.gate("show", ask_id).out
    assert "12000 more characters on 2401 lines" in out and f"gate show {ask_id} --all" in out
    assert "then the answer is: x" in out
    assert world.ada.gate("show", ask_id, "--all").out.count("│ line") == 4000


@pytest.mark.proves("CLI-8")
def test_history_is_searched(world):
    assert "No ask is settled yet" in world.ada.gate("history").out
    ids = [world.ask(f"Question {n}?") for n in range(3)]
    for ask_id in ids:
        world.ada.gate("answer", ask_id, f"answer to {ask_id}")
    world.ada.gate("cancel", world.ask("Gone?"), "--reason", "x")
    out = world.ada.gate("history").out
    east = world.ada.gate("show", ids[0], TZ="Asia/Tokyo").out
    assert re.search(r"Answered by .* at 20\d\d-\d\d-\d\d \d\d:\d\d:\d\d JST", east)
    assert "cancelled" in out and all(ask_id in out for ask_id in ids)
    assert [
        ask["id"] for ask in json.loads(world.ada.gate("history", "question 1", "--json").out)
    ] == [ids[1]]
    nothing = world.ada.gate("history", "zebra").out
    assert nothing == "No settled ask has zebra in its question, note or id.\n"


@pytest.mark.proves("CLI-33")
def test_times_are_in_the_zone_of_the_reader(world):
    ask_id = world.ask("Which?")
    world.ada.gate("answer", ask_id, "left")
    entry = world.store.audit.newest(1)[0]
    east = datetime.fromisoformat(entry.at).astimezone(timezone(timedelta(hours=14)))
    zone = {"TZ": "EAST-14"}
    for words in (["audit", "log"], ["show", ask_id, "--audit"]):
        assert f"  {east:%Y-%m-%d %H:%M:%S}  ask." in world.ada.gate(*words, **zone).out
    assert json.loads(world.ada.gate("audit", "log", "--json").out)[0]["at"].endswith("+00:00")
    day, before = f"{east:%Y-%m-%d}", f"{east - timedelta(days=1):%Y-%m-%d}"
    found = world.ada.gate("history", "--since", day, "--until", day, **zone)
    assert ask_id in found.out
    assert ask_id not in world.ada.gate("history", "--until", before, **zone).out
    world.ada.gate("freeze")
    assert re.search(r" since 20\d\d-\d\d-\d\d \d\d:\d\d EAST", world.ada.gate("list", **zone).out)


@pytest.mark.proves("STORE-6", "STORE-7", "STORE-8", "CLI-2")
def test_tampering_is_found_from_the_command_line(world):
    ask_id = world.ask("Deploy?", "--kind", "approval")
    world.ada.gate("answer", ask_id, "no")
    assert world.plain.gate("audit", "verify")[:2] == (
        0,
        "6 events and 9 rows checked: nothing was changed\n",
    )
    assert "ask.answered" in world.plain.gate("audit", "log").out
    assert len(json.loads(world.plain.gate("audit", "log", "--json", "--limit", "2").out)) == 2
    head = world.plain.gate("audit", "head").out.strip()
    assert json.loads(world.plain.gate("audit", "head", "--json").out)["seq"] == 6
    assert world.plain.gate("audit", "verify", "--head", head).code == 0
    assert world.plain.gate("audit", "verify", "--head", "7").code == 2
    world.store.close()
    forger = apsw.Connection(world.path)
    for statement, sentence in (
        ("UPDATE asks SET decision='approved'", "a different answer"),
        ("UPDATE asks SET prompt='Read a file?'", "changed after it was opened"),
        ("UPDATE asks SET status='pending', decision=NULL", "says something different"),
        ("UPDATE events SET content='{' WHERE seq=6", "content was changed"),
        ("UPDATE events SET content=NULL WHERE seq=6", "its content is gone"),
        ("UPDATE asks SET started_by='person:boss'", "changed after it was opened"),
        (
            "INSERT INTO events SELECT -1, at, kind, subject, actor, content, content_digest, hash FROM events WHERE seq=6",
            "is missing",
        ),
        ("UPDATE asks SET value='{', opened_at='never'", "cannot be compared"),
        ("UPDATE events SET actor='person:boss' WHERE seq=6", "does not follow"),
        ("DELETE FROM events WHERE seq=3", "event 3 is missing"),
        ("DELETE FROM events WHERE seq=6", "the head that was kept is of event 6"),
    ):
        forger.execute("SAVEPOINT honest")
        forger.execute(statement)
        forger.execute("RELEASE honest")
        ran = world.plain.gate("audit", "verify", "--head", head)
        assert ran.code == 1 and sentence in ran.out, statement
    assert json.loads(world.plain.gate("audit", "verify", "--json").out)["faults"]
    assert world.plain.gate("doctor").code == 1


@pytest.mark.proves("CLI-17", "WHO-8", "STORE-9")
def test_doctor_looks_at_everything(world):
    ran = world.plain.gate("doctor")
    for part in (
        "can be read and written",
        "0 faults",
        "mode 0700",
        "the store is on",
        "Trust: L0",
    ):
        assert part in ran.out
    assert "claude runs this shell" in world.claude.gate("doctor").out
    os.chmod(os.path.dirname(world.path), 0o755)
    ran = world.plain.gate("doctor", "--json")
    assert ran.code == 1 and any(
        "in its own folder" in f["what"] for f in json.loads(ran.out)["findings"]
    )


@pytest.mark.proves("WHO-8")
def test_doctor_reports_a_missing_proc(world, monkeypatch, capsys):
    monkeypatch.setenv("GATE_STORE", world.path)
    monkeypatch.setattr("gatebell.app.environment.sees_processes", lambda: False)
    assert main(["doctor"]) == 1
    assert "only by their variables" in capsys.readouterr().out


@pytest.mark.proves("STORE-3", "LAW-10", "CLI-2")
def test_store_that_cannot_be_written_is_exit_code_eight(world):
    for path in ("/proc/nowhere/gate.db", "/dev/null/gate.db"):
        ran = world.plain.gate("ask", "Q?", GATE_STORE=path)
        assert ran.code == 8 and "GATE_STORE=PATH" in ran.err
    garbage = world.folder / "garbage.db"
    garbage.write_bytes(b"this is not a database at all, not even a little" * 100)
    ran = world.plain.gate("inbox", GATE_STORE=str(garbage))
    assert ran.code == 8 and "not a gatebell store" in ran.err
    assert (
        json.loads(world.plain.gate("inbox", "--json", GATE_STORE=str(garbage)).out)["exit_code"]
        == 8
    )
    assert world.plain.gate("doctor", GATE_STORE=str(garbage)).code == 1


@pytest.mark.proves("CLI-16", "TASK-43", "LAW-10")
def test_settings_come_from_variable_file_or_default(world):
    shown = json.loads(world.plain.gate("config", "--json").out)
    assert shown["store"] == {"text": world.path, "source": "GATE_STORE"}
    assert shown["agent_wait_seconds"] == {"text": "100", "source": "default"}
    assert world.plain.gate("config", "store").out.strip() == world.path
    assert json.loads(world.plain.gate("config", "store", "--json").out)["source"] == "GATE_STORE"
    assert "config.toml" in world.plain.gate("config").out
    meant = "claude: heavy opus, medium sonnet, light haiku; codex: heavy (its own)"
    assert world.plain.gate("config", "models").out.startswith(meant)
    assert world.plain.gate("config", "nothing").code == 5
    folder = Path(world.plain.environ["HOME"]) / ".config" / "gatebell"
    folder.mkdir(parents=True)
    (folder / "config.toml").write_text("agent_wait_seconds = 7\n")
    assert "7" in world.plain.gate("config").out and world.plain.gate("inbox").code == 0
    file = folder / "config.toml"
    file.write_text('[models.codex]\nheavy = "o9"\n[templates]\nlater = "Later."\n')
    told = json.loads(world.plain.gate("config", "--json").out)
    assert "codex: heavy o9, medium" in told["models"]["text"]
    assert told["templates"] == {"text": "later", "source": str(file)}
    (folder / "config.toml").write_text("wait = 7\n")
    assert (
        "which is not a setting; the settings are store, server, ca"
        in world.plain.gate("inbox").err
    )
    (folder / "config.toml").write_text("= 7\n")
    assert world.plain.gate("inbox").code == 2
    (folder / "config.toml").unlink()
    for wrong in ("soon", "0", "-1"):
        assert world.claude.gate("ask", "Q?", GATE_AGENT_WAIT_SECONDS=wrong).code == 2
    assert world.plain.gate("config", GATE_STORE="mysql://x/y").code == 2


@pytest.mark.proves("STORE-9", "CLI-16")
def test_default_store_is_private_and_in_the_data_folder(world):
    ran = world.plain.gate("ask", "Q?", "--no-wait", GATE_STORE="")
    folder = Path(world.plain.environ["HOME"]) / ".local" / "share" / "gatebell"
    assert ran.code == 0 and folder.stat().st_mode & 0o777 == 0o700
    assert {path.stat().st_mode & 0o777 for path in folder.iterdir()} == {0o600}
    other = str(world.folder / "xdg")
    assert world.plain.gate("config", "store", GATE_STORE="", XDG_DATA_HOME=other).out.startswith(
        other
    )
    assert (
        world.plain.gate("config", "store", GATE_STORE=f"sqlite://{other}/x.db").out
        == f"{other}/x.db\n"
    )


@pytest.mark.proves("CLI-12", "LAW-10")
def test_every_command_explains_itself(world):
    everything = world.plain.gate("help", "all", COLUMNS="120").out
    for name, about in COMMANDS.items():
        assert re.search(rf"^  {name} +{re.escape(about)}$", everything, re.MULTILINE)
        parser = parser_of(name)
        assert parser.description
        for action in parser._actions:
            assert action.help or not action.option_strings or action.metavar, (name, action)
    assert "gate help exit-codes" in world.plain.gate("ask", "--help").out
    assert world.plain.gate("--version").out.startswith("gate 0.")


@pytest.mark.proves("CLI-22")
def test_overview_shows_groups_and_hides_plumbing(world):
    overview = world.plain.gate("--help", COLUMNS="80").out
    assert world.plain.gate("help", COLUMNS="80").out == overview
    assert max(map(len, overview.splitlines())) <= 80
    for group, names in GROUPS.items():
        under = overview.partition(f"\n{group}\n")[2].partition("\n\n")[0]
        assert [line.split()[0] for line in under.splitlines()] == list(names)
    assert 20 <= sum(map(len, GROUPS.values())) <= 28
    for hidden in ("hook", "mcp", "signal", "plan", "kill", "respond", "status"):
        assert f"\n  {hidden} " not in overview
    codes = world.plain.gate("help", "exit-codes").out
    assert re.search(r"^  11 +not answered yet", codes, re.MULTILINE)
    assert world.plain.gate("help", "answer").out == world.plain.gate("answer", "--help").out


def list_parsers(name, parser):
    yield name, parser
    for action in parser._actions:
        if isinstance(action.choices, dict):
            yield from ((f"{name} {verb}", inner) for verb, inner in action.choices.items())


@pytest.mark.proves("CLI-23")
@pytest.mark.parametrize("command", COMMANDS)
def test_help_page_starts_with_two_valid_examples(monkeypatch, command):
    monkeypatch.setenv("COLUMNS", "80")
    for name, parser in list_parsers(command, parser_of(command)):
        summary, shown, *parts = parser.format_help().split("\n\n")
        heading, *examples = shown.splitlines()
        assert heading == "Examples" and len(examples) == 2, name
        # An example stays on one line, so that it can be copied.
        assert all(len(line) <= 80 for part in (summary, *parts) for line in part.splitlines())
        for verb in (verb for one in parser._actions for verb in getattr(one, "verbs", ())):
            assert f"\n    {verb}" in parser.format_help(), "each verb has its own line"
        for example in examples:
            for words in split_gate_commands(example.strip()):
                assert not words or parse_words(words[0], words[1:]), example


@pytest.mark.proves("CLI-24", "LAW-10")
@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("anwser", "gate has no command 'anwser'; did you mean 'answer'?"),
        ("approve a-7k2", "use: gate answer ID yes"),
        ("version", "use: gate --version"),
        ("hist", "gate has no command 'hist'; did you mean 'history'?"),
        ("answer a-7k2 --yes", "gate answer has no option --yes; see: gate answer --help"),
        ("answer a-7k2 --nte x", "gate answer has no option --nte; did you mean '--note'?"),
        ("show", "gate show needs ID; for example: gate show a-7k2"),
        ("show a b", "unexpected word 'b'; gate show takes ID"),
        ("list --limit", "--limit needs a value: --limit N"),
        ("ask Q? --option", "--option needs a value: --option A"),
        ("ask --option -- Q?", "--option needs a value: --option A"),
        ("--verison", "gate has no option --verison; did you mean '--version'?"),
        ("--foo=1", "gate has no option --foo; options come after a command: gate --help"),
        ("person add", "name a person: gate person add NAME"),
        ("ask Q? --kind aproval", "approval, choice, text, form, got 'aproval'; did you mean"),
        ("ask Q? --confidence x", "--confidence: expected a number, got 'x'"),
        ("install claude --user --project", "use --user or --project, not both"),
        ("task creat", "got 'creat'; did you mean 'create'?"),
        ("task list --redy", "gate task list has no option --redy; did you mean '--ready'?"),
        ("help exitcodes", "did you mean 'exit-codes'?"),
    ],
)
def test_wrong_words_get_one_line_and_a_suggestion(world, words, told):
    ran = world.plain.gate(*words.split())
    assert ran.code == 2 and told in ran.err
    assert ran.out == "" and len(ran.err.splitlines()) == 1 and ran.err.startswith("gate: ")


@pytest.mark.proves("CLI-24", "CLI-3")
def test_wrong_option_is_reported_as_json(world):
    ran = world.plain.gate("inbox", "--json", "--lmit", "3")
    assert json.loads(ran.out)["exit_code"] == 2


@pytest.mark.proves("CLI-25")
def test_options_may_come_among_the_words():
    for words in (
        "a-7k2 yes --note n --json",
        "--note n a-7k2 --json yes",
        "a-7k2 --note=n --json yes",
    ):
        found = parse_words("answer", words.split())
        assert (found.id, found.value, found.note, found.json) == ("a-7k2", ["yes"], "n", True)
    found = parse_words("task", ["close", "tm-1", "--reason", "x", "tm-2"])
    assert (found.ids, found.reason) == (["tm-1", "tm-2"], "x")
    assert parse_words("ask-back", ["a-7k2", "--json", "--", "--note", "x"]).text == ["--note", "x"]


@pytest.mark.proves("CLI-12")
def test_reference_matches_the_program():
    reference = runpy.run_path(str(ROOT / "docs" / "reference.py"))
    for page, written in (
        ("cli.md", reference["cli_page"]()),
        ("settings.md", reference["settings_page"]()),
        ("http.md", reference["http_page"]()),
    ):
        assert (ROOT / "docs" / page).read_text(encoding="utf-8") == written, "run: make docs"


@pytest.mark.proves("CLI-2", "CLI-12")
def test_every_exit_code_is_documented():
    documented = runpy.run_path(str(ROOT / "docs" / "reference.py"))["EXIT_CODES"]
    raised = {
        e.exit_code
        for e in vars(errors).values()
        if isinstance(e, type) and issubclass(e, errors.GateError)
    }
    assert raised | {0, 10, 12, 13, 130} == set(documented)


@pytest.mark.proves("CLI-11")
@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_knows_every_command_and_option(world, shell):
    script = world.plain.gate("completion", shell).out
    for name in COMMANDS:
        assert name in script
    assert ("--not-author" in script) or ("-l not-author" in script)


@pytest.mark.proves("CLI-11")
def test_completion_works_in_a_real_bash(world):
    ask_id = world.ask("Which?")
    tries = """
try gate an; try gate answer ""; try gate ask --mul; try gate audit v
try gate ask --kind a; try gate ask --context ''; try gate answer a-222 ''
"""
    first, second, third, fourth, fifth, sixth, seventh = world.complete(tries)
    assert (fifth, sixth) == ("approval", "") and "a-" not in seventh
    assert (first, third, fourth) == ("answer", "--multiple", "verify")
    assert ask_id in second and "--note" in second


@pytest.mark.proves("TASK-294")
@pytest.mark.parametrize("name", ["worker", "respond", "template", "completion"])
def test_help_text_is_laid_out_once(world, name):
    def paragraphs(columns):
        out = world.plain.gate(name, "--help", COLUMNS=columns).out
        told = out.partition("\n\nUsage:")[2].partition("\n\n")[2].partition("\n\nArguments")[0]
        return [one.splitlines() for one in told.split("\n\n")]

    narrow, wide = paragraphs("60"), paragraphs("200")
    assert max(len(line) for lines in narrow for line in lines) <= 60
    words = [" ".join(lines).split() for lines in narrow]
    assert words == [" ".join(lines).split() for lines in wide]
    # Every line but the last of its paragraph is filled: the next word would not fit.
    for lines in narrow if name != "completion" else []:
        for line, after in pairwise(lines):
            assert len(line) + 1 + len(after.split()[0]) > 58, (line, after)


@pytest.mark.proves("CLI-13")
def test_pipes_and_no_color_get_no_colours(world):
    ask_id = world.ask("Which?", "--priority", "urgent")
    for words in (
        ["inbox"],
        ["show", ask_id],
        ["doctor"],
        ["history"],
        ["--help"],
        ["ask", "--help"],
    ):
        assert "\x1b[" not in world.plain.gate(*words, TERM="xterm-256color").out


@pytest.mark.proves("CLI-36")
def test_diffs_of_an_ask_are_coloured(world, tmp_path):
    change = tmp_path / "change"
    change.write_text(
        "- a list\n```diff\n--- a/x.py\n+++ b/x.py\n@@ -1 +1 @@\n-old\n+new\n```\n- another\n",
        encoding="utf-8",
    )
    ask = world.get(world.ask("Apply it?", "--context", str(change)))
    lines = ask_lines(local_backend(world.store), ask, 80, lambda text, colour: f"<{colour}>{text}")
    assert "│ - a list" in lines and "│ <bold>--- a/x.py" in lines
    assert "│ <red>-old" in lines and "│ <green>+new" in lines
    assert "│ <dim>```diff" in lines and "│ <dim>```" in lines and "│ - another" in lines


@pytest.mark.proves("CLI-36", "TUI-2")
def test_edit_is_shown_as_its_coloured_diff(world, tmp_path):
    path = tmp_path / "login.py"
    path.write_text("import os\npass\n", encoding="utf-8")
    call = make_call(
        "Edit", {"file_path": str(path), "old_string": "pass", "new_string": "a\u00a0b"}
    )
    origin = Origin(str(tmp_path), str(tmp_path), "coder")
    request = Request("Edit login.py?", "approval", call=call._replace(real_path=str(path)))
    ask = create_ask.ask(world.store, request, origin, a_person("x")).ask
    lines = ask_lines(local_backend(world.store), ask, 80, lambda text, colour: f"<{colour}>{text}")
    assert {"│ <bold>login.py", "│ 1   import os", "│ <red>2 - pass"} <= set(lines)
    assert "│ <green>2 + a‹U+00A0›b" in lines
    shown = world.plain.gate("show", ask.id).out
    assert "- pass" in shown and "old_string" not in shown


@pytest.mark.proves("CLI-14")
def test_hot_command_loads_none_of_the_slow_modules(world):
    text, form = world.ask("Which?"), world.ask("F?", "--schema", '{"type":"object"}')
    for words, allowed in (
        (["ask", "Q?", "--no-wait"], set()), (["answer", text, "x", "--as", "ada"], set()), (["inbox"], set()),
        (["show", text], set()), (["wait", text], set()), (["history"], set()),
        (["answer", form, "{}", "--as", "ada"], {"jsonschema_rs"}),
    ):  # fmt: skip
        code = (
            "import sys; from gatebell.cli.main import main; code = main(sys.argv[1:]); "
            f"print(' '.join(m for m in {SLOW_MODULES!r} if m in sys.modules), file=sys.stderr); sys.exit(code)"
        )
        environ = world.ada.environ
        ran = subprocess.run(
            [sys.executable, "-c", code, *words],
            env=environ,
            capture_output=True,
            text=True,
            check=False,
        )
        assert ran.returncode == 0, ran.stderr
        assert set(ran.stderr.split()) <= allowed, words


@pytest.mark.proves("RECORD-2")
def test_hot_modules_make_light_records(world):
    ask_id = world.ask("Which?")
    code = (
        "import sys; from gatebell.cli.main import main; main(sys.argv[1:]); "
        "print(*(m.__file__ for n, m in sys.modules.items() if n.startswith('gatebell')), "
        "sep='\\n', file=sys.stderr)"
    )
    loaded = set()
    for words in (["ask", "Q?", "--no-wait"], ["answer", ask_id, "x", "--as", "ada"], ["inbox"],
                  ["wait", ask_id], ["hook", "claude"]):  # fmt: skip
        ran = subprocess.run(
            [sys.executable, "-c", code, *words], env=world.ada.environ, capture_output=True,
            input='{"hook_event_name": "Stop", "session_id": "s1"}', text=True, check=True,
        )  # fmt: skip
        loaded |= set(ran.stderr.splitlines())
    light = Path(records.__file__)
    assert str(light) in loaded
    heavy = [path for path in loaded if "NamedTuple" in imported_from_typing(path)]
    assert [path for path in heavy if path != str(light)] == []


def imported_from_typing(path):
    tree = ast.parse(Path(path).read_text(encoding="utf-8"))
    imports = [one for one in tree.body if isinstance(one, ast.ImportFrom)]
    return {name.name for one in imports if one.module == "typing" for name in one.names}
