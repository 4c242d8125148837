"""Upkeep of all tables of a database, one after another or some at a time."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from table_core.errors import ArgumentError
from table_core.options.chosen_names import chosen_names
from table_core.table.api.clone import clone_table
from table_core.table.compact.compact import compact as compact_table
from table_core.table.maintenance.expire_partitions import partitions_of
from table_core.table.metadata.describing import summed
from table_core.table.metadata.results import ResultDocument
from table_core.table.metadata.several import failed_of
from table_core.table.metadata.timestamps import length_ms

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from table_core.table.api.catalog_view import CatalogView
    from table_core.table.api.table import Table
    from table_core.table.metadata.access import TableAccess
    from table_core.table.metadata.results import CommitAs, ResultDocument

__all__ = ["Choice", "chosen_tables", "chosen_tables_of", "clone_database", "compact_database"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """Which tables of a database, and how many at a time."""

    database: str
    including: str
    """A regular expression for whole names."""
    excluding: str
    parallelism: int

    def __post_init__(self) -> None:
        """Refuse what says nothing."""
        if self.parallelism < 1:
            raise ArgumentError(
                f"parallelism={self.parallelism}: at least 1",
                argument="parallelism",
                value=self.parallelism,
            )


def chosen_tables(catalog: CatalogView, choice: Choice) -> list[str]:
    """Names of the tables of ``choice``, sorted.

    Raises:
        ArgumentError: no regular expression.
    """
    return chosen_tables_of(choice, catalog.tables(choice.database))


def chosen_tables_of(choice: Choice, names: Iterable[str]) -> list[str]:
    """Those of ``names`` that ``choice`` means, in their order.

    Raises:
        ArgumentError: no regular expression.
    """
    return chosen_names(names, choice.including, choice.excluding)


def compact_database(
    catalog: CatalogView,
    choice: Choice,
    *,
    strategy: str,
    idle_time: str | None,
    dry_run: bool,
    commit: CommitAs,
    compact: Callable[..., ResultDocument] | None = None,
) -> ResultDocument:
    """See ``Catalog.compact_database``.  ``compact`` does one table, by default in this process.

    Raises:
        TableError: of the first table that failed, when the others are done; it notes which.
    """
    if strategy not in {"full", "minor"}:
        raise ArgumentError(
            f"strategy={strategy!r}: use 'full' or 'minor'", argument="strategy", value=strategy
        )
    idle_ms = None if idle_time is None else length_ms("idle_time", idle_time)

    def one(name: str) -> ResultDocument:
        table = catalog.table(f"{choice.database}.{name}")
        return (compact or _compact_here)(
            table,
            strategy=strategy,
            dry_run=dry_run,
            commit=commit,
            rows=None if idle_ms is None else _idle(table.access, idle_ms),
        )

    run = _Run(catalog, "compact-database", choice.database, choice.parallelism, dry_run)
    return run.on(chosen_tables(catalog, choice), one)


def _compact_here(table: Table, **args: Any) -> ResultDocument:
    return compact_table(table.access, partitions=None, where=None, order_by=None, **args)


def clone_database(
    catalog: CatalogView,
    choice: Choice,
    target: str,
    *,
    to: CatalogView,
    dry_run: bool,
    commit: CommitAs,
    positions: bool,
) -> ResultDocument:
    """See ``Catalog.clone_database``.

    Raises:
        TableError: of the first table that failed, when the others are done; it notes which.
    """
    names = chosen_tables(catalog, choice)
    if not dry_run:
        to.create_database(target, if_not_exists=True)

    def one(name: str) -> ResultDocument:
        return clone_table(
            catalog,
            f"{choice.database}.{name}",
            f"{target}.{name}",
            to=to,
            dry_run=dry_run,
            commit=commit,
            positions=positions,
            database_is_made=True,
        )

    run = _Run(catalog, "clone-database", target, choice.parallelism, dry_run)
    return run.on(names, one)


@dataclass(frozen=True, slots=True)
class _Run:
    """One verb, on some tables of a database."""

    catalog: CatalogView
    action: str
    database: str
    parallelism: int
    dry_run: bool

    def on(self, names: Iterable[str], one: Callable[[str], ResultDocument]) -> ResultDocument:
        """Run ``one`` for every table; the sums of what they say."""
        started_ms = self.catalog.clock.now_ms()
        done: dict[str, ResultDocument] = {}
        failed: dict[str, Exception] = {}
        with ThreadPoolExecutor(self.parallelism) as pool:
            jobs = {name: pool.submit(one, name) for name in names}
            for name, job in jobs.items():
                try:
                    done[name] = job.result()
                except Exception as error:  # noqa: BLE001 - raised below, when the others are done
                    failed[name] = error
        if failed:
            raise failed_of(f"{self.action} {self.database}", failed, done)
        return summed(
            self.action,
            self.database,
            done.values(),
            {"tables": {name: result.to_document() for name, result in done.items()}},
            seconds=(self.catalog.clock.now_ms() - started_ms) / 1000,
            dry_run=self.dry_run,
        )


def _idle(access: TableAccess, idle_ms: int) -> frozenset[bytes]:
    """Partitions whose newest file is older; one with a file that has no date is never idle."""
    now_ms = access.clock.now_ms()
    live = access.metadata.live_files(access.head())
    return frozenset(
        partition.row
        for partition in partitions_of(access, live)
        if partition.updated_ms is not None and partition.updated_ms < now_ms - idle_ms
    )
