"""Sign in to servers, and open them."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from gatebell.adapters.remote import servers
from gatebell.app import settings
from gatebell.domain.records import NamedTuple
from gatebell.errors import NotFoundError, UsageError

if TYPE_CHECKING:
    from gatebell.app.remote_backend import ServerBackend
    from gatebell.ports.backends.backend import Backend


def open_server(server: str, token: str) -> ServerBackend:
    """Return the backend of a server, with this token or the one of the settings."""
    # Imported here: settings and logins need no connection.
    from gatebell.app.remote_backend import ServerBackend

    chosen = token or servers.find_token(os.environ, server)
    drafts = os.path.join(settings.data_folder(os.environ), "unsent")
    return ServerBackend(server, chosen, settings.ca_file(os.environ), drafts)


class SignedIn(NamedTuple):
    """A server, and what the token that is kept for it may do."""

    server: str
    person: str
    scopes: tuple[str, ...]
    may_approve: bool


def sign_in(address: str, token: str) -> SignedIn:
    """Check a token with its server, and keep both for later commands."""
    server = servers.check_address(address)
    if not server:
        raise UsageError("name the server: gate login https://gate.example.org")
    found = _describe(server, token)
    servers.keep_login(os.environ, server, token)
    return found


def describe_token() -> SignedIn:
    """Ask the server of the settings what the token of this machine may do."""
    return _describe(settings.server(os.environ), "")


def _describe(server: str, token: str) -> SignedIn:
    found = open_server(server, token).me()
    return SignedIn(server, found["person"], tuple(found["scopes"]), found["may_approve"])


def is_on_this_machine() -> bool:
    """Return whether the server of the settings has an address of this machine only."""
    return servers.is_on_this_machine(settings.server(os.environ))


def may_approve(backend: Backend) -> bool:
    """Return whether the token of a server's backend may answer asks."""
    # Imported here, as above.
    from gatebell.app.remote_backend import ServerBackend

    return isinstance(backend, ServerBackend) and bool(backend.me()["may_approve"])


def sign_out(address: str = "") -> str:
    """Forget the token of a server, by default of the one in use; return its address."""
    server = servers.check_address(address) or servers.read_login(os.environ)
    if not server or not servers.forget_login(os.environ, server):
        raise NotFoundError(f"no token is kept for {server or 'any server'}: gate login SERVER")
    return server


def has_token() -> bool:
    """Return whether the environment has a token, or `gate login` has kept one."""
    if os.environ.get("GATE_TOKEN"):
        return True
    server = settings.server(os.environ)
    if not server:
        return False
    return bool(servers.find_token(os.environ, server))
