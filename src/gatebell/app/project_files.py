"""Read the files of people: flows, roles, templates and backlog settings."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from gatebell.app import settings

if TYPE_CHECKING:
    from typing import Any

    from gatebell.adapters.files.flow_listing import Listed
    from gatebell.adapters.files.role_files import Roles
    from gatebell.adapters.files.template_files import Templates
    from gatebell.domain.asks.templates import Template
    from gatebell.domain.runs.roles import Role
    from gatebell.domain.tasks.backlog_settings import BacklogTerms

_PACKAGE = os.path.dirname(os.path.dirname(__file__))
_SCRIPT = os.path.join("scripts", "ask-human.sh")


def ask_script() -> str:
    """Return the path of the installed script that asks by files."""
    return os.path.join(_PACKAGE, "install", _SCRIPT)


def read_digests(project: str, source: str) -> dict[str, str]:
    """Return the present digests of a flow file and of the roles of its project."""
    from gatebell.adapters.files import flow_files, role_files
    from gatebell.services.runs import source_check

    found = {
        source_check.role(role.name): role.digest for role in role_files.list_roles(project).roles
    }
    return {source_check.FLOW: flow_files.read(source)[1], **found}


def find_flow(project: str, named: str) -> tuple[str, str, str]:
    """Return the name, the file and the digest of the flow with this name or path."""
    from gatebell.adapters.files import flow_files

    path = flow_files.find(project, named)
    source, digest = flow_files.read(path)
    flow, _ = flow_files.choose(
        flow_files.load(path, source, digest), flow_files.split_flow_name(named)[1]
    )
    return flow, path, digest


def flows(project: str) -> list[Listed]:
    """Return the flow files of a project and of the user, with their descriptions."""
    from gatebell.adapters.files import flow_listing

    return flow_listing.list_flows(project)


def find_listed_flow(project: str, file: str, flow: str) -> tuple[str, str]:
    """Return the file and the digest of a flow that `flows` lists, without running its code.

    Raises:
        NotFoundError: There is no such flow, or its file cannot be read.
    """
    from gatebell.adapters.files import flow_files
    from gatebell.errors import NotFoundError

    if not any(one.name == file and flow in one.flows for one in flows(project)):
        raise NotFoundError(f"{project} has no flow {file}:{flow}: gate flows lists them")
    path = flow_files.find(project, file)
    return path, flow_files.read(path)[1]


def load_flow(project: str, named: str) -> Any:
    """Load the flow with this name or path."""
    from gatebell.adapters.files import flow_files

    path = flow_files.find(project, named)
    module = flow_files.load(path, *flow_files.read(path))
    return flow_files.choose(module, flow_files.split_flow_name(named)[1])[1]


def needs_package(path: str) -> bool:
    """Return whether a flow file can be loaded only as a part of its package."""
    from gatebell.adapters.files import flow_files

    return flow_files.needs_package(flow_files.read(path)[0])


def read_flow_digest(path: str) -> str:
    """Return the digest of a flow file, as runs record it."""
    from gatebell.adapters.files import flow_files

    return flow_files.read(path)[1]


def find_flow_digest(project: str, named: str) -> str:
    """Return the digest of the flow with this name; empty if this checkout does not have it."""
    from gatebell.adapters.files import flow_files
    from gatebell.errors import NotFoundError

    try:
        return flow_files.read(flow_files.find(project, named))[1]
    except NotFoundError:
        return ""


def read_flow_source(project: str, named: str) -> tuple[str, str]:
    """Return the path and the text of a flow file."""
    from gatebell.adapters.files import flow_files

    path = flow_files.find(project, named)
    return path, flow_files.read(path)[0]


def roles(project: str) -> Roles:
    """Return the roles of a project and of the user, and the errors of unreadable ones."""
    from gatebell.adapters.files import role_files

    found = role_files.list_roles(project)
    return found._replace(roles=[role_files.resolve_model(role) for role in found.roles])


def find_role(project: str, name: str) -> Role:
    """Return the role of this name; NotFoundError lists the known roles."""
    from gatebell.adapters.files import role_files

    return role_files.find(project, name)


def backlog_terms(project: str) -> BacklogTerms:
    """Return how the tasks of a project are worked on."""
    from gatebell.adapters.files import backlog_settings

    return backlog_settings.read(project)


def template(project: str, name: str) -> Template:
    """Return a template of the project, the user, or the settings file."""
    from gatebell.adapters.files import template_files

    return template_files.find(project, name, settings.templates(os.environ))


def templates(project: str) -> Templates:
    """Return all templates, and the errors of unreadable ones."""
    from gatebell.adapters.files import template_files

    return template_files.list_templates(project, settings.templates(os.environ))


def template_path(project: str, name: str) -> str:
    """Return the file for a project's template; without a project, for the user's."""
    from gatebell.adapters.files import template_files

    return template_files.build_path(project, name)


def first_roles(project: str) -> dict[str, str]:
    """Return the roles of a new project, by path; people may change them."""
    from gatebell.adapters.files import role_files

    folder = os.path.join(project, ".gate", "agents")
    return {os.path.join(folder, name): text for name, text in role_files.read_built_in().items()}


def first_backlog(project: str) -> dict[str, str]:
    """Return the backlog settings of a new project, by path; people may change them."""
    from gatebell.adapters.files import backlog_settings
    from gatebell.domain.tasks.backlog_settings import first_file

    return {backlog_settings.build_path(project): first_file()}


def first_programs(project: str) -> dict[str, str]:
    """Return the programs of a new project, by path."""
    from gatebell.adapters.files import text_files

    return {os.path.join(project, _SCRIPT): text_files.read_text(ask_script())}


def refuse_outside(path: str, project: str) -> None:
    """Raise an error for a file outside of the project, or in a worktree of a run."""
    from gatebell.adapters.files import text_files

    text_files.refuse_outside(path, project)
    text_files.refuse_worktree(path)


def is_inside(path: str, project: str) -> bool:
    from gatebell.adapters.files import text_files

    return text_files.is_inside(path, project)


def is_ignored(path: str) -> bool:
    from gatebell.adapters.git import repositories

    return repositories.is_ignored(path)
