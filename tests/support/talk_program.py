"""A program for sessions: it obeys one word per line, and records its environment."""

from __future__ import annotations

# It signals a status by the file of the turn, if there is one. With that file it outlives its
# terminal, like the program of an agent that ignores the end of its input.
TALK = """
import json, os, signal, sys
names = (
    "GATE_TURN", "GATE_RUN", "GATE_SIGNAL_FILE", "GATE_ASK", "GATE_SESSION",
    "GATE_PROMPT_FILE", "GATE_TOKEN", "AI_AGENT",
)
seen = {name: os.environ.get(name) for name in names} | {"words": sys.argv[1:], "cwd": os.getcwd()}
with open(os.path.join(os.path.dirname(__file__), "talk.json"), "w") as file:
    json.dump(seen, file)
signal_file = os.environ.get("GATE_SIGNAL_FILE")
def report(**said):
    with open(signal_file, "w") as file:
        json.dump(said, file)
signal.signal(signal.SIGINT, lambda *_: print("interrupted", flush=True))
signal.signal(signal.SIGWINCH, lambda *_: print("resized", os.get_terminal_size(0).columns, flush=True))
print("at your service", os.getpid(), flush=True)
while line := sys.stdin.readline():
    word = line.strip()
    if word == "exit":
        sys.exit(0)
    elif word == "fail":
        sys.exit(3)
    elif word in ("crash", "fault"):
        import tty
        tty.setraw(0)
        os.kill(os.getpid(), signal.SIGKILL if word == "crash" else signal.SIGSEGV)
    elif word == "stay":
        for number in (signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        print("staying", flush=True)
    elif word.startswith("ask ") and signal_file:
        report(status="NEEDS_HUMAN", question=word[4:])
    elif word and signal_file:
        report(status=word, summary="talked over")
        print("signalled", word, flush=True)
while signal_file:
    signal.pause()
"""
