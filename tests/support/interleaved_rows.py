"""Verbs on the same people, files, hosts, notices and rules, for tests that let two overlap."""

from __future__ import annotations

from datetime import timedelta

from gatebell.domain.asks.answers import Given
from gatebell.domain.asks.asks import Notice, Origin
from gatebell.domain.digests import token_digest
from gatebell.domain.enums import ChannelKind, MemberKind, NoticeKind, RuleKind
from gatebell.domain.members import Member, lose_host
from gatebell.domain.notifications.chats import ChatMessage, ChatUpdate
from gatebell.domain.notifications.messages import Delivery
from gatebell.domain.permissions.rules import Rule
from gatebell.domain.runs.runs import RunChange
from gatebell.services import freezes
from gatebell.services.asks import answer_ask, attachments, create_ask
from gatebell.services.asks.create_ask import Request
from gatebell.services.chats import link_chat
from gatebell.services.people import manage_logins, manage_people
from gatebell.services.permissions import standing_rules
from tests.support.devices import add_device
from tests.support.past_calls import ask_about
from tests.support.people import a_person
from tests.support.run_records import add_run

ADA, BOB = a_person("ada", verified=True), a_person("bob", verified=True)
_ENDPOINT, _SEAL = "https://fcm.googleapis.com/x", "of the browser"


class Team:
    """A person with a token, and a link, login, device and chat made with it."""

    def __init__(self, store) -> None:
        manage_people.add(store, ADA, "ada")
        self.other_token = manage_people.token(store, ADA, "ada")
        self.token = manage_people.add(store, ADA, "eve")
        self.id = manage_people.whose(store, self.token).id
        self.eve = a_person("eve", verified=True)._replace(token_id=self.id)
        self.link = manage_logins.make_link(store, self.eve)
        self.login = token_digest(manage_logins.enter_by_token(store, self.token, {}, _SEAL))
        device = {"token_id": self.id, "seal": token_digest(_SEAL)}
        self.device = add_device(store, "eve", endpoint=f"{_ENDPOINT}/old", **device)
        self.code, self.chat = self._invite(store, self.eve)
        self.other_code, _ = self._invite(store, ADA)
        self.ask = create_ask.ask(store, Request("Go?"), Origin(), ADA).ask

    def _invite(self, store, whose):
        known = set(store.chats.all())
        code = link_chat.invite(store, whose, ChannelKind.TELEGRAM)
        return code, (set(store.chats.all()) - known).pop()

    def add_token(self, store):
        return manage_people.token(store, ADA, "eve")

    def revoke(self, store):
        return manage_people.revoke(store, ADA, self.id)

    def remove(self, store):
        return manage_people.remove(store, ADA, "eve")

    def add_again(self, store):
        return manage_people.add(store, ADA, "eve")

    def enter_by_link(self, store):
        return manage_logins.enter_by_link(store, self.link, {})

    def end_logins(self, store):
        return store.logins.end_all([])

    def sign_up(self, store):
        return add_device(store, "eve", token_id=self.id, endpoint=_ENDPOINT)

    def sign_in_as_another(self, store):
        """Sign in in the browser of a person as another one, whose devices there end."""
        return manage_logins.enter_by_token(store, self.other_token, {}, _SEAL)

    def sign_up_as_another(self, store):
        """Sign up the browser of a person who signs in as another one."""
        return add_device(store, "ada", endpoint=_ENDPOINT)

    def remove_device(self, store):
        return store.devices.remove(self.device.id, [])

    def sign_out(self, store):
        return store.logins.end(self.login, [])

    def invite(self, store):
        return link_chat.invite(store, self.eve, ChannelKind.TELEGRAM)

    def use_code(self, store):
        return self._use(store, self.code)

    def use_other_code(self, store):
        """Link the same account to another person."""
        return self._use(store, self.other_code)

    def answer_by_chat(self, store):
        by_chat = self.eve._replace(chat_link=self.chat.id)
        return answer_ask.answer(store, self.ask.id, by_chat, Given("this"))

    def remove_chat(self, store):
        return store.chats.remove(self.chat.id, [])

    def _use(self, store, code):
        return link_chat.use_code(store, ChatUpdate(ChannelKind.TELEGRAM, "1", "7", "7"), code)


class Groups:
    """A group, and the people who may be in it."""

    def __init__(self, store) -> None:
        for name in ("ada", "bob", "eve"):
            manage_people.add(store, ADA, name)
        manage_people.set_group(store, ADA, "team", ["ada", "eve"])

    def set_by_ada(self, store):
        return manage_people.set_group(store, ADA, "team", ["ada", "eve"])

    def set_by_bob(self, store):
        return manage_people.set_group(store, BOB, "team", ["bob", "eve"])

    def remove(self, store):
        return manage_people.remove(store, ADA, "eve")


class Grant:
    """A grant with one use left."""

    def __init__(self, store) -> None:
        made = {"project": "/p", "uses_left": 1}
        rule = Rule("g-1", RuleKind.GRANT, "git push", "person:ada", store.now(), **made)
        store.rules.add([rule], [])

    def use(self, store):
        return store.rules.use("g-1", [])

    def end(self, store):
        return store.rules.end("g-1", [])


class Shadow:
    """A shadow rule that compares, and an ask that it would have answered."""

    def __init__(self, store) -> None:
        first = ask_about(store, "npm test a", "/p")
        answer_ask.answer(store, first.id, ADA, Given("yes"))
        days = {"days": 3}
        self.rule = standing_rules.begin_shadow(store, ADA, "/p", "Bash(npm test *)", **days)
        self.ask = ask_about(store, "npm test b", "/p")

    def promote(self, store):
        return standing_rules.promote(store, ADA, self.rule.id)

    def remove(self, store):
        return standing_rules.remove(store, ADA, self.rule.id)

    def object(self, store):
        return answer_ask.answer(store, self.ask.id, ADA, Given("no"))


class Frozen:
    """A store that is frozen, and thawed at times."""

    def __init__(self, store) -> None:
        freezes.begin(store, ADA)

    def begin(self, store):
        return freezes.begin(store, BOB, "again")

    def lift(self, store):
        return freezes.lift(store, ADA)

    def begin_turn(self, store):
        run = add_run(store)
        return store.runs.change(RunChange(run, unless_frozen=True), run)


class Posting:
    """An ask of which people are reminded, and a chat that has messages about it."""

    def __init__(self, store) -> None:
        create_ask.ask(store, Request("Why?"), Origin(), a_person())
        [self.posted] = store.outbox.list_posted(9)

    def remind(self, store):
        with store.transaction() as at:
            store.outbox.put(at, [Notice(NoticeKind.REMINDER, "a-222")])

    def take_notice(self, store):
        store.outbox.spread({self.posted: []})

    def see(self, store):
        store.presence.see(["ada", "bob"])

    def note_chat(self, store):
        kept = (ChannelKind.TELEGRAM, "7", "1", "a-222", "d" * 64, NoticeKind.OPENED, store.now())
        store.chats.add_message(ChatMessage(*kept))


class Files:
    """Bytes that were uploaded long ago, and that no ask names."""

    def __init__(self, store) -> None:
        create_ask.ask(store, Request("Why?"), Origin(), ADA)
        self.file = attachments.attach(store, "a", b"a" * 9, "token-1")
        store.clock.advance(90_000)

    def use(self, store):
        return create_ask.ask(store, Request("Right?", attachments=(self.file,)), Origin(), ADA).ask

    def keep_again(self, store):
        store.attachments.keep(self.file, b"a" * 9, "token-1")

    def clean(self, store):
        return store.attachments.remove_unused(store.now() - attachments.UNUSED_FOR)


class NewFile:
    """Bytes that nobody has uploaded yet."""

    def __init__(self, store) -> None:
        create_ask.ask(store, Request("Why?"), Origin(), ADA)
        self.file = attachments.attach(store, "a", b"a" * 9, "token-1")
        store.attachments.remove_unused(store.now() + timedelta(days=9))

    def keep(self, store):
        store.attachments.keep(self.file, b"a" * 9, "token-1")

    def keep_too(self, store):
        store.attachments.keep(self.file, b"a" * 9, "token-2")

    def use(self, store):
        return create_ask.ask(store, Request("Right?", attachments=(self.file,)), Origin(), ADA).ask

    def clean(self, store):
        return store.attachments.remove_unused(store.now() + timedelta(days=9))


class Hosts:
    """A worker of another host that is silent."""

    def __init__(self, store) -> None:
        now = store.now()
        self.worker = Member(MemberKind.WORKER, "ci/b/7/7", "", now, now)
        self.lost = lose_host("ci", now)
        store.members.join(self.worker)

    def beat(self, store):
        store.members.beat(self.worker)

    def leave(self, store):
        store.members.leave(self.worker)

    def join(self, store):
        store.members.join(self.worker)

    def lose(self, store):
        store.members.lose(self.lost, [self.worker], [])


class Mail:
    """A delivery that a sender has claimed."""

    def __init__(self, store, route="desk") -> None:
        self.route, now = route, store.now()
        create_ask.ask(store, Request(f"Why {route}?"), Origin(), a_person())
        *_, posted = store.outbox.list_posted(99)
        made = [
            Delivery(f"{route}-{n}", NoticeKind.OPENED, "a-222", "bob", route, now, now)
            for n in range(2)
        ]
        store.outbox.spread({posted: made})
        self.mine = store.outbox.claim(route)
        create_ask.ask(store, Request(f"What {route}?"), Origin(), a_person())
        *_, self.posted = store.outbox.list_posted(99)

    def claim(self, store):
        return store.outbox.claim(self.route)

    def gather(self, store):
        return store.outbox.gather(self.mine, 9)

    def sent(self, store):
        store.outbox.sent(self.mine)

    def fail(self, store):
        store.outbox.record_failure(self.mine, "refused", store.now())

    def give_up(self, store):
        store.outbox.record_failure(self.mine, "refused", None)

    def drop(self, store):
        store.outbox.drop(self.mine)

    def put_off(self, store):
        store.outbox.put_off(self.mine, store.now() + timedelta(seconds=9))

    def try_again(self, store):
        return store.outbox.try_again()

    def spread(self, store):
        now = store.now()
        made = Delivery(f"{self.route}-9", NoticeKind.OPENED, "a-222", "bob", self.route, now, now)
        store.outbox.spread({self.posted: [made]})
