"""Reading of one message: limits, signs of doubt, and choices."""

from __future__ import annotations

import pytest

from gatebell.domain.sessions.approval_parser import Reading, asks, read_approval, read_choice

CLOUDED = Reading(None, "", False, True)


def read(text, *, asked=False):
    return read_approval(text, by_person=True, asked=asked, ours=())


def choose(text, *options, multiple=False):
    return read_choice(text, options or ("staging", "production"), multiple=multiple)


@pytest.mark.proves("SES-8")
def test_long_message_is_read_up_to_its_limit():
    assert read("approved".ljust(20_000)) == ("approved", "approved", False, False)
    assert read("approved".ljust(20_001)) == CLOUDED
    longest = "go with".ljust(20_000 - len("staging")) + "staging"
    assert choose(longest) == ("staging", longest, False, False)
    assert choose(longest.replace(" ", "  ", 1)) == CLOUDED


@pytest.mark.proves("SES-2")
@pytest.mark.parametrize(
    "text",
    [
        "No approval from me.",
        "No, I reject it, there is no approval.",
        "I veto it.",
        "I dont agree.",
    ],
)
def test_refusal_is_quoted(text):
    assert read(text) == ("rejected", text, True, False)


@pytest.mark.proves("SES-2")
@pytest.mark.parametrize("text", ["I agree with most of it.", "This is not what I saw."])
def test_half_a_refusal_decides_nothing(text):
    assert read(text) == CLOUDED


@pytest.mark.proves("SES-2")
@pytest.mark.parametrize("end", [".\r\nThanks.", "。Thanks。", "\nthanks", "\t\tthanks"])
def test_line_ends_and_full_stops_divide_alike(end):
    assert read(f"Approved{end}").value == "approved"


@pytest.mark.proves("SES-1", "SES-4")
@pytest.mark.parametrize("word", ["n0t", "vetoed", "dont", "almost", "deleted", "&eacute;", "\x07"])
def test_word_of_doubt_spoils_an_approval(word):
    assert read(f"Looks good, {word}. Approved.") == CLOUDED
    assert read("Looks good, fine. Approved.").value == "approved"


@pytest.mark.proves("SES-5")
def test_lone_letter_of_another_alphabet_spoils_an_approval():
    assert read("Looks good, plan \u0430. Approved.") == CLOUDED
    assert read("Looks good, \u043f\u043b\u0430\u043d \u0430. Approved.").value == "approved"
    assert read("Looks good \u24de\u24da. Approved.") == CLOUDED


@pytest.mark.proves("SES-5")
@pytest.mark.parametrize("letter", ["確", "ひ", "カ", "ー", "한", "〆"])
def test_eastern_letter_beside_latin_ones_is_plain(letter):
    assert read(f"Looks good, PR{letter}. Approved.").value == "approved"


@pytest.mark.proves("SES-2")
def test_tilde_is_not_a_question():
    assert [asks("about ~5"), asks("about 5?"), asks("5？")] == [False, True, True]
    assert read("Looks good, all ~5 parts. Approved.").value == "approved"


@pytest.mark.proves("SES-3")
def test_answer_to_the_agents_question_is_clouded():
    assert read("let's go", asked=True) == CLOUDED
    assert read("> yes") == Reading()


@pytest.mark.proves("SES-6")
@pytest.mark.parametrize(
    "text",
    ["Production looks good. Staging.", "Staging. I looked at it.", "staging, take production"],
)
def test_choice_beside_other_words_is_none(text):
    assert choose(text).value is None
    assert choose(text, multiple=True).value is None


@pytest.mark.proves("SES-6")
def test_choice_may_follow_a_plain_line():
    assert choose("looks good\nstaging") == ("staging", "staging", False, False)
    assert choose("looks good：\nstaging").value is None
    assert choose("okay staging").value == "staging"


@pytest.mark.proves("SES-6")
def test_names_that_differ_in_case_are_not_guessed():
    assert choose("Blue, blue", "Blue", "blue", multiple=True).value is None
    assert choose("Blue", "Blue", "blue").value == "Blue"
    assert choose("BLUE", "Blue", "blue").value is None
