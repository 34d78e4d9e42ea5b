"""One server and one token: what all verbs on a server share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from gatebell.adapters.remote.http import Http
from gatebell.domain.asks.document_reader import read_ask
from gatebell.domain.people.principals import TRUST
from gatebell.errors import AgentRefusedError, ServerError

if TYPE_CHECKING:
    from collections.abc import Callable

    from gatebell.adapters.remote.drafts import Drafts
    from gatebell.adapters.remote.http import Patience
    from gatebell.domain.asks.asks import Ask
    from gatebell.domain.people.principals import Caller
    from gatebell.ports.backends.server_watcher import ServerWatcher
    from gatebell.ports.store import Store

    Read = TypeVar("Read")


def must_be_a_person(caller: Caller) -> None:
    """Refuse an agent that found its person's token, as on a store of this machine."""
    if caller.agent and not caller.verified:
        raise AgentRefusedError(
            f"only a person answers, and an agent seems to be at work here "
            f"({caller.agent.because}). Answer in your own terminal, or name yourself: --as NAME"
        )


class RemoteConnection:
    """One server, one token, and a folder for texts that could not be sent."""

    store: Store | None = None

    def __init__(self, server: str, token: str, ca_file: str, folder: str) -> None:
        self.name = server
        self._http = Http(server, token, ca_file)
        self.folder = folder
        self._gone: dict[str, bool] = {}
        self._trust: dict[str, str] = {}
        self._revealed: dict[str, dict[str, str]] = {}
        self._secret: set[str] = set()
        self.has_token = bool(token)

    @property
    def _drafts(self) -> Drafts:
        # Imported here: only people write drafts.
        from gatebell.adapters.remote.drafts import Drafts

        return Drafts(self.folder)

    def watch(self, watcher: ServerWatcher) -> None:
        """Tell a face how the requests go."""
        self._http.watcher = watcher

    def _pause(self, patience: Patience, error: ServerError) -> bool:
        """Pause before a request is sent again; return False if the time is over."""
        if self._http.watcher:
            self._http.watcher.note_failure(error)
        return patience.pause()

    def _note_reply(self) -> None:
        if self._http.watcher:
            self._http.watcher.note_reply()

    def _get_list(self, path: str) -> list[Any]:
        found = self._http.send("GET", path)
        if not isinstance(found, list):
            raise ServerError(f"the server {self.name} has another version: it sent no list")
        return found

    def _read_as(
        self, read: Callable[[dict[str, Any]], Read], document: dict[str, Any], what: str
    ) -> Read:
        """Return the object of a response; a server of another version may lack a field."""
        try:
            return read(document)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise ServerError(
                f"the server {self.name} has another version ({what} lacks {error}): "
                "install the same version here and there"
            ) from None

    def read(self, document: dict[str, Any]) -> Ask:
        """Return the ask of a response."""
        ask = self._read_as(read_ask, document, "an ask")
        self._gone[ask.id] = bool(document.get("asker_gone"))
        self._trust[ask.id] = document.get("trust") or TRUST
        if ask.token_digest:
            self._secret.add(ask.id)
        return ask
