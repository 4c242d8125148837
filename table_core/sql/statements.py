"""What a statement says: one frozen value each, with nothing left of its text but names and expressions.

``table`` carries them out.  Expressions and conditions are SQL text over the columns' exact names, as the verbs
take them; a query is what ``query`` makes of it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping

    from table_core.datatypes.kinds import Field
    from table_core.schema.change import SchemaChange
    from table_core.sql.query import Query
    from table_core.sql.text import Words

__all__ = [
    "AlterTable",
    "Assignment",
    "Call",
    "CreateDatabase",
    "CreateTable",
    "Delete",
    "DescribeTable",
    "DropDatabase",
    "DropPartition",
    "DropTable",
    "Explain",
    "Insert",
    "Merge",
    "MergeWhen",
    "RenameTable",
    "Select",
    "SetOption",
    "ShowColumns",
    "ShowCreateTable",
    "ShowDatabases",
    "ShowOptions",
    "ShowPartitions",
    "ShowTables",
    "Statement",
    "TableName",
    "Truncate",
    "Update",
    "Use",
    "Values",
]


@dataclass(frozen=True, slots=True)
class TableName:
    """A table as it is written: ``orders``, ``shop.orders``, ``shop.orders$branch_b$files``."""

    parts: tuple[str, ...]
    start: int
    """Where it stands in the text."""


@dataclass(frozen=True, slots=True)
class Assignment:
    """``column = expression``."""

    column: tuple[str, ...]
    """The name, maybe behind the name of its table."""
    value: Words


# --------------------------------------------------------------------------------------- reading
@dataclass(frozen=True, slots=True)
class Select:
    """A query whose rows are wanted."""

    query: Query


@dataclass(frozen=True, slots=True)
class Explain:
    """What a query would read."""

    query: Query


@dataclass(frozen=True, slots=True)
class ShowDatabases:
    """``SHOW DATABASES [LIKE 'pattern']``."""

    like: str | None


@dataclass(frozen=True, slots=True)
class ShowTables:
    """``SHOW TABLES [IN database] [LIKE 'pattern']``."""

    database: str | None
    like: str | None


@dataclass(frozen=True, slots=True)
class ShowColumns:
    """``SHOW COLUMNS IN table``."""

    table: TableName


@dataclass(frozen=True, slots=True)
class ShowPartitions:
    """``SHOW PARTITIONS table``."""

    table: TableName


@dataclass(frozen=True, slots=True)
class ShowOptions:
    """``SHOW TBLPROPERTIES table [('key')]``."""

    table: TableName
    key: str | None


@dataclass(frozen=True, slots=True)
class ShowCreateTable:
    """``SHOW CREATE TABLE table``."""

    table: TableName


@dataclass(frozen=True, slots=True)
class DescribeTable:
    """``DESCRIBE [TABLE] [EXTENDED] table``."""

    table: TableName
    extended: bool


# -------------------------------------------------------------------------------------- defining
@dataclass(frozen=True, slots=True)
class CreateDatabase:
    """``CREATE DATABASE``."""

    name: str
    if_not_exists: bool


@dataclass(frozen=True, slots=True)
class DropDatabase:
    """``DROP DATABASE``."""

    name: str
    if_exists: bool
    cascade: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateTable:
    """``CREATE TABLE``, of columns, of a query, or like another table."""

    table: TableName
    if_not_exists: bool
    columns: tuple[Field, ...] = ()
    primary_key: tuple[str, ...] = ()
    partition_by: tuple[str, ...] = ()
    options: Mapping[str, str] = field(default_factory=dict)
    comment: str | None = None
    query: Query | None = None
    like: TableName | None = None


@dataclass(frozen=True, slots=True)
class DropTable:
    """``DROP TABLE``."""

    table: TableName
    if_exists: bool


@dataclass(frozen=True, slots=True)
class AlterTable:
    """``ALTER TABLE`` of columns, options or the comment: one new schema."""

    table: TableName
    changes: tuple[SchemaChange, ...]


@dataclass(frozen=True, slots=True)
class RenameTable:
    """``ALTER TABLE … RENAME TO``."""

    table: TableName
    to: TableName


@dataclass(frozen=True, slots=True)
class DropPartition:
    """``ALTER TABLE … DROP [IF EXISTS] PARTITION (dt = '…')[, …]``."""

    table: TableName
    partitions: tuple[Mapping[str, object], ...]
    if_exists: bool


# -------------------------------------------------------------------------------------- changing
@dataclass(frozen=True, slots=True)
class Values:
    """``VALUES (1, 'a'), …``."""

    rows: tuple[tuple[Words, ...], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Insert:
    """``INSERT INTO`` and ``INSERT OVERWRITE``."""

    table: TableName
    rows: Query | Values
    columns: tuple[str, ...] | None = None
    by_name: bool = False
    overwrite: bool = False
    partition: tuple[tuple[str, object], ...] = ()
    """Columns of ``PARTITION (…)`` with their values."""
    dynamic: tuple[str, ...] = ()
    """Columns of ``PARTITION (…)`` without one."""


@dataclass(frozen=True, slots=True)
class Update:
    """``UPDATE``."""

    table: TableName
    alias: str | None
    values: tuple[Assignment, ...]
    where: Words | None


@dataclass(frozen=True, slots=True)
class Delete:
    """``DELETE FROM``."""

    table: TableName
    alias: str | None
    where: Words | None


@dataclass(frozen=True, slots=True)
class Truncate:
    """``TRUNCATE TABLE``, whole or of a partition."""

    table: TableName
    partition: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class MergeWhen:
    """One ``WHEN`` of a merge."""

    kind: str
    """``matched``, ``not matched`` or ``not matched by source``."""
    action: str
    """``update``, ``insert`` or ``delete``."""
    condition: Words | None
    values: tuple[Assignment, ...] | None
    """None: every column of the source."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Merge:
    """``MERGE INTO``."""

    table: TableName
    alias: str | None
    source: Query
    source_alias: str
    on: Words
    when: tuple[MergeWhen, ...]


# ----------------------------------------------------------------------------------------- other
@dataclass(frozen=True, slots=True)
class Call:
    """``CALL sys.procedure(name => value)``."""

    procedure: str
    arguments: Mapping[str, Any]
    start: int


@dataclass(frozen=True, slots=True)
class Use:
    """``USE database``."""

    database: str


@dataclass(frozen=True, slots=True)
class SetOption:
    """``SET key = value``."""

    key: str
    value: str


Statement: TypeAlias = (
    AlterTable
    | Call
    | CreateDatabase
    | CreateTable
    | Delete
    | DescribeTable
    | DropDatabase
    | DropPartition
    | DropTable
    | Explain
    | Insert
    | Merge
    | RenameTable
    | Select
    | SetOption
    | ShowColumns
    | ShowCreateTable
    | ShowDatabases
    | ShowOptions
    | ShowPartitions
    | ShowTables
    | Truncate
    | Update
    | Use
)
