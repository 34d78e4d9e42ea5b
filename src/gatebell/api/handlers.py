"""Handlers: who answers what a workflow asks while a program runs it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from gatebell.app import wiring
from gatebell.domain.asks.answers import DECISIONS, Given
from gatebell.domain.asks.questions import means_other
from gatebell.domain.enums import AskKind, Decision
from gatebell.domain.phases.phases import accepts
from gatebell.domain.text.display import frame, inert_line
from gatebell.errors import RefusedError, UsageError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from gatebell.domain.asks.asks import Ask
    from gatebell.domain.people.principals import Caller
    from gatebell.ports.store import Store
    from gatebell.ports.terminal import Terminal

_COLUMNS = 100
_POLL_SECONDS = 0.1
_AGAIN_AFTER_SECONDS, _AGAIN_AT_MOST_SECONDS = 1.0, 60.0


class Reply(NamedTuple):
    """An answer with what a handler has to say beside it."""

    value: bool | str
    reason: str = ""
    other: bool = False
    """The value is the person's own words, where the options offer `Other…`."""


class HumanInputHandler(Protocol):
    """Answers for the person who runs the program. Its methods may be async.

    What it returns is judged like every answer. When that is no answer, or when it raises, the ask
    stays in the inbox and is handed over again: after a second, then less and less often. EOFError
    leaves the ask to the inbox for good.
    Under `ask_id` the same is answered by `gate answer` or in the web inbox, which may be faster.
    """

    def approval(self, prompt: str, ask_id: str) -> bool | Reply | Awaitable[bool | Reply]: ...

    def choice(
        self, prompt: str, options: Sequence[str], ask_id: str
    ) -> str | Reply | Awaitable[str | Reply]: ...


def check(handler: Any) -> None:
    """A UsageError when it cannot be one."""
    for name, takes in (("approval", "prompt, ask_id"), ("choice", "prompt, options, ask_id")):
        verb = getattr(handler, name, None)
        if not callable(verb) or not accepts(verb, takes.count(",") + 1):
            raise UsageError(f"a handler for human_input has a method {name}({takes})")


def caller(handler: Any, store: Store) -> Caller:
    """Who answers: whoever runs this program. Only in a store for tests can it be somebody else."""
    own = getattr(handler, "caller_in", None)
    if own is None:
        return wiring.caller(store, getattr(handler, "via", "handler"))
    made: Caller = own(store)
    if not store.throwaway:
        raise RefusedError("a handler with caller_in() answers for others: it works in tests only")
    return made


def must_be_a_person(caller: Caller, ask: Ask) -> None:
    """An approval by an agent is refused when it is given; a choice would only be asked again."""
    if caller.agent and not caller.verified and not ask.question.gates:
        raise RefusedError(f"only a person decides {ask.id}, not {caller.actor}")


def asked(handler: HumanInputHandler, ask: Ask) -> Any:
    """What the handler says, or promises to say."""
    if ask.question.kind == AskKind.APPROVAL:
        return handler.approval(_shown(ask), ask.id)
    return handler.choice(_shown(ask), list(ask.question.option_labels), ask.id)


def _shown(ask: Ask) -> str:
    """The question with its context: the answer is bound to both."""
    import json

    prompt, context = ask.question.prompt, ask.question.context
    if context is None:
        return prompt
    text = (
        context if isinstance(context, str) else json.dumps(context, indent=2, ensure_ascii=False)
    )
    return f"{prompt}\n\n{text}"


def given(ask: Ask, reply: Any) -> Given:
    """As an answer to exactly what was shown."""
    told = reply if isinstance(reply, Reply) else Reply(reply)
    value = {"other": told.value} if told.other else told.value
    return Given(value, told.reason, ask.digest)


class Handing:
    """When a question is handed to the handler: at once, and again later where that failed."""

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self._monotonic = monotonic
        self._due: dict[str, float] = {}
        self._pauses: dict[str, float] = {}

    def is_due(self, ask_id: str) -> bool:
        return self._due.get(ask_id, -math.inf) <= self._monotonic()

    def left(self, ask_id: str) -> float:
        """The seconds until it is handed over again; endless where it is not."""
        return self._due.get(ask_id, math.inf) - self._monotonic()

    def put_off(self, ask_id: str) -> None:
        """For twice as long each time."""
        pause = self._pauses.get(ask_id, _AGAIN_AFTER_SECONDS)
        self._due[ask_id] = self._monotonic() + pause
        self._pauses[ask_id] = min(2 * pause, _AGAIN_AT_MOST_SECONDS)

    def end(self, ask_id: str) -> None:
        """It is handed over no more."""
        self._due[ask_id] = math.inf


def cli_prompt() -> HumanInputHandler:
    """Asks whoever is at the terminal; what is no answer is asked again, and Ctrl+D is not yet."""
    return _Prompt(wiring.terminal())


class _Prompt:
    """Its methods are async, so that an answer from elsewhere ends the prompt."""

    via = "cli_prompt"

    def __init__(self, terminal: Terminal) -> None:
        self._terminal = terminal

    async def approval(self, prompt: str, ask_id: str) -> Reply:
        self._show(prompt, ask_id)
        read = self._read
        while (decision := DECISIONS.get((await read("yes or no: ")).lower())) is None:
            self._terminal.show("That is neither yes nor no. Ctrl+D leaves it for later.")
        if decision == Decision.APPROVED:
            return Reply(True)
        return Reply(False, await read("Reason (optional): "))

    async def choice(self, prompt: str, options: Sequence[str], ask_id: str) -> Reply:
        self._show(prompt, ask_id)
        read = self._read
        for number, option in enumerate(options, 1):
            self._terminal.show(f"  {number}) {inert_line(option, _COLUMNS)}")
        while (chosen := _chosen(await read("A number or a name: "), options)) is None:
            self._terminal.show("That is none of them. Ctrl+D leaves it for later.")
        if not means_other(chosen):
            return Reply(chosen)
        while not (words := await read("In your words: ")):
            self._terminal.show("Other… needs words of your own.")
        return Reply(words, other=True)

    async def _read(self, label: str) -> str:
        # Imported here: only a program that reads answers itself needs it.
        import asyncio

        self._terminal.ask_for_line(label)
        try:
            while not self._terminal.is_line_ready():  # noqa: ASYNC110 - a terminal has no event
                await asyncio.sleep(_POLL_SECONDS)
        except BaseException:
            # The next text does not belong behind the label.
            self._terminal.show("")
            raise
        return self._terminal.read_line()

    def _show(self, prompt: str, ask_id: str) -> None:
        self._terminal.show("\n".join(["", *frame(prompt, _COLUMNS), f"({ask_id})"]))
        # A pasted or hasty line must not answer a question that is not on the screen yet.
        self._terminal.drop_typed_ahead()


def _chosen(word: str, options: Sequence[str]) -> str | None:
    alike = [one for one in options if one.casefold() == word.casefold()]
    if word in options or len(alike) == 1:
        return word if word in options else alike[0]
    # By its number only where no name could be meant.
    if word.isdecimal() and not any(one.isdecimal() for one in options):
        return options[int(word) - 1] if 0 < int(word) <= len(options) else None
    return None
