"""What people keep for us in files: flows, roles, templates, and how their tasks are worked on."""

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
    """The script that asks by files, as it comes along."""
    return os.path.join(_PACKAGE, "install", _SCRIPT)


def seen(project: str, source: str) -> dict[str, str]:
    """The digests of a flow file and of the roles of its project, as they are now."""
    from gatebell.adapters.files import flow_files, role_files
    from gatebell.services.runs import source_check

    found = {source_check.role(role.name): role.digest for role in role_files.all(project).roles}
    return {source_check.FLOW: flow_files.read(source)[1], **found}


def find_flow(project: str, named: str) -> tuple[str, str, str]:
    """The flow that is meant by a name or path: what it is called, its file, and that one's digest."""
    from gatebell.adapters.files import flow_files

    path = flow_files.find(project, named)
    source, digest = flow_files.read(path)
    flow, _ = flow_files.choose(
        flow_files.load(path, source, digest), flow_files.split_flow_name(named)[1]
    )
    return flow, path, digest


def flows(project: str) -> list[Listed]:
    """The flow files of a project and the user, with what they say of themselves."""
    from gatebell.adapters.files import flow_listing

    return flow_listing.list_flows(project)


def flow_object(project: str, named: str) -> Any:
    """The flow that is meant by a name or path, loaded."""
    from gatebell.adapters.files import flow_files

    path = flow_files.find(project, named)
    module = flow_files.load(path, *flow_files.read(path))
    return flow_files.choose(module, flow_files.split_flow_name(named)[1])[1]


def leans_on_package(path: str) -> bool:
    """Whether a flow file can be loaded only as a part of its package."""
    from gatebell.adapters.files import flow_files

    return flow_files.leans_on_package(flow_files.read(path)[0])


def flow_digest(path: str) -> str:
    """Of a flow file, as runs record it."""
    from gatebell.adapters.files import flow_files

    return flow_files.read(path)[1]


def flow_source(project: str, named: str) -> tuple[str, str]:
    """Path and text of a flow file."""
    from gatebell.adapters.files import flow_files

    path = flow_files.find(project, named)
    return path, flow_files.read(path)[0]


def roles(project: str) -> Roles:
    """The roles of a project and the user, and what is wrong with those that cannot be read."""
    from gatebell.adapters.files import role_files

    found = role_files.all(project)
    return found._replace(roles=[role_files.with_model(role) for role in found.roles])


def find_role(project: str, name: str) -> Role:
    """The role of this name; NotFoundError tells those that are there."""
    from gatebell.adapters.files import role_files

    return role_files.find(project, name)


def backlog_terms(project: str) -> BacklogTerms:
    """How the tasks of a project are worked on."""
    from gatebell.adapters.files import backlog_settings

    return backlog_settings.read(project)


def template(project: str, name: str) -> Template:
    """An answer written beforehand: of the project, the user, or the settings file."""
    from gatebell.adapters.files import template_files

    return template_files.find(project, name, settings.templates(os.environ))


def templates(project: str) -> Templates:
    """All answers written beforehand, and what is wrong with those that cannot be read."""
    from gatebell.adapters.files import template_files

    return template_files.all(project, settings.templates(os.environ))


def template_path(project: str, name: str) -> str:
    """The file for a project's template; without a project, for the user's."""
    from gatebell.adapters.files import template_files

    return template_files.path_for(project, name)


def first_texts(project: str) -> dict[str, str]:
    """The texts a project starts with, by path; its people change them as they like."""
    from gatebell.adapters.files import backlog_settings, role_files
    from gatebell.domain.tasks.backlog_settings import first_file

    folder = os.path.join(project, ".gate", "agents")
    found = {os.path.join(folder, name): text for name, text in role_files.built_in().items()}
    return found | {backlog_settings.path_of(project): first_file()}


def first_programs(project: str) -> dict[str, str]:
    """The programs a project starts with, by path."""
    from gatebell.adapters.files import text_files

    return {os.path.join(project, _SCRIPT): text_files.read_text(ask_script())}


def refuse_outside(path: str, project: str) -> None:
    """Refuse to write a file that lies outside of the project, or in a worktree of a run."""
    from gatebell.adapters.files import text_files

    text_files.refuse_outside(path, project)
    text_files.refuse_worktree(path)


def is_inside(path: str, project: str) -> bool:
    from gatebell.adapters.files import text_files

    return text_files.is_inside(path, project)


def is_ignored(path: str) -> bool:
    """Whether git ignores this file."""
    from gatebell.adapters.git import repositories

    return repositories.ignores(path)
