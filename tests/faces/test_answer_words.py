"""`gate answer` takes what its prompt and its help suggest."""

from __future__ import annotations

import pytest

from gatebell.domain.asks.answers import interpret
from gatebell.domain.asks.asks import make_question
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


@pytest.mark.proves("EASE-20")
def test_command_takes_y_for_yes(world):
    ask_id = world.ask("Sure?", "--option", "Yes", "--option", "No")
    assert world.ada.gate("answer", ask_id, "y").code == 0
    assert world.get(ask_id).value == "Yes"


@pytest.mark.proves("EASE-21")
@pytest.mark.parametrize("words", [
    ("Red,Blue",), ("red, blue",), ("1,3",), ("Red", "3"), ('["Red", "Blue"]',), ("[1, 3]",), ("Red,", "Blue"),
])  # fmt: skip
def test_several_options_are_written_as_suggested(world, words):
    ask_id = world.ask(
        "Which?", "--option", "Red", "--option", "Green", "--option", "Blue", "--multiple"
    )
    answered = world.ada.gate("answer", ask_id, *words)
    assert answered.code == 0, answered.err
    assert world.get(ask_id).value == ["Red", "Blue"]


@pytest.mark.proves("EASE-21", "LAW-6")
@pytest.mark.parametrize(("words", "value"), [
    (("A, B",), ["A, B"]), (("A, B", "C"), ["A, B", "C"]), (("C,A, B",), None), (('{"a": 1}',), None), (("C,D",), None),
])  # fmt: skip
def test_comma_of_a_name_does_not_split_it(world, words, value):
    ask_id = world.ask("Which?", "--option", "A, B", "--option", "C", "--multiple")
    answered = world.ada.gate("answer", ask_id, *words)
    assert answered.code == (7 if value is None else 0)
    assert world.get(ask_id).value == value
    assert world.store.asks.answers(ask_id), "what was refused is kept"


@pytest.mark.proves("EASE-21")
def test_own_words_stand_in_json(world):
    ask_id = world.ask("Which?", "--option", "A", "--option", "Other…", "--multiple")
    assert world.ada.gate("answer", ask_id, '["A", {"other": "mine"}]').code == 0
    assert world.get(ask_id).value == ["A", {"other": "mine"}]
