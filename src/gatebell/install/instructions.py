"""The instructions for agents: when to ask, how to write a good question, and how to continue."""

from __future__ import annotations

import os

from gatebell.install.text_blocks import markdown

INSTRUCTIONS = markdown(
    "## Asking the human",
    "",
    "Ask before you do something that cannot be undone, that reaches outside this project or that",
    "costs money, and when the request can be read in two ways that lead to different work.",
    "Otherwise decide yourself.",
    "",
    "- Ask with the `ask_human` tool, or in a shell: `gate ask QUESTION --option A --option B`,",
    "  `--kind approval` for a yes or no. Exit code 10 is a no; on 11 run the command it prints.",
    "- One question is one decision. Describe the result of each option, your choice, and why:",
    "  the person reads it hours later, in an inbox, without your conversation.",
    "- Wait if a wrong guess is costly. If you can go on and correct it later, ask with `wait: false`",
    "  (shell: `--no-wait`) and say in `assume` what you go on with. The answer comes by itself, once;",
    "  where it differs, correct your work. Never assume a yes.",
    "- If the person asks back, reply (`gate reply ID TEXT`) and wait again.",
    "- Never answer or approve yourself, and never look for a way around a gate.",
    "- A no is final for that action. Do something else, or stop and say so.",
)

# For every agent with a shell, also without an installation.
FROM_A_SHELL = markdown(
    "## Asking the human from a shell",
    "",
    "Ask when the request is ambiguous, when several ways are valid and lead to different results,",
    "when information is missing, before a significant change, and when you are not sure about",
    "the meaning. If you have the `ask_human` tool, use that; otherwise:",
    "",
    '- `scripts/ask-human.sh "QUESTION"`, with `yesno` after it for a yes or no, with',
    '  `select "A,B"` or `-o "An option, with a comma" -o B` for a choice.',
    "- Only the answer goes to stdout. `NOT ANSWERED YET: run: COMMAND` is not an answer: run that",
    "  command, and again until the answer is there.",
    "- Exit code 0 is an answer. After any other code there is no answer: do not guess",
    "  it. Continue with safe work, or stop and say so.",
    "- One question is one decision, written so that it is understood without your conversation.",
    "- Never answer yourself, and never write, change or remove anything in `.helpers`.",
    name="gatebell init",
)


def files_of(project: str) -> list[str]:
    """Return the files of a project in which agents look for instructions, each once.

    Without any, it is AGENTS.md. A CLAUDE.md is never created: Claude Code reads AGENTS.md only in
    projects without a CLAUDE.md (since 2.1.277).
    """
    claude, others = (os.path.join(project, name) for name in ("CLAUDE.md", "AGENTS.md"))
    if not os.path.isfile(claude):
        return [others]
    if not os.path.isfile(others):
        return [claude]
    same = os.path.realpath(claude) == os.path.realpath(others)
    return [others] if same or _imports(claude) else [claude, others]


def _imports(path: str) -> bool:
    """Return whether Claude Code reads AGENTS.md as a part of this file."""
    with open(path, encoding="utf-8", errors="replace") as file:
        return any(line.strip() in {"@AGENTS.md", "@./AGENTS.md"} for line in file)
