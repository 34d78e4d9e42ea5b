"""`y` and `n` answer a choice between yes and no."""

from __future__ import annotations

import pytest

from gatebell.domain.asks.answers import interpret
from gatebell.domain.asks.questions import make_question
from gatebell.errors import InvalidAnswerError


@pytest.mark.proves("EASE-20")
@pytest.mark.parametrize(("word", "value"), [("y", "Yes"), ("N", "No"), ("yes", "Yes")])
def test_yes_or_no_is_answered_by_a_letter(word, value):
    question = make_question("choice", "Sure?", options=("Yes", "No", "Other…"))
    assert interpret(question, word) == (None, value)


@pytest.mark.proves("EASE-20")
@pytest.mark.parametrize(
    "options", [("Yes", "Maybe"), ("yes", "no", "y", "Y"), ("Yearly", "Never")]
)
def test_letter_means_nothing_elsewhere(options):
    question = make_question("choice", "Sure?", options=options)
    if "y" in options:
        assert interpret(question, "y") == (None, "y")
    else:
        with pytest.raises(InvalidAnswerError):
            interpret(question, "y")
