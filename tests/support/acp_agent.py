"""A small agent with the agent client protocol: it does the steps that its prompt names.

Its argument is a folder for its records. A file `odd` there is a JSON object of peculiarities.
"""

from __future__ import annotations

import json
import os
import re
import sys

ALLOW, ALWAYS, REJECT = (
    {"optionId": f"id-{kind}", "kind": kind, "name": kind}
    for kind in ("allow_once", "allow_always", "reject_once")
)
_STEPS = re.compile(r"steps<<(.*?)>>steps", re.DOTALL)


def build_steps(*steps):
    return f"steps<<{json.dumps(steps)}>>steps"


class ScriptedAcpAgent:
    def __init__(self, folder):
        self.folder, self.odd = folder, {}
        if os.path.exists(path := os.path.join(folder, "odd")):
            with open(path, encoding="utf-8") as file:
                self.odd = json.load(file)
        self.asked = 100

    def send(self, **message):
        print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)

    def hear(self):
        line = sys.stdin.readline()
        if not line:
            sys.exit(0)
        with open(os.path.join(self.folder, "heard"), "a", encoding="utf-8") as file:
            file.write(line)
        return json.loads(line)

    def update(self, name, **parts):
        update = {"sessionUpdate": name, **parts}
        self.send(method="session/update", params={"sessionId": "s-1", "update": update})

    def say(self, words):
        for part in (words[:3], words[3:]):
            self.update("agent_message_chunk", content={"type": "text", "text": part})

    def request(self, method, **params):
        self.asked += 1
        self.send(id=self.asked, method=method, params={"sessionId": "s-1", **params})
        return self.hear()["result"]

    def serve(self):
        while True:
            message = self.hear()
            answer = getattr(self, message["method"].replace("/", "_"))
            result = answer(message.get("params"))
            known = {"error": result} if "code" in result else {"result": result}
            self.send(id=message["id"], **known)

    def initialize(self, _):
        can = {"loadSession": self.odd.get("loads", True)}
        return {"protocolVersion": self.odd.get("version", 1), "agentCapabilities": can}

    def session_new(self, _):
        return {"sessionId": "s-1", **self.odd.get("opened", {})}

    def session_load(self, params):
        if params["sessionId"] != "s-1":
            return {"code": -32603, "message": "Internal error", "data": {"details": "no session"}}
        self.say('old words {"status": "DONE"}')
        self.update("tool_call", toolCallId="c-1", kind="execute", rawInput={"command": "ls"})
        return self.odd.get("opened", {})

    def session_set_mode(self, _):
        return {}

    def session_prompt(self, params):
        text = params["prompt"][0]["text"]
        found = _STEPS.search(text)
        for step in json.loads(found[1]) if found else [{"say": f"heard {text}"}]:
            ((name, given),) = step.items()
            getattr(self, f"do_{name}")(given)
        return {"stopReason": self.odd.get("stop", "end_turn")}

    def do_say(self, words):
        self.say(words)

    def do_tool(self, call):
        self.update("tool_call", **call)

    def do_mode(self, mode):
        self.update("current_mode_update", currentModeId=mode)

    def do_raw(self, message):
        self.send(**message)

    def do_hear(self, number):
        while self.hear().get("id") != number:
            pass

    def do_exit(self, code):
        sys.exit(code)

    def do_call(self, call):
        """Ask for permission, and leave a file `ran` only after a yes to this one call."""
        options = self.odd.get("options", [ALWAYS, ALLOW, REJECT])
        told = self.request("session/request_permission", toolCall=call, options=options)
        if told["outcome"].get("optionId") == ALLOW["optionId"]:
            self.note("ran", call.get("toolCallId", ""))

    def do_form(self, form):
        self.note("form", json.dumps(self.request("elicitation/create", mode="form", **form)))

    def note(self, name, text):
        with open(os.path.join(self.folder, name), "w", encoding="utf-8") as file:
            file.write(text)


if __name__ == "__main__":
    ScriptedAcpAgent(sys.argv[1]).serve()
