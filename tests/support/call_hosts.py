"""A host of a waiting call with scripted reasons."""

from __future__ import annotations


class PlannedHost:
    """A host that gives the reasons one after the other, and then none."""

    def __init__(self, *, activity="", reasons=(), over=(), found="", on_ask=lambda _: None):
        self.asks = []
        self.waits = 0
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

    def note_wait(self):
        self.waits += 1

    def find_call_id(self):
        return self._found
