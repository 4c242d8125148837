"""Verbs of a catalog that work on whole tables: copies, and upkeep of a database."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from table_core.table.metadata.results import CommitAs

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from table_core.table.api.catalog_view import CatalogView
    from table_core.table.api.sql.catalog_port import SqlCatalog
    from table_core.table.api.sql.session import SqlResult, SqlSession
    from table_core.table.metadata.results import ResultDocument
    from table_core.table.metadata.timestamps import PointInTime

__all__ = ["CatalogUpkeep"]


class CatalogUpkeep:
    """The verbs; ``Catalog`` is one."""

    __slots__ = ()

    @property
    def _catalog(self) -> CatalogView:
        return cast("CatalogView", self)

    def sql(
        self,
        text: str,
        parameters: Mapping[str, Any] | None = None,
        *,
        commit: CommitAs | None = None,
        options: Mapping[str, str] | None = None,
    ) -> SqlResult:
        """The result of one SQL statement: rows as a scan, or the result document of a change.

        SQL has Spark's meaning, or is refused. ``parameters`` are the values of ``:name`` in it; they are bound,
        not pasted. ``options`` bound what a query may take: ``sql.memory-limit``, ``sql.disk-limit``,
        ``sql.time-limit`` and ``sql.threads``.

        Raises:
            SqlError: the statement is wrong; the facts say at which line and column.
            UnsupportedFeatureError: a part of it is not supported; it says what to do instead.
            MissingPackageError: a query needs DuckDB, and it is not installed.
        """
        from table_core.table.api.sql.session import run_statement  # brings an SQL parser along

        return run_statement(cast("SqlCatalog", self), text, parameters, commit, options)

    def sql_session(
        self,
        database: str | None = None,
        options: Mapping[str, str] | None = None,
        commit_as: Callable[[], CommitAs] | None = None,
    ) -> SqlSession:
        """A session, in which USE and SET hold for the statements that follow, and scripts run.

        Names without a database are looked up in ``database``. ``options`` as in ``sql``. ``commit_as`` is
        called for each statement that changes rows and says who commits it.
        """
        from table_core.table.api.sql.session import SqlSession

        return SqlSession(cast("SqlCatalog", self), database, options, commit_as)

    def clone_table(  # noqa: PLR0913 - what one may say of a copy
        self,
        name: str,
        to_name: str,
        snapshot: int | None = None,
        tag: str | None = None,
        timestamp: PointInTime | None = None,
        to: CatalogView | None = None,
        dry_run: bool = False,
        commit: CommitAs | None = None,
        positions: bool = True,
    ) -> ResultDocument:
        """Copy one state of ``name`` (default: the newest) to the new table ``to_name``.

        ``to`` is the catalog of the copy, by default this one. An interrupted clone resumes where
        it stopped. History, tags, branches and consumers are not copied.

        ``positions`` also copies the positions that the flows, files and syncs feeding ``name`` had
        in that state (``details["positions"]``). Whatever feeds the copy continues from there; from
        then on the positions are independent. Without it, they start from the beginning.

        Raises:
            AlreadyExistsError: a table ``to_name`` exists that is not an interrupted clone of this
                one.
            NotFoundError: no such table, state, or database of the copy.
        """
        from table_core.table.api.clone import clone_table

        return clone_table(
            self._catalog,
            name,
            to_name,
            snapshot=snapshot,
            tag=tag,
            timestamp=timestamp,
            to=to,
            dry_run=dry_run,
            commit=commit,
            positions=positions,
        )

    def clone_database(  # noqa: PLR0913 - what one may say of copies
        self,
        database: str,
        to_database: str,
        to: CatalogView | None = None,
        including: str = ".*",
        excluding: str = "",
        parallelism: int = 1,
        dry_run: bool = False,
        commit: CommitAs | None = None,
        positions: bool = True,
    ) -> ResultDocument:
        """Clone the newest state of tables whose names match; see ``clone_table``."""
        from table_core.table.api.database_maintenance import Choice, clone_database

        return clone_database(
            self._catalog,
            Choice(
                database=database,
                including=including,
                excluding=excluding,
                parallelism=parallelism,
            ),
            to_database,
            to=self._catalog if to is None else to,
            dry_run=dry_run,
            commit=commit or CommitAs(),
            positions=positions,
        )

    def compact_database(
        self,
        database: str,
        including: str = ".*",
        excluding: str = "",
        strategy: str = "minor",
        idle_time: str | None = None,
        parallelism: int = 1,
        dry_run: bool = False,
        commit: CommitAs | None = None,
    ) -> ResultDocument:
        """Compact tables whose names match, ``parallelism`` of them at a time.

        ``idle_time``, e.g. ``"1 h"``: only partitions that have not been written to for that long.
        ``details["tables"]`` has the result of each table. A table that fails does not stop the
        others; its error is raised at the end.
        """
        from table_core.table.api.database_maintenance import Choice, compact_database

        return compact_database(
            self._catalog,
            Choice(
                database=database,
                including=including,
                excluding=excluding,
                parallelism=parallelism,
            ),
            strategy=strategy,
            idle_time=idle_time,
            dry_run=dry_run,
            commit=commit or CommitAs(),
        )

    def collect_metadata(  # noqa: PLR0913 - what one may say of it
        self,
        database: str,
        to: str,
        catalog_name: str,
        including: str = ".*",
        excluding: str = "",
        kept: str = "90 d",
        recheck: str = "1 h",
        snapshots: int = 1_000,
        detailed: int = 200,
        tables: int = 1_000,
        dry_run: bool = False,
        commit: CommitAs | None = None,
    ) -> ResultDocument:
        """Keep the metadata history of the tables of ``database`` in the table ``to``, which is made if missing.

        ``catalog_name`` is the first part of the tables' URIs.  A table whose newest snapshot is known costs
        one request, until ``recheck`` has passed since the last whole look.  At most ``tables`` are looked at
        in one call, and of each at most ``snapshots`` of the newest that are new; of ``detailed`` of them the
        manifests are read too.  Snapshots are kept for ``kept``, longer than the tables themselves keep them.

        Raises:
            ArgumentError: a length of time or a regular expression is wrong.
            TableError: of the first table that failed, when the others are kept.
        """
        from table_core.table.api.collect_metadata import collect_metadata
        from table_core.table.api.database_maintenance import Choice
        from table_core.table.maintenance.observe import Within
        from table_core.table.metadata.timestamps import length_ms

        return collect_metadata(
            self._catalog,
            Choice(database=database, including=including, excluding=excluding, parallelism=1),
            to,
            catalog_name=catalog_name,
            within=Within(
                snapshots=snapshots,
                detailed=detailed,
                kept_ms=length_ms("kept", kept),
                recheck_ms=length_ms("recheck", recheck),
            ),
            tables_max=tables,
            dry_run=dry_run,
            commit=commit or CommitAs(),
        )
