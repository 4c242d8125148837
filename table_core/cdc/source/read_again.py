"""Source tables that changed in a way that their log does not tell: they are read again.

A table is *due* from the place in the log that shows it.  Positions behind that place name it among the
snapshots that have not begun, so a run that is killed leaves it due for the next one.  Once the log is
read, its rows come from a new snapshot, and take the place of all that is there in one commit.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from table_core.cdc.apply.truncate import begin_anew
from table_core.datatypes.kinds import STRING, Atomic, Root
from table_core.datatypes.text import type_text
from table_core.errors import EventError
from table_core.schema.wider import wider

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from table_core.cdc.apply.context import SyncContext
    from table_core.cdc.apply.table_feed import TableFeed
    from table_core.cdc.apply.tables import SyncTables
    from table_core.cdc.model.record import SourceTable
    from table_core.cdc.model.source_table import CatalogTable
    from table_core.datatypes.kinds import DataType
    from table_core.schema.type_mapping import TypeMapping

__all__ = ["ReadAgain"]


def _fits(here: DataType, there: DataType, mapping: TypeMapping) -> bool:
    """Whether values of a source column go into one here, which may be widened."""
    there = mapping.applied(there)
    if not isinstance(here, Atomic) or not isinstance(there, Atomic):
        return type(here) is type(there)
    return (
        here.root is there.root
        or (here.root is Root.VARCHAR and here.length == STRING.length)
        or wider(here, there, mapping) is not None
        or wider(there, here, mapping) is not None
    )


@dataclass(slots=True, kw_only=True)
class ReadAgain:
    """The tables that are due during one run."""

    context: SyncContext
    fed: SyncTables
    due: dict[SourceTable, str] = field(default_factory=dict)
    """And why, for people."""

    def note(self, table: SourceTable, why: str, where: str) -> None:
        """The log does not have all rows of a table from ``where`` on.

        Raises:
            EventError: the sync is to fail then.
        """
        if table in self.due:
            return
        if self.context.settings.on_rewrite == "fail":
            raise EventError(
                f"{where}: {table}: {why}, and the log does not tell its rows: read the table again "
                f"with table-core source resync, or say on_rewrite='resync'",
                position=where,
                table=str(table),
            )
        self.due[table] = why

    def refuse_large(self, infos: Iterable[CatalogTable], named: Mapping[str, SourceTable]) -> None:
        """Refuse to read tables again unasked that have very many rows.

        Raises:
            EventError: one has more than the sync was told.
        """
        most = self.context.settings.resync_rows
        for info in infos:
            table = named[f"{info.database}.{info.name}"]
            if table in self.due and (info.rows_about or 0) > most:
                raise EventError(
                    f"{table}: {self.due[table]}, so it has to be read again, and it has about "
                    f"{info.rows_about} rows: run table-core source resync, or raise resync_rows",
                    table=str(table),
                )

    def refuse_types(self, table: SourceTable, types: Mapping[str, DataType]) -> None:
        """Refuse source columns of types that the columns here cannot become.

        Raises:
            EventError: names the first of them, and what to do.
        """
        name = self.context.route(table)
        feed = self.fed.feeds.get(name) if name is not None else None
        there = (
            () if feed is None or feed.state.table is None else feed.state.table.definition.fields
        )
        for field_ in there:
            new = types.get(field_.name)
            if new is None or _fits(field_.type, new, self.context.settings.mapping):
                continue
            raise EventError(
                f"{table}: column {field_.name!r} is {type_text(new)} now, and {type_text(field_.type)} in "
                f"{name}, which cannot become that: drop the table here, and the next sync reads it anew",
                table=str(table),
                column=field_.name,
            )

    def feeds_of(self, tables: Iterable[SourceTable]) -> list[TableFeed]:
        """The tables that source tables have given rows to, where those are to be replaced."""
        names = {self.context.route(table): table for table in tables}
        known_feeds = (self.fed.feeds.get(name) for name in names if name is not None)
        return [
            feed
            for feed in known_feeds
            if feed is not None and feed.state.table is not None and not feed.state.finished
        ]

    def renewed(
        self, pending: dict[SourceTable, list[object] | None], there: Mapping[SourceTable, object]
    ) -> list[TableFeed]:
        """Have snapshots take the place of what is there; the feeds whose rows are replaced.

        A snapshot tells what there is and not what there is no more: on top of old rows it would leave
        those that the source deleted, and double those without key.  Of a table that several source
        tables feed all are read again, so they become ``pending`` too.
        """
        anew = []
        for feed in self.feeds_of(pending):
            was_reset = not feed.state.claims.held
            mine = feed.state.sources & pending.keys()
            if not mine or not (was_reset or any(pending[table] is None for table in mine)):
                continue
            readable = feed.state.sources & there.keys()
            if begin_anew(feed, readable, {t for t in mine if pending[t] is None}):
                pending.update(dict.fromkeys(readable))
                anew.append(feed)
        return anew
