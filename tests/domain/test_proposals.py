"""Proposals from the end of a conversation, and texts that are never an approval."""

from __future__ import annotations

import json
import re
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import assume, given, strategies as st
from tests.support.transcripts import person, value

from gatebell.domain.asks.questions import Question
from gatebell.domain.sessions.proposals import AGENT, PERSON, Proposal, Said, propose
from gatebell.domain.sessions.session_prompt import list_injected, session_files
from gatebell.domain.sessions.visits import Terms

HERE = Path(__file__).parent
_ESCAPE = re.compile(r"\\(?:([ntr])|x(..)|u(.{4})|U(.{8}))")
_SHORT = {"n": "\n", "t": "\t", "r": "\r"}
CHOICE = ("staging", "production", "production-eu")
NOTES = {
    "type": "object",
    "properties": {"approved": {"type": "boolean"}, "notes": {"type": "string"}},
    "required": ["approved"],
    "additionalProperties": False,
}


class Ending(NamedTuple):
    kind: str
    language: str
    written: str

    def talk(self) -> tuple[list[Said], list[str]]:
        """Return the conversation, and our parts of it."""
        said, ours = [], []
        for message in self.written.split(" // "):
            speaker, colon, text = message.partition(": ")
            if colon and speaker == "ours":
                ours.append(_unescape(text))
            elif colon and speaker == "agent":
                said.append(Said(AGENT, _unescape(text)))
            else:
                said.append(Said(PERSON, _unescape(message)))
        return said, ours


def _unescape(text: str) -> str:
    return _ESCAPE.sub(
        lambda found: _SHORT.get(found[1] or "") or chr(int(found[2] or found[3] or found[4], 16)), text
    )  # fmt: skip


def endings(name: str) -> Iterator[Ending]:
    kind = ""
    for line in (HERE / name).read_text(encoding="utf-8").splitlines():
        if line.startswith("== "):
            kind = line[3:]
        elif line and not line.startswith("#"):
            yield Ending(kind, *line.split("  ", 1))


HOSTILE = list(endings("hostile_endings.txt"))
PLAIN = list(endings("plain_endings.txt"))
APPROVALS = [
    ending.written.removesuffix(" => approved")
    for ending in PLAIN
    if ending.written.endswith(" => approved") and " // " not in ending.written
]


@pytest.mark.proves("SES-1")
def test_no_hostile_ending_is_proposed_as_an_approval():
    assert len(HOSTILE) >= 400 and len({ending.language for ending in HOSTILE}) >= 8
    assert len({ending.written for ending in HOSTILE}) == len(HOSTILE)
    taken = []
    for ending in HOSTILE:
        said, ours = ending.talk()
        if value(said, injected=ours) == "approved":
            taken.append(ending)
    assert taken == []


@pytest.mark.proves("SES-1")
def test_hostile_ending_after_other_talk_is_not_an_approval():
    before = [Said(PERSON, "Show me the diff."), Said(AGENT, "Here it is."), Said(PERSON, "Good.")]
    for ending in HOSTILE:
        said, ours = ending.talk()
        assert value([*before, *said], injected=ours) != "approved", ending


@pytest.mark.proves("SES-2", "S0-70", "S0-72", "S0-73", "S0-76", "S0-78")
def test_every_plain_ending_is_proposed_as_it_is_meant():
    assert len(PLAIN) >= 100
    wrong = []
    for ending in PLAIN:
        kind, _, more = ending.kind.partition(" ")
        talk, _, wanted = ending.written.rpartition(" => ")
        speaker = AGENT if wanted.endswith(" (agent)") else PERSON
        wanted = wanted.removesuffix(" (agent)")
        schema = json.loads(more) if kind == "form" else None
        found = propose(
            ending._replace(written=talk).talk()[0],
            "choice" if kind == "choices" else kind,
            tuple(more.split(" | ")) if kind.startswith("choice") else (),
            multiple=kind == "choices",
            schema=schema,
        )
        right = json.loads(wanted) if kind in ("form", "choices") else wanted
        if found is None or (found.value, found.speaker) != (right, speaker):
            wrong.append((ending, found))
    assert wrong == []
    decided = Counter(ending.written.rpartition(" => ")[2] for ending in PLAIN)
    assert decided["approved"] > 30 and decided["rejected"] > 25


@pytest.mark.proves("S0-B1")
@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("not APPROVED", "rejected"),
        ("REJECTED - cannot be approved as is", "rejected"),
        ("I am not proceeding", "rejected"),
        ("Before proceeding, fix the index", None),
        ("I don't think I approve of this", "rejected"),
    ],
)
def test_rejection_that_mentions_approval_is_not_an_approval(said, meant):
    assert value(person(said)) == meant


@pytest.mark.proves("S0-B2", "S0-74")
def test_our_own_instruction_decides_nothing():
    prompt = (
        "Review it.\n\nWhen ready to conclude, please state your decision: APPROVED or REJECTED"
    )
    for speaker in (PERSON, AGENT):
        for shown in (prompt, f"> {prompt}", f"```\n{prompt}\n```", prompt.upper(), prompt * 2):
            assert propose([Said(speaker, shown)], "approval", injected=(prompt,)) is None
    left_at_once = [Said(PERSON, prompt), Said(AGENT, "What shall we look at first?")]
    assert propose(left_at_once, "approval", injected=(prompt,)) is None
    assert value([*left_at_once, *person("APPROVED")], injected=(prompt,)) == "approved"
    agreed = [Said(PERSON, prompt), Said(AGENT, "Decision: APPROVED")]
    assert propose(agreed, "approval", injected=(prompt,)).speaker == AGENT


@pytest.mark.proves("S0-74")
@pytest.mark.parametrize(
    "said",
    ["Rejected?", "I would reject it if it fails", "Maybe rejected", "not approved yet", "`REJECTED`",
     "```\nRun. Rejected. End.\n```", "> REJECTED", "I do not reject it", "I reject what was approved", "“Rejected”"],
)  # fmt: skip
def test_questioned_quoted_or_negated_refusal_decides_nothing(said):
    assert value(person(said)) is None


@pytest.mark.proves("SES-4")
def test_let_us_go_approves_unless_it_answers_the_agent():
    assert value([Said(AGENT, "Shall I run the tests?"), *person("Yes, let's proceed")]) is None
    assert value([Said(AGENT, "The tests pass."), *person("Yes, let's proceed")]) == "approved"
    assert value(person("Is that all?", "LGTM")) == "approved"


@pytest.mark.proves("S0-B2")
def test_short_prompt_of_ours_does_not_hide_peoples_words():
    assert value(person("I approve."), injected=("Approve?",)) == "approved"
    assert value(person("Approved"), injected=("approved", "")) is None
    words = "End with one of these two words:\nAPPROVED\nREJECTED"
    assert value(person("APPROVED"), injected=(words,)) == "approved"


@pytest.mark.proves("S0-B3", "S0-73")
def test_later_rejection_outweighs_an_earlier_approval():
    said = [*person("approved in principle"), Said(AGENT, "Noted."), *person("REJECTED")]
    assert propose(said, "approval") == Proposal("rejected", PERSON, "REJECTED")
    assert value(person("APPROVED", "REJECTED")) == "rejected"
    assert value(person("REJECTED", "APPROVED")) == "approved"


@pytest.mark.proves("S0-B4")
@pytest.mark.parametrize("apostrophe", "'’ʼ′")
def test_negations_are_seen_with_any_apostrophe(apostrophe):
    for said in ("No, don't proceed", "I don't approve.", "I won't approve"):
        assert value(person(said.replace("'", apostrophe))) == "rejected"
    for said in ("DISAPPROVED", "I do not approve"):
        assert value(person(said)) == "rejected"
    assert value(person("LGTM, ship it")) == "approved"


@pytest.mark.proves("S0-B5", "SES-3")
def test_agent_never_speaks_for_the_person():
    decided = Said(AGENT, "Decision: APPROVED")
    assert propose([decided], "approval") == Proposal("approved", AGENT, "Decision: APPROVED")
    assert propose([*person("REJECTED"), decided], "approval").speaker == PERSON
    long_ago = [*person("REJECTED", "ok", "thanks"), decided, decided, decided]
    assert propose(long_ago, "approval") is None
    for undecided in ("wait", "Show me more.", "why?"):
        assert propose([*person(undecided), decided], "approval") is None
        assert propose([decided, *person(undecided)], "approval") is None
    assert propose([decided, *person("I reject.")], "approval").value == "rejected"
    both = [*person("APPROVED"), decided]
    assert propose(both, "approval") == Proposal("approved", PERSON, "APPROVED")


@pytest.mark.proves("S0-B11", "S0-25", "S0-75", "S0-78")
def test_every_kind_of_outcome_is_requested_and_read():
    said = person('Decision: staging\n{"approved": true}')
    assert value(said) is None
    assert value(said, "choice", CHOICE) is None
    assert value(said, "form", schema=NOTES) == {"approved": True}
    assert value(said, "text") == 'staging\n{"approved": true}'
    assert value(person("Decision: staging"), "choice", CHOICE) == "staging"
    assert value(person("Decision: approved"), "form", schema=NOTES) is None
    told = {}
    for kind in ("approval", "choice", "form", "text"):
        options, schema = CHOICE if kind == "choice" else (), NOTES if kind == "form" else None
        question = Question("session", "Which?", None, options, schema=schema, session=Terms(kind))
        told[kind] = session_files(question, "papers").prompt
        ours = list_injected(question, "papers", "Read it.")
        for speaker in (PERSON, AGENT):
            assert (
                propose([Said(speaker, told[kind])], kind, options, schema=schema, injected=ours)
                is None
            )
    assert len(set(told.values())) == 4
    assert "APPROVED or REJECTED" in told["approval"] and "- staging" in told["choice"]
    assert (
        'exact JSON format:\n```json\n{"decision": <structured_response_here>}\n```' in told["form"]
    )


@pytest.mark.proves("S0-71")
def test_only_the_last_three_messages_are_searched():
    def after(*said: Said) -> list[Said]:
        return [*said, *[Said(AGENT, "Noted.")] * 2]

    for speaker in (PERSON, AGENT):
        for kind, written in (("approval", "APPROVED"), ("approval", "REJECTED"),
                              ("choice", "Decision: staging"), ("form", '{"approved": true}')):  # fmt: skip
            said = after(Said(speaker, written))
            assert propose(said, kind, CHOICE, schema=NOTES).speaker == speaker
            assert propose([*said, Said(AGENT, "Noted.")], kind, CHOICE, schema=NOTES) is None
    assert value([*person("Take care."), *[Said(AGENT, "Thanks.")] * 3], "text") is None


@pytest.mark.proves("S0-74")
def test_without_a_plain_decision_nothing_is_proposed():
    for said in (
        [],
        person(""),
        person("yes"),
        person("Let me think."),
        person("\n\n"),
        person("…"),
    ):
        assert propose(said, "approval") is None
        assert propose(said, "choice", CHOICE) is None
    assert propose(person(" \n"), "text") is None


@pytest.mark.proves("SES-4")
def test_approval_does_not_survive_later_words():
    for later in (Said(PERSON, "ok"), Said(PERSON, "hmm"), Said(AGENT, "Still approved?"),
                  Said(AGENT, "It dropped a table."), Said(AGENT, "I would wait.")):  # fmt: skip
        assert propose([*person("APPROVED"), later], "approval") is None
    assert value([*person("APPROVED"), Said(AGENT, "Noted, thanks.")]) == "approved"
    assert value(person("APPROVED", " /exit\n")) == "approved"
    assert value([*person("APPROVED"), Said(AGENT, "REJECTED")]) == "rejected"


@pytest.mark.proves("SES-5")
@given(st.sampled_from(APPROVALS), st.data())
def test_hidden_letter_anywhere_spoils_an_approval(approval, data):
    hidden = data.draw(
        st.sampled_from("\u200b\u200d\u2060\u202e\u2066\u00ad\ufeff\x1b\x08\u0336\u034f\u3164")
    )
    at = data.draw(st.integers(0, len(approval)))
    assert value(person(approval[:at] + hidden + approval[at:])) != "approved"


@pytest.mark.proves("SES-5")
@given(st.sampled_from([text for text in APPROVALS if text.isascii()]), st.data())
def test_look_alike_letter_anywhere_spoils_an_approval(approval, data):
    alike = {
        "a": "а",
        "e": "е",
        "o": "о",
        "p": "р",
        "c": "с",
        "A": "Α",
        "E": "Ε",
        "O": "О",
        "P": "Ρ",
        "I": "І",
    }
    places = [at for at, letter in enumerate(approval) if letter in alike]
    assume(places)
    at = data.draw(st.sampled_from(places))
    masked = approval[:at] + alike[approval[at]] + approval[at + 1 :]
    assert value(person(masked)) != "approved"


@pytest.mark.proves("S0-B4", "SES-1")
@given(
    st.sampled_from(APPROVALS),
    st.sampled_from(["not ", "Not: ", "never ", "no ", "no. ",
                     "if so, ", "She said ", "maybe ", "It is broken. "]),
    st.sampled_from(["", " not", " - not!", " if it works", ", maybe", "?", " ?", "...", " /s",
                     ". Wait.", "\nnot", " 🙄", " or REJECTED"]),
)  # fmt: skip
def test_negation_or_doubt_around_an_approval_spoils_it(approval, before, after):
    assert value(person(before + approval)) != "approved"
    if after:
        assert value(person(approval + after)) != "approved"
        assert value(person(before + approval + after)) != "approved"


@pytest.mark.proves("SES-1")
@given(
    st.sampled_from(APPROVALS),
    st.sampled_from(['""', "“”", "«»", "„“", "「」", "''", "‘’", "``", "()", "[]", "<>", ("```\n", "\n```"),
                     ("~~", "~~"), ("> ", ""), ("    ", ""), ("\t", ""), ("<del>", "</del>"), ("| ", " |"),
                     ("$ echo ", ""), ("Output:\n", "")]),
)  # fmt: skip
def test_quoted_or_shown_text_is_not_an_approval(approval, marks):
    before, after = marks
    assert value(person(before + approval + after)) != "approved"


@pytest.mark.proves("S0-B2", "S0-B12")
@given(
    st.sampled_from([*APPROVALS, *(ending.written for ending in PLAIN)]) | st.text(min_size=1),
    st.sampled_from(["approval", "choice", "form", "text"]),
    st.sampled_from(["{}", "> {}", "```\n{}\n```", "“{}”", " {} \n", "**{}**"]),
    st.sampled_from([PERSON, AGENT]),
)
def test_repeated_prompt_is_never_an_outcome(text, kind, setting, speaker):
    assume(any(map(str.isalnum, text)))
    said = [Said(speaker, setting.format(text))]
    assert propose(said, kind, CHOICE, schema={}, injected=("Hello.", text)) is None


@pytest.mark.proves("SES-1", "S0-B5")
@given(st.lists(st.builds(Said, st.sampled_from([PERSON, AGENT]),
                          st.sampled_from([*APPROVALS, "REJECTED", "ok", "wait", "Noted."]) | st.text(max_size=30)),
                max_size=6))  # fmt: skip
def test_approval_is_proposed_only_if_the_last_word_allows(said):
    found = propose(said, "approval")
    if found and found.value == "approved":
        last = next((one for one in reversed(said) if one.speaker == PERSON), None)
        assert last is None or last.text not in ("REJECTED", "wait")
        assert any(found.quote in one.text.replace("’", "'") for one in said)


@pytest.mark.proves("SES-1")
@given(st.text())
def test_any_text_can_be_read(text):
    for kind in ("approval", "choice", "form", "text"):
        propose(
            [Said(PERSON, text)], kind, ("a", text), multiple=True, schema={}, injected=(text[:3],)
        )


@pytest.mark.proves("SES-8")
@pytest.mark.parametrize(
    "piece",
    ["not approved ", "a", "{", '{"a":', "[", "```\n", "`", "bien ", "> \n", "    ", "n't", "'", "staging, ",
     "ok. ", "é", "批准", "~~", "Decision: ", "**", "1, ", "\t", "i approve "],
)  # fmt: skip
@pytest.mark.usefixtures("uncounted")
def test_hostile_conversation_is_read_quickly(piece):
    long = piece * (60_000 // len(piece))
    started = time.process_time()
    for kind in ("approval", "choice", "form", "text"):
        propose([Said(AGENT, long), Said(PERSON, long)], kind, CHOICE, multiple=True, schema={}, injected=(long[:9_000],))  # fmt: skip
    assert time.process_time() - started < 5


@pytest.mark.proves("SES-174")
@pytest.mark.parametrize(
    "said", ["Genehmigt.", "J'approuve.", "Одобрено.", "批准", "Nein, abgelehnt.", "Rejeté."]
)
def test_other_languages_propose_nothing(said):
    assert value(person(said)) is None
    assert value([*person(said), Said(AGENT, "Decision: APPROVED")]) is None
    assert value([*person("APPROVED"), *person(said)]) is None


@pytest.mark.proves("SES-174")
@pytest.mark.parametrize(
    "beside", ["Good aber nicht jetzt.", "Noch nicht.", "Pas encore fine.", "好但是不行 good。"]
)
def test_foreign_sentence_spoils_a_proposal(beside):
    assert value(person(f"{beside} APPROVED")) is None
    assert value(person(f"{beside} staging"), "choice", CHOICE) is None
    assert value([*person("staging"), Said(AGENT, beside)], "choice", CHOICE) is None
