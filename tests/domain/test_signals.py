"""Signals of agents in every place, and texts that are not signals."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from gatebell.domain.runs.roles import KEYS
from gatebell.domain.runs.signals import (
    CONTEXT_FILE,
    STATUSES,
    Signal,
    as_given,
    explicit,
    from_json,
    json_objects,
    judge,
    parse_signal,
    signal_environ,
    signal_file,
    spans,
    to_json,
)

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)  # fmt: skip
# Pieces of JSON that an attacker combines.
PIECES = st.lists(
    st.sampled_from(["{", "}", '"', ":", ",", "[", "]", "1", "-", "\\", '"a":', '{"', '":"', "\n", " ",
                     "true", "\\u0041", "{}", '{"b":2}', "x"]),
    max_size=20,
).map("".join)  # fmt: skip


def judge_words(words: str) -> Signal:
    return judge(None, None, ended_ok=True, words=words, problem="")


@pytest.mark.proves("S2-8", "S2-19", "RUN-210")
def test_signal_is_a_json_object_with_a_status():
    asked = {
        "status": "NEEDS_HUMAN",
        "reason": "unclear",
        "question": "Which?",
        "options": ["a", "b"],
    }
    assert parse_signal(asked) == Signal("NEEDS_HUMAN", "unclear", "", "Which?", ("a", "b"))
    done = {"status": "DONE", "summary": "all", "value": {"n": 1}, "message": "m", "details": [1]}
    found = parse_signal(done)
    assert found == Signal("DONE", "", "all", "", (), {"n": 1}, "m", {"details": [1]})
    assert found.own_words == "all"


@pytest.mark.proves("S2-B22", "RUN-210")
@pytest.mark.parametrize(
    ("given_", "status"),
    [
        *((status, status) for status in STATUSES),
        ("needs_input", "NEEDS_HUMAN"),
        ("Needs Input", "NEEDS_HUMAN"),
        ("needs-human", "NEEDS_HUMAN"),
        (" changes  requested\n", "CHANGES_REQUESTED"),
        ("shipped", "SHIPPED"),
        ("ÜBERPRÜFT", "ÜBERPRÜFT"),
        ("x" * 64, "X" * 64),
    ],
)
def test_status_is_any_single_word_in_capitals(given_, status):
    assert parse_signal({"status": given_}) == Signal(status)


@pytest.mark.proves("RUN-211")
@pytest.mark.parametrize(
    "given_",
    [None, [], "DONE", 3, {}, {"status": None}, {"status": 200}, {"status": ""}, {"status": "  "},
     {"status": "x" * 65}, {"status": "a\x07b"}, {"Status": "DONE"},
     {"status": "DONE", "value": float("inf")}],
)  # fmt: skip
def test_object_without_status_is_not_a_signal(given_):
    assert parse_signal(given_) is None


@pytest.mark.proves("S2-B9", "RUN-212")
@pytest.mark.parametrize("reason", [None, 3, ["a"], {"b": "ü"}, "", "why", True])
def test_reason_is_always_a_text(reason):
    found = parse_signal({"status": "BLOCKED", "reason": reason})
    assert "rejected: " + found.reason == "rejected: " + (
        ""
        if reason is None
        else reason
        if isinstance(reason, str)
        else json.dumps(reason, ensure_ascii=False)
    )
    assert ("rejected: " + judge_words("nothing").reason).startswith(
        "rejected: the agent gave no signal"
    )


@pytest.mark.proves("RUN-212")
def test_options_are_texts_that_differ():
    options = [" a ", "a", "", None, 3, {"label": "b", "description": "c"}, {"x": 1}]
    assert parse_signal({"status": "X", "options": options}).options == ("a", "3", "b")
    assert parse_signal({"status": "X", "options": "abc"}).options == ()
    assert len(parse_signal({"status": "X", "options": list(range(999))}).options) == 100


@pytest.mark.proves("RUN-212")
def test_question_text_falls_back_to_reason_and_summary():
    assert Signal("NEEDS_HUMAN", "r", "s", "q", message="m").question_text == "q"
    assert Signal("NEEDS_HUMAN", "r", "s").question_text == "r"
    assert Signal("NEEDS_HUMAN", summary="s").question_text == "s"
    whole = Signal("NEEDS_HUMAN", question="q", reason="r", summary="s", message="s")
    assert (whole.question_text, whole.beside) == ("q", "s\nr")
    assert Signal("NEEDS_HUMAN", reason="r", summary="r").beside == ""


@pytest.mark.proves("TASK-25", "S3-14", "S3-21")
def test_context_of_a_question_comes_first():
    more = {"questionContext": "c"}
    assert Signal("NEEDS_HUMAN", question="q", summary="s", more=more).context == "c\n\ns"
    assert Signal("NEEDS_HUMAN", question="q", more={"question_context": ["c"]}).context == '["c"]'
    assert Signal("NEEDS_HUMAN", question="q", summary="s").context == "s"
    assert Signal("NEEDS_HUMAN", question="q", more={"questionContext": None}).context == ""


@pytest.mark.proves("TASK-29", "S3-19")
def test_stored_raw_signal_reads_as_the_same_signal():
    told = {"status": "done", "summary": "s", "details": "d", "issues": ["i"], "confidence": 1}
    signal = parse_signal(told)
    assert signal.more == {"details": "d", "issues": ["i"], "confidence": 1}
    assert as_given(signal) == told | {"status": "DONE"}
    assert explicit(as_given(signal), None) == signal
    bare = parse_signal({"status": "DONE"})
    assert as_given(bare) == {"status": "DONE"} and explicit(as_given(bare), None) == bare


@pytest.mark.proves("RUN-212")
@given(st.dictionaries(st.text(max_size=6) | st.sampled_from(Signal._fields), JSON, max_size=6))
def test_signal_returns_unchanged_from_the_journal(given_):
    found = parse_signal(given_ | {"status": "ok"})
    assert from_json(json.loads(json.dumps(to_json(found)))) == found
    assert to_json(Signal("DONE")) == {"status": "DONE"}


@pytest.mark.proves("RUN-212")
def test_journal_keeps_options_as_a_list():
    asked = Signal("NEEDS_HUMAN", question="Which?", options=("a", "b"), more={"x": 1})
    kept = {"status": "NEEDS_HUMAN", "question": "Which?", "options": ["a", "b"], "more": {"x": 1}}
    assert to_json(asked) == kept
    assert from_json(kept) == asked
    assert from_json({"status": "DONE"}) == Signal("DONE")


@pytest.mark.proves("TASK-325")
@pytest.mark.parametrize(
    ("given_", "sure"),
    [(0, 0), (1, 1), (0.5, 0.5), (1.5, None), (-0.1, None), (True, None), ("0.5", None), (None, None)],
)  # fmt: skip
def test_confidence_is_a_number_from_0_to_1(given_, sure):
    found = parse_signal({"status": "DONE", "confidence": given_}).confidence
    assert (found, type(found)) == (sure, type(sure))


@pytest.mark.proves("RUN-210")
def test_agents_find_their_signal_file_by_its_name():
    path = signal_file("coder", "t-7k2")
    assert path == ".agents/signals/coder-t-7k2.json"
    assert CONTEXT_FILE == ".agents/context.md"
    assert signal_environ(42, "t-7k2", f"/w/{path}") == {
        "GATE_TURN": "t-7k2", "GATE_RUN": "42", "GATE_SIGNAL_FILE": f"/w/{path}"
    }  # fmt: skip


@pytest.mark.proves("RUN-213")
def test_tool_counts_before_file_and_file_before_words():
    by_file, by_words = '{"status": "BLOCKED"}', '{"status": "APPROVED"}'
    assert judge({"status": "DONE"}, by_file, True, by_words, "").status == "DONE"
    assert judge(None, "\ufeff" + by_file, True, by_words, "").status == "BLOCKED"
    assert judge({}, None, True, by_words, "").status == "APPROVED"


@pytest.mark.proves("S2-B14", "S2-B15", "RUN-214")
@pytest.mark.parametrize(
    "file_text",
    ['{"status": "APPRO', '{"status": "APPROVED"', '{"status": "APPROVED"} {', "", "APPROVED", "[]",
     '{"status": "APPROVED", "value": NaN}', '{"a":' * 99_999, '[{"status": "APPROVED"}]'],
)  # fmt: skip
def test_torn_or_broken_signal_file_is_not_a_signal(file_text):
    found = judge(None, file_text, True, "", "")
    assert found.status == "ERROR"
    broken = ": its signal file has no complete JSON object with a status" if file_text else ""
    assert found.reason == f"the agent gave no signal{broken} and said nothing"
    assert judge(None, file_text, True, '{"status": "DONE"}', "").status == "DONE"


@pytest.mark.proves("S2-P7", "RUN-215")
def test_missing_signal_is_an_error_with_the_last_words():
    assert judge_words("I am\ndone.\n") == Signal(
        "ERROR", "the agent gave no signal; its last words: I am\ndone."
    )
    assert judge_words("").reason == "the agent gave no signal and said nothing"
    told = "the agent gave no signal; its last words: "
    assert judge_words("a" * 2_000).reason == told + "a" * 2_000
    assert judge_words("a" * 2_001).reason == f"{told}… " + "a" * 2_000
    reason = judge_words("a" * 9_000 + "the end \ud800\0").reason
    assert reason.endswith("the end ��") and len(reason) < 2_100
    reason.encode()


@pytest.mark.proves("RUN-216")
def test_older_words_do_not_count_after_a_crash():
    words = '{"status": "APPROVED"}'
    assert judge(None, None, False, words, "it was killed") == Signal("ERROR", "it was killed")
    assert judge(None, '{"status": "APPR', False, words, "").reason == "the agent ended badly"
    assert judge(None, words, False, "", "it was killed").status == "APPROVED"
    assert judge({"status": "DONE"}, None, False, "", "it was killed").status == "DONE"


def deep(depth: int) -> list:
    return [deep(depth - 1)] if depth > 1 else []


@pytest.mark.proves("RUN-217")
@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('{"a": 1}', {"a": 1}),
        ('Done.\n\n```json\n{\n  "a": [1, -2.5e3, "x\\"}", {"b": null}], "c": {}\n}\n```\n', ...),
        ('{"a": 1} and {"a": 2}.', {"a": 2}),
        ('a { brace, "a quote and {"a": 1}', {"a": 1}),
        ('{ "hello {"a": 1} "', {"a": 1}),
        ('{"a": "not {} this"}', {"a": "not {} this"}),
        ('"{\\"a\\": 1}"', None),
        ('if (x) { return {"a": 1} }', None),
        ("{}", {}),
        ('{{"a": 1}', {"a": 1}),
        ("[" * 3 + '{"a": ' + "[" * 99 + "]" * 99 + "}", {"a": deep(99)}),
        ('{"a": ' + "[" * 100 + "]" * 100 + "}", None),
        ("no json { at all }", None),
        ('{"a": 1', None),
        ('{"a": 1,}', None),
        ('{"a" 1}', None),
        ('{"a": 01}', None),
        ('{"a": "line\nend"}', None),
        ('{"a": "\\x"}', None),
        ("[1, 2]", None),
        ('{"a": ' + "9" * 5_000 + "}", None),
        ('{"a":' * 200 + "1" + "}" * 200, None),
    ],
)
def test_last_complete_json_object_is_found_in_any_text(text, found):
    if found is ...:
        found = {"a": [1, -2500.0, 'x"}', {"b": None}], "c": {}}
    assert next(json_objects(text), None) == found


@pytest.mark.proves("RUN-218")
@pytest.mark.parametrize(
    "words",
    [
        # The quotation marks in the reason are not escaped, so the text is not JSON.
        '{"status": "REJECTED", "reason": "it says "no"", "items": [{"status": "APPROVED"}]}',
        '{"status": "REJECTED", "items": [{"status": "APPROVED"}],}',
        '{"items": {"status": "APPROVED"}',
        '[{"status": "OPEN"}, {"status": "APPROVED"}]',
        '> {"status": "APPROVED"}',
        '  │ {"status": "APPROVED"}',
        'I could say {"status": "APPROVED"}, but I do not.',
    ],
)
def test_fragment_or_quotation_is_not_a_signal(words):
    assert judge_words(words).status == "ERROR"


@pytest.mark.proves("RUN-217")
@pytest.mark.parametrize(
    ("text", "places"),
    [
        ('{"a": 1} {}', [(0, 8), (9, 11)]),
        ('{"a" 1} {}', [(8, 10)]),
        ('{"a": [1} {}', [(10, 12)]),
        ('x {"a": {"b": 2}}', [(2, 17)]),
        ('{"a": {"b": 1} {}', [(15, 17)]),
        ('{"a": ' + "[" * 100 + "]" * 100 + "}", []),
        ("{", []),
        ('{"a": 1', []),
    ],
)
def test_places_of_whole_objects_are_found(text, places):
    assert list(spans(text)) == places


@pytest.mark.proves("RUN-217")
def test_last_json_with_a_status_counts():
    words = '{"status": "DONE", "summary": "s"}\nIt prints {"code": 0} and {"status": 200}.'
    assert judge_words(words) == Signal("DONE", summary="s")


@pytest.mark.proves("RUN-217")
@given(JSON.filter(lambda value: isinstance(value, dict)), st.text(max_size=9), st.booleans())
def test_json_is_found_behind_whatever_was_said(value, before, pretty):
    text = json.dumps(value, ensure_ascii=False, indent=2 if pretty else None)
    before = before.replace("{", "(").replace('"', "'")
    assert next(json_objects(f"{before}\n{text}\nThat is all."), None) == value


@pytest.mark.proves("RUN-217")
@given(PIECES)
def test_found_signal_is_json_from_the_text(text):
    found = next(json_objects(text), None)
    starts = [i for i, sign in enumerate(text) if sign == "{"]
    complete = []
    for start in starts:
        for end in range(start + 2, len(text) + 1):
            try:
                value = json.loads(text[start:end])
            except ValueError:
                continue
            complete.append(value)
    assert found is None or found in complete
    assert judge_words(text).status == "ERROR"


@pytest.mark.proves("RUN-219")
@pytest.mark.parametrize(
    "piece",
    ["{", '{"a":', '{"a":[', '{"a":[' + "1," * 500, '{"', '{"a":"{', "{ ", '{"\\', '{"a\\"', "{}", '"{',
     '{"":"', '{"":"{":', '{"status":""}', '> {"status":"a"}', '{"status":"a"},', '{"a":"b","c":"{"d":"e"'],
)  # fmt: skip
@pytest.mark.usefixtures("uncounted")
def test_reading_hostile_words_takes_time_by_their_length_only(piece):
    def seconds(length: int) -> float:
        words = (piece * length)[:length]
        begun = time.process_time()
        judge_words(words)
        return time.process_time() - begun

    # With ten times the length, a quadratic search would take a hundred times as long.
    small = max(min(seconds(3_000) for _ in range(3)), 0.001)
    assert min(seconds(30_000) for _ in range(2)) < 40 * small


@pytest.mark.proves("S2-B22", "RUN-210")
def test_every_status_and_key_of_a_role_is_documented():
    page = (Path(__file__).parents[2] / "docs/roles.md").read_text(encoding="utf-8")
    missing = [word for word in (*STATUSES, *Signal._fields[:-1], *KEYS) if f"`{word}`" not in page]
    assert missing == []
