"""`gate answer` takes the words that its prompt and its help suggest."""

from __future__ import annotations

import pytest


@pytest.mark.proves("EASE-20")
def test_command_takes_y_for_yes(world):
    ask_id = world.ask("Sure?", "--option", "Yes", "--option", "No")
    assert world.ada.gate("answer", ask_id, "y").code == 0
    assert world.get(ask_id).value == "Yes"


@pytest.mark.proves("EASE-21", "EASE-26")
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
    assert answered.out == f"Recorded: {ask_id} is answered: Red, Blue\n"


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
def test_own_words_appear_in_json(world):
    ask_id = world.ask("Which?", "--option", "A", "--option", "Other…", "--multiple")
    assert world.ada.gate("answer", ask_id, '["A", {"other": "mine"}]').code == 0
    assert world.get(ask_id).value == ["A", {"other": "mine"}]
