"""A host in a few lines: fake_host.py strict|fragile MODEL PROMPT.

It asks the hooks that are in ~/.gemini/settings.json about each call. A fragile host runs the call
unless the hook says no; a strict one runs it only if the hook says yes.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import urllib.request

TOOLS = [{"functionDeclarations": [{"name": "run_shell_command"}]}]


def ask_model(url, contents):
    request = urllib.request.Request(
        f"{url}/v1/models/m:generateContent",
        json.dumps({"contents": contents, "tools": TOOLS}).encode(),
    )
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)["candidates"][0]["content"]


def list_hooks():
    path = os.path.join(os.environ["HOME"], ".gemini", "settings.json")
    try:
        with open(path, encoding="utf-8") as file:
            groups = json.load(file).get("hooks", {}).get("BeforeTool", [])
    except FileNotFoundError:
        return []
    return [hook["command"] for group in groups for hook in group["hooks"]]


def may_run(kind, line, args):
    event = {
        "hook_event_name": "BeforeTool",
        "session_id": "s",
        "cwd": os.getcwd(),
        "tool_name": "run_shell_command",
        "tool_input": args,
    }
    ran = subprocess.run(
        ["/bin/sh", "-c", line],
        input=json.dumps(event),
        capture_output=True,
        text=True,
        check=False,
    )
    try:
        said = json.loads(ran.stdout).get("decision")
    except ValueError:
        said = None
    if kind == "strict":
        return ran.returncode == 0 and said == "allow"
    return ran.returncode != 2 and said != "deny"


def main():
    kind, url, prompt = sys.argv[1:]
    contents = [{"role": "user", "parts": [{"text": prompt}]}]
    while True:
        content = ask_model(url, contents)
        calls = [part["functionCall"] for part in content["parts"] if "functionCall" in part]
        if not calls:
            return
        contents.append(content)
        for call in calls:
            if all(may_run(kind, line, call["args"]) for line in list_hooks()):
                subprocess.run(["/bin/sh", "-c", call["args"]["command"]], check=False)
        done = {"functionResponse": {"name": "run_shell_command", "response": {"output": "?"}}}
        contents.append({"role": "user", "parts": [done]})


if __name__ == "__main__":
    main()
