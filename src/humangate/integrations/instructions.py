"""What agents are told: when to ask, how a good question looks, and how to go on."""

from __future__ import annotations

from humangate.integrations.blocks import markdown

INSTRUCTIONS = markdown(
    "## Asking the human",
    "",
    "Ask before you do something that cannot be undone, that reaches outside this project or that",
    "costs money, and when the request can be read in two ways that lead to different work.",
    "Otherwise decide yourself.",
    "",
    "- Ask with the `ask_human` tool, or in a shell: `gate ask QUESTION --option A --option B`,",
    "  `--kind approval` for a yes or no. Exit code 10 is a no; on 11 run the command it prints.",
    "- One question is one decision. Say what each option leads to, what you would do, and why:",
    "  the person reads it hours later, in an inbox, without your conversation.",
    "- If the person asks back, reply (`gate reply ID TEXT`) and wait on.",
    "- Never answer or approve yourself, and never look for a way around a gate.",
    "- A no is final for that action. Do something else, or stop and say so.",
)
