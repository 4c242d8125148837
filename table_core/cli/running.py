"""One action, run as a command asks for it: by this process, with bars where somebody looks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from table_core.cli.arguments import catalog_of
from table_core.cli.progress import progress_shown
from table_core.jobs.action import Job

if TYPE_CHECKING:
    from collections.abc import Mapping

    from table_core.jobs.action import Action
    from table_core.table.api.catalog import Catalog
    from table_core.table.metadata.results import CommitAs

__all__ = ["run_action"]


def run_action(
    action: Action,
    warehouse: str | Catalog,
    target: str,
    arguments: Mapping[str, Any],
    *,
    as_json: bool,
    commit: CommitAs | None = None,
) -> Any:
    """What ``action`` gives for ``target``: a result document, or a table's health.

    Raises:
        ArgumentError: an argument is unknown to the action, missing, or not of its kind.
    """
    from table_core.jobs.embedded import EmbeddedEngine
    from table_core.table.metadata.results import CommitAs

    job = Job(
        action=action.name,
        catalog=catalog_of(warehouse) if isinstance(warehouse, str) else warehouse,
        target=target,
        args=action.checked(arguments),
        commit=commit or CommitAs(),
        engine=EmbeddedEngine(),
    )
    with progress_shown(as_json=as_json):
        return action.run(job)
