"""Keep the metadata history of tables for the tables page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from paimon_provider._compat import AirflowNotFoundException
from paimon_provider.arguments.checks import require_arguments
from paimon_provider.arguments.table_identity import TableIdentity
from paimon_provider.failures import airflow_failures
from paimon_provider.operators.base import PaimonDatabaseOperator

if TYPE_CHECKING:
    from paimon_provider._compat import Context

__all__ = ["PaimonCollectMetadataOperator"]


class PaimonCollectMetadataOperator(PaimonDatabaseOperator):
    """Keep the metadata history of the tables of a database in a table, for the tables page.

    The task reads metadata alone, no rows. A table whose newest snapshot is known costs one request.
    Of one that has a new snapshot it reads what is new: snapshots, levels, partitions, schemas,
    tags, branches, consumers, and the verdict of ``table.health()``.

    :param to: the table that keeps the history. It is made if it is not there. The option
        ``[paimon] metadata_table`` tells the page its name. (templated)
    :param including: regular expression for names of tables.  (templated)
    :param excluding: regular expression for those to leave out. (templated)
    :param kept: how long snapshots are kept, whether or not their tables have them. (templated)
    :param recheck: after how long a table without a new snapshot is looked at again: its tags,
        consumers and age change without one. (templated)
    :param tables: look at most at this many tables; the others follow in the next run. (templated)
    :param snapshots: read at most this many new snapshots of each table. Older ones are left out,
        and the page says so. (templated)
    :param detailed: of this many also read the manifests: files and bytes, by bucket. (templated)
    :param dry_run: only report which tables have to be looked at.
    """

    action = "collect-metadata"
    to: str

    def __init__(  # noqa: PLR0913 - what users may set
        self,
        *,
        to: str = "airflow.table_metadata",
        including: str = ".*",
        excluding: str = "",
        kept: str = "90 d",
        recheck: str = "1 h",
        tables: int | str = 1_000,
        snapshots: int | str = 1_000,
        detailed: int | str = 200,
        dry_run: bool = False,
        engine: str = "local",
        **kwargs: Any,
    ) -> None:
        super().__init__(engine=engine, **kwargs)
        self._take_arguments(locals())
        self._catalog_name = ""

    def execute(self, context: Context) -> dict[str, Any]:
        """Do it and return the result document."""
        with airflow_failures():
            require_arguments(self)  # a wrong one is told before the connection is read
            self._catalog_name = self.hook.warehouse.catalog_name
            unseen = self._unseen()
        if unseen:
            self.log.warning("%s", unseen)
        return super().execute(context)

    def _unseen(self) -> str:
        """Why the tables page does not show what is collected; '' if it does: it reads one table of one warehouse."""
        from paimon_provider.hooks.paimon import PaimonHook
        from paimon_provider.pages.collected import metadata_place

        conn_id, table = metadata_place()
        told = (
            f"The tables page reads {table} by connection {conn_id} ([paimon] metadata_table and metadata_conn_id). "
            f"It does not show what this task collects into {self.to} by connection {self.paimon_conn_id}"
        )
        if table.lower() != self.to.lower():
            return told
        if conn_id == self.paimon_conn_id:
            return ""
        try:
            place = PaimonHook(conn_id).warehouse.place
        except AirflowNotFoundException:
            return f"{told}, and there is no connection {conn_id}"
        return "" if place == self.hook.warehouse.place else told

    def arguments(self) -> dict[str, Any]:
        """What the job gets: with the catalog's name, which is the connection's."""
        name = self._catalog_name or self.catalog or self.paimon_conn_id
        return {**super().arguments(), "catalog_name": name}

    def _asset_uri(self) -> str:
        """Of the table that keeps the history: the page finds by it which Dag collects."""
        return TableIdentity.of(self.to, catalog=self.hook.warehouse.catalog_name).uri

    def tables_written(self) -> list[str]:
        """The table that keeps the history."""
        return [self.to]
