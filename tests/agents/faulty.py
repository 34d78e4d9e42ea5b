"""Run in place of gate and break it in one way: faulty.py FAULT GATE WORDS…

A faulty answer always tries to say yes: the whole part of it must not count.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import threading

SAID = {
    "PermissionRequest": ({"decision": {"behavior": "deny"}}, {"decision": {"behavior": "allow"}}),
    "PreToolUse": ({"permissionDecision": "deny"}, {"permissionDecision": "allow"}),
}


def broken(fault, deny, allow):
    """Return the output that replaces an answer."""
    if fault == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    if fault == "exit 1":
        os._exit(1)
    if fault == "past the host's limit":
        signal.pause()
    return {"empty": "", "torn JSON": allow[:-1], "two JSON": f"{deny}{allow}"}[fault]


def hook(fault, guarded):
    event = json.load(sys.stdin)["hook_event_name"]
    if event not in SAID:
        return
    deny, allow = (
        json.dumps({"hookSpecificOutput": {"hookEventName": event, **said}}) for said in SAID[event]
    )
    end = "\t" if guarded and fault == "two JSON" else ""
    print(broken(fault, f"{deny}{end}", allow), end=f"{end}\n")


def mcp(fault, gate):
    """Let the server work until it must decide."""
    server = subprocess.Popen([gate, "mcp"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    threading.Thread(target=_forward, args=(server.stdout,), daemon=True).start()
    for line in sys.stdin.buffer:
        request = json.loads(line)
        if request.get("method") != "tools/call":
            server.stdin.write(line)
            server.stdin.flush()
            continue
        if fault in ("killed", "exit 1"):
            server.kill()
        deny = json.dumps({"behavior": "deny", "message": "no"})
        words = broken(fault, deny, json.dumps({"behavior": "allow"}))
        result = {"content": [{"type": "text", "text": words}]}
        print(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}), flush=True)


def _forward(lines):
    for line in lines:
        sys.stdout.buffer.write(line)
        sys.stdout.buffer.flush()


def main():
    fault, gate, *words = sys.argv[1:]
    if fault == "disk full":
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
        os.execv(gate, [gate, *words])
    elif words[0] == "mcp":
        mcp(fault, gate)
    else:
        hook(fault, "--guarded" in words)


if __name__ == "__main__":
    main()
