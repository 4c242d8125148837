"""The shapes of the source tables that feed tables: kept with their rows, and compared by the next run."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

from table_core.cdc.model.table_shape import (
    GONE,
    REPLACED,
    SHAPES_PROPERTY,
    TableShape,
    rewritten,
    shapes_from,
    shapes_text,
)
from table_core.errors import EventError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from table_core.cdc.apply.context import SyncContext
    from table_core.cdc.apply.tables import SyncTables
    from table_core.cdc.model.record import SourceTable
    from table_core.cdc.source.read_again import ReadAgain

__all__ = ["SourceShapes"]


@dataclass(slots=True, kw_only=True)
class SourceShapes:
    """Those of one run."""

    context: SyncContext
    fed: SyncTables
    shapes: dict[SourceTable, TableShape] = field(default_factory=dict)
    """Of tables whose rows are here, as they were when they were read."""

    def properties(self, tables: Iterable[SourceTable]) -> dict[str, str]:
        """What is kept with the rows of ``tables``."""
        shapes = {table: self.shapes[table] for table in tables if table in self.shapes}
        return {SHAPES_PROPERTY: shapes_text(shapes)} if shapes else {}

    def compare(
        self,
        now: Mapping[SourceTable, TableShape],
        again: ReadAgain,
        has_column: Callable[[SourceTable, str], bool],
        came_with_rows: Callable[[TableShape, str], bool],
        where: str,
    ) -> None:
        """Find tables that are not those that were read.

        Raises:
            EventError: one has another key, or is another one and the sync is to fail then.
        """
        for feed in self.fed.feeds.values():
            if feed.state.table is None:
                continue
            before = shapes_from(feed.state.table.position(SHAPES_PROPERTY))
            for table in feed.state.sources - now.keys():
                self.gone(table)
            for table in feed.state.sources & now.keys():
                old, new = before.get(table), now[table]
                self.shapes[table] = new
                if old is None:
                    continue
                self.refuse_key(table, old.key, new.key)
                came = new.links.keys() - old.links.keys() - old.files.keys()
                new = replace(new, joined=[one for one in came if came_with_rows(new, one)])
                why = rewritten(old, new, partial(has_column, table))
                if why == REPLACED and self.context.settings.on_drop == "fail":
                    raise EventError(
                        f"the source table {table} was dropped, or another one has its name; say what "
                        f"{feed.target.name} is to do with on_drop='ignore' or 'apply'",
                        table=str(table),
                    )
                if why:
                    again.note(table, why, where)

    @property
    def dropped(self) -> set[SourceTable]:
        """Source tables that were dropped and not made since, as far as is known."""
        return {table for table, shape in self.shapes.items() if shape.id == GONE}

    def gone(self, table: SourceTable) -> None:
        """A source table was dropped: one that has its name later is another one."""
        known = self.shapes.get(table)
        self.shapes[table] = TableShape(key=() if known is None else known.key, id=GONE)

    def refuse_key(self, table: SourceTable, old: Sequence[str], new: Sequence[str]) -> None:
        """Refuse a source table whose rows the table here cannot tell apart.

        Raises:
            EventError: so it is.
        """
        name = self.context.route(table)
        feed = self.fed.feeds.get(name) if name is not None else None
        there = feed.state.table if feed is not None else None
        if there is None or set(old) == set(new) or set(there.primary_key) != set(old):
            return
        if not old:  # a bag of rows stays one
            return
        raise EventError(
            f"the primary key of {table} was ({', '.join(old)}) and is ({', '.join(new)}) now, and {name} "
            "cannot tell its rows apart by it: drop the table here, and the next sync reads it anew",
            table=str(table),
        )
