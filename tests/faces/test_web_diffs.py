"""Diffs in the browser: shown in words and signs, bounded, with no line lost."""

from __future__ import annotations

import re
import subprocess
import time

import pytest
from hypothesis import given, settings, strategies as st
from tests.support.markup import read, text_of
from tests.support.payloads import PAYLOADS

from gatebell.adapters.git import changes
from gatebell.domain.permissions.call_changes import relative
from gatebell.domain.permissions.calls import make_call
from gatebell.domain.text.display import inert
from gatebell.web.asks import diffs
from gatebell.web.asks.call_diff import of_call
from gatebell.web.asks.diffs import find, render

SMALL = "--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@ def f():\n same\n-old <b>\n+new\n"


def html_text(html):
    return "".join(read(html).text)


def strip_spans(html):
    return re.sub(r"</?span[^>]*>", "", html)


def rows(html):
    """Return each line as (class, old number, new number, sign, text)."""
    found = []
    for line in str(html).split("<tr ")[1:]:
        name = line.split('"')[1]
        if name != "hunk":
            found.append(
                (
                    name,
                    *[
                        strip_spans(part.split("</td>")[0].split(">", 1)[1])
                        for part in line.split("<td")[1:]
                    ],
                )
            )
    return found  # fmt: skip


@pytest.fixture
def repository(tmp_path):
    def run(*words):
        settings = ("-c", "user.name=ada", "-c", "user.email=ada@example.org")
        subprocess.run(["git", "-C", tmp_path, *settings, *words], check=True, capture_output=True)

    run("init", "-q")
    for name, content in {
        "kept.py": b"one\ntwo\nthree\n\n\n\n", "gone.txt": b"bye\n", "old name.txt": b"a\nb\nc\nd\ne\n",
        "picture": b"\0\1\2", "tool.sh": b"ls\n",
    }.items():  # fmt: skip
        (tmp_path / name).write_bytes(content)
    run("add", ".")
    run("commit", "-qm", "first")
    return tmp_path, run


@pytest.mark.proves("WEB-65")
def test_git_diff_is_found_and_shown_file_by_file(repository):
    folder, run = repository
    (folder / "kept.py").write_text("one\n2 <b>\nthree\n\n\n\n")
    (folder / "gone.txt").unlink()
    (folder / "picture").write_bytes(b"\0\3")
    (folder / "tool.sh").chmod(0o755)
    (folder / "fresh.txt").write_text("no line end")
    (folder / "start.sh").write_text("ls\n")
    (folder / "start.sh").chmod(0o755)
    run("mv", "old name.txt", "new name.txt")
    run("add", "-A")
    words, diff = find(
        "It works on:\n- a list\n\nChanges:\n" + changes.describe_changes(str(folder), "")
    )
    assert words.startswith("It works on:\n- a list\n\nChanges:\n") and "diff --git" not in words
    html = render(diff)
    assert read(html).faults == [] and "<pre" not in html
    sections = [
        text_of(part).split("oldnewsignline")[0].strip() for part in html.split("</section>")
    ]
    assert sections == [
        "fresh.txt +1 −0 new file",
        "gone.txt +0 −1 deleted",
        "kept.py +1 −1",
        "new name.txt  renamed from old name.txt",
        "picture  binary, its content is not shown",
        "start.sh +1 −0 new file, executable",
        "tool.sh  mode 100644 becomes 100755",
        "",
    ]
    assert rows(html)[0] == ("add", "", "1", "+", "no line end")
    assert ("ctx", "", "", "\\", " No newline at end of file") in rows(html)
    assert rows(html)[3:-1] == [
        ("ctx", "1", "1", "", "one"), ("del", "2", "", "-", "two"),
        ("add", "", "2", "+", "2 &lt;b&gt;"), ("ctx", "3", "3", "", "three"),
        ("ctx", "4", "4", "", ""), ("ctx", "5", "5", "", ""),
    ]  # fmt: skip


@pytest.mark.proves("WEB-65")
def test_blank_lines_lost_at_the_end_break_nothing():
    html = render("--- a/x\n+++ b/x\n@@ -1,3 +1,3 @@\n-a\n+b")
    assert "<pre" not in html and len(rows(html)) == 2


@pytest.mark.proves("WEB-65")
@pytest.mark.parametrize(
    ("text", "words", "diff"),
    [
        ("a\n--- a/x\n+++ b/x\n", "a\n", "--- a/x\n+++ b/x\n"),
        ("a\n--- /dev/null\n+++ b/x\n", "a\n", "--- /dev/null\n+++ b/x\n"),
        ("a\n--- a/list of things\nb", "a\n--- a/list of things\nb", ""),
        ("say diff --git a/x", "say diff --git a/x", ""),
        ("diff --git a/x b/x", "", "diff --git a/x b/x"),
        ("", "", ""),
    ],
)
def test_diff_begins_where_one_really_begins(text, words, diff):
    assert find(text) == (words, diff)


@pytest.mark.proves("WEB-66")
def test_torn_diff_is_shown_as_far_as_it_goes():
    html = render(SMALL + "@@ -9,5 +9,5 @@\n same\n-cut o")
    assert len(rows(html)) == 3
    assert html.endswith('<pre class="diff">@@ -9,5 +9,5 @@\n same\n-cut o</pre>')


@pytest.mark.proves("WEB-66")
@pytest.mark.parametrize(
    "text",
    [
        *("just words", "+ words\n- words", "@@ -1 +1 @@\n-words\n+b", "+++ b/words\n"),
        *("diff --git x\n-words", "--- a/x\n+++ b/x\n@@ -1,5 +1 @@\n-words", "rename all words", SMALL + "@@ -1 words @@ words\n"),
        "--- /dev/null\n+++ /dev/null\n@@ -1 +1 @@\n-words\n+b",
        *("--- a/x\n+++ b/x\n@@ -9" + "9" * 5000 + " +1 @@ words", SMALL + "words after\n--- words\n"),
        *("words before\n" + SMALL, SMALL + "--- a/words\n", SMALL + "\\ words\n", SMALL + "index words\n"),
        "diff --cc x\n--- a/x\n+++ b/x\n@@@ -1,1 -1,1 +1,1 @@@\n++words",
    ],
)  # fmt: skip
def test_no_line_is_lost(text):
    assert text_of(render(text)).count("words") == text.count("words")


WORD = st.text("ghijklmnopqrstuvwxyz", min_size=4, max_size=12)
HEADS = (
    *("@@ -1 {} @@ {}", "@@ -1 +1 @@ {}", "@@ -1,0 +1,0 @@ {}", "@@ -1,{} +1 @@", "@@ {} @@", "@@ -01 +1 @@ {}"),
    *("rename from {}", "rename to {}", "copy from {}", "copy to {}", "rename from x", "rename to {0}/{1}"),
    *("--- a/{}\t{}", "+++ b/{}\t{}", "--- a/x\t{}", "+++ b/x\t{}", "--- a/{}", "+++ b/{}", "--- {}", "+++ {}"),
    *("--- /dev/null", "+++ /dev/null", "--- a/x", "+++ b/x", "--- a/x\t", "+++ /dev/null\t{}"),
    *("diff --git a/x b/x", "diff --git a/{} b/{}", "diff --git a/{} b/{} {}", 'diff --git "a/{}" "b/{}"', "diff --git {}"),
    *("Binary files a/x and b/x differ", "Binary files {} and {} differ", "Binary files {} differ", "GIT binary patch"),
    *("Binary file {} has changed", "index {}", "index 1234567..89abcde 100644", "index 1234567..89abcde {}"),
    *("old mode 100644", "new mode 100755", "old mode {}", "new file mode 100755", "new file mode {}", "deleted file mode 100644"),
    *("similarity index 90%", "similarity index {}", "\\ No newline at end of file", "\\ No newline at end of file {}"),
    *("@@ -1 +1 @@", "@@ -1,2 +1,2 @@ {}", "-{}", "+{}", " {}", "{}", "", "=== {}", "Index: {}", "Only in {}: {}"),
)  # fmt: skip


@st.composite
def hostile_diffs(draw):
    lines = draw(st.lists(st.tuples(st.sampled_from(HEADS), WORD, WORD, WORD), max_size=12))
    start = draw(
        st.sampled_from([SMALL, "diff --git a/x b/x\n" + SMALL, "diff --git a/x b/x\n", ""])
    )
    written = [head.format(*words) for head, *words in lines]
    end = draw(st.sampled_from(["", "\n", "\n" + SMALL, "\n@@ -9,5 +9,5 @@\n-cut o"]))
    return start + "\n".join(written) + end


@pytest.mark.proves("WEB-66")
@settings(max_examples=400, deadline=None)
@given(hostile_diffs())
def test_every_word_of_a_hostile_diff_is_shown(text):
    shown = text_of(render(text))
    words = set(re.findall(r"[g-z]{4,}", text)) - set(re.findall(r"[g-z]{4,}", " ".join(HEADS)))
    assert [word for word in words if word not in shown] == []


@pytest.mark.proves("WEB-66")
@pytest.mark.parametrize(
    "line", ["@@ -1 +1 @@ {}", "rename to {}", "--- a/{}", "Binary files a/{} and b/x differ"]
)
def test_overlong_diff_line_is_shown_as_it_is(line):
    text = "diff --git a/x b/x\n" + line.format("\u202e" * 3_000 + "words") + "\n" + SMALL
    assert "words" in text_of(render(text))


@pytest.mark.proves("WEB-61")
def test_no_payload_gets_out_of_its_cell():
    for payload in PAYLOADS:
        name = payload.replace("\n", " ").replace("\t", " ")
        for text in (
            *(payload, f"--- a/{name}\n+++ b/{name}\n@@ -1 +1 @@ {name}\n-a\n+{name}"),
            f"diff --git a/{name} b/{name}\nrename from {name}\n{payload}",
        ):
            reader = read(render(text))
            assert reader.faults == [], payload
            shown = "".join(reader.text)
            assert inert(shown) == shown, payload


@pytest.mark.proves("WEB-66")
def test_long_files_are_closed_and_long_diffs_are_cut():
    def build_added(count):
        return f"--- /dev/null\n+++ b/x\n@@ -0,0 +1,{count} @@\n" + "+a\n" * count

    # The place of a whole file says nothing, unless there are words in it.
    assert "@@" not in render(build_added(3))
    assert "@@ -0,0 +1,3 @@ words" in render(build_added(3).replace(" @@\n", " @@ words\n"))
    assert "<details>" not in render(build_added(200))
    assert (
        "<details><summary>" in render(build_added(201))
        and len(rows(render(build_added(201)))) == 201
    )
    html = render(
        build_added(4_000) + "diff --git a/y b/y\n" + build_added(1_500).replace("b/x", "b/y")
    )
    assert len(rows(html)) == diffs.MAX_LINES and "not shown: 500 more lines" in html
    html = render(build_added(5_000) + "diff --git a/y b/y\nnew mode 100755\n")
    assert "not shown: 1 more files, 0 lines" in html
    html = render(build_added(5_000) + "@@ -9 +9 @@\n-second\n+second\n")
    assert "not shown: 2 more lines" in html and "second" not in html
    html = render("words\n" * 12_000)
    assert text_of(html).count("words") == 5_000 and "not shown: 2,001 more lines of this" in html


@pytest.mark.proves("WEB-66")
@pytest.mark.parametrize(
    "text",
    [
        *("diff --git " + "://" * 4_000 + " " * 4_000, "Binary files " + " and " * 20_000, "\n@@ " * 50_000),
        ("diff --git a/x b/x\nBinary files " + "and " * 180 + "\n") * 5_000,
        *("diff --git a/x b/x\n" * 20_000, "--- a/x\n+++ b/x\n" * 10_000, "diff --git a/" + " b/" * 60_000),
    ],
)  # fmt: skip
def test_no_diff_takes_long(text):
    started = time.process_time()
    render(text)
    # Less than a second; measuring coverage makes it several times slower.
    assert time.process_time() - started < 10


@pytest.mark.proves("WEB-67")
def test_edit_is_shown_as_a_diff_without_line_numbers():
    call = make_call(
        "Edit",
        {"file_path": "/p/<x>", "old_string": "a\nb", "new_string": "a\nc", "replace_all": True},
    )
    html = of_call(call)
    assert rows(html) == [
        ("ctx", "", "", "", "a"),
        ("del", "", "", "-", "b"),
        ("add", "", "", "+", "c"),
    ]
    assert "at every place where it occurs" in html and "/p/&lt;x&gt;" in html
    assert "+1 −1" in html  # fmt: skip


@pytest.mark.proves("WEB-67")
def test_every_edit_of_several_is_shown():
    edits = [{"old_string": "a", "new_string": "b"}, {"old_string": "c", "new_string": ""}]
    html = of_call(make_call("MultiEdit", {"file_path": "/p/x", "edits": edits}))
    assert [row[3:] for row in rows(html)] == [("-", "a"), ("+", "b"), ("-", "c")]
    assert "edit 1 of 2" in html and "edit 2 of 2" in html


@pytest.mark.proves("WEB-67")
def test_written_file_is_shown_whole_with_its_numbers():
    html = of_call(make_call("Write", {"file_path": "/p/x", "content": "a\nb"}))
    assert rows(html) == [("add", "", "1", "+", "a"), ("add", "", "2", "+", "b")]
    assert "the whole file is written" in html


@pytest.mark.proves("WEB-67")
def test_long_edits_are_not_compared_line_by_line():
    old, new = "a\n" * 2_400 + "b", "a\n" * 2_400 + "c"
    call = make_call("Edit", {"file_path": "/x", "old_string": old, "new_string": new})
    assert [row[3] for row in rows(of_call(call))] == ["-"] * 2_401 + ["+"] * 2_401


@pytest.mark.proves("WEB-67")
@pytest.mark.parametrize(
    ("tool", "given"),
    [
        ("Bash", {"command": "ls"}), ("Edit", {"file_path": "/x", "old_string": 1, "new_string": ""}),
        ("Edit", {}), ("MultiEdit", {"edits": "x"}), ("MultiEdit", {"edits": ["x"]}), ("MultiEdit", {"edits": []}),
        ("Write", {"content": None}), ("Read", {"file_path": "/x"}),
    ],
)  # fmt: skip
def test_call_that_is_not_an_edit_has_no_diff(tool, given):
    assert of_call(make_call(tool, given)) is None


FILE = "".join(f"line {number}\n" for number in range(1, 21))


@pytest.mark.proves("WEB-67")
def test_edit_of_a_known_file_has_numbers_and_context():
    call = make_call("Edit", {"file_path": "/p/a.txt", "old_string": "e 10", "new_string": "e ten"})
    html = of_call(call, ["/p"], FILE)
    assert ">a.txt</code>" in html
    assert rows(html) == [
        *[("ctx", str(n), str(n), "", f"line {n}") for n in (7, 8, 9)],
        *[("del", "10", "", "-", "line 10"), ("add", "", "10", "+", "line ten")],
        *[("ctx", str(n), str(n), "", f"line {n}") for n in (11, 12, 13)],
    ]


@pytest.mark.parametrize(
    ("old", "first", "last"),
    [("line 1\n", 1, 4), ("line 20", 17, 20), ("line 20\n", 17, 20), (FILE, 1, 20)],
)
@pytest.mark.proves("WEB-67")
def test_edit_at_an_end_of_its_file_is_numbered(old, first, last):
    new = old.replace("line", "new", 1)
    call = make_call("Edit", {"file_path": "/p/a", "old_string": old, "new_string": new})
    numbers = [int(row[1]) for row in rows(of_call(call, [], FILE)) if row[1]]
    assert numbers == list(range(first, (last if old != FILE else 4) + 1))


@pytest.mark.proves("WEB-67")
def test_text_that_is_not_in_the_file_is_reported():
    edits = [{"old_string": "a", "new_string": "b"}, {"old_string": "b", "new_string": "c"}]
    call = make_call("MultiEdit", {"file_path": "/p/x", "edits": edits})
    assert "not in the file" not in of_call(call, [], "a\n")
    assert "edit 2 of 2, this text is not in the file now" in of_call(call, [], "x\n")


@pytest.mark.proves("WEB-67")
def test_written_file_is_compared_with_the_file_there():
    call = make_call("Write", {"file_path": "/p/a", "content": FILE.replace("line 10", "ten")})
    assert [row[3] for row in rows(of_call(call, [], FILE))] == [
        *["", "", ""],
        "-",
        "+",
        *["", "", ""],
    ]


@pytest.mark.proves("WEB-67", "LAW-8")
def test_secret_beside_an_edit_is_hidden():
    content = "a = 1\nPASSWORD=hunter2hunter2\n"
    call = make_call("Edit", {"file_path": "/p/.env", "old_string": "a = 1", "new_string": "a = 2"})
    assert "hunter2" not in of_call(call, [], content)


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        *(("/p/a/b.py", "a/b.py"), ("/p/../x", "/p/../x"), ("/q/c", "c"), ("/pp/d", "/pp/d")),
        *(("e", "e"), ("/p/", "/p/")),
    ],
)
@pytest.mark.proves("WEB-67")
def test_file_is_named_below_its_project(path, shown):
    assert relative(path, ["/p", "", "/q/"]) in (shown, "")


@pytest.mark.proves("WEB-101")
def test_changed_words_are_marked_and_code_has_colours():
    html = render(
        "--- a/x.py\n+++ b/x.py\n@@ -1 +1 @@\n-total = sum(items)  # <b>\n+total = max(items)  # <b>\n"
    )
    assert '<span class="t-f w">sum</span>' in html and '<span class="t-f w">max</span>' in html
    assert html.count('<span class="t-c"># &lt;b&gt;</span>') == 2
    assert read(html).faults == []


@pytest.mark.proves("WEB-101")
def test_lines_without_common_words_are_not_marked():
    html = render("--- a/x\n+++ b/x\n@@ -1 +1 @@\n-one two three\n+vier fünf\n")
    assert "<span" not in html.partition("<table")[2]


@pytest.mark.proves("WEB-101", "WEB-64")
@pytest.mark.parametrize(
    "line", ['"' * 400, "/*" * 200, "a(" * 200, "\\" * 400, "'\\\"" * 130, "0." * 200]
)
@pytest.mark.parametrize("ending", ["py", "js", "sql", "html", "json", "sh"])
def test_no_text_makes_colouring_slow_or_loses_a_character(line, ending):
    changed = "".join(f"-{line}\n+{line}x\n" for _ in range(50))
    text = f"--- a/x.{ending}\n+++ b/x.{ending}\n@@ -1,50 +1,50 @@\n{changed}"
    started = time.process_time()
    html = render(text)
    assert time.process_time() - started < 3
    assert [html_text(row[4]) for row in rows(html)[:2]] == [line, f"{line}x"]
