"""A workflow as a picture: Mermaid, or SVG without any other program."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, NamedTuple

from gatebell.domain.phases.phases import HumanInput, Lead, leads
from gatebell.domain.text.display import inert_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gatebell.domain.phases.phases import Phase

_WIDTH, _HEIGHT, _GAP, _LANE, _MARGIN = 260, 56, 34, 16, 24
_LONGEST_LINE = 34
_LONGEST_WHEN = 20


class _Edge(NamedTuple):
    start: int
    end: int
    lead: Lead


def mermaid(name: str, phases: Sequence[Phase]) -> str:
    """Text that Mermaid draws; dashed: where a function decides, as far as its code tells."""
    lines = ["---", f'title: "{_quoted(name)}"', "---", "flowchart TD"]
    for number, phase in enumerate(phases, 1):
        text = "<br/>".join(map(_quoted, [phase.name, *_about(phase)]))
        opening, closing = ("([", "])") if phase.terminal else ("[", "]")
        lines.append(f'  p{number}{opening}"{text}"{closing}')
    for edge in _edges(phases):
        arrow = "-->" if edge.lead.certain else "-.->"
        when = f'|"{_quoted(edge.lead.when)}"|' if edge.lead.when else ""
        lines.append(f"  p{edge.start + 1} {arrow}{when} p{edge.end + 1}")
    return "\n".join(lines)


def _quoted(text: str) -> str:
    """Mermaid's own words for what would end a text, or be taken for markup."""
    plain = inert_line(text, 80)
    return "".join(one if one.isalnum() or one in " .,:?!-…" else f"#{ord(one)};" for one in plain)


def _about(phase: Phase) -> list[str]:
    """What happens in a phase, a line for the agent and one for the person."""
    lines = []
    if phase.agent is not None:
        agent = phase.agent if isinstance(phase.agent, str) else "Python"
        each = ", for each" if phase.for_each else ", until it is done" if phase.until else ""
        lines.append(f"{agent}{each}")
    if isinstance(phase.human, HumanInput):
        asked = "" if callable(phase.human.prompt) else f": {phase.human.prompt}"
        lines.append(
            f"asks for {'an' if phase.human.type == 'approval' else 'a'} {phase.human.type}{asked}"
        )
    elif phase.human:
        lines.append("may ask a person")
    return lines


def _edges(phases: Sequence[Phase]) -> list[_Edge]:
    """One for each pair of phases, with all that leads that way."""
    names = [phase.name for phase in phases]
    found: dict[tuple[int, int], _Edge] = {}
    for number, phase in enumerate(phases):
        for lead in leads(phase, names):
            pair = (number, names.index(lead.target))
            before = [found[pair].lead.when] if pair in found else []
            found[pair] = _Edge(*pair, lead._replace(when=", ".join([*before, lead.when])))
    return list(found.values())


def svg(name: str, phases: Sequence[Phase]) -> str:
    """The phases in a column; ways onward on its right, ways back on its left."""
    edges = _edges(phases)
    onward = _lanes([edge for edge in edges if edge.end > edge.start + 1])
    back = _lanes([edge for edge in edges if edge.end <= edge.start])
    left = _MARGIN + (_most(back) + 1) * _LANE + _room(back)
    width = left + _WIDTH + (_most(onward) + 1) * _LANE + _room(onward) + _MARGIN
    height = 3 * _MARGIN + len(phases) * (_HEIGHT + _GAP)
    parts = [
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
            f'viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="12">'
        ),
        f"<title>{_text(name, 80)}</title>",
        (
            '<defs><marker id="end" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" '
            'markerHeight="8" orient="auto"><path d="M0 0 8 4 0 8z" fill="#555"/></marker></defs>'
        ),
        '<rect width="100%" height="100%" fill="#fff"/>',
        f'<text x="{left}" y="{_MARGIN}" font-size="15" font-weight="bold">{_text(name, 80)}</text>',
    ]
    for number, phase in enumerate(phases):
        parts += _box(left, _top(number), phase)
    for edge in edges:
        if edge.end == edge.start + 1:
            parts += _straight(left, edge)
        elif edge.end > edge.start:
            side = left + _WIDTH
            parts += _around(side, side + (onward[edge] + 1) * _LANE, _leaving(edge, onward), edge)
        else:
            parts += _around(left, left - (back[edge] + 1) * _LANE, _leaving(edge, back), edge)
    return "\n".join([*parts, "</svg>"])


def _text(text: str, most: int) -> str:
    return escape(inert_line(text, most))


def _top(number: int) -> int:
    return 2 * _MARGIN + number * (_HEIGHT + _GAP)


def _lanes(edges: Sequence[_Edge]) -> dict[_Edge, int]:
    """A lane for each way, so that no two lie upon one another; short ones nearest."""
    taken: list[list[tuple[int, int]]] = []
    found = {}
    for edge in sorted(edges, key=lambda one: abs(one.end - one.start)):
        low, high = sorted((edge.start, edge.end))
        lane = next(
            (
                number
                for number, spans in enumerate(taken)
                if all(high < start or end < low for start, end in spans)
            ),
            len(taken),
        )
        taken[lane:] = taken[lane:] or [[]]
        taken[lane].append((low, high))
        found[edge] = lane
    return found


def _most(lanes: dict[_Edge, int]) -> int:
    return max(lanes.values(), default=-1) + 1


def _room(lanes: dict[_Edge, int]) -> int:
    """For the words beside these ways."""
    return max((7 * min(len(edge.lead.when), _LONGEST_WHEN) for edge in lanes), default=0)


def _box(left: int, top: int, phase: Phase) -> list[str]:
    round_, fill = (_HEIGHT // 2, "#e8f3e8") if phase.terminal else (6, "#eef2fb")
    stroke = "#b06a00" if phase.human else "#556"
    lines = [(phase.name, "bold"), *((line, "normal") for line in _about(phase))]
    first = top + _HEIGHT // 2 - 7 * (len(lines) - 1) + 4
    return [
        (
            f'<rect x="{left}" y="{top}" width="{_WIDTH}" height="{_HEIGHT}" rx="{round_}" '
            f'fill="{fill}" stroke="{stroke}"/>'
        ),
        *(
            f'<text x="{left + _WIDTH // 2}" y="{first + 15 * number}" text-anchor="middle" '
            f'font-weight="{weight}">{_text(line, _LONGEST_LINE)}</text>'
            for number, (line, weight) in enumerate(lines)
        ),
    ]


def _straight(left: int, edge: _Edge) -> list[str]:
    middle, start = left + _WIDTH // 2, _top(edge.start) + _HEIGHT
    return [
        _path(f"M{middle} {start}V{_top(edge.end)}", edge),
        *_when(middle + 6, start + _GAP // 2 + 4, "start", edge),
    ]


def _leaving(edge: _Edge, beside: dict[_Edge, int]) -> int:
    """How far below the top of its phase a way begins, so that its words stand alone."""
    neighbours = [one for one in beside if one.start == edge.start]
    return 22 + 30 * neighbours.index(edge) // max(1, len(neighbours) - 1)


def _around(side: int, lane: int, leaving: int, edge: _Edge) -> list[str]:
    # Arrives above where ways begin, so that the two are told apart.
    start, end = _top(edge.start) + leaving, _top(edge.end) + 10
    shift = 6 if lane > side else -6
    anchor = "start" if lane > side else "end"
    return [
        _path(f"M{side} {start}H{lane}V{end}H{side}", edge),
        *_when(side + shift, start - 3, anchor, edge),
    ]


def _path(line: str, edge: _Edge) -> str:
    dashed = "" if edge.lead.certain else ' stroke-dasharray="4 3"'
    return f'<path d="{line}" fill="none" stroke="#555" marker-end="url(#end)"{dashed}/>'


def _when(x: int, y: int, anchor: str, edge: _Edge) -> list[str]:
    if not edge.lead.when:
        return []
    told = _text(edge.lead.when, _LONGEST_WHEN)
    halo = 'stroke="#fff" stroke-width="3" paint-order="stroke"'
    return [f'<text x="{x}" y="{y}" text-anchor="{anchor}" fill="#555" {halo}>{told}</text>']
