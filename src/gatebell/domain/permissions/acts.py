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
    Act.PUSH: (
        "*push*", "*git $*", "*git *{*,*", "*api.github.com*", "*/api/v4/*", "*send-pack*", "*dcommit*", "*gh *merge*", "*glab *merge*",
        "*gh repo sync*", "*gh api*-X*", "*gh api*--method*", "*gh api* -f*", "*gh api* -F*", "*gh api*--field*",
        "*gh api*--raw-field*", "*gh api*--input*", "*glab api*-X*", "*glab api*--method*", "*svn *ci*",
        "*svn *commit*", "*git *p4 *", "*git *annex *", "*git*review*", "*git*cvsexportcommit*", "*arc land*",
        "gt submit*", "gt ship*",
    ),
    Act.PUBLISH: (
        "*publish*", "*PublishProfile*", "*PublishContainer*", "*npm*pub*", "*npm *unp*", "*npm *depr*", "*npm dep *", "*npm pu", "*npm pu *", "*upload*", "*release*", "*yank*", "*dist-tag*", "*npm *dist*",
        "*fastlane *", "*jib", "*jib *", "*jib:build*",
        "*deprecate*", "*type=registry*", "*imagetools*", "*skopeo*", "*regctl*", "*crane c*", "*oras c*",
        "np", "np *", "*npx np*", "*npx * np", "*npx * np *", "*npx * np@*", "*dlx np*", "*bunx *np", "*bunx *np *",
        "*bun x np*", "*npm *exec*np", "*npm *exec*np *", "ko *",
    ),
    Act.DEPLOY: (
        "*deploy*", "*DeployOnBuild*", "*apply*", "*puppet *", "*nixos-rebuild*", "*webpublish*", "*destroy*", "*terraform*", "*tofu *", "*terragrunt*", "*pulumi*",
        "*kubectl*", "*helm*", "*ansible*", "*vercel*", "*netlify*", "*wrangler*", "*firebase*",
        "*heroku*", "*flyctl*", "*fly *", "*gcloud*", "*gsutil*", "*aws *", "*awslocal*", "*az *", "*cdk *",
        "*railway*", "*docker*service*", "*docker*stack*", "*docker*swarm*", "*argocd*", "*nomad *",
        "*skaffold*", "*serverless*", "*sls *", "*sam *", "oc *", "* oc *", "vc", "vc *", "* vc", "* vc *",
        "*surge *", "*gh-pages*", "*ghpages*", "*zappa*",
        "*hexo *", "*werf *", "*tilt *", "*doctl*", "*hcloud*", "*linode-cli*", "*civo *", "*scw *",
        "*ibmcloud*", "*eksctl*", "*kops *", "*flux *", "*istioctl*", "*openstack*", "*aliyun*",
        "*cf *", "*bosh *", "*ecs-cli*", "*s3cmd*", "*rclone*", "*vault *", "*consul *", "*salt *", "*knife *",
        "*jf *", "*jfrog*", "*packer *", "*chef-client*",
        # Other words end with these names: cargo, web, ideas.
        *(f"{before}{name} *" for name in ("argo", "eb", "eas", "sst", "oci") for before in ("", "* ", "*/")),
    ),
    Act.DELETE: (
        "*rm -*", "*rm * -*", "*rm $*", "*rm {*", "*cmd*/c *", "*cmd*/C *", "*powershell*", "*pwsh*", "*delete*", "*DELETE*", "*git*clean*", "*rsync*--del*", "*rmtree*",
        "*remove_tree*", "*Remove-Item*", "*remove_directory*", "*rimraf*", "*del-cli*", "*recursive*", "*rmSync*",
        "*rm_r*", "*worktree*remove*", "*find *-exec* rm*", "*find *-exec*unlink*", "*xargs* rm*", "*xargs*unlink*",
        "*fd * rm*",
    ),
    # The last ones are a shell that reads its commands: from a pipe, or from the line.
    Act.EVAL: (
        "*eval *", "*/dev/stdin*",
        *(f"{before}{shell}{after}" for shell in ("sh", "bash", "zsh") for before in ("", "* ")
          for after in ("", " -", " -s*", " -e", " -x", " -ex", " -eu*", " /dev/stdin*")),
    ),
}  # fmt: skip
"""Any `*` is any text. The host asks us about a line that matches one of them."""


def name_gate(act: Act) -> str:
    """Return the gate for every spelling of an act, as it is stored and listed."""
    return f"Bash(any {act})"


GATED_ACTS: dict[str, Act] = {name_gate(act): act for act in TRIGGERS}
