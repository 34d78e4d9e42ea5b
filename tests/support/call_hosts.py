"""A host of a waiting call that says what a test wants."""

from __future__ import annotations


class PlannedHost:
    """Says the reasons one after the other, each time it is asked, and then none."""

    def __init__(self, *, activity="", reasons=(), over=(), found="", on_ask=lambda _: None):
        self.asks = []
        self._activity = activity
        self._reasons = iter(reasons)
        self._over = over
        self._found = found
        self._on_ask = on_ask

    def describe_activity(self):
        return self._activity

    def find_reason_to_stop(self):
        return next(self._reasons, "")

    def has_result(self, call_id):
        return call_id in self._over

    def note_ask(self, ask_id):
        self.asks.append(ask_id)
        self._on_ask(ask_id)

    def find_call_id(self):
        return self._found
