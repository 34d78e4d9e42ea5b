"""The light enums behave like the standard enums that type checkers see."""

from __future__ import annotations

import copy
import enum
import json
import pickle

import pytest

from gatebell.domain import enums


class LightColour(enums.StrEnum):
    """Words."""

    RED = "red"
    DARK_BLUE = "dark blue"

    @property
    def loud(self) -> str:
        return self.upper()


class RealColour(enum.StrEnum):
    """Words."""

    RED = "red"
    DARK_BLUE = "dark blue"

    @property
    def loud(self) -> str:
        return self.upper()


class LightRank(enums.IntEnum):
    """Numbers."""

    FIRST = 0
    SECOND = 1


class RealRank(enum.IntEnum):
    """Numbers."""

    FIRST = 0
    SECOND = 1


both_colours = pytest.mark.parametrize("colour", [LightColour, RealColour])
both_ranks = pytest.mark.parametrize("rank", [LightRank, RealRank])
ALL = [
    found
    for found in vars(enums).values()
    if isinstance(found, type)
    and issubclass(found, enums.StrEnum | enums.IntEnum)
    and found not in (enums.StrEnum, enums.IntEnum)
]


@pytest.mark.proves("ENUM-1")
@both_colours
def test_word_enum_behaves_like_the_standard_one(colour):
    red = colour.RED
    assert list(colour) == ["red", "dark blue"] and len(colour) == 2
    assert colour("dark blue") is colour.DARK_BLUE and colour(red) is red
    assert isinstance(red, colour) and isinstance(red, str) and type(red) is colour
    assert (red.name, red.value, colour.DARK_BLUE.name) == ("RED", "red", "DARK_BLUE")
    assert type(red.value) is str and type(str(red)) is str
    assert red in colour and red in ("blue", "red") and red not in ("a", "b")
    assert red.loud == "RED"


@pytest.mark.proves("ENUM-1")
@both_colours
def test_word_enum_is_plain_text_wherever_it_is_written(colour):
    red = colour.RED
    assert str(red) == f"{red}" == "%s" % red == "red" and f"{red:>5}" == "  red"  # noqa: UP031  each way of writing it
    assert repr(red) == f"<{colour.__name__}.RED: 'red'>"
    assert json.dumps({red: [red]}) == '{"red": ["red"]}'
    assert red == "red" and red != "blue" and hash(red) == hash("red")
    assert {red: 1}["red"] == 1 and {"red": 1}[red] == 1
    assert ", ".join(colour) == "red, dark blue" and min(colour, key=str) == "dark blue"


@pytest.mark.proves("ENUM-1")
@both_colours
@pytest.mark.parametrize("value", ["Red", "", None, 1, ["red"]])
def test_unknown_word_is_a_value_error(colour, value):
    with pytest.raises(ValueError, match="is not a valid") as caught:
        colour(value)
    assert str(caught.value) == f"{value!r} is not a valid {colour.__name__}"


@pytest.mark.proves("ENUM-1")
@both_colours
def test_copied_word_is_the_same_member(colour):
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        assert pickle.loads(pickle.dumps(colour.RED, protocol)) is colour.RED
    assert copy.copy(colour.RED) is copy.deepcopy(colour.RED) is colour.RED


@pytest.mark.proves("ENUM-1")
@both_colours
@pytest.mark.parametrize("given", ["red", "member"])
def test_match_statement_finds_the_member(colour, given):
    match colour.RED if given == "member" else given:
        case colour.DARK_BLUE:
            found = "blue"
        case colour.RED:
            found = "red"
        case _:
            found = ""
    assert found == "red"


@pytest.mark.proves("ENUM-1")
@both_ranks
def test_number_enum_behaves_like_the_standard_one(rank):
    second = rank.SECOND
    assert list(rank) == [0, 1] and rank(1) is second and second in rank
    assert (second.name, second.value, str(second), f"{second}") == ("SECOND", 1, "1", "1")
    assert type(second.value) is int and isinstance(second, int) and type(second) is rank
    assert f"{second:>3}" == "  1" and repr(second) == f"<{rank.__name__}.SECOND: 1>"
    assert json.dumps([second]) == "[1]" and hash(second) == hash(1)
    assert second > rank.FIRST and ["a", "b"][second] == "b" and not rank.FIRST
    assert pickle.loads(pickle.dumps(second)) is copy.deepcopy(second) is second
    with pytest.raises(ValueError, match=f"7 is not a valid {rank.__name__}"):
        rank(7)


@pytest.mark.proves("ENUM-1")
@pytest.mark.parametrize("light", ALL, ids=lambda light: light.__name__)
def test_each_enum_equals_its_standard_twin(light):
    base = enum.StrEnum if issubclass(light, str) else enum.IntEnum
    twin = base(light.__name__, {one.name: one.value for one in light})
    assert list(twin) == list(light) and len({one.name for one in light}) == len(light)
    assert [one.name for one in twin] == [one.name for one in light]
    assert all(str(one) == str(twin(one.value)) for one in light)


# Rows, events and other programs hold these words: members may be added, none may change.
KEPT = {
    enums.AskStatus: "pending answered timed_out cancelled",
    enums.AskKind: "approval choice text form session",
    enums.Decision: "approved rejected",
    enums.AnswerOutcome: "settled counted refused late",
    enums.Priority: "0 1 2 3 4",
    enums.RunState: "ready running waiting_human completed stuck failed",
    enums.AgentCli: "claude codex gemini opencode command python",
    enums.CallState: "open waiting held recorded failed",
    enums.RuleKind: "ask deny grant",
    enums.ShadowState: "active suspended promoted removed",
    enums.TaskState: "open in_progress awaiting_input blocked deferred failed closed",
    enums.NoticeKind: "opened reminder escalated replied settled note test",
    enums.CallName: ("run pause ask step read sleep now random log parallel setup branch driver"),
    enums.MemberKind: "server worker sender",
    enums.ProcessState: "alive gone unknown",
    enums.VisitEnd: "left time failed lost stopped",
    enums.ChannelKind: "desktop apprise command webhook",
    enums.TunnelKind: "tailscale cloudflared",
    enums.TunnelState: "missing off ready serving",
    enums.SignalStatus: ("DONE APPROVED CHANGES_REQUESTED BLOCKED NEEDS_REVIEW NEEDS_HUMAN ERROR"),
}


@pytest.mark.proves("ENUM-7")
@pytest.mark.parametrize("kept", ALL, ids=lambda kept: kept.__name__)
def test_each_enum_keeps_its_stored_words(kept):
    words = KEPT[kept].split()
    assert list(map(str, kept))[: len(words)] == words
