"""The acts that are gated by default, and the texts by which a host notices a possible one.

The host compares a line with wide patterns, such as `*push*`. A line that matches none of them runs
without our code. For the others, `judgement.py` decides whether the line does such an act.
"""

from __future__ import annotations

from gatebell.domain.enums import StrEnum


class Act(StrEnum):
    """An act that a person decides about."""

    PUSH = "push"
    PUBLISH = "publish"
    DEPLOY = "deploy"
    DELETE = "recursive delete"
    EVAL = "text for a shell"


TRIGGERS: dict[Act, tuple[str, ...]] = {
    Act.PUSH: ("*push*", "*git $*", "*send-pack*", "*dcommit*", "*gh *merge*", "*glab *merge*"),
    Act.PUBLISH: ("*publish*", "*upload*", "*release*", "*yank*", "*dist-tag*", "*deprecate*", "*type=registry*"),
    Act.DEPLOY: (
        "*deploy*", "*apply*", "*destroy*", "*terraform*", "*tofu *", "*terragrunt*", "*pulumi*",
        "*kubectl*", "*helm*", "*ansible*", "*vercel*", "*netlify*", "*wrangler*", "*firebase*",
        "*heroku*", "*flyctl*", "*fly *", "*gcloud*", "*gsutil*", "*aws *", "*az *", "*cdk *",
        "*railway*", "*docker*service*", "*argocd*", "*nomad *", "*skaffold*",
    ),
    Act.DELETE: (
        "*rm -*", "*rm * -*", "*rm $*", "*delete*", "*git*clean*", "*rsync*--del*", "*rmtree*",
        "*rimraf*", "*del-cli*", "*recursive*", "*rmSync*", "*rm_r*", "*worktree*remove*",
    ),
    # The last ones are a shell that reads its commands: from a pipe, or from the line.
    Act.EVAL: ("*eval *", "sh", "bash", "zsh", "sh -s*", "bash -s*", "sh -", "bash -"),
}  # fmt: skip
"""Any `*` is any text. The host asks us about a line that matches one of them."""


def name_gate(act: Act) -> str:
    """Return the gate for every spelling of an act, as it is stored and listed."""
    return f"Bash(any {act})"


GATED_ACTS: dict[str, Act] = {name_gate(act): act for act in TRIGGERS}
