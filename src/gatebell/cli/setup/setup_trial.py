"""The last step of `gate setup`: a test question, answered on the phone."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from gatebell.app import chats, daemon, settings, wiring
from gatebell.cli.identity import caller
from gatebell.cli.setup import setup_chats
from gatebell.domain.enums import Decision
from gatebell.domain.text.display import inert_line
from gatebell.services.phone import trial_ask

if TYPE_CHECKING:
    import argparse

    from gatebell.cli.setup.setup_dialogue import Dialogue
    from gatebell.domain.asks.asks import Ask
    from gatebell.ports.store import Store

_CHECKS = (
    "There was no answer. Please check:",
    "- Does the phone show the inbox? If not, open the address of step 3 there.",
    "- Did no notification come? gate notify lists those that could not be sent.",
    "- Does gate up run? gate doctor says so.",
    "Then try again: gate setup",
)


def run(args: argparse.Namespace, store: Store, dialogue: Dialogue) -> dict[str, Any] | None:
    """Send the question and wait; return its end, or None if it was skipped."""
    who = caller(store, args)
    linked = [setup_chats.NAMES[chat] for chat in setup_chats.find_linked(store, who.name)]
    where = " and ".join(linked) or "your phone"
    if not (args.test or dialogue.confirm(f"Send a test question to {where}?", unasked=False)):
        return None
    ask = trial_ask.send(store, who, wiring.origin(who, trial_ask.ASKER))
    how = "Tap the notification, or open the inbox on the phone, and answer."
    if linked:
        how = f"Press a button below the question in {' or '.join(linked)}."
    elif daemon.find(settings.local_path(os.environ)) is None:
        how = (
            f"No inbox runs for the phone, so answer in another terminal: gate answer {ask.id} yes"
        )
    # Where no gate up does it.
    end = chats.begin(store)
    try:
        settled = _wait(args, store, dialogue, ask, how)
    finally:
        end()
    if settled is None or settled.pending:
        trial_ask.withdraw(store, ask, who)
    if settled is None:
        return None
    if settled.pending:
        return {"ask_id": ask.id, "answered": False, "by": None, "via": None}
    word = "yes" if settled.decision == Decision.APPROVED else "no"
    by = inert_line(settled.settled_by.removeprefix("person:"), 64)
    names = {"web": "in the web inbox"} | {k: f"in {name}" for k, name in setup_chats.NAMES.items()}
    where = names.get(settled.settled_via, f"by {settled.settled_via}")
    dialogue.say(f"Answered: {word}, by {by} {where}. It works.")
    return {
        "ask_id": ask.id,
        "answered": True,
        "by": settled.settled_by,
        "via": settled.settled_via,
    }


def _wait(
    args: argparse.Namespace, store: Store, dialogue: Dialogue, ask: Ask, how: str
) -> Ask | None:
    """Return the ask as it is in the end; None if the person did not want to wait."""
    told: list[str] = []
    last = ask
    try:
        dialogue.say(f"Sent ({ask.id}). {how}")
        dialogue.say(f"Waiting for {args.wait / 60:g} minutes; Ctrl+C skips this.")
        for seen in trial_ask.follow(store, ask, args.wait):
            last = seen
            for problem in trial_ask.list_problems(store, ask):
                if problem not in told:
                    told.append(problem)
                    dialogue.say(f"Not sent by {problem}")
    except KeyboardInterrupt:
        print()
        dialogue.say("Skipped; the test question is withdrawn.")
        return None
    if last.pending:
        for line in _CHECKS:
            dialogue.say(line)
    return last
