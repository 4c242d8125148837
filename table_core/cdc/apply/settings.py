"""How a sync applies changes; the same for one table and for a database."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from table_core.cdc.apply.options import DatabaseSyncOptions
from table_core.cdc.model.computed import METADATA_COLUMNS, ComputedColumn, computed_columns
from table_core.errors import ArgumentError
from table_core.options.parse import duration_ms
from table_core.schema.type_mapping import TypeMapping

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from table_core.cdc.apply.options import SyncOptions

__all__ = ["ApplySettings", "NewTable", "apply_settings", "length_ms", "one_of"]

_ON_TABLE: Final = ("apply", "ignore", "fail")
_ON_REWRITE: Final = ("resync", "fail")
_COMMIT_ROWS: Final = 1_000_000
_RESYNC_ROWS: Final = 100_000_000
_MAX_COLUMNS: Final = 4096
"""As many as MySQL has, and more than PostgreSQL."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ApplySettings:
    """What to do with what comes."""

    computed: tuple[ComputedColumn, ...] = ()
    metadata: tuple[str, ...] = ()
    metadata_prefix: str = ""
    mapping: TypeMapping = field(default_factory=TypeMapping)
    on_truncate: str = "apply"
    on_drop: str = "ignore"
    on_rewrite: str = "resync"
    resync_rows: int = _RESYNC_ROWS
    """Tables with more rows are not read again unasked."""
    dead_letter: str | None = None
    """Table for events that cannot be applied; None makes the first of them an error."""
    fill_defaults: bool = True
    """Rows that are there get the default of a column that is added, as they do in the source."""
    ignore_incompatible: bool = False
    """Leave a table out whose key differs from that of its source, instead of failing."""
    max_columns: int = _MAX_COLUMNS
    """An event that would give a table more columns is not applied."""
    commit_rows: int = _COMMIT_ROWS
    """Commit a table once so many rows wait, so that a long run need not start again."""


def apply_settings(
    *, computed: Sequence[str] = (), type_mapping: Sequence[str] = (), more: SyncOptions
) -> ApplySettings:
    """Check and parse what a user gives.

    Raises:
        ArgumentError: a value is none of those allowed, or there is no such argument.
    """
    known = DatabaseSyncOptions.__annotations__
    for name in more:
        one_of("argument", name, sorted(known))
    metadata = tuple(more.get("metadata_columns", ()))
    for name in metadata:
        one_of("metadata_columns", name, METADATA_COLUMNS)
    on_truncate, on_drop = more.get("on_truncate", "apply"), more.get("on_drop", "ignore")
    one_of("on_truncate", on_truncate, _ON_TABLE)
    one_of("on_drop", on_drop, _ON_TABLE)
    on_rewrite = more.get("on_rewrite", "resync")
    one_of("on_rewrite", on_rewrite, _ON_REWRITE)
    return ApplySettings(
        computed=computed_columns(computed),
        metadata=metadata,
        mapping=TypeMapping.of(type_mapping),
        on_truncate=on_truncate,
        on_drop=on_drop,
        on_rewrite=on_rewrite,
        resync_rows=more.get("resync_rows", _RESYNC_ROWS),
        dead_letter=more.get("dead_letter"),
        fill_defaults=more.get("fill_defaults", True),
        ignore_incompatible=bool(more.get("ignore_incompatible", False)),
        commit_rows=more.get("commit_rows", _COMMIT_ROWS),
        max_columns=more.get("max_columns", _MAX_COLUMNS),
    )


def length_ms(argument: str, text: str) -> int:
    """A length of time such as ``"10 min"``, in milliseconds.

    Raises:
        ArgumentError: it is none.
    """
    try:
        return duration_ms(text)
    except ValueError as error:
        raise ArgumentError(f"{argument}: {error}", argument=argument, value=text) from error


def one_of(argument: str, value: str, allowed: Sequence[str]) -> None:
    """Refuse a value that is not allowed."""
    if value not in allowed:
        raise ArgumentError(
            f"{argument}={value!r} is none of {', '.join(allowed)}", argument=argument, value=value
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class NewTable:
    """How a table is made that is not there yet."""

    primary_key: tuple[str, ...] | None = None
    """None takes that of the source."""
    partition_by: tuple[str, ...] = ()
    options: Mapping[str, str] = field(default_factory=dict)
    computed: tuple[ComputedColumn, ...] = ()
    optional: bool = False
    """Partition and computed columns hold for many tables: leave out what one does not have."""
