"""Schema changes: what a user asks of ``alter_table``, one small value each.

A column is named by its path: ``"note"``, or ``"address.city"`` for a member of a ROW.  Elements of
an ARRAY are called ``element``, keys and values of a MAP ``key`` and ``value``.  A step that itself
contains a dot stands in backquotes, as in SQL: ``"`v1.2`"``, ``"address.`post.code`"``.  They can be left out
where the whole is the name of a column that is there.

Source: ``org.apache.paimon.schema.SchemaChange``; format 2.4.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

from table_core.errors import ArgumentError

if TYPE_CHECKING:
    import pyarrow as pa

    from table_core.datatypes.kinds import DataType

__all__ = [
    "AddColumn",
    "DropColumn",
    "DropPrimaryKey",
    "RemoveOption",
    "RenameColumn",
    "SchemaChange",
    "SetOption",
    "UpdateColumnComment",
    "UpdateColumnDefault",
    "UpdateColumnNullability",
    "UpdateColumnPosition",
    "UpdateColumnType",
    "UpdateComment",
    "changes_of",
]


@dataclass(frozen=True, slots=True)
class AddColumn:
    """A new column, last unless ``after`` names a sibling or ``first`` is set.

    ``default`` is the text of the value that later writes store in place of NULL.
    """

    name: str
    type: str | DataType | pa.DataType
    comment: str | None = None
    after: str | None = None
    first: bool = False
    default: str | None = None


@dataclass(frozen=True, slots=True)
class DropColumn:
    """Drop a column. A column added later under the same name is a new column."""

    name: str


@dataclass(frozen=True, slots=True)
class RenameColumn:
    """Rename a column; ``new_name`` is only the last step, without the path."""

    name: str
    new_name: str


@dataclass(frozen=True, slots=True)
class UpdateColumnType:
    """Change the type of a column. Its nullability stays unless the change says otherwise."""

    name: str
    type: str | DataType | pa.DataType
    keep_nullability: bool = True


@dataclass(frozen=True, slots=True)
class UpdateColumnNullability:
    """Whether a column may be NULL."""

    name: str
    nullable: bool


@dataclass(frozen=True, slots=True)
class UpdateColumnComment:
    """The comment of a column; None removes it."""

    name: str
    comment: str | None


@dataclass(frozen=True, slots=True)
class UpdateColumnDefault:
    """The default of a column, as text; None removes it."""

    name: str
    default: str | None


@dataclass(frozen=True, slots=True)
class UpdateColumnPosition:
    """Move a column among its siblings: exactly one of the four places."""

    name: str
    after: str | None = None
    before: str | None = None
    first: bool = False
    last: bool = False


@dataclass(frozen=True, slots=True)
class SetOption:
    """Set a table option."""

    key: str
    value: str


@dataclass(frozen=True, slots=True)
class RemoveOption:
    """Reset a table option to its default."""

    key: str


@dataclass(frozen=True, slots=True)
class UpdateComment:
    """The comment of the table; None removes it."""

    comment: str | None


@dataclass(frozen=True, slots=True)
class DropPrimaryKey:
    """Make the table an append table; only while it has no snapshot."""


_CHANGES: Final = (
    AddColumn,
    DropColumn,
    DropPrimaryKey,
    RemoveOption,
    RenameColumn,
    SetOption,
    UpdateColumnComment,
    UpdateColumnDefault,
    UpdateColumnNullability,
    UpdateColumnPosition,
    UpdateColumnType,
    UpdateComment,
)
SchemaChange: TypeAlias = (
    AddColumn
    | DropColumn
    | DropPrimaryKey
    | RemoveOption
    | RenameColumn
    | SetOption
    | UpdateColumnComment
    | UpdateColumnDefault
    | UpdateColumnNullability
    | UpdateColumnPosition
    | UpdateColumnType
    | UpdateComment
)


def changes_of(changes: object) -> tuple[SchemaChange, ...]:
    """``changes`` as a caller gives them: several, or one by itself.

    Raises:
        ArgumentError: they are none.
    """
    listed = (changes,) if isinstance(changes, _CHANGES) else changes
    if isinstance(listed, list | tuple) and all(isinstance(change, _CHANGES) for change in listed):
        return tuple(listed)
    if hasattr(listed, "__iter__") and not isinstance(listed, Mapping | str | list | tuple):
        return changes_of(list(listed))
    raise ArgumentError(
        "changes: give a list such as [AddColumn('name', 'STRING'), SetOption('key', 'value')], not "
        f"{changes!r}",
        argument="changes",
        value=repr(changes),
    )
