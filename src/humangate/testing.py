"""For your own tests: a store in memory, a clock you turn, and a person who follows a script.

store = MemoryStore()
ScriptedPerson(store).will_answer("Deploy", "yes")
assert Gate(store).approve("Deploy to production?")
"""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from threading import RLock
from typing import TYPE_CHECKING, Any, NamedTuple

from humangate.domain.answers import Given
from humangate.domain.audit import Entry, Head
from humangate.domain.digests import GENESIS, digest, link
from humangate.domain.letters import Delivery, Posted
from humangate.domain.principals import Caller, Person, person
from humangate.doors.results import Conflict, Done
from humangate.service import answering, conversing

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from humangate.domain.answers import Answer
    from humangate.domain.asks import Ask, Change, Message, Notice
    from humangate.domain.audit import Event
    from humangate.domain.logins import Login, Token
    from humangate.domain.notes import Note
    from humangate.domain.rules import Rule
    from humangate.doors.results import Result

_LONGEST_WAIT = timedelta(days=400)
_CLAIM = timedelta(seconds=60)
_DELIVERIES_KEPT = timedelta(days=7)


class FakeClock:
    """A clock that stands still until it is told otherwise."""

    def __init__(self, start: datetime = datetime(2026, 1, 1, tzinfo=UTC)) -> None:
        self._now = start
        self._monotonic = 0.0

    def now(self) -> datetime:
        return self._now

    def monotonic(self) -> float:
        return self._monotonic

    def advance(self, seconds: float) -> None:
        """Let time pass."""
        self._now += timedelta(seconds=seconds)
        self._monotonic += seconds

    def jump(self, seconds: float) -> None:
        """Set the time of day forwards or back; no time passes."""
        self._now += timedelta(seconds=seconds)


class MemoryStore:
    """Behaves like every other store, and forgets everything when it goes."""

    throwaway = True

    def __init__(self, clock: FakeClock | None = None) -> None:
        self.clock = clock or FakeClock()
        self.lock = RLock()
        self.visitors: list[Callable[[], bool]] = []
        """Called while somebody waits; each says whether it did something."""
        self.audit = _Audit(self)
        self.outbox = _Outbox(self)
        self.asks = _Asks(self)
        self.people = _People(self)
        self.logins = _Logins(self)
        self.rules = _Rules(self)
        self.notes = _Notes(self)

    def now(self) -> datetime:
        return self.clock.now()

    def monotonic(self) -> float:
        return self.clock.monotonic()

    def bell(self) -> _Bell:
        return _Bell(self)

    def problems(self) -> list[str]:
        return []

    def close(self) -> None:
        """Nothing is held open."""

    def record(self, events: Iterable[Event], notices: Iterable[Notice] = ()) -> None:
        self.audit.append(events)
        self.outbox.put(notices)


class _Bell:
    """Nobody sleeps in a test: whoever has something to do does it, or time flies."""

    def __init__(self, store: MemoryStore) -> None:
        self._store = store
        self._give_up_at = store.now() + _LONGEST_WAIT

    def wait(self, seconds: float) -> None:
        if any(visit() for visit in self._store.visitors):
            return
        pending = self._store.asks.pending(1000)
        if not pending:
            # Nobody waits for anything: let the others run.
            time.sleep(0.001)
            return
        due = [ask.deadlines.due_at for ask in pending if ask.deadlines.due_at]
        left = [max(0.0, (at - self._store.now()).total_seconds()) for at in due]
        self._store.clock.advance(min([seconds, *left]))
        if self._store.now() > self._give_up_at:
            raise AssertionError("nobody will ever answer this: give a ScriptedPerson the words")

    def close(self) -> None:
        """Nothing is held open."""


class _Asks:
    def __init__(self, store: MemoryStore) -> None:
        self._store = store
        self._asks: dict[str, Ask] = {}
        self._answers: list[Answer] = []
        self._messages: list[Message] = []
        self._drafts: dict[tuple[str, str], str] = {}
        self._drafted_at: dict[tuple[str, str], datetime] = {}
        self._keys: dict[str, str] = {}
        self._secrets: dict[str, tuple[datetime, Any]] = {}
        self._woken: list[str] = []

    def open(self, change: Change, key: str = "") -> Result:
        new = change.ask
        with self._store.lock:
            if key in self._keys:
                return Conflict(self._asks[self._keys[key]])
            if new.origin.session[-1:] not in ("", "/") and not new.token_digest:
                for ask in self._asks.values():
                    same = (ask.origin.session, ask.digest) == (new.origin.session, new.digest)
                    untaken = ask.status in ("pending", "answered") and not ask.delivered_at
                    if same and untaken and not ask.token_digest:
                        return Conflict(ask)
            if new.deferred:
                for ask in self.pending_of_session(new.origin.session) + self._untaken(new):
                    if ask.deferred:
                        return Conflict(ask)
            if new.id in self._asks:
                return Conflict(None)
            self._asks[new.id] = new
            if key:
                self._keys[key] = new.id
            self._store.record(change.events, change.notices)
            return Done()

    def get(self, ask_id: str) -> Ask | None:
        return self._asks.get(ask_id)

    def matching(self, prefix: str, limit: int) -> list[str]:
        return sorted(ask_id for ask_id in self._asks if ask_id.startswith(prefix))[:limit]

    def count(self) -> int:
        return len(self._asks)

    def pending(self, limit: int, project: str | None = None) -> list[Ask]:
        found = [a for a in self._asks.values() if a.pending]
        found = [a for a in found if project is None or a.origin.project == project]
        return sorted(found, key=lambda ask: (ask.priority, ask.opened_at))[:limit]

    def _untaken(self, new: Ask) -> list[Ask]:
        """What the session of this ask was answered and has not taken."""
        asks = [ask for ask in self._asks.values() if ask.origin.session == new.origin.session]
        return [ask for ask in asks if ask.status == "answered" and not ask.delivered_at]

    def pending_of_session(self, session: str) -> list[Ask]:
        return [a for a in self._asks.values() if a.pending and a.origin.session == session != ""]

    def settled(self, limit: int, search: str = "") -> list[Ask]:
        found = [ask for ask in self._asks.values() if ask.settled_at]
        texts = {ask.id: f"{ask.question.prompt}\n{ask.note}\n{ask.id}".lower() for ask in found}
        found = [ask for ask in found if search.lower() in texts[ask.id]]
        return sorted(found, key=lambda ask: str(ask.settled_at), reverse=True)[:limit]

    def due(self, now: datetime, limit: int) -> list[Ask]:
        clocks = {ask.id: ask.deadlines.due_at for ask in self._asks.values() if ask.pending}
        due = sorted((at, ask_id) for ask_id, at in clocks.items() if at and at <= now)
        return [self._asks[ask_id] for _, ask_id in due][:limit]

    def without_events(self) -> list[str]:
        settling = ("ask.answered", "ask.cancelled", "ask.timed_out")
        told = {(e.event.subject, e.event.kind) for e in self._store.audit.entries()}
        settled = {subject for subject, kind in told if kind in settling}
        return sorted(
            ask.id
            for ask in self._asks.values()
            if (ask.id, "ask.opened") not in told or not (ask.pending or ask.id in settled)
        )

    def change(
        self,
        change: Change,
        expected_version: int,
        answer: Answer | None = None,
        secret: Any = None,
    ) -> Result:
        ask = change.ask
        with self._store.lock:
            current = self._asks.get(ask.id)
            if current is None or current.version != expected_version:
                return Conflict(current)
            if answer:
                if self._key_used(answer):
                    return Conflict(current)
                self._answers.append(answer)
                self._drafts.pop((ask.id, answer.principal), None)
                self._drafted_at.pop((ask.id, answer.principal), None)
            if secret is not None:
                self._secrets[ask.id] = (self._store.now(), secret)
            if change.message:
                self._messages.append(change.message)
            if change.erase_secret:
                self._secrets.pop(ask.id, None)
            self._asks[ask.id] = ask
            if change.grant:
                self._store.rules.rules[change.grant.id] = change.grant
            self._woken += change.wakes
            self._store.record(change.events, change.notices)
            return Done()

    def _key_used(self, answer: Answer) -> bool:
        if not answer.key:
            return False
        return self.answer_with_key(answer.ask_id, answer.principal, answer.key) is not None

    def keep_answer(self, answer: Answer, events: Sequence[Event]) -> Result:
        with self._store.lock:
            if self._key_used(answer):
                return Conflict(self.get(answer.ask_id))
            self._answers.append(answer)
            self._store.record(events)
            return Done()

    def answers(self, ask_id: str) -> list[Answer]:
        return [answer for answer in self._answers if answer.ask_id == ask_id]

    def answer_with_key(self, ask_id: str, principal: str, key: str) -> Answer | None:
        for answer in self._answers:
            if (answer.ask_id, answer.principal, answer.key) == (ask_id, principal, key):
                return answer
        return None

    def messages(self, ask_id: str) -> list[Message]:
        return [message for message in self._messages if message.ask_id == ask_id]

    def save_draft(self, ask: Ask, expected_version: int, principal: str, text: str) -> Result:
        with self._store.lock:
            current = self._asks.get(ask.id)
            if current is None or current.version != expected_version:
                return Conflict(current)
            self._asks[ask.id] = ask
            self._drafts[ask.id, principal] = text
            self._drafted_at[ask.id, principal] = self._store.now()
            return Done()

    def draft(self, ask_id: str, principal: str) -> str:
        return self._drafts.get((ask_id, principal), "")

    def drafting(self, since: datetime) -> list[tuple[str, str]]:
        found = sorted((at, key) for key, at in self._drafted_at.items() if at > since)
        return [key for _, key in found if self._asks[key[0]].pending]

    def waiting_counts(self) -> list[tuple[str, int]]:
        waiting = [ask.origin.project for ask in self._asks.values() if ask.pending]
        counts = [(project, waiting.count(project)) for project in set(waiting)]
        return sorted(counts, key=lambda one: (-one[1], one[0]))

    def secret(self, ask_id: str) -> Any:
        return self._secrets.get(ask_id, (None, None))[1]

    def erase_secrets(self, before: datetime) -> int:
        with self._store.lock:
            old = [ask_id for ask_id, (kept_at, _) in self._secrets.items() if kept_at < before]
            for ask_id in old:
                del self._secrets[ask_id]
            return len(old)

    def woken(self) -> list[str]:
        return list(self._woken)


class _People:
    def __init__(self, store: MemoryStore) -> None:
        self._store = store
        self._people: dict[str, datetime] = {}
        self._tokens: dict[str, Token] = {}
        self._groups: dict[str, tuple[str, ...]] = {}

    def add(self, name: str, events: Sequence[Event]) -> bool:
        with self._store.lock:
            if name in self._people:
                return False
            self._people[name] = self._store.now()
            self._store.record(events)
            return True

    def remove(self, name: str, events: Sequence[Event]) -> bool:
        with self._store.lock:
            if self._people.pop(name, None) is None:
                return False
            self._tokens = {key: one for key, one in self._tokens.items() if one.person != name}
            self._store.logins.end_where(lambda login: login.person == name and login.verified)
            left = {g: tuple(m for m in ms if m != name) for g, ms in self._groups.items()}
            self._groups = {group: members for group, members in left.items() if members}
            self._store.record(events)
            return True

    def all(self) -> list[Person]:
        tokens = [one.person for one in self._tokens.values()]
        return [Person(name, at, tokens.count(name)) for name, at in sorted(self._people.items())]

    def add_token(self, token: Token, token_digest: str, events: Sequence[Event]) -> bool:
        with self._store.lock:
            if token.person not in self._people:
                return False
            made = token._replace(id=token_digest[:8], made_at=self._store.now())
            self._tokens[token_digest] = made
            self._store.record(events)
            return True

    def by_token(self, token_digest: str) -> Token | None:
        return self._tokens.get(token_digest)

    def tokens(self) -> list[Token]:
        return sorted(self._tokens.values(), key=lambda one: (one.person, one.made_at, one.id))

    def remove_token(self, token_id: str, events: Sequence[Event]) -> bool:
        with self._store.lock:
            left = {key: one for key, one in self._tokens.items() if one.id != token_id}
            if len(left) == len(self._tokens):
                return False
            self._tokens = left
            self._store.logins.end_where(lambda login: login.token_id == token_id)
            self._store.record(events)
            return True

    def set_group(self, name: str, members: Sequence[str], events: Sequence[Event]) -> None:
        with self._store.lock:
            self._groups.pop(name, None)
            if members:
                self._groups[name] = tuple(sorted(set(members)))
            self._store.record(events)

    def groups(self) -> dict[str, tuple[str, ...]]:
        return dict(sorted(self._groups.items()))


class _Logins:
    def __init__(self, store: MemoryStore) -> None:
        self._store = store
        self._links: dict[str, Login] = {}
        self._logins: dict[str, Login] = {}

    def add_link(self, digest: str, login: Login, events: Sequence[Event]) -> None:
        with self._store.lock:
            self._links[digest] = login
            self._store.record(events)

    def link(self, digest: str) -> Login | None:
        return self._fresh(self._links.get(digest))

    def enter(self, digest: str, login: Login, link: str, events: Sequence[Event]) -> bool:
        with self._store.lock:
            if link and not self._fresh(self._links.pop(link, None)):
                return False
            self._logins[digest] = login
            self._store.record(events)
            return True

    def get(self, digest: str) -> Login | None:
        return self._fresh(self._logins.get(digest))

    def end(self, digest: str, events: Sequence[Event]) -> None:
        with self._store.lock:
            if self._logins.pop(digest, None):
                self._store.record(events)

    def end_where(self, over: Callable[[Login], bool]) -> None:
        self._links = {key: one for key, one in self._links.items() if not over(one)}
        self._logins = {key: one for key, one in self._logins.items() if not over(one)}

    def _fresh(self, login: Login | None) -> Login | None:
        return login if login and login.expires_at > self._store.now() else None


class _Rules:
    def __init__(self, store: MemoryStore) -> None:
        self._store = store
        self.rules: dict[str, Rule] = {}

    def add(self, rules: Sequence[Rule], events: Sequence[Event]) -> None:
        with self._store.lock:
            self.rules |= {rule.id: rule for rule in rules}
            self._store.record(events)

    def in_force(self) -> list[Rule]:
        now = self._store.now()
        found = [rule for _, rule in sorted(self.rules.items()) if rule.uses_left != 0]
        return [rule for rule in found if not rule.expires_at or rule.expires_at > now]

    def use(self, rule_id: str, events: Sequence[Event]) -> bool:
        with self._store.lock:
            rule = {rule.id: rule for rule in self.in_force()}.get(rule_id)
            if rule is None:
                return False
            if rule.uses_left is not None:
                self.rules[rule_id] = rule._replace(uses_left=rule.uses_left - 1)
            self._store.record(events)
            return True

    def end(self, rule_id: str, events: Sequence[Event]) -> bool:
        with self._store.lock:
            if self.rules.pop(rule_id, None) is None:
                return False
            self._store.record(events)
            return True


class _Notes:
    def __init__(self, store: MemoryStore) -> None:
        self._store = store
        self._notes: list[Note] = []

    def add(self, note: Note, events: Sequence[Event], notices: Sequence[Notice]) -> None:
        with self._store.lock:
            self._notes.append(note)
            self._store.record(events, notices)

    def newest(self, limit: int) -> list[Note]:
        return self._notes[::-1][:limit]


class _Outbox:
    def __init__(self, store: MemoryStore) -> None:
        self._store = store
        self._posted: dict[int, Posted] = {}
        self._last = 0
        self._deliveries: dict[str, Delivery] = {}

    def put(self, notices: Iterable[Notice]) -> None:
        for notice in notices:
            self._last += 1
            self._posted[self._last] = Posted(self._last, notice, self._store.now())

    def waiting(self, limit: int) -> list[Notice]:
        return [posted.notice for posted in self.posted(limit)]

    def posted(self, limit: int) -> list[Posted]:
        return list(self._posted.values())[:limit]

    def spread(self, deliveries: Mapping[Posted, Sequence[Delivery]]) -> None:
        with self._store.lock:
            for posted, ways in deliveries.items():
                if self._posted.pop(posted.seq, None):
                    self._deliveries |= {delivery.id: delivery for delivery in ways}
            old = self._store.now() - _DELIVERIES_KEPT
            kept = {i: one for i, one in self._deliveries.items() if one.written_at >= old}
            self._deliveries = kept

    def _open(self, road: str) -> list[Delivery]:
        found = [one for one in self._deliveries.values() if one.road == road]
        return [one for one in found if not (one.sent_at or one.given_up_at)]

    def claim(self, road: str) -> Delivery | None:
        with self._store.lock:
            now = self._store.now()
            due = [one for one in self._open(road) if _claimable_at(one) <= now]
            if not due:
                return None
            first = min(due, key=lambda one: one.due_at)
            claimed = first._replace(claimed_until=now + _CLAIM, attempts=first.attempts + 1)
            self._deliveries[first.id] = claimed
            return claimed

    def sent(self, delivery: Delivery) -> None:
        with self._store.lock:
            self._replace(delivery.id, sent_at=self._store.now(), claimed_until=None, trouble="")

    def failed(self, delivery: Delivery, trouble: str, again_at: datetime | None) -> None:
        with self._store.lock:
            given_up = None if again_at else self._store.now()
            due_at = again_at or delivery.due_at
            if self._is_newest_claim(delivery):
                self._replace(delivery.id, claimed_until=None, trouble=trouble)
                self._replace(delivery.id, due_at=due_at, given_up_at=given_up)

    def put_off(self, delivery: Delivery, until: datetime) -> None:
        with self._store.lock:
            if self._is_newest_claim(delivery):
                attempts = delivery.attempts - 1
                self._replace(delivery.id, claimed_until=None, due_at=until, attempts=attempts)

    def drop(self, delivery: Delivery) -> None:
        with self._store.lock:
            if not self._deliveries[delivery.id].sent_at:
                del self._deliveries[delivery.id]

    def troubles(self, limit: int) -> list[Delivery]:
        found = [one for one in self._deliveries.values() if one.trouble]
        return sorted(found, key=lambda one: one.written_at, reverse=True)[:limit]

    def next_due(self, road: str) -> datetime | None:
        return min(map(_claimable_at, self._open(road)), default=None)

    def try_again(self) -> int:
        with self._store.lock:
            given_up = [one.id for one in self._deliveries.values() if one.given_up_at]
            for one in given_up:
                self._replace(one, given_up_at=None, attempts=0, due_at=self._store.now())
            return len(given_up)

    def _is_newest_claim(self, delivery: Delivery) -> bool:
        current = self._deliveries[delivery.id]
        return current.attempts == delivery.attempts and not current.sent_at

    def _replace(self, delivery_id: str, **changes: Any) -> None:
        self._deliveries[delivery_id] = self._deliveries[delivery_id]._replace(**changes)


def _claimable_at(delivery: Delivery) -> datetime:
    return max(delivery.due_at, delivery.claimed_until or delivery.due_at)


class _Audit:
    def __init__(self, store: MemoryStore) -> None:
        self._store = store
        self._entries: list[Entry] = []

    def append(self, events: Iterable[Event]) -> None:
        for event in events:
            seq, previous = self.head()
            at = self._store.now().isoformat(timespec="microseconds")
            content = digest(event.content)
            chained = link(previous, seq + 1, at, event, content)
            self._entries.append(Entry(seq + 1, at, event, content, chained, erased=False))

    def entries(self, after: int | None = None) -> Iterator[Entry]:
        return iter(self._entries[after or 0 :])

    def of_subject(self, subject: str) -> list[Entry]:
        return [entry for entry in self._entries if entry.event.subject == subject]

    def newest(self, limit: int) -> list[Entry]:
        return self._entries[-limit:]

    def head(self) -> Head:
        return (
            Head(self._entries[-1].seq, self._entries[-1].hash)
            if self._entries
            else Head(0, GENESIS)
        )

    def changed_since(self, seq: int) -> tuple[int, frozenset[str]]:
        return self.head().seq, frozenset(entry.event.subject for entry in self._entries[seq:])


class _Line(NamedTuple):
    """One line of the script."""

    part_of_prompt: str
    value: Any
    note: str
    asks_back: bool


class ScriptedPerson:
    """Answers what the script has an answer for, while somebody waits."""

    def __init__(self, store: MemoryStore, name: str = "tester") -> None:
        self._store = store
        self._script: list[_Line] = []
        self.caller = Caller(person(name), verified=True, via="script", agent=None, evidence={})
        store.visitors.append(self.act)

    def will_answer(self, part_of_prompt: str, value: Any, note: str = "") -> ScriptedPerson:
        """Answer the next ask whose prompt holds this."""
        self._script.append(_Line(part_of_prompt, value, note, asks_back=False))
        return self

    def will_ask_back(self, part_of_prompt: str, text: str) -> ScriptedPerson:
        """Send a message to the next asker whose prompt holds this."""
        self._script.append(_Line(part_of_prompt, text, "", asks_back=True))
        return self

    def act(self) -> bool:
        """Do one thing that the script foresees; False when there is nothing to do."""
        for ask in self._store.asks.pending(1000):
            for line in self._script:
                if line.part_of_prompt in ask.question.prompt:
                    self._script.remove(line)
                    self._do(ask, line)
                    return True
        return False

    def _do(self, ask: Ask, line: _Line) -> None:
        if line.asks_back:
            conversing.ask_back(self._store, ask.id, self.caller, line.value)
        else:
            answering.answer(self._store, ask.id, self.caller, Given(line.value, line.note))
