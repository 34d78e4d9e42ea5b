"""Proposed choices, forms and texts: the named option, the last fitting JSON, the words."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.support.transcripts import person, value

from gatebell.domain.sessions.proposals import AGENT, PERSON, Proposal, Said, propose

CHOICE = ("staging", "production", "production-eu")
NOTES = {
    "type": "object",
    "properties": {"approved": {"type": "boolean"}, "notes": {"type": "string"}},
    "required": ["approved"],
    "additionalProperties": False,
}


def block(written: str, schema: Any = NOTES, *injected: str) -> Any:
    return value([Said(AGENT, written)], "form", schema=schema, injected=injected)


@pytest.mark.proves("S0-B12")
def test_our_own_context_is_not_a_decision():
    context = json.dumps({"plan": [{"approved": True, "notes": "x"}], "tags": [], "n": 1}, indent=2)
    prompt = f"Decide.\n\n## Context\n```json\n{context}\n```"
    example = '```json\n{"approved": true}\n```'
    for schema in (NOTES, {"type": "object"}, {}):
        assert block(f"I see.\n```json\n{context}\n```", schema, prompt) is None
        assert block(prompt, schema, prompt) is None
        assert block('It says {"notes":"x",  "approved":true}', schema, prompt) is None
        assert block('{"decision": {"notes": "x", "approved": true}}', schema, prompt) is None
        assert block('{"approved": true}', schema, example) is None
    assert block('{"approved": true, "notes": "y"}', NOTES, prompt) == {
        "approved": True,
        "notes": "y",
    }
    assert block('{"decision": []}', {"type": "array"}, prompt) == []


@pytest.mark.proves("S0-B13", "S0-76")
@pytest.mark.parametrize(
    ("written", "schema", "meant"),
    [
        ('```json\r\n{"approved": true}\r\n```', NOTES, {"approved": True}),
        ('  ```JSON\n  {\n  "approved": true}\n  ```', NOTES, {"approved": True}),
        ('1. ```json\n   {"approved": true}\n   ```\nend', NOTES, {"approved": True}),
        ('~~~~json title\n{"approved": true}\n~~~~', NOTES, {"approved": True}),
        ('```json\n{"approved": true}', NOTES, {"approved": True}),
        ("```json\n[1, 2]\n```", {"type": "array"}, [1, 2]),
        ("As in [1].\n[1, 2]\nSee [3].", {"type": "array"}, [1, 2]),
        ('It is ["a"].', {"type": "array"}, ["a"]),
        (
            '```json\n{"approved": true, "notes": "```json\\n{}\\n```"}\n```',
            NOTES,
            {"approved": True, "notes": "```json\n{}\n```"},
        ),
        ('{"decision": "x"}', {"properties": {"decision": {}}}, {"decision": "x"}),
        ('{"decision": "x"}', {"required": ["decision"]}, {"decision": "x"}),
        ('{"decision": null}', {"properties": {"decision": {}}}, {"decision": None}),
        (
            '{"decision": "x"}',
            {"$ref": "#/$defs/d", "$defs": {"d": {"anyOf": [{"required": ["decision"]}, True]}}},
            {"decision": "x"},
        ),
        ('{"decision": {"approved": true}, "why": "x"}', NOTES, {"approved": True}),
        ('{"decision": null}', {}, None),
        ('{"decision": null}', {"type": ["object", "null"]}, None),
        ("```json\nnull\n```", {}, None),
        ('```python\nx = {"approved": true}\n```', NOTES, None),
        ('> {"approved": true}', NOTES, None),
    ],
)  # fmt: skip
def test_blocks_are_read_however_they_are_set(written, schema, meant):
    assert block(written, schema) == meant


@pytest.mark.proves("SES-7", "S0-77")
@pytest.mark.parametrize(
    "newer",
    [
        '{"approved": "perhaps"}',
        '{"approved": true,}',
        '{"approved": true',
        '[{"approved": true}]',
        '```json\n{"approved": yes}\n```',
        "```json\n```",
        '{"decision": null}',
        '{"approved": true}, {',
        '{"approved": NaN}',
        '{"approved": tru, see [1]',
        f'{{"approved": {"[" * 200}{"]" * 200}}}',
        f'```json\n{{"approved": true, "notes": {"[" * 150}{"]" * 150}}}\n```',
    ],
)  # fmt: skip
def test_newer_invalid_block_hides_the_older_ones(newer):
    older = '```json\n{"approved": true}\n```'
    assert block(f"{older}\n{newer}") is None
    assert value([Said(AGENT, older), Said(AGENT, newer)], "form", schema=NOTES) is None
    assert block(f"{newer}\n{older}") == {"approved": True}


@pytest.mark.proves("S0-77")
def test_without_a_fitting_block_nothing_is_proposed():
    for written in ("", "fine by me", '{"notes": "x"}', "[1]", "{", "approved: true"):
        assert block(written) is None
    assert block('{"a": 1}', "no schema") is None
    assert block('{"decision": 1}', {"$ref": "#"}) is None


@pytest.mark.proves("SES-4")
def test_form_that_the_person_objects_to_is_not_proposed():
    given_ = Said(AGENT, '{"approved": true}')
    for said in ("No.", "Change the notes first.", "Is that so?", "REJECTED"):
        assert value([given_, *person(said)], "form", schema=NOTES) is None
    for said in ("Yes, thanks.", "Approved", "That looks right."):
        assert value([given_, *person(said)], "form", schema=NOTES) == {"approved": True}
    noted = [given_, Said(AGENT, "I will not write anything else.")]
    assert value(noted, "form", schema=NOTES) == {"approved": True}


@pytest.mark.proves("SES-6")
@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("production-eu", "production-eu"),
        ("Production", "production"),
        ("production-eu is the nearest. Decision: production-eu", "production-eu"),
        ("Good for staging. Decision: production", None),
        ("production-us", None),
        ("pre-production", None),
        ("not staging", None),
        ("staging, not production", None),
        ("staging or production", None),
        ("staging, production", None),
        ("staging?", None),
        ("1. staging", None),
        ("These are names:\nstaging", None),
        ("Decision:\nstaging", "staging"),
        ("staging if it is free", None),
        ("She said staging", None),
        ("It is not free. staging", None),
        ("stag\u200bing", None),
        ("stag\u0456ng", None),
        ("> staging", None),
        ("```\nstaging\n```", None),
        ("Anything but staging", None),
        ("x" * 30_000 + ". staging", None),
        ("Output of the job\nstaging", None),
        ("It is free now.\nstaging", "staging"),
    ],
)
def test_one_option_is_chosen_when_it_alone_is_named(written, meant):
    assert value(person(written), "choice", CHOICE) == meant


@pytest.mark.proves("SES-6")
def test_options_are_known_whatever_their_names_are():
    options = ("No", "no way", "Why not?", "St. Gallen", "a", "A", "If it rains, wait", "take that")
    for option in options:
        assert value(person(option), "choice", options) == option
        assert value(person(f"Decision: {option}"), "choice", options) == option
    assert value(person("No, St. Gallen"), "choice", options) is None
    assert value(person("rejected"), "choice", ("approved", "rejected")) == "rejected"
    chosen = [*person("rejected"), Said(AGENT, "Noted."), *person("approved")]
    assert value(chosen, "choice", ("approved", "rejected")) == "approved"
    assert value(person("x"), "choice", ("!", "x y")) is None


@pytest.mark.proves("SES-3", "SES-6")
def test_choice_of_the_agent_needs_the_persons_choice():
    pick = Said(AGENT, "Decision: production")
    assert propose([pick], "choice", CHOICE).speaker == AGENT
    assert value([*person("staging"), pick], "choice", CHOICE) is None
    assert propose([*person("production"), pick], "choice", CHOICE).speaker == PERSON
    assert value([*person("Not production!"), pick], "choice", CHOICE) is None
    assert value([pick, *person("hm")], "choice", CHOICE) is None
    assert value([*person("staging"), Said(AGENT, "It is not free.")], "choice", CHOICE) is None


@pytest.mark.proves("SES-6")
def test_several_options_are_chosen_only_by_name():
    options = ("lint", "docs", "docs, all")
    for written, meant in {
        "docs and lint": ["lint", "docs"],
        "docs, all, and lint": ["lint", "docs, all"],
        "lint, lint": ["lint"],
        "lint, tests": None,
        "lintdocs": None,
        "lint without docs": None,
        "all": None,
    }.items():
        assert value(person(written), "choice", options, multiple=True) == meant


@pytest.mark.proves("S0-78")
def test_text_is_the_named_decision_or_the_newest_message():
    summary = Said(AGENT, "We agreed.\n\n**Decision:** keep both\ntables")
    assert propose([summary, *person("Thanks. Good.")], "text").value == "keep both\ntables"
    assert propose([summary, *person("Keep one.")], "text") == Proposal(
        "Keep one.", PERSON, "Keep one."
    )
    empty = Said(AGENT, "Nothing yet.\nDecision:")
    assert propose([empty], "text").value == "Nothing yet.\nDecision:"
    ours = "What do you make of all this, in a few words?"
    assert propose(person(ours), "text", injected=(ours,)) is None
    assert propose(person(f"{ours}\nKeep."), "text", injected=(ours,)).value == "?\nKeep."


@pytest.mark.proves("SES-9")
def test_quote_is_short_and_keeps_its_end():
    long = propose(person("x" * 1_000 + " end"), "text")
    assert len(long.value) == 1_004
    assert len(long.quote) == 300 and long.quote.startswith("…x") and long.quote.endswith(" end")
    assert propose(person("It reads well. I approve."), "approval") is None
    assert propose(person("All good. I approve."), "approval").quote == "I approve."


@pytest.mark.proves("SES-9")
@pytest.mark.parametrize(
    ("length", "quote"), [(300, "x" * 300), (301, "…" + "x" * 299)], ids=["fits", "cut"]
)
def test_quote_is_cut_at_three_hundred(length, quote):
    assert propose(person("x" * length), "text") == ("x" * length, "person", quote)


@pytest.mark.proves("SES-1", "SES-82")
def test_long_words_of_ours_are_blanked_anywhere():
    ours = "Okay approved approved"
    assert value(person(f"Thanks. {ours}."), injected=[ours]) is None
    assert value(person(f"Thanks.\n{ours}"), injected=[f"First\n{ours}"]) is None
    short = "Yes approved approved"
    assert value(person(f"Thanks. {short}."), injected=[short]) == "approved"
    assert value(person(f"Go on. {ours}"), "text", injected=[ours]) == "Go on."


@pytest.mark.proves("SES-2")
@pytest.mark.parametrize(
    ("said", "decision"),
    [
        ("Hm.\nDecision: files", "files"),
        ("Decision: files\nand more", "files\nand more"),
        ("Decision: a\nDecision: b", "b"),
        ("Use files", "Use files"),
    ],
)
def test_labelled_words_are_the_text(said, decision):
    assert propose(person(said), "text") == (decision, "person", decision)


@pytest.mark.proves("SES-3", "SES-4")
@pytest.mark.parametrize(("said", "kept"), [("LGTM", True), ("Ship it", True), ("Wait", False)])
def test_approving_words_leave_the_agents_form(said, kept):
    talk = [Said(AGENT, '```json\n{"approved": true}\n```'), *person(said)]
    found = propose(talk, "form", schema=NOTES)
    assert (found is not None) is kept
    if found:
        assert found[:2] == ({"approved": True}, "agent")
