"""A client of `gate mcp` that sends and reads lines."""

from __future__ import annotations

import json
import subprocess

DISCOVERY = {"_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}}


class Client:
    """A client of its own server, one line at a time."""

    def __init__(self, world, *words, **environ):
        self.server = world.plain.start("mcp", *words, stdin=subprocess.PIPE, **environ)
        self.number = 0
        self.heard = []

    def send(self, message):
        text = message if isinstance(message, str) else json.dumps({"jsonrpc": "2.0"} | message)
        self.server.stdin.write(text + "\n")
        self.server.stdin.flush()

    def ask(self, method, **params):
        self.number += 1
        self.send({"id": self.number, "method": method, "params": params})
        return self.number

    def call(self, tool, _meta=None, **arguments):
        meta = {"_meta": _meta} if _meta else {}
        return self.ask("tools/call", name=tool, arguments=arguments, **meta)

    def result(self, number):
        """Return the answer to a request; keep other messages."""
        while True:
            for message in self.heard:
                if message.get("id") == number and "method" not in message:
                    self.heard.remove(message)
                    return message
            line = self.server.stdout.readline()
            assert line, self.server.stderr.read()
            self.heard.append(json.loads(line))

    def text(self, number):
        result = self.result(number)["result"]
        (block,) = result["content"]
        return block["text"], result["isError"]

    def close(self):
        self.server.communicate(timeout=60)
        return self.server.returncode


def check_result(result, method, version):
    """Check a result by the schema of its revision."""
    # Imported here: every worker of a run would load them, and most need none.
    from mcp.types.methods import SERVER_RESULTS
    from pydantic import TypeAdapter

    TypeAdapter(SERVER_RESULTS[method, version]).validate_python(result, strict=False)
