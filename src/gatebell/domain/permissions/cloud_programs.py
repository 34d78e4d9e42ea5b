"""Tools of clouds and servers: only their verbs that look at something pass."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from gatebell.domain.permissions.acts import Act
from gatebell.domain.permissions.shell_lines import is_known
from gatebell.domain.text.late_patterns import late_pattern

if TYPE_CHECKING:
    from gatebell.domain.permissions.special_programs import Reason

CLOUDS = frozenset(
    ["aws", "awslocal", "gcloud", "az", "gsutil", "doctl", "hcloud", "linode-cli", "civo", "scw", "oci",
     "ibmcloud", "eksctl", "kops", "flux", "istioctl", "argo", "openstack", "aliyun", "cf", "bosh", "ecs-cli",
     "s3cmd", "rclone", "vault", "consul", "salt", "knife", "jf", "jfrog"]
)  # fmt: skip
"""Tools of clouds and servers: one of their words is a verb."""
_VERB = late_pattern(
    r"(?P<looks>(?:describe|get|list|show|view|head|lookup|check|query|search|print|wait|filter)(?:-.*)?"
    r"|ls|lsd|lsf|lsl|cat|stat|status|size|tail|members|listremotes|validate|diff|plan|du|version|help|info|login|logout|configure|config|auth|account|whoami|read"
    r"|components|init|find|explain|presign)"
    r"|(?:deploy|create|delete|update|set|add|remove|submit|apply|import|export|restart|reset|start"
    r"|stop|promote|rollback|cp|mv|rm|rb|mb|rsync|sync|ssh|scp|up|put|patch|replace|enable|disable|push"
    r"|publish|execute|invoke|call|resize|move|copy|upload|terminate|reboot|modify)(?:-.*)?"
)


def judge_cloud(name: str, rest: list[str]) -> Reason | None:
    """Judge the tools of clouds: only the verbs that look at something pass."""
    verbs = [word for word in rest if is_known(word) and re.fullmatch(r"[a-z][a-z0-9-]*", word)]
    if not rest or any(word in ("--help", "--version", "help", "--dryrun") for word in rest):
        return None
    # The first verb counts: later words may be names.
    verb = next(filter(None, map(_VERB.fullmatch, verbs)), None)
    if verb and verb["looks"]:
        return None
    return Act.DEPLOY, f"`{' '.join([name, *verbs[:2]])}` may change a service"
