"""Reports of the agent of a task, and the resulting task states."""

from __future__ import annotations

import pytest

from gatebell.domain.runs.signals import explicit, parse_signal
from gatebell.domain.tasks import reports


def read(**given):
    return reports.read(parse_signal(given), "deferred")


@pytest.mark.proves("TASK-165", "S3-18", "S3-19")
@pytest.mark.parametrize(
    ("status", "state"),
    [
        ("completed", "closed"), ("DONE", "closed"), ("failed", "failed"), ("error", "failed"),
        ("blocked", "blocked"), ("needs_input", "deferred"), ("maybe", "failed"),
        ("approved", "failed"), ("closed", "failed"),
    ],
)  # fmt: skip
def test_status_leads_to_one_state(status, state):
    assert read(status=status, summary="so").state == state


@pytest.mark.proves("TASK-165", "S3-19", "S3-86")
def test_summary_details_issues_and_confidence_are_taken_over():
    found = read(
        status="completed", summary="Did it", details="All of it", confidence=0.4, issues=["a", 7]
    )
    assert (found.summary, found.confidence, found.status) == ("Did it", 0.4, "")
    assert found.details == "All of it\n\nIssues:\n- a\n- 7"
    assert read(status="completed", issues="one").details == "Issues:\n- one"
    assert read(status="completed", details={"a": 1}).details == "{'a': 1}"
    assert read(status="completed").details == ""


@pytest.mark.proves("TASK-166")
def test_unclosed_task_has_a_reason():
    assert read(status="failed", reason="no network", summary="tried").status == "no network"
    assert read(status="blocked", summary="needs a key").status == "needs a key"


@pytest.mark.proves("TASK-166")
def test_unknown_status_is_a_failure_with_the_agents_words():
    found = read(status="purple", summary="odd", extra=[1, 2])
    assert found.status == (
        "the agent reported PURPLE, expected completed, failed, blocked, needs_input. "
        "It said: {'status': 'PURPLE', 'summary': 'odd', 'more': {'extra': [1, 2]}}"
    )
    long = read(status="p" * 61, summary="s" * 3_000).status
    assert long.startswith(f"the agent reported {'P' * 59}…, expected ")
    assert len(long.partition(" It said: ")[2]) == 2_000


@pytest.mark.proves("TASK-165")
def test_report_has_only_the_given_fields():
    assert read(status="completed") == reports.Report("closed")
    assert read(status="completed")._asdict() == {
        "state": "closed", "summary": "", "details": "", "status": "", "confidence": None,
        "branch": "", "commit": "",
    }  # fmt: skip


@pytest.mark.proves("TASK-325")
@pytest.mark.parametrize(
    ("said", "threshold", "doubt"),
    [
        ({"confidence": 0.4}, None, ""),
        ({"confidence": 0.4}, 0.4, ""),
        ({"confidence": 0}, 0.4, "Its agent is 0% sure."),
        ({"confidence": 0.39}, 0.4, "Its agent is 39% sure."),
        ({}, 0.4, "Its agent gave no confidence."),
        ({"confidence": None}, 0.4, "Its agent gave no confidence."),
        ({"confidence": "30%"}, 0.4, 'Its agent gave no readable confidence: "30%".'),
        ({"confidence": 10**400}, 0.4, f"Its agent gave no readable confidence: 1{'0' * 58}…."),
        ({"confidence": "a\x1b[1m"}, 0.4, 'Its agent gave no readable confidence: "a\\u001b[1m".'),
    ],
)  # fmt: skip
def test_doubt_says_why_a_person_is_asked(said, threshold, doubt):
    signal = parse_signal({"status": "completed", **said})
    assert reports.doubt(signal, threshold) == doubt


@pytest.mark.proves("TASK-325")
@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999"])
def test_number_that_is_none_reports_nothing_sure(number):
    found = explicit(None, f'{{"status": "completed", "confidence": {number}}}')
    assert found is None or reports.doubt(found, 0.4)
