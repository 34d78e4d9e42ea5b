"""Translate requests of the agent client protocol into calls and questions, and their replies."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any

from gatebell.domain.permissions.host_questions import QUESTIONS

if TYPE_CHECKING:
    from collections.abc import Iterator

CANCELLED = {"outcome": {"outcome": "cancelled"}}
DECLINED = {"action": "decline"}
_KINDS = ("read", "edit", "delete", "move", "search", "execute", "think", "fetch", "switch_mode")
# Modes in which a program acts without a question, by the names that programs give them.
_UNASKED = re.compile(r"auto|yolo|bypass|accept|full|danger|dont_?ask|allow", re.IGNORECASE)
_REVIEWED = re.compile(r"auto[ _-]?review", re.IGNORECASE)
_ASKING = ("workspace-write", "default", "read-only")
_OTHER = "_custom"
"""The end of the name of a field for words that are not among the choices."""
_YES_NO = {"Yes": True, "No": False}


def list_calls(
    asked: dict[str, Any], cwd: str, *, names_commands: bool = False
) -> list[tuple[str, dict[str, Any], str]]:
    """Return the tool, input and id of each call of a permission request, named as in the rules.

    Args:
        asked: The tool call with everything that the agent said about it before.
        cwd: The working folder of the agent.
        names_commands: The title of a shell call is its command; otherwise it may be any words.
    """
    call_id, tool_kind = str(asked.get("toolCallId") or ""), asked.get("kind")
    if tool_kind == "execute" and (command := _describe_command(asked, cwd, names_commands)):
        return [("Bash", command, call_id)]
    if tool_kind == "fetch" and isinstance(_input(asked).get("url"), str):
        return [("WebFetch", _input(asked), call_id)]
    changes = list(_list_changes(asked)) if tool_kind in ("edit", "delete", "move") else []
    if changes:
        return [
            (tool, given, f"{call_id}{f'-{number}' if number else ''}")
            for number, (tool, given) in enumerate(changes)
        ]
    shown = {
        "title": asked.get("title"),
        "input": _input(asked),
        "content": "\n".join(_texts(asked)),
        "paths": _paths(asked),
    }
    given = {name: part for name, part in shown.items() if part}
    return (
        [(f"acp:{tool_kind if tool_kind in _KINDS else 'other'}", given, call_id)] if given else []
    )


def _input(asked: dict[str, Any]) -> dict[str, Any]:
    found = asked.get("rawInput")
    return found if isinstance(found, dict) else {"value": found} if found else {}


def _texts(asked: dict[str, Any]) -> Iterator[str]:
    for part in asked.get("content") or ():
        if part.get("type") == "content" and part["content"].get("type") == "text":
            yield part["content"]["text"]


def _paths(asked: dict[str, Any]) -> list[str]:
    return [one["path"] for one in asked.get("locations") or () if one.get("path")]


def _describe_command(asked: dict[str, Any], cwd: str, names_commands: bool) -> dict[str, Any]:
    given = dict(_input(asked))
    if isinstance(given.get("command"), str):
        # Copilot lists the commands of the line a second time.
        given.pop("commands", None)
        where = given.pop("cwd", cwd)
        if os.path.realpath(os.path.join(cwd, str(where))) != os.path.realpath(cwd):
            given["cwd"] = where
        return given
    if given or not names_commands or not asked.get("title"):
        return {}
    given = {"command": asked["title"]}
    if said := "\n".join(_texts(asked)):
        # Gemini says here in which folder the command runs.
        here = f"[current working directory {cwd}]"
        given["description" if said.startswith(here) else "details"] = said
    return given


def _list_changes(asked: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    diffs = [part for part in asked.get("content") or () if part.get("type") == "diff"]
    for diff in diffs:
        if diff.get("oldText"):
            texts = {"old_string": diff["oldText"], "new_string": diff["newText"]}
            yield "Edit", {"file_path": diff["path"], **texts}
        else:
            yield "Write", {"file_path": diff["path"], "content": diff["newText"]}
    for path in _paths(asked):
        if path not in [diff["path"] for diff in diffs]:
            yield "Edit", {"file_path": path, "kind": asked["kind"], "input": _input(asked)}


def build_reply(options: list[dict[str, Any]], allow: bool) -> dict[str, Any]:
    """Return the decision as one of the agent's options: never one that lasts."""
    wanted = "allow_once" if allow else "reject_once"
    for option in options:
        same = [one for one in options if one.get("optionId") == option.get("optionId")]
        if option.get("kind") == wanted and option.get("optionId") and len(same) == 1:
            return {"outcome": {"outcome": "selected", "optionId": option["optionId"]}}
    return CANCELLED


def find_unasked_mode(opened: dict[str, Any]) -> str:
    """Return the mode in which an agent would act without questions; empty if it asks."""
    modes = [(opened.get("modes") or {}).get("currentModeId")]
    for option in opened.get("configOptions") or ():
        if option.get("category") in ("mode", "permissions"):
            value = option.get("currentValue")
            # An option such as allow_all is a switch.
            modes.append(option.get("id") if value in ("on", True) else value)
    return next((mode for mode in map(str, filter(None, modes)) if is_unasked(mode)), "")


def choose_mode(opened: dict[str, Any]) -> str | None:
    """Return the mode to change to; None: a model decides in place of people, and no mode asks them.

    Seen with the adapter of Codex 2.6.0: its usual mode is named "Auto review".
    """
    modes = opened.get("modes") or {}
    named = {str(one.get("id")): str(one.get("name")) for one in modes.get("availableModes") or ()}
    if not _REVIEWED.search(named.get(str(modes.get("currentModeId")), "")):
        return ""
    return next((mode for mode in _ASKING if mode in named), None)


def is_unasked(mode: str) -> bool:
    # Some programs write a mode as an address with the name at its end.
    return bool(_UNASKED.search(re.split(r"[#/]", mode)[-1]))


def build_questions(params: dict[str, Any]) -> tuple[str, dict[str, Any], str]:
    """Return the questions of an elicitation as a call of the hosts' question tool."""
    questions = []
    for name, field in _list_asked(params).items():
        prompt = f"{params.get('message', '')}\n{field.get('title') or name}".strip()
        about = field.get("description")
        questions.append(
            {
                "question": f"{prompt}: {about}" if about else prompt,
                "options": [{"label": label} for label in _labels(field)],
                "multiSelect": field.get("type") == "array",
            }
        )
    return QUESTIONS, {"questions": questions}, str(params.get("toolCallId") or "")


def _list_asked(params: dict[str, Any]) -> dict[str, Any]:
    """Return the fields to ask about: our choices take other words too, without a field for them.

    Seen with claude-agent-acp 0.49.0: beside each choice is a field for them.
    """
    fields = (params.get("requestedSchema") or {}).get("properties") or {}
    return {
        name: field
        for name, field in fields.items()
        if not (name.endswith(_OTHER) and name.removesuffix(_OTHER) in fields)
    }


def _labels(field: dict[str, Any]) -> dict[str, Any]:
    """Return the labels of a field's choices, with their values."""
    if field.get("type") == "boolean":
        return _YES_NO
    if field.get("type") == "array":
        return _labels(field.get("items") or {})
    # A field that may be null also has `anyOf`, without values.
    titled = field.get("oneOf") or [one for one in field.get("anyOf") or () if "const" in one]
    if titled:
        return {str(one.get("title") or one["const"]): one["const"] for one in titled}
    return {str(value): value for value in field.get("enum") or ()}


def build_content(params: dict[str, Any], answered: dict[str, Any]) -> dict[str, Any] | None:
    """Return the answers as the form's content; None if one of them does not fit its field."""
    content: dict[str, Any] = {}
    answers = answered.get("answers") or {}
    asked = _list_asked(params)
    for question, (name, field) in zip(answered["questions"], asked.items(), strict=True):
        said = answers.get(question["question"], "")
        try:
            content[name] = _read_answer(said, field)
        except (KeyError, ValueError):
            if not said or f"{name}{_OTHER}" not in params["requestedSchema"]["properties"]:
                return None
            content[f"{name}{_OTHER}"] = said
    return content


def _read_answer(said: str, field: dict[str, Any]) -> Any:
    labels = _labels(field)
    if field.get("type") != "array":
        return labels[said] if labels else _convert(said, field.get("type"))
    chosen, left = [], f"{said}, "
    while left:
        # A label may have a comma of its own, so the longest one that fits is meant.
        label = max((one for one in labels if left.startswith(f"{one}, ")), key=len)
        chosen.append(labels[label])
        left = left.removeprefix(f"{label}, ")
    return chosen


def _convert(said: str, type_name: str | None) -> Any:
    match type_name:
        case "integer":
            return int(said)
        case "number":
            return float(said)
        case "string" | None:
            return said
    raise ValueError(f"a field of type {type_name} cannot be asked")
