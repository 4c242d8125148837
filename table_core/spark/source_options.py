"""The options of one ``format("paimon")`` load or save, told apart."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from table_core.errors import ArgumentError, OptionError
from table_core.predicate.expression import And
from table_core.predicate.sql import parse_where
from table_core.spark.failures import carried
from table_core.table.catalog import open_table
from table_core.table.results import CommitAs
from table_core.table.table import Table
from table_core.table.widening import widened

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from table_core.datatypes.kinds import Field
    from table_core.predicate.expression import Condition
    from table_core.table.scan import Scan

__all__ = ["SourceOptions"]

_ALIASES: Final[Mapping[str, str]] = {
    "snapshot-id": "scan.snapshot-id",
    "tag": "scan.tag-name",
    "timestamp": "scan.timestamp-millis",
}
_OURS: Final = frozenset(
    {
        *("path", "columns", "where", "push-filters", "nanoseconds", "write.merge-schema"),
        *("overwrite-mode", "commit-user", "commit-identifier"),
    }
)
_STORAGE: Final = "storage."


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceOptions:
    """The options of one load or save, told apart."""

    path: str
    columns: tuple[str, ...] | None
    where: Condition | None
    push_filters: bool
    nanoseconds: str
    merge_schema: bool
    table: Mapping[str, str]
    storage: Mapping[str, str]
    overwrite_mode: str
    commit: CommitAs

    @classmethod
    def of(cls, given: Mapping[str, str]) -> SourceOptions:
        """The options as Spark hands them over; names are alike in any case.

        Raises:
            TaskFailedError: no path, or an option is given twice.
        """
        with carried():
            options = {key.lower(): value for key, value in given.items()}
            if "path" not in options:
                raise ArgumentError("give the table's folder: .load(path)", argument="path")
            table = {}
            for key, value in options.items():
                if key in _OURS or key.startswith(_STORAGE):
                    continue
                canonical = _ALIASES.get(key, key)
                if canonical in table:
                    raise OptionError(
                        f"{canonical} is given twice, once by its short name", option=canonical
                    )
                table[canonical] = value
            columns = [name.strip() for name in options.get("columns", "").split(",")]
            identifier = options.get("commit-identifier")
            return cls(
                path=options["path"],
                columns=tuple(columns) if any(columns) else None,
                where=parse_where(options["where"]) if options.get("where") else None,
                push_filters=options.get("push-filters", "false").lower() == "true",
                nanoseconds=options.get("nanoseconds", "refuse"),
                merge_schema=options.get("write.merge-schema", "false").lower() == "true",
                table=table,
                storage={
                    key[len(_STORAGE) :]: value
                    for key, value in given.items()
                    if key.lower().startswith(_STORAGE)
                },
                overwrite_mode=options.get("overwrite-mode", "table"),
                commit=CommitAs(
                    user=options.get("commit-user"),
                    identifier=None if identifier is None else int(identifier),
                ),
            )

    def open(self, rows: Sequence[Field] | None = None) -> Table:
        """The table, as these options show it.

        ``rows`` that are to be written may create it (``auto-create``) or change its columns
        (``write.merge-schema``).
        """
        table = open_table(self.path, schema=rows, options=self.table, storage_options=self.storage)
        if rows is None or not self.merge_schema:
            return table
        return Table(widened(table.access, rows))

    def scan(self, where: Condition | None, columns: Sequence[str] | None = None) -> Scan:
        """The rows of the state that the options name, where ``where`` holds too."""
        conditions = [part for part in (self.where, where) if part is not None]
        return self.open().read(
            columns=columns or self.columns, where=And(tuple(conditions)) if conditions else None
        )
