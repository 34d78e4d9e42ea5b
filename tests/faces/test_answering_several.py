"""`gate answer` with several ids, and with all that `gate respond` can do."""

from __future__ import annotations

import json
import re

import pytest


@pytest.mark.proves("CLI-26")
def test_several_asks_get_the_same_answer(world):
    ids = [world.ask(f"Deploy {n}?", "--kind", "approval") for n in range(3)]
    ran = world.ada.gate("answer", *ids, "--note", "all green", "yes")
    assert ran.code == 0 and len(ran.out.splitlines()) == 3
    assert {(world.get(one).decision, world.get(one).note) for one in ids} == {
        ("approved", "all green")
    }


@pytest.mark.proves("CLI-26", "CLI-3")
def test_failed_ones_are_named_and_the_rest_is_answered(world):
    ids = [world.ask(f"Deploy {n}?", "--kind", "approval") for n in range(3)]
    world.ada.gate("answer", ids[1], "no")
    ran = world.ada.gate("answer", *ids, "yes")
    assert ran.code == 6 and ids[1] in ran.err and len(ran.err.splitlines()) == 1
    assert [world.get(one).decision for one in ids] == ["approved", "rejected", "approved"]
    more = [world.ask(f"Deploy {n}?", "--kind", "approval") for n in range(2)]
    told = json.loads(world.ada.gate("answer", "--json", more[0], ids[1], more[1], "no").out)
    assert [one["id"] for one in told["answered"]] == more
    assert [(one["id"], one["exit_code"]) for one in told["failed"]] == [(ids[1], 6)]


@pytest.mark.proves("CLI-26", "LAW-3")
def test_wrong_list_of_ids_changes_nothing(world):
    approval, text = world.ask("Deploy?", "--kind", "approval"), world.ask("Which?")
    for words, code, told in (
        ((approval, text, "yes"), 2, "take different answers"),
        ((approval, "a-zzzz", "yes"), 5, "a-zzzz"),
        ((text, approval), 2, f"{approval} is an ask, too"),
        ((approval, text, "yes", "--digest", "x"), 2, "--digest is for one ask"),
    ):
        ran = world.ada.gate("answer", *words)
        assert ran.code == code and told in ran.err, words
    assert world.get(approval).pending and world.get(text).pending


@pytest.mark.proves("CLI-26", "CLI-25")
def test_words_that_look_like_ids_can_be_answers(world):
    choice = world.ask("Which?", "--option", "a-one", "--option", "a-two", "--multiple")
    assert world.ada.gate("answer", choice, "a-one", "a-two").code == 0
    assert world.get(choice).value == ["a-one", "a-two"]
    text = world.ask("Which?")
    assert world.ada.gate("answer", text, "the", "--json", "staging", "one").code == 0
    assert world.get(text).value == "the staging one"
    other = world.ask("Which team?")
    assert world.ada.gate("answer", other, "a-team").code == 0


@pytest.mark.proves("CLI-27")
def test_answer_uses_templates_and_names_of_tasks(world):
    world.ada.gate("template", "set", "later", "{{title}} comes in {{when}}", "--as", "ada")
    first, second = world.ask("When?"), world.ask("And when?")
    ran = world.ada.gate("answer", first, second, "--template", "later", "--set", "when=May")
    assert ran.code == 0, ran.err
    assert world.get(second).value == f"{second} comes in May"
    assert "--set needs a template" in world.ada.gate("answer", first, "--set", "a=b").err
    assert "gate answer ID VALUE" in world.ada.gate("answer").err


@pytest.mark.proves("CLI-27")
def test_answer_to_a_task_names_the_next_step(world):
    task = json.loads(world.ada.gate("task", "create", "Paint it", "--json", "--as", "ada").out)
    name = task["id"]
    assert world.ada.gate("task", "claim", name, "--as", "ada").code == 0
    world.ask("Which colour?", "--task", name, shell=world.ada)
    ran = world.ada.gate("answer", name.removeprefix("tm-"), "sky", "blue")
    assert ran.code == 0 and f"Response recorded for task {name}" in ran.out, ran
    assert "goes on with it" in ran.out


@pytest.mark.proves("CLI-28")
def test_show_shows_a_task_without_a_question(world):
    task = json.loads(world.ada.gate("task", "create", "Paint it", "--json", "--as", "ada").out)
    for name in (task["id"], task["id"].removeprefix("tm-")):
        shown = [world.plain.gate(*words, name).out for words in (("show",), ("task", "show"))]
        # Its age grows between the two commands.
        one, two = (re.sub(r"Changed: .*", "", text) for text in shown)
        assert one == two and "Paint it" in one
    assert json.loads(world.plain.gate("show", task["id"], "--json").out)["id"] == task["id"]
    assert world.plain.gate("show", "tm-zzzz").code == 5
