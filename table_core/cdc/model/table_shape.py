"""What tells that a source table is not the one that was read, though it has its name.

A run keeps the shape of each table, and the next one compares.  Of PostgreSQL this shows what its log does
not tell: a table made anew, columns that trade places, an ALTER TABLE that writes all rows again.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Final

from table_core.cdc.model.record import SourceTable
from table_core.validation_errors import stored

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from collections.abc import Set as AbstractSet

__all__ = [
    "GONE",
    "REPLACED",
    "SHAPES_PROPERTY",
    "TableShape",
    "rewritten",
    "shapes_from",
    "shapes_text",
]

SHAPES_PROPERTY: Final = "tc.source.shapes"
"""Property: the shapes of the source tables that feed a table, as they were when it was read."""
GONE: Final = "gone"
"""The number of a table that was dropped."""
REPLACED: Final = "it was created anew, or another table was renamed to it"


@dataclass(frozen=True, slots=True, kw_only=True)
class TableShape:
    """A source table as its server's catalog has it; what a server does not tell is empty."""

    key: tuple[str, ...]
    """The primary key."""
    id: str = ""
    """Of the table: one that is made anew has another."""
    columns: Mapping[str, int] = field(default_factory=dict)
    """Numbers of the columns; those of dropped ones are not used again."""
    last_column: int = 0
    """The highest number that was ever used."""
    stamps: Mapping[str, str] = field(default_factory=dict)
    """Of each column; another one with every statement that changes it."""
    filled: Sequence[str] = ()
    """Columns whose value in older rows the catalog has."""
    files: Mapping[str, str] = field(default_factory=dict)
    """The file of the table, or of each partition, by its id: another one if all rows were written again."""
    joined: Sequence[str] = ()
    """Partitions that may have had rows before they became such: one that was a table.  Not kept."""
    links: Mapping[str, str] = field(default_factory=dict)
    """Of each partition, by its id: another stamp if it was taken out and put back."""
    published: str = ""
    """By what the log tells the table's changes: another stamp if it did not for a while."""
    labels: Mapping[str, str] = field(default_factory=dict)
    """Words of the types of its columns by their numbers: one that changes does so in all rows."""


def rewritten(old: TableShape, new: TableShape, has_column: Callable[[str], bool]) -> str:
    """Why a table has to be read again; '' if the log tells all of its rows.

    ``new`` has only those partitions as ``joined`` that came with rows since ``old``.
    """
    if old.id == GONE:
        return REPLACED
    if not old.id or not new.id:
        return ""
    if old.id != new.id:
        return REPLACED
    added = new.columns.keys() - old.columns.keys()
    if any(new.columns[name] != old.columns[name] for name in new.columns.keys() - added):
        return "columns were renamed, or dropped and added"
    if any(new.columns[name] <= old.last_column or has_column(name) for name in added):
        return "columns were renamed, or dropped and added"
    if added and new.last_column != old.last_column + len(added):
        return "columns were added and dropped"
    if old.files.keys() - new.files.keys():
        return "a partition is gone"
    if new.joined:
        return "a partition came with rows"
    return _changed_around(old, new) or _written_again(old, new, added)


def _changed_around(old: TableShape, new: TableShape) -> str:
    """Why its rows may be others though the table is the same."""
    if _differs(old.links, new.links):
        return "a partition was taken out and put back"
    if old.published and old.published != new.published:
        return "the publication was changed, or was without it for a while"
    if _differs(old.labels, new.labels):
        return "a type of its columns was changed"
    return ""


def _written_again(old: TableShape, new: TableShape, added: AbstractSet[str]) -> str:
    changed = any(new.files[one] != old.files[one] for one in old.files)
    if changed and new.id not in new.files:
        return "a partition was emptied or written again"
    if changed and (added - {*new.filled} or _stamped(old, new)):
        return "an ALTER TABLE wrote its rows again"
    return ""


def _differs(old: Mapping[str, str], new: Mapping[str, str]) -> bool:
    """Whether something that was there and is there has another value."""
    return any(new.get(name, value) != value for name, value in old.items())


def _stamped(old: TableShape, new: TableShape) -> bool:
    """Whether a statement was about a column that was there before."""
    return _differs(old.stamps, new.stamps)


def shapes_text(shapes: Mapping[SourceTable, TableShape]) -> str:
    """Compact JSON."""
    tables = [
        [
            table.database,
            table.name,
            {k: v for k, v in asdict(shape).items() if v and k != "joined"},
        ]
        for table, shape in sorted(shapes.items())
    ]
    return json.dumps(tables, separators=(",", ":"), sort_keys=True)


def shapes_from(text: str | None) -> dict[SourceTable, TableShape]:
    """Read what ``shapes_text`` wrote.

    Raises:
        CorruptFileError: somebody else wrote it.
    """
    with stored("shapes of source tables", text):
        return {
            SourceTable(str(database), str(name)): _shape(document)
            for database, name, document in json.loads(text or "[]")
        }


def _shape(document: Mapping[str, Any]) -> TableShape:
    return TableShape(
        key=tuple(map(str, document.get("key", ()))),
        id=str(document.get("id", "")),
        columns={str(name): int(n) for name, n in document.get("columns", {}).items()},
        last_column=int(document.get("last_column", 0)),
        stamps={str(name): str(stamp) for name, stamp in document.get("stamps", {}).items()},
        filled=tuple(map(str, document.get("filled", ()))),
        files={str(id): str(file) for id, file in document.get("files", {}).items()},
        links={str(id): str(stamp) for id, stamp in document.get("links", {}).items()},
        published=str(document.get("published", "")),
        labels={str(n): str(word) for n, word in document.get("labels", {}).items()},
    )
