"""Roles: agents that are defined by a Markdown file with front matter."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given, strategies as st

from gatebell.domain.digests import text_digest
from gatebell.domain.runs.roles import KEYS, Role, is_role_name, parse_role
from gatebell.errors import UsageError

WHOLE = """\
---
# How we review.
description: |
  Reads what the others wrote.

    Indented, and # not a comment.
cli: codex
model: "gpt-5 \\u00fc"   # the large one
tools: [Read, "Bash(git log, -1)", 'it''s']
arguments:
- --one
-   "two words"  # quoted
limit_seconds: 90.5
---

You review.

---
Not front matter.
"""
# As Claude Code writes and reads them, with keys that we do not use.
CLAUDE = """\
---
name: code-reviewer
description: Use this agent when code is written. Examples: <example>user: "x"</example>
tools: Read, Grep, Bash(git log:*, git diff:*) , mcp__docs__search
model: inherit
color: red
permissionMode: bypassPermissions
somethingNew: [1, {a: b}
hooks:
  PreToolUse:
    - matcher: "Bash"
      hooks:
        - type: command
---
You are a senior reviewer.
"""


def role(front: str, **more) -> Role:
    return parse_role("coder", f"---\n{front}\n---\nDo it.", "/p/coder.md", **more)


@pytest.mark.proves("RUN-200")
def test_role_is_markdown_with_front_matter():
    found = parse_role("reviewer", WHOLE, "/p/reviewer.md")
    assert found == Role(
        "reviewer",
        "You review.\n\n---\nNot front matter.",
        cli="codex",
        model="gpt-5 ü",
        tools=("Read", "Bash(git log, -1)", "it's"),
        arguments=("--one", "two words"),
        limit_seconds=90.5,
        description="Reads what the others wrote.\n\n  Indented, and # not a comment.",
        source="/p/reviewer.md",
        digest=text_digest(WHOLE),
    )


@pytest.mark.proves("RUN-200")
def test_file_without_front_matter_is_all_instructions():
    assert parse_role("coder", "\ufeffYou code.\r\n", "f")[:4] == (
        "coder",
        "You code.",
        "claude",
        "",
    )
    assert parse_role("coder", "", "f").instructions == ""
    assert parse_role("coder", "one\r\ntwo\r\n", "f").instructions == "one\ntwo"


@pytest.mark.proves("RUN-200")
def test_role_has_only_the_fields_of_its_file():
    found = parse_role("coder", "", "")
    assert {name: part for name, part in found._asdict().items() if part} == {
        "name": "coder", "cli": "claude", "digest": text_digest("")
    }  # fmt: skip
    bare = Role("coder", "")
    assert bare == found._replace(digest="")
    assert (bare.cli, bare.model, bare.description, bare.source) == ("claude", "", "", "")


@pytest.mark.proves("RUN-200")
def test_every_way_to_write_a_text_and_a_list():
    assert role("description: >\n  one\n  two\n\n  three").description == "one two\n\nthree"
    assert role("description: one\n  two # three\n\n  four").description == "one two four"
    assert role("description: |\n  ~/bin\n  ~/lib~").description == "~/bin\n~/lib~"
    assert role("description: |\n\tone\n    two").description == "one\ntwo"
    assert role("description:").description == ""
    assert role("description: |").description == ""
    assert role("model: 'it''s' # so").model == "it's"
    assert role("model: a#b #c").model == "a#b"
    assert role("model: ~a").model == "~a"
    assert role('model: "a\tb"').model == "a\tb"
    assert role("tools:\n\t- Read").tools == ("Read",)
    assert role("tools:\n  # none yet\n\n  - Read\n  - 'Bash(ls)'").tools == ("Read", "Bash(ls)")
    assert role('tools: "Read, Edit"').tools == ("Read", "Edit")
    assert role("tools: [ ]").tools == role("tools: # all").tools == role("tools: '*'").tools == ()
    assert role("arguments: [a, b,] # c").arguments == ("a", "b")
    assert role("description: x\r\ncli: codex\r").cli == "codex"


@pytest.mark.proves("RUN-201")
def test_command_defines_a_custom_agent():
    found = role('command: ["./agent", --x]\njoin: ["./agent", "--talk"]\ncli: command')
    assert found[2:7] == ("command", "", (), ("./agent", "--x"), ("./agent", "--talk"))
    assert role("command:\n  - ./agent").cli == "command"
    assert role("command: [agent]\ncli: acp").cli == "acp"
    assert [role(f"cli: {one}").cli for one in ("gemini", "opencode", "copilot")]


@pytest.mark.proves("RUN-202")
def test_files_of_claude_code_are_read_as_they_are():
    found = parse_role("code-reviewer", CLAUDE, "f", foreign=True)
    assert found.cli == "claude" and found.model == "" and found.arguments == ()
    assert found.tools == ("Read", "Grep", "Bash(git log:*, git diff:*)", "mcp__docs__search")
    assert found.description.startswith("Use this agent when code is written. Examples: <example>")
    assert found.instructions == "You are a senior reviewer."
    ours = CLAUDE.replace("somethingNew: [1, {a: b}\n", "")
    assert parse_role("code-reviewer", ours, "f").tools == found.tools


@pytest.mark.proves("RUN-202")
@pytest.mark.parametrize(
    "key",
    [
        *("name", "color", "disallowedTools", "permissionMode", "maxTurns", "skills", "hooks"),
        *("mcpServers", "memory", "background", "isolation", "effort", "initialPrompt"),
    ],
)
def test_key_of_claude_code_is_passed_over(key):
    assert role(f"{key}: x\nmodel: opus").model == "opus"


@pytest.mark.proves("RUN-203", "LAW-10")
@pytest.mark.parametrize(
    ("front", "sentence"),
    [
        ("limit_second: 3", "line 2: unknown key 'limit_second', use description, cli"),
        ("cli: claude\ncli: codex", "line 3: the key cli is set a second time: remove one"),
        ("\ncli: codex\nno colon here", "line 4: expected `key: value`"),
        ("cli:codex", "line 2: expected `key: value`"),
        ("cli: codex\n~x", "line 3: expected `key: value`; indent the lines that continue a value"),
        ("tools: [a]b", "nothing may follow the closing bracket"),
        ("  - stray", "line 2: expected `key: value` before this line"),
        (
            "cli: cursor",
            "or acp for cli; for another program, write command",
        ),
        ("cli: ''", "line 2: expected claude, codex, gemini, opencode, copilot or acp for cli"),
        ("cli: acp", 'line 2: the command is missing: add command: ["./agent"]'),
        ("cli: command", 'line 2: the command is missing: add command: ["./agent"]'),
        ("command: []", "line 2: expected a list for command"),
        ("command: ./agent --x", "line 2: expected a list for command"),
        ("command: [x]\ncli: claude", "line 3: a role has both a command and a cli: remove one"),
        ("limit_seconds: soon", "line 2: expected seconds above 0 for limit_seconds"),
        ("limit_seconds: 0", "seconds above 0 for limit_seconds"),
        ("limit_seconds: -3", "seconds above 0 for limit_seconds"),
        ("limit_seconds: 1e3", "seconds above 0 for limit_seconds"),
        ("limit_seconds:", "seconds above 0 for limit_seconds"),
        ("model: [a]", "line 2: put the model into quotation marks"),
        ("model: |2\n  x", "put the model into quotation marks"),
        ("description: |\n- x", "line 2: indent the lines of description"),
        ('model: "a', "line 2: the closing quotation mark is missing"),
        ('model: "\\q"', "the closing quotation mark is missing, or a"),
        ("model: 'a", "the closing quotation mark is missing"),
        ('model: "a" b', "nothing may follow the closing quotation mark"),
        ('model: "a"\n  b', "nothing may follow the closing quotation mark"),
        ("tools:\n  - 'a' b", "nothing may follow the closing quotation mark"),
        ("tools:\n  Read", "line 2: expected lines `- word` below tools"),
        ("tools:\n  -", "expected lines `- word`"),
        ("tools: Read, Bash(ls", "line 2: write these tools as a list"),
        ("tools: [Read, [Edit]]", "line 2: expected a list on one line for tools"),
        ("tools: [Read", "expected a list on one line for tools"),
        ("tools: [,]", "expected a list on one line for tools"),
        ("tools: [a] b", "nothing may follow the closing bracket"),
        ("tools: [a]\n  - b", "nothing may follow the closing bracket"),
    ],
)
def test_fault_in_a_role_names_file_and_line(front, sentence):
    with pytest.raises(UsageError) as caught:
        role(front)
    assert sentence in str(caught.value)
    assert str(caught.value).startswith("/p/coder.md, line ")


@pytest.mark.proves("RUN-203")
def test_unclosed_front_matter_and_binary_files_are_refused():
    with pytest.raises(UsageError, match="f, line 1: the front matter has no end"):
        parse_role("coder", "---\ncli: codex\n", "f")
    with pytest.raises(UsageError, match="f has a NUL character"):
        parse_role("coder", "a\0b", "f")


@pytest.mark.proves("RUN-204")
@pytest.mark.parametrize(
    "name",
    ["", ".", "..", "../x", "a/b", "/etc/passwd", ".hidden", "-rf", "a b", "a\n", "a\0", "x" * 129,
     "\ud800", "a\\b", "~"],
)  # fmt: skip
def test_role_name_is_never_a_path(name):
    assert not is_role_name(name)
    with pytest.raises(UsageError, match="is not a name for a role"):
        parse_role(name, "", "f")


@pytest.mark.proves("RUN-204")
def test_role_names_are_plain_words():
    assert all(map(is_role_name, ["coder", "code-reviewer", "test_runner.2", "prüfer", "x" * 128]))
    assert not is_role_name("ü" * 65)


@pytest.mark.proves("RUN-203")
@given(
    st.text(st.sampled_from("-: \n[]\"'|>#,()\\ax\t\r") | st.characters(), max_size=60),
    st.booleans(),
)
def test_no_front_matter_breaks_the_reading(text, foreign):
    for key in ("x", *KEYS):
        with suppress(UsageError):
            found = parse_role("coder", f"---\n{key}: {text}\n---\nDo it.", "f", foreign=foreign)
            assert found.cli and all(found.tools) and all(found.command)


@pytest.mark.proves("TASK-42", "TASK-327")
def test_role_has_a_minimum_confidence():
    assert role("model: opus").confidence is None
    for text, sure in (("0.8", 0.8), ("0", 0.0), ("1", 1.0), ('"0.75"', 0.75), ("1.0 # all", 1.0)):
        assert role(f"confidence: {text}").confidence == sure
    for wrong in ("1.1", "80%", "-0.1", "high", "", ".5", "2", "nan", "inf", "1e-1", "true"):
        with pytest.raises(
            UsageError, match=r"line 2: expected a number from 0 to 1 for confidence"
        ):
            role(f"confidence: {wrong}")
