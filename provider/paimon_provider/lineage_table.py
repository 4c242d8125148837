"""A handle that tells Airflow when it is read or written: lineage of plain Python tasks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from paimon_provider._compat import get_hook_lineage_collector
from paimon_provider.assets import TableIdentity
from table_core.table.table import Table

if TYPE_CHECKING:
    from collections.abc import Callable

    from table_core.table.access import TableAccess

__all__ = ["LineageTable"]


class LineageTable(Table):
    """A table handle like any other; Airflow's lineage hears of what is read and written by it.

    :param access: of the handle that it stands for.
    :param catalog: the first part of the table's asset URI.
    """

    def __init__(self, access: TableAccess, catalog: str) -> None:
        super().__init__(access)
        self.catalog = catalog

    def asset_parts(self) -> dict[str, str]:
        """The arguments of ``paimon_provider.assets.create_asset``."""
        identity = TableIdentity.of(self.name.partition("$")[0], catalog=self.catalog)
        return {
            "catalog": identity.catalog,
            "database": identity.database,
            "table": identity.name,
        }


def _telling(verb: str, collect: str) -> Callable[..., Any]:
    """``Table.verb``, after the collector of the running task was told."""
    done = getattr(Table, verb)

    def told(self: LineageTable, *args: Any, **kwargs: Any) -> Any:
        collector: Any = get_hook_lineage_collector()
        parts = self.asset_parts()
        getattr(collector, collect)(context=self, scheme="paimon", asset_kwargs=parts)
        return done(self, *args, **kwargs)

    told.__name__, told.__doc__ = verb, done.__doc__
    return told


for _verb in ("read", "changes", "follow"):
    setattr(LineageTable, _verb, _telling(_verb, "add_input_asset"))
for _verb in ("write", "commit", "merge_into", "delete", "update", "truncate", "drop_partitions"):
    setattr(LineageTable, _verb, _telling(_verb, "add_output_asset"))
