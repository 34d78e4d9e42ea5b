"""The context of every route: the site, the shared parts, and one request."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

from gatebell.domain.enums import AgentCli
from gatebell.domain.people.logins import session_prefix
from gatebell.domain.people.principals import Caller, Sighting, person
from gatebell.web.problems import Problem

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from starlette.datastructures import FormData

    from gatebell.domain.asks.asks import Ask
    from gatebell.domain.people.logins import Login
    from gatebell.ports.store import Store
    from gatebell.web.live import Hub
    from gatebell.web.metrics import Requests
    from gatebell.web.rate_limits import Limits

COOKIE = "gatebell"
_MAX_CHANNEL = 16
LOOPBACK = ("127.0.0.1", "localhost", "[::1]")


class Site(NamedTuple):
    """The addresses of this inbox."""

    url: str
    """The address for people; links begin with it."""
    hosts: frozenset[str]
    origins: frozenset[str]
    personal: bool
    """It can be reached from other machines, so each person has their own token."""

    @property
    def secure(self) -> bool:
        return self.url.startswith("https:")


def local_site(port: int, scheme: str = "http") -> Site:
    """Build the site of an inbox that only this machine reaches."""
    hosts = frozenset(f"{name}:{port}" for name in LOOPBACK)
    origins = frozenset(f"{scheme}://{host}" for host in hosts)
    return Site(f"{scheme}://127.0.0.1:{port}", hosts, origins, personal=False)


def public_site(url: str) -> Site:
    """Build the site of an inbox behind TLS, under one name."""
    parts = urlsplit(url)
    # Browsers leave out the usual port in the address and in the Host header.
    host = parts.netloc.lower().removesuffix(":443")
    origin = f"{parts.scheme}://{host}".lower()
    return Site(origin, frozenset([host]), frozenset([origin]), personal=True)


class WebContext(NamedTuple):
    """The parts that all requests share."""

    store: Store
    site: Site
    hub: Hub
    limits: Limits
    requests: Requests


class WebRequest(NamedTuple):
    """One request, read and allowed."""

    web_context: WebContext
    login: Login | None
    csrf: str
    """The token of forms of this login; empty for a request with a token in a header."""
    path: Mapping[str, str]
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: Any = None
    """Of the API: JSON that fits the route's schema."""
    form: FormData | None = None
    address: str = ""
    secret: str = ""
    """The cookie or token itself."""

    @property
    def store(self) -> Store:
        return self.web_context.store

    @property
    def who(self) -> Login:
        """The login; routes without a scope must not use it."""
        assert self.login
        return self.login

    @property
    def sent_form(self) -> FormData:
        """The form; only routes of pages that send one use it."""
        assert self.form is not None
        return self.form

    @property
    def evidence(self) -> dict[str, Any]:
        agent = self.headers.get("user-agent", "")[:200]
        token = self.login.token_id if self.login else ""
        told = {"address": self.address, "browser": agent, "token": token}
        return told | {"server": self.web_context.site.url, "channel": self.channel}

    @property
    def channel(self) -> str:
        """The face that sent the request, in its own words."""
        given = self.headers.get("x-gate-via", "")
        is_word = given.isascii() and given.isalpha() and len(given) <= _MAX_CHANNEL
        return given if is_word else "web" if self.csrf else "http"

    @property
    def caller(self) -> Caller:
        """Return the caller. A token that may neither answer nor manage belongs to an agent."""
        login, via = self.who, "web" if self.csrf else "http"
        agent = None
        if not {"answer", "admin"} & set(login.scopes):
            cli = session_prefix(login.token_id).rstrip("/")
            agent = Sighting(cli, "", "it used a token that may not answer")
        verified = login.verified and agent is None
        who = person(login.person)
        return Caller(who, verified, via, agent, self.evidence, login.token_id)

    def session(self, given: str) -> str:
        """Return an agent session with the prefix of this token: tokens do not share sessions."""
        return session_prefix(self.who.token_id) + given

    def count_for_session(self, named: str, session: str) -> None:
        """Count what reaches people: an agent without end must not use up its token's limit."""
        self.web_context.limits.count("session" if named else "unnamed session", session)

    def name_asker(self, given: str) -> str:
        """Return an asker's name as people see it; refuse one that looks like another person's."""
        own = self.who.person
        wanted = given.casefold().removeprefix("person:").split("(")[0].strip()
        # A program has its own name also where a person is called Claude.
        if not given or wanted == own.casefold() or given in tuple(AgentCli):
            return given or own
        if given.casefold().startswith("person:") or any(
            wanted == one.name.casefold() for one in self.store.people.all()
        ):
            raise Problem(400, f"the asker cannot be called {given}, like a person: name the agent")
        return given

    @property
    def own_prefix(self) -> str:
        """The prefix of the sessions of asks that this token opened; empty without a token."""
        return session_prefix(self.who.token_id) if self.who.token_id else ""

    def is_own_ask(self, ask: Ask) -> bool:
        """Return whether the ask was opened with the token of this request."""
        return bool(self.own_prefix) and ask.origin.session.startswith(self.own_prefix)


class Row(NamedTuple):
    """One route, and who may use it."""

    method: str
    path: str
    act: Callable[..., Any]
    """Takes a WebRequest; a plain function runs in a thread, an async one must not block."""
    needs: tuple[str, ...] = ()
    """Any one of these scopes is enough; none: everybody, even without sign-in."""
    about: str = ""
    """One line for the API's document; only routes below /api/ have it."""
    body: dict[str, Any] | None = None
    """JSON Schema of the body."""
    query: tuple[tuple[str, dict[str, Any], str], ...] = ()
    gives: tuple[int, dict[str, Any] | None] = (200, None)
    takes_files: bool = False
    """Its form may have files."""
    waits: bool = False
    """It is held until its ask changes: `act` only says what it waits for (`waits.py`)."""
    by_button: bool = False
    """A notification's button sends it, with a token instead of the proofs of a page."""

    @property
    def api(self) -> bool:
        return self.path.startswith("/api/")

    @property
    def changes(self) -> bool:
        """It may change something, so a browser must prove that its page asked for it."""
        return self.method not in ("GET", "HEAD", "OPTIONS")
