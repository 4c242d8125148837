"""The options of one ``format("paimon")`` load or save, told apart."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from table_core.datatypes.row_kind import ROW_KIND_COLUMN
from table_core.errors import ArgumentError, NotFoundError, OptionError
from table_core.predicate.expression import And
from table_core.predicate.sql import parse_where
from table_core.scan.stream_offset import ReadLimit
from table_core.spark.session.failures import carried
from table_core.table.api.opening import open_table
from table_core.table.api.table import Table
from table_core.table.metadata.results import CommitAs
from table_core.table.read.changes import asked_range
from table_core.table.write.widening import widened

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from table_core.datatypes.kinds import Field
    from table_core.predicate.expression import Condition
    from table_core.table.read.scan import Scan

__all__ = ["SourceOptions"]

_ALIASES: Final[Mapping[str, str]] = {
    "snapshot-id": "scan.snapshot-id",
    "tag": "scan.tag-name",
    "timestamp": "scan.timestamp-millis",
}
_OURS: Final = frozenset(
    {
        *("path", "columns", "where", "push-filters", "nanoseconds", "write.merge-schema"),
        *("overwrite-mode", "partitionoverwritemode", "commit-user", "commit-identifier"),
        *("read.changelog", "checkpointlocation"),
    }
)
_STORAGE: Final = "storage."
_OF_SPARKS_CATALOG: Final = frozenset({"provider", "location"})
"""Spark adds both when its own catalog makes a table of this format."""
_NO_PATH: Final = (
    "give the table's folder: .load(path) or .save(path). Spark's own catalog hands no folder over, so its "
    "tables (saveAsTable, toTable, writeTo, CREATE TABLE ... USING) cannot be of this format: for a name in SQL "
    "use CREATE TEMPORARY VIEW name USING paimon OPTIONS (path '...')"
)
_SPARKS_MODES: Final[Mapping[str, str]] = {"static": "table", "dynamic": "partitions"}
"""What Spark's own ``partitionOverwriteMode`` means here."""
_LIMITS: Final[Mapping[str, str]] = {
    "read.stream.maxsnapshotspertrigger": "snapshots",
    "read.stream.maxfilespertrigger": "files",
    "read.stream.maxrowspertrigger": "rows",
    "read.stream.maxbytespertrigger": "bytes",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceOptions:
    """The options of one load or save, told apart."""

    path: str
    columns: tuple[str, ...] | None
    where: str | None
    push_filters: bool
    nanoseconds: str
    merge_schema: bool
    table: Mapping[str, str]
    storage: Mapping[str, str] = field(repr=False)
    """Secrets are among them."""
    overwrite_mode: str | None
    """None where only the session says what an overwrite replaces."""
    commit: CommitAs
    changelog: bool
    """Whether changes show ``_ROW_KIND``."""
    limit: ReadLimit
    """Of each micro-batch."""
    checkpoint: str | None
    """Where the stream that is written keeps its position."""

    @classmethod
    def of(cls, texts: Mapping[str, str]) -> SourceOptions:
        """The options as Spark hands them over; names are alike in any case.

        Raises:
            TaskFailedError: no path, a table of Spark's own catalog, or an option is given twice.
        """
        with carried():
            options = {key.lower(): value for key, value in texts.items()}
            if "path" not in options or options.keys() >= _OF_SPARKS_CATALOG:
                raise ArgumentError(_NO_PATH, argument="path")
            table = {}
            for key, value in options.items():
                if key in _OURS or key in _LIMITS or key.startswith(_STORAGE):
                    continue
                canonical = _ALIASES.get(key, key)
                if canonical in table:
                    raise OptionError(
                        f"{canonical} is given twice, once by its short name", option=canonical
                    )
                table[canonical] = value
            columns = [name.strip() for name in options.get("columns", "").split(",")]
            return cls(
                path=options["path"],
                columns=tuple(columns) if any(columns) else None,
                where=options.get("where") or None,
                push_filters=_flag(options, "push-filters"),
                nanoseconds=options.get("nanoseconds", "refuse"),
                merge_schema=_flag(options, "write.merge-schema"),
                table=table,
                storage={
                    key[len(_STORAGE) :]: value
                    for key, value in texts.items()
                    if key.lower().startswith(_STORAGE)
                },
                overwrite_mode=_overwrite_mode(options),
                commit=CommitAs(
                    user=options.get("commit-user"),
                    identifier=_identifier(options),
                ),
                changelog=_flag(
                    options, "read.changelog", default=table.get("scan.mode") == "latest"
                ),
                limit=ReadLimit(
                    **{
                        name: _count(options, key)
                        for key, name in _LIMITS.items()
                        if key in options
                    }
                ),
                checkpoint=options.get("checkpointlocation"),
            )

    def open(self, rows: Sequence[Field] | None = None) -> Table:
        """The table, as these options show it.

        ``rows`` that are to be written may create it (``auto-create``) or change its columns
        (``write.merge-schema``).
        """
        columns = rows and tuple(field for field in rows if field.name != ROW_KIND_COLUMN)
        table = open_table(
            self.path, schema=columns, options=self.table, storage_options=self.storage
        )
        if rows is None or not self.merge_schema:
            return table
        return Table(widened(table.access, rows))

    def described(self) -> Scan:
        """What knows the columns: of the state that the options name, now where there is none.

        A stream may begin before everything that is there; a batch is refused when it is planned.
        """
        try:
            return self.scan(None)
        except NotFoundError:
            newest = {k: v for k, v in self.table.items() if not k.startswith("scan.")}
            return replace(self, table=newest).scan(None)

    def replaced(self, overwrite: bool) -> str | None:
        """What rows that overwrite replace: the ``table``, or the ``partitions`` that occur."""
        return (self.overwrite_mode or "table") if overwrite else None

    def scan(self, where: Condition | None, columns: Sequence[str] | None = None) -> Scan:
        """The rows of the state that the options name, where ``where`` holds too.

        With ``_ROW_KIND`` among ``columns`` they are ``+I``, or changes if a range is asked for.
        """
        both: str | Condition | None = self.where
        if where is not None:
            both = And((parse_where(self.where), where)) if self.where is not None else where
        table = self.open()
        names = columns or self.columns
        if names is None or ROW_KIND_COLUMN not in names:
            return table.read(columns=names, where=both)
        names = [name for name in names if name != ROW_KIND_COLUMN]
        asked = asked_range(table.access)
        if asked is not None:
            return table.changes(asked.after, asked.to, names, both, asked.mode.value)
        return table.read(columns=names, where=both).as_inserts()


def _flag(options: Mapping[str, str], key: str, *, default: bool = False) -> bool:
    text = options.get(key, str(default)).lower()
    if text not in {"true", "false"}:
        raise OptionError(f"{key}={text!r}: use true or false", option=key, value=text)
    return text == "true"


def _overwrite_mode(options: Mapping[str, str]) -> str | None:
    """``table`` or ``partitions``, by our option or by Spark's; None without either.

    Raises:
        OptionError: it is neither, or both options are given.
    """
    ours, sparks = options.get("overwrite-mode"), options.get("partitionoverwritemode")
    if ours is not None and sparks is not None:
        raise OptionError(
            "overwrite-mode is given twice, once as Spark's partitionOverwriteMode",
            option="overwrite-mode",
        )
    if ours is not None and ours not in _SPARKS_MODES.values():
        raise OptionError(
            f"overwrite-mode={ours!r}: use 'table' or 'partitions'",
            option="overwrite-mode",
            value=ours,
        )
    if sparks is None:
        return ours
    if sparks.lower() not in _SPARKS_MODES:
        raise OptionError(
            f"partitionOverwriteMode={sparks!r}: use 'static' or 'dynamic'",
            option="partitionOverwriteMode",
            value=sparks,
        )
    return _SPARKS_MODES[sparks.lower()]


def _count(options: Mapping[str, str], key: str) -> int:
    text = options[key]
    if not text.isdecimal() or int(text) == 0:
        raise OptionError(f"{key}={text!r} is no positive number", option=key, value=text)
    return int(text)


def _identifier(options: Mapping[str, str]) -> int | None:
    text = options.get("commit-identifier")
    if text is None:
        return None
    if "commit-user" not in options:
        raise OptionError(
            "commit-identifier means nothing without commit-user, the name that it counts under; a "
            "stream numbers its commits itself and takes commit-user alone",
            option="commit-identifier",
            value=text,
        )
    try:
        return int(text)
    except ValueError as error:
        raise OptionError(
            f"commit-identifier={text!r} is no whole number", option="commit-identifier", value=text
        ) from error
