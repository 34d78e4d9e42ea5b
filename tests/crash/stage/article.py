"""A workflow of phases: research, approve, write, approve, publish; with a role and with effects."""

from __future__ import annotations

from dataclasses import dataclass, field

from chaos import effect

from gatebell import HumanInput, Phase, Workflow


@dataclass
class Article:
    notes: list[str] = field(default_factory=list)


def noted(state: Article, output: object) -> None:
    state.notes.append(getattr(output, "summary", None) or output["did"])


def approved(state: object, _: object) -> str:
    return "write" if state.approved else "research"


article = Workflow(
    "article",
    Article,
    phases=[
        Phase(
            "research",
            agent="planner",
            prompt="finish-it",
            update=noted,
            human=HumanInput("Go on?", "approval"),
            next=approved,
        ),
        Phase(
            "write",
            agent=lambda _: effect("main", "write"),
            update=noted,
            human=HumanInput("Go on?", "approval"),
            next={"yes": "publish", "no": "write"},
        ),
        Phase("publish", agent=lambda _: effect("main", "publish"), update=noted, terminal=True),
    ],
)
