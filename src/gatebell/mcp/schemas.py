"""The descriptions of the tools, as agents read them."""

from __future__ import annotations

from typing import Any

from gatebell.domain.enums import AskKind, Priority

_URGENCY = {
    "enum": [one.word for one in reversed(list(Priority)[:-1])],
    "description": "How soon the answer is needed. Default: normal.",
}
_QUESTION: dict[str, Any] = {
    "question": {
        "type": "string",
        "description": "One decision, in one or two sentences that make sense on their own.",
    },
    "kind": {
        "enum": [kind.value for kind in AskKind if kind != AskKind.SESSION],
        "description": "approval: yes or no to something you are about to do. Default: choice "
        "with options, form with a schema, otherwise text.",
    },
    "options": {
        "type": "array",
        "items": {"type": "string"},
        "description": "Of a choice, each with its consequence. 'Other…' lets the person write.",
    },
    "multiple": {"type": "boolean", "description": "Several options may be chosen."},
    "schema": {"type": "object", "description": "JSON Schema of a form."},
    "context": {
        "description": "The facts that the person needs to decide: text or JSON. Your last "
        "messages and actions, and the diff, are added automatically.",
    },
    "attachments": {
        "type": "array",
        "items": {"type": "string"},
        "description": "Paths of files of this project that the person should see, such as a "
        "screenshot. At most 10 files of 10 MB.",
    },
    "default": {
        "description": "The answer that counts if no person answers in time. Not for an approval.",
    },
}


def _tool(
    name: str, description: str, properties: dict[str, Any], *required: str, reads: bool = False
) -> Any:
    return {
        "name": name,
        "description": description,
        "inputSchema": {
            "type": "object",
            "properties": properties,
            "required": list(required),
            "additionalProperties": False,
        },
        # Hosts call tools several times at once if they change nothing for the agent.
        "annotations": {"readOnlyHint": reads},
        # Otherwise Claude Code shows the agent only the name until it searches for the tool.
        "_meta": {"anthropic/alwaysLoad": True},
    }


TOOLS = [
    _tool(
        "ask_human",
        "Ask a person and wait for the answer, however long it takes. Ask when only a person "
        "can know or decide: something cannot be undone, costs money, reaches outside this "
        "project, or the task can be read in two ways. Do not guess, and do not answer "
        "yourself.",
        {
            **_QUESTION,
            "questions": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": _QUESTION,
                    "required": ["question"],
                    "additionalProperties": False,
                },
                "description": "Several questions at once, instead of one.",
            },
            "urgency": _URGENCY,
            "wait": {
                "type": "boolean",
                "description": "false: do not wait. Use it when you can go on safely, and undo "
                "what you assumed. The answer comes to you later, by itself. Default: true.",
            },
            "assume": {
                "type": "string",
                "description": "With wait false: what you go on with until the answer comes. The "
                "person sees it. Not for an approval.",
            },
            "timeout": {
                "type": "number",
                "description": "How many seconds to wait. Default: as long as the host waits.",
            },
            "reply_to": {
                "type": "string",
                "description": "The id of an ask about which a person asked you something. "
                "The call then waits for the answer.",
            },
            "reply": {"type": "string", "description": "Your reply to that person."},
        },
        reads=True,
    ),
    _tool(
        "approve",
        "For the host's permission prompts (--permission-prompt-tool), not for you.",
        {
            "tool_name": {"type": "string"},
            "input": {"type": "object"},
            "tool_use_id": {"type": "string"},
        },
        "tool_name",
        "input",
    ),
    _tool(
        "signal",
        "Report how far you are: DONE, BLOCKED, NEEDS_REVIEW, NEEDS_HUMAN, ERROR or another "
        "word. NEEDS_HUMAN with a question asks a person: in a workflow's turn, end the turn then "
        "and the answer is sent to you; otherwise it is returned.",
        {
            "status": {"type": "string"},
            "reason": {"type": "string", "description": "Why, if it is not done."},
            "summary": {"type": "string", "description": "What was done, what is left, and why."},
            "details": {"type": "string", "description": "The facts behind the summary."},
            "question": {"type": "string", "description": "For a person, with NEEDS_HUMAN."},
            "question_context": {
                "type": "string",
                "description": "The facts that the person needs to answer it.",
            },
            "options": {
                "type": "array",
                "items": {"type": "string"},
                "description": "Answers to choose from, each with its consequence.",
            },
            "confidence": {
                "type": "number",
                "minimum": 0,
                "maximum": 1,
                "description": "How sure you are of what you report.",
            },
            "issues": {
                "type": "array",
                "items": {"type": "string"},
                "description": "Problems that you found and did not change.",
            },
            "value": {"description": "The result itself, where one was asked for."},
            "message": {"type": "string"},
        },
        "status",
    ),
    _tool(
        "decide",
        "Propose how a pending ask should be decided, with your reason. It is shown to the "
        "person as your proposal and decides nothing. A person who is in this session is asked "
        "immediately, and you get their answer.",
        {
            "id": {"type": "string", "description": "The id of the ask."},
            "proposal": {"type": "string"},
            "reason": {"type": "string"},
        },
        "id",
        "proposal",
    ),
    _tool(
        "notify_human",
        "Tell people something without waiting for an answer.",
        {"message": {"type": "string"}},
        "message",
    ),
    _tool(
        "inbox_status",
        "List the open asks of this session, and hand over the answers that have come; or show the "
        "state of one ask.",
        {"id": {"type": "string", "description": "The id of one ask, of any session."}},
        reads=True,
    ),
]
PROPERTIES = {tool["name"]: set(tool["inputSchema"]["properties"]) for tool in TOOLS}
