"""Which command lines are held: lists of gated and of harmless ones, and what cannot be read."""

from __future__ import annotations

import re
import sys
import time
from importlib.machinery import PathFinder
from pathlib import Path

import pytest
from tests.support.lines import read_lines

from gatebell.adapters.shell.bash_parser import MAX_LENGTH, parse
from gatebell.domain.permissions.acts import GATED_ACTS, Act
from gatebell.domain.permissions.judgement import MAX_DEPTH
from gatebell.domain.permissions.rules import list_triggers
from gatebell.domain.permissions.shell_lines import Script
from gatebell.install.hosts.codex import list_prefixes
from gatebell.services.permissions.judge_line import judge_line
from gatebell.services.permissions.notice_line import claude_notices, codex_asks

PAGE = Path(__file__).parents[2] / "docs" / "held.md"
GATED, HARMLESS = read_lines("gated"), read_lines("harmless")
FALSE_ALARMS = {
    "npm run build --workspace=deploy-tools",
    "npx -y cowsay deployed",
    "zig build -Drelease-fast",
    "ansible all -m ping",
    "tmux attach -t deploy",
    "python manage.py test deploy",
    "python -c \"import json; print(json.load(open('release.json')))\"",
    "./run_tests.sh push",
}


def is_held(line):
    return judge_line(line, parse).finding is not None and bool(list_triggers(line))


def why(line):
    found = judge_line(line, parse).finding
    return (found.act, found.why) if found else None


@pytest.mark.proves("HOOK-50")
@pytest.mark.parametrize("topic", GATED)
def test_every_gated_spelling_is_held(topic):
    assert [
        line for line in GATED[topic] if not (is_held(line) and claude_notices(line, parse))
    ] == []


@pytest.mark.proves("HOOK-50")
def test_harmless_lines_pass_but_for_known_ones():
    lines = [line for lines in HARMLESS.values() for line in lines]
    assert {line for line in lines if is_held(line)} == FALSE_ALARMS
    assert len(lines) == len(set(lines)) >= 1000
    assert sum(map(len, GATED.values())) >= 200
    noticed = sum(bool(list_triggers(line)) for line in lines)
    told = re.search(r"of (\d+) ordinary lines, (\d+) match a wide rule, and of those (\d+) are asked",
                     " ".join(PAGE.read_text(encoding="utf-8").split()))  # fmt: skip
    assert told and [int(one) for one in told.groups()] == [
        len(lines), noticed, len(FALSE_ALARMS)
    ]  # fmt: skip


@pytest.mark.proves("HOOK-57")
def test_noticing_hosts_are_those_of_the_page():
    prefixes = [prefix for gate in GATED_ACTS for prefix in list_prefixes(gate)]
    rows = re.findall(r"^\| `(.+)` \| (asked|\*.*?) \| .*? \| (\S.*?) \|$", PAGE.read_text(encoding="utf-8"),
                      re.MULTILINE)  # fmt: skip
    assert len(rows) > 100
    for shown, claude, codex in rows:
        line = shown.replace("⏎", "\n").replace("\\|", "|")
        is_asked = is_held(line) and claude_notices(line, parse)
        assert is_asked == (claude == "asked"), line
        assert codex_asks(line, prefixes, parse) == (codex == "asked"), line


@pytest.mark.proves("HOOK-57")
def test_text_after_a_here_document_is_not_noticed():
    # Seen with Claude Code 2.1.325.
    for line in (
        "cat <<A; git push\nx\nA",
        "cat <<A\n`git push`\nA",
        'cat <<EOF\n`echo "${x:-\\`g"i"t push\\`}"`\nEOF',
        "while read c; do $c; done <<< 'git push'",
        "node <<'A'\nrun('git push')\nA",
        "ssh host <<-'A'\n\tgit push\n\tA",
    ):
        assert is_held(line) and not claude_notices(line, parse), line
    for line in (
        "source /dev/stdin <<A\ngit push\nA",
        "cat <<A && git push\nx\nA",
        "cat <<A\n$(git push)\nA",
        "x=rm; $x -rf y",
    ):
        assert is_held(line) and claude_notices(line, parse), line


@pytest.mark.proves("HOOK-50")
def test_finding_names_the_act_and_the_reason():
    assert why("sudo -u me git push") == (Act.PUSH, "`git push` is a push")
    assert why("helm -n prod upgrade a b") == (Act.DEPLOY, "`helm upgrade` is a deploy")
    assert why("git $x") == (None, "the subcommand of git is not known before it runs")
    assert why("git shove") == (None, "`git shove`: it may be an alias")
    found = judge_line("true && git  push\t-f", parse).finding
    assert found.command == "git push -f"


@pytest.mark.proves("HOOK-52")
@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ('echo "push', "it cannot be parsed"),
        ("echo push )", "it cannot be parsed"),
        ("echo push\x01", "it has control characters"),
        (f"echo {'push ' * MAX_LENGTH}", f"it is longer than {MAX_LENGTH} characters"),
        ("bash -c 'echo \"push'", "a shell runs a text, and it cannot be parsed"),
        ('bash -c "$push"', "a shell runs a text that is not known before"),
        ("$push it", "its program is not known before it runs"),
        ("bash < push.txt", "a shell reads commands that the line does not show"),
        ("python3 < push.py", "python3 reads code that the line does not show"),
        ("python3 - <<'EOF'\nos.system('git push')\nEOF", "it runs something that names 'push'"),
        ("crontab push.txt", "it runs commands that the line does not show"),
        ('source "$push"', "a shell runs a file that is not known before"),
        ("rm $push", "the options of rm are not known before it runs"),
        ('f() { rm "$@"; }; f -rf push', "the options of rm are not known before it runs"),
        ('o=-rf; rm "$o" push', "the options of rm are not known before it runs"),
        ("rm -f$push a", "the options of rm are not known before it runs"),
        ("bash <(echo git push)", "a shell runs a file that is not known before"),
        (". /dev/stdin < push", "a shell runs a text that is not known before"),
        ("git push \ud800", "it cannot be parsed"),
        (f"{'$(' * 3000}git push{')' * 3000}", "it cannot be parsed"),
    ],
)
def test_unreadable_line_is_held(line, reason):
    assert why(line) == (None, reason)


@pytest.mark.proves("HOOK-50")
def test_text_for_another_host_is_read():
    assert why("ssh host <<'EOF'\ngit push\nEOF")[0] == Act.PUSH


@pytest.mark.proves("HOOK-52")
def test_line_is_held_without_the_parser(monkeypatch):
    monkeypatch.setitem(sys.modules, "tree_sitter_bash", None)
    monkeypatch.setattr(PathFinder, "find_spec", lambda *_: None)
    assert why("ls push") == (None, "the parser is not installed: pip install tree-sitter-bash")


@pytest.mark.proves("HOOK-52")
@pytest.mark.parametrize(("shells", "is_read"), [(MAX_DEPTH, True), (MAX_DEPTH + 1, False)])
def test_shells_in_shells_are_read_to_a_limit(shells, is_read):
    def read(text):
        deeper = int(text) - 1
        words = ("sh", "-c", str(deeper)) if deeper >= 0 else ("ls",)
        return parse("ls")._replace(commands=(parse("ls").commands[0]._replace(words=words),))

    found = judge_line(str(shells), read).finding
    assert found is None if is_read else "too many shells" in found.why


@pytest.mark.proves("HOOK-52")
def test_line_with_very_many_shells_is_held():
    line = "; ".join(f"sh -c 'ls {number}'" for number in range(60))
    assert why(line) == (None, "it starts too many shells")


@pytest.mark.proves("HOOK-50")
def test_line_that_only_reads_is_recognised():
    for line in ("grep -rn push src | head", "git log --grep=deploy", "ls *.push 2>/dev/null"):
        assert judge_line(line, parse).only_reads, line
    for line in (
        "cat ~/.ssh/deploy", "cat /etc/push", "cat ../push", "ls push > a", "(ls push) > a",
        "sort -o push a", 'cat "$push"', "git push", "git commit -m push", "git", "pytest push",
        "git log --output=push", "rg --pre push a",
    ):  # fmt: skip
        assert not judge_line(line, parse).only_reads, line


@pytest.mark.proves("HOOK-55")
@pytest.mark.parametrize(
    "line",
    [
        # They run a program.
        "sort --compress-program=./push a", "sort --compress-prog ./push a", "rg --hostname-bin=./push a",
        "git grep --open-files-in-pager=./push a", "GIT_EXTERNAL_DIFF=./push git diff",
        "export GIT_EXTERNAL_DIFF=./push; git diff", "LD_PRELOAD=./push.so ls", "PATH=push ls",
        "printf -v 'a[$(push)]' x", "test -v 'a[$(push)]'", "[ -v 'a[$(push)]' ]",
        "[[ 'a[$(push)]' -eq 0 ]]", "declare -i 'x=a[$(push)]'", "unset 'a[$(push)]'",
        "printf %d 'a[`push`]'", "cd push && git status", "status push", "log push",
        # They write.
        "uniq push out", "sort --outp=push a", "git log --outpu=push", "tree -R push", "file -C -m push",
        "ls push >& a", "ls push 3> a", "> push", "date 01010000 push",
        # They read another place.
        "cd; cat .ssh/id_rsa push", "cat < /etc/push", "grep -f/etc/passwd push", "cat .[.]/push",
        "grep --file=/etc/passwd push", "date --file=/etc/push", "cat {/etc/push,a}", "cat {,/}etc/push",
        "wc --files0-from=/push", "git blame --contents=/etc/push a", "jq -n env push", "cat =push",
        "jq 'import \"/push\" as $a; $a'", "du --files0-from=/push", "file -f/etc/push",
    ],
)  # fmt: skip
def test_line_that_may_do_more_is_refused(line):
    assert not judge_line(line, parse).only_reads


@pytest.mark.proves("HOOK-55")
def test_paths_of_a_reading_line_are_named():
    verdict = judge_line("grep -rn push src docs/*.md", parse)
    assert verdict.only_reads and verdict.paths == ("push", "src", "docs/\2.md")


@pytest.mark.proves("HOOK-50")
def test_long_line_is_read_quickly():
    for line in (f"echo push {'a ' * 9000}", f"echo push {'[' * 15_000}"):
        began = time.process_time()
        assert judge_line(line, parse).finding is None
        # Before, it was a square of the length: 5 s and 15 s.
        assert time.process_time() - began < 4


@pytest.mark.proves("HOOK-50")
def test_line_without_a_command_passes():
    assert judge_line("# push", parse).finding is None
    assert judge_line("PUSH=1", parse).finding is None
    assert parse("") == Script()


@pytest.mark.proves("HOOK-50")
@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("git pu\\\nsh", ("git", "push")),
        ("g'i't \"pu\"sh", ("git", "push")),
        ("$'git' $'p\\'ush\\n'", ("git", "p'ush\n")),
        ('$"git" "a\\"b"', ("git", 'a"b')),
        ("a{b,c} d?", ("a\2b,c}", "d\2")),
        ('a "$b"$c', ("a", "\0\1")),
        ("$'\\x61'", ("\x0061",)),
        ("cat - <<EOF\nx\nEOF", ("cat",)),
        ("cat <<< a b", ("cat", "b")),
        ("cat > a b", ("cat", "b")),
        ("x=1 y", ("y",)),
    ],
)
def test_words_are_those_of_a_shell(line, words):
    assert parse(line).commands[0].words == words


@pytest.mark.proves("HOOK-50")
@pytest.mark.parametrize(
    ("harmless", "gated"),
    [
        ("alias g=git; g status", "alias g=git; g push"),
        ("echo `ls \\`pwd\\``", "echo `ls \\`git push\\``"),
        ("docker run --entrypoint git alpine/git status", "docker run --entrypoint git alpine/git push"),
        ("make | tee log; ./run.sh", "tee run.sh <<'E'\ngit push\nE\n./run.sh"),
    ],
)  # fmt: skip
def test_command_inside_another_decides(harmless, gated):
    assert judge_line(harmless, parse).finding is None
    assert judge_line(gated, parse).finding.act == Act.PUSH


@pytest.mark.proves("HOOK-55")
@pytest.mark.parametrize(
    ("line", "reads"),
    [
        ("comm -12 a b", True),
        ("comm -3 push b", True),
        ("comm --output-delimiter=x a b", False),
        ("comm -12 /etc/passwd b", False),
        ("comm -z a b", False),
    ],
)
def test_comm_has_digits_as_options(line, reads):
    assert judge_line(line, parse).only_reads == reads


@pytest.mark.proves("HOOK-52")
@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ('x=rm; alias g="$x -rf"; g y', "a shell runs a text that is not known before"),
        ('alias g="$x"; ls', None),
        ("alias -p; ls; alias g", None),
    ],
)
def test_used_alias_without_a_known_text_is_held(line, reason):
    assert why(line) == (reason and (None, reason))
