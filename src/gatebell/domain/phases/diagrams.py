"""Workflows as Mermaid diagrams."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from gatebell.domain.enums import AskKind
from gatebell.domain.phases.phases import HumanInput, Lead, leads
from gatebell.domain.text.display import inert_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gatebell.domain.phases.phases import Phase


class _Edge(NamedTuple):
    start: int
    end: int
    lead: Lead


def mermaid(name: str, phases: Sequence[Phase]) -> str:
    """Return a Mermaid diagram. Dashed arrows are guesses from the code of a function."""
    lines = ["---", f'title: "{_quote(name)}"', "---", "flowchart TD"]
    for number, phase in enumerate(phases, 1):
        text = "<br/>".join(map(_quote, [phase.name, *_describe_phase(phase)]))
        opening, closing = ("([", "])") if phase.terminal else ("[", "]")
        lines.append(f'  p{number}{opening}"{text}"{closing}')
    for edge in _list_edges(phases):
        arrow = "-->" if edge.lead.certain else "-.->"
        when = f'|"{_quote(edge.lead.when)}"|' if edge.lead.when else ""
        lines.append(f"  p{edge.start + 1} {arrow}{when} p{edge.end + 1}")
    return "\n".join(lines)


def _quote(text: str) -> str:
    """Escape the characters that would end a text or be read as markup."""
    plain = inert_line(text, 80)
    return "".join(one if one.isalnum() or one in " .,:?!-…" else f"#{ord(one)};" for one in plain)


def _describe_phase(phase: Phase) -> list[str]:
    """Return the lines that describe a phase: one for the agent, one for the person."""
    lines = []
    if phase.agent is not None:
        agent = phase.agent if isinstance(phase.agent, str) else "Python"
        each = ", for each" if phase.for_each else ", until it is done" if phase.until else ""
        lines.append(f"{agent}{each}")
    if isinstance(phase.human, HumanInput):
        asked = "" if callable(phase.human.prompt) else f": {phase.human.prompt}"
        article = "an" if phase.human.type == AskKind.APPROVAL else "a"
        lines.append(f"asks for {article} {phase.human.type}{asked}")
    elif phase.human:
        lines.append("may ask a person")
    return lines


def _list_edges(phases: Sequence[Phase]) -> list[_Edge]:
    """Return one edge for each pair of phases, with all conditions for it."""
    names = [phase.name for phase in phases]
    found: dict[tuple[int, int], _Edge] = {}
    for number, phase in enumerate(phases):
        for lead in leads(phase, names):
            pair = (number, names.index(lead.target))
            before = [found[pair].lead.when] if pair in found else []
            found[pair] = _Edge(*pair, lead._replace(when=", ".join([*before, lead.when])))
    return list(found.values())
