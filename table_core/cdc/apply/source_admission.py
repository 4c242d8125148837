"""Which source tables may feed which table: two of them never do unless somebody said so."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from table_core.cdc.model.bad import refuse
from table_core.cdc.model.envelope import bad_line
from table_core.cdc.model.record import shortened
from table_core.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from table_core.cdc.apply.context import SyncContext
    from table_core.cdc.apply.table_feed import TableFeed
    from table_core.cdc.model.batch import P, SourceBatch
    from table_core.cdc.model.changes import Changes
    from table_core.cdc.model.record import SourceTable
    from table_core.errors import EventError

__all__ = ["SourceAdmission"]

_NAME_BYTES: Final = 200
"""A folder of a file system has room for a name of 255; no source has tables with more than 128."""


@dataclass(slots=True)
class SourceAdmission:
    """Says of each source table whether its events may come in."""

    context: SyncContext
    feed: Callable[[str], TableFeed]
    """What feeds the table of a name."""
    _owners: dict[str, SourceTable] = field(default_factory=dict)
    """The one source table of a table that takes no other."""
    _closed: dict[SourceTable, str] = field(default_factory=dict)

    def admitted(self, batch: SourceBatch[P]) -> Iterator[Changes]:
        """The changes of ``batch`` that have a table to go into.

        Raises:
            EventError: there are others, and no dead letters.
        """
        for group in batch.changes:
            name = self.context.route(group.table)
            if name is None or self.is_open(group.table, name):
                yield group
                continue
            errors = self._errors(group, self._closed[group.table])
            dead_letters = self.context.dead_letters
            if dead_letters is None:
                refuse(errors, together=False)
                continue
            for error in errors:
                number = error.facts["row"]
                assert isinstance(number, int)
                place, text = group.place(number).text, batch.text_of(number)
                dead_letters.put(error, place, text, str(group.table))

    def close(self, table: SourceTable, why: str) -> None:
        """Let no event of ``table`` in from now on."""
        self._closed[table] = why

    @staticmethod
    def _errors(changes: Changes, why: str) -> list[EventError]:
        return [
            bad_line(changes.place(n), why, table=str(changes.table))
            for n in dict.fromkeys(changes.lines.tolist())
        ]

    def is_open(self, table: SourceTable, name: str) -> bool:
        """Whether events of ``table`` may go into the table ``name``."""
        if table in self._closed:
            return False
        if self.context.whole_database is None or self._owners.get(name) == table:
            return True
        why = self._why_not(table, name)
        if why is not None:
            self._closed[table] = why
        return why is None

    def _why_not(self, table: SourceTable, name: str) -> str | None:
        if len(name.encode()) > _NAME_BYTES:
            return f"source table {shortened(str(table))!r} has a name of more than {_NAME_BYTES} bytes"
        try:
            self.context.catalog.split(name)
        except ArgumentError as error:
            return f"source table {str(table)!r}: {error}; name its table with table_mapping"
        if not self.context.is_alone(table):
            return None
        others = {self._owners.get(name, table), *self.feed(name).state.sources} - {table}
        if others:
            return (
                f"source table {str(table)!r} would go into {name}, which {str(min(others))!r} feeds: "
                "name one of them with table_mapping, or say merge_shards=True if they belong together"
            )
        self._owners[name] = table
        return None
