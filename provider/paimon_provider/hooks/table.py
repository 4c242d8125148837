"""A handle of a task: Airflow hears when it is read or written, and it commits as the task run."""

from __future__ import annotations

import inspect
from dataclasses import dataclass, replace
from functools import wraps
from typing import TYPE_CHECKING, Any

from paimon_provider._compat import get_hook_lineage_collector
from paimon_provider.arguments.table_identity import TableIdentity
from table_core.table.api.table import Table
from table_core.table.maintenance.reader_positions import ReaderPositions

if TYPE_CHECKING:
    from collections.abc import Callable

    from table_core.table.metadata.access import TableAccess
    from table_core.table.metadata.results import CommitAs

__all__ = ["LineageTable"]


@dataclass(frozen=True, slots=True)
class NamedPositions(ReaderPositions):
    """``ReaderPositions`` of a handle, with its ``next_commit``."""

    next_commit: Callable[[], CommitAs] | None = None


class LineageTable(Table):
    """A table handle like any other; Airflow's lineage hears of what is read and written by it.

    :param access: of the handle that it stands for.
    :param catalog: the first part of the table's asset URI.
    :param next_commit: who commits where a call does not say; None: somebody with a random name.
    """

    def __init__(
        self, access: TableAccess, catalog: str, next_commit: Callable[[], CommitAs] | None = None
    ) -> None:
        super().__init__(access)
        self.catalog = catalog
        self.next_commit = next_commit

    @property
    def positions(self) -> NamedPositions:
        """Those of ``Table.positions``; what is set or reset is committed as the task run too."""
        return NamedPositions(self.access, self.next_commit)

    def asset_parts(self) -> dict[str, str]:
        """The arguments of ``paimon_provider.assets.create_asset``."""
        identity = TableIdentity.of(self.name.partition("$")[0], catalog=self.catalog)
        return {
            "catalog": identity.catalog,
            "database": identity.database,
            "table": identity.name,
        }


def _telling(done: Callable[..., Any], collect: str) -> Callable[..., Any]:
    """``done``, after the collector of the running task was told."""

    @wraps(done)
    def told(self: LineageTable, *args: Any, **kwargs: Any) -> Any:
        collector: Any = get_hook_lineage_collector()
        parts = self.asset_parts()
        getattr(collector, collect)(context=self, scheme="paimon", asset_kwargs=parts)
        return done(self, *args, **kwargs)

    return told


def _named(done: Callable[..., Any], signature: inspect.Signature) -> Callable[..., Any]:
    """``done``, so that a retry of the task finds what it has committed."""

    @wraps(done)
    def named(self: LineageTable | NamedPositions, *args: Any, **kwargs: Any) -> Any:
        if self.next_commit is None:
            return done(self, *args, **kwargs)
        bound = signature.bind(self, *args, **kwargs)
        commit = bound.arguments.get("commit")
        says_who = bound.arguments.get("commit_user") or (commit is not None and commit.user)
        if not says_who and not bound.arguments.get("dry_run"):
            own = self.next_commit()
            if commit is not None:
                own = replace(commit, user=own.user, identifier=own.identifier)
            bound.arguments["commit"] = own
        return done(*bound.args, **bound.kwargs)

    return named


for _verb in ("read", "changes", "follow"):
    setattr(LineageTable, _verb, _telling(getattr(Table, _verb), "add_input_asset"))
for _verb in ("write", "commit", "merge_into", "delete", "update", "truncate", "drop_partitions"):
    setattr(LineageTable, _verb, _telling(getattr(Table, _verb), "add_output_asset"))
for _verb, _done in inspect.getmembers(Table, inspect.isfunction):
    if not _verb.startswith("_") and "commit" in inspect.signature(_done).parameters:
        setattr(LineageTable, _verb, _named(getattr(LineageTable, _verb), inspect.signature(_done)))
for _verb in ("set", "reset"):
    _done = getattr(ReaderPositions, _verb)
    setattr(NamedPositions, _verb, _named(_done, inspect.signature(_done)))
