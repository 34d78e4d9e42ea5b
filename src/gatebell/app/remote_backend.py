"""The backend on a server, with the caller as this machine sees them."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from gatebell.adapters.remote.backend import RemoteBackend
from gatebell.app import environment

if TYPE_CHECKING:
    from gatebell.domain.people.principals import Caller


class ServerBackend(RemoteBackend):
    """The server alone knows who a token belongs to; this machine knows whether an agent is here."""

    def caller(self, via: str, token: str = "", name: str = "") -> Caller:
        """Return the caller; an agent counts as its person only if it names them."""
        plain = environment.caller(os.environ, via)
        if name:
            # The server refuses every request if the token belongs to another person.
            self.act_as(name)
        return plain._replace(verified=self.has_token and bool(token or name or not plain.agent))
