"""CREATE, ALTER, DROP and COMMENT ON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from table_core.datatypes.kinds import Field, with_nullability
from table_core.schema import change
from table_core.schema.nested import path_text
from table_core.sql.query import parse_query
from table_core.sql.shows import take_table
from table_core.sql.statements import (
    AlterTable,
    CreateDatabase,
    CreateTable,
    DropDatabase,
    DropPartition,
    DropTable,
    RenameTable,
)
from table_core.sql.types import take_type
from table_core.sql.values import take_partition, take_value

if TYPE_CHECKING:
    from table_core.schema.change import SchemaChange
    from table_core.sql.statements import Statement, TableName
    from table_core.sql.text import Words

__all__ = ["alter", "comment", "create", "drop"]

_OTHER_THINGS = ("VIEW", "FUNCTION", "TEMPORARY", "TEMP", "CATALOG", "EXTERNAL", "GLOBAL", "OR")


def _refuse_other_things(words: Words, verb: str) -> None:
    for thing in _OTHER_THINGS:
        if words.ahead(thing):
            raise words.refused(
                f"{verb} {thing}", "there are databases and tables; a script's query is a CTE"
            )


def create(words: Words) -> Statement:
    """What follows CREATE."""
    _refuse_other_things(words, "CREATE")
    if words.take("DATABASE") or words.take("SCHEMA"):
        absent = words.take("IF", "NOT", "EXISTS")
        name = words.name("the name of a database")
        if words.word is not None:
            raise words.refused("an option of a database", "a database has a name and no more")
        return CreateDatabase(name, absent)
    words.expect("TABLE")
    absent = words.take("IF", "NOT", "EXISTS")
    table = take_table(words)
    if words.take("LIKE"):
        like = take_table(words)
        options = _options(words) if words.take("TBLPROPERTIES") else {}
        return CreateTable(table=table, if_not_exists=absent, like=like, options=options)
    return _create_table(words, table, absent)


def _create_table(words: Words, table: TableName, absent: bool) -> CreateTable:
    flink = _is_flink(words)
    columns: list[Field] = []
    said: dict[str, Any] = {}
    if words.take("("):
        _columns(words, columns, said, flink=flink)
    while words.word is not None and not words.ahead("AS") and not _is_query(words):
        _clause(words, columns, said, flink=flink)
    if words.take("AS") or _is_query(words):
        if columns:
            raise words.refused(
                "CREATE TABLE with columns and a query",
                "leave the columns out, and cast in the query",
            )
        said["query"] = parse_query(words.rest())
    elif not columns:
        raise words.wrong("a table has columns: expected (")
    return CreateTable(table=table, if_not_exists=absent, columns=tuple(columns), **said)


def _is_query(words: Words) -> bool:
    return words.ahead("SELECT") or (words.ahead("WITH") and not words.ahead("WITH", "("))


def _is_flink(words: Words) -> bool:
    """Whether the statement has Flink's ``WITH (…)``, and so Flink's types."""
    depth = 0
    rest = words.words[words.at :]
    for word, after in zip(rest, (*rest[1:], None), strict=False):
        depth += word.means("(") - word.means(")")
        if depth == 0 and word.means("WITH") and after is not None and after.means("("):
            return True
    return False


def _columns(words: Words, columns: list[Field], said: dict[str, Any], *, flink: bool) -> None:
    while True:
        if words.take("PRIMARY", "KEY"):
            _say(words, said, "primary_key", words.names())
            words.expect("NOT", "ENFORCED")
        elif words.ahead("CONSTRAINT") or words.ahead("WATERMARK", "FOR") or words.ahead("CHECK"):
            raise words.refused(
                "a constraint other than PRIMARY KEY",
                "leave it out; checks are run by table.check()",
            )
        else:
            columns.append(_column(words, said, flink=flink))
        if not words.take(","):
            break
    words.expect(")")


def _column(words: Words, said: dict[str, Any], *, flink: bool) -> Field:
    name = words.name("the name of a column")
    type_, text, default = take_type(words, flink=flink), None, None
    while True:
        if words.take("NOT", "NULL"):
            type_ = with_nullability(type_, nullable=False)
        elif words.take("COMMENT"):
            text = words.string()
        elif words.take("DEFAULT"):
            default = _default(words)
        elif words.take("PRIMARY", "KEY"):
            words.expect("NOT", "ENFORCED")
            _say(words, said, "primary_key", (name,))
        else:
            return Field(0, name, type_, text, default)


def _default(words: Words) -> str | None:
    value = take_value(words)
    return None if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def _say(words: Words, said: dict[str, Any], name: str, value: object) -> None:
    if name in said:
        raise words.wrong(f"{name.replace('_', ' ').upper()} is said twice")
    said[name] = value


def _clause(words: Words, columns: list[Field], said: dict[str, Any], *, flink: bool) -> None:
    if words.take("USING"):
        kind = words.name("paimon")
        if kind.lower() != "paimon":
            raise words.refused(f"USING {kind}", "tables of this warehouse are USING paimon")
    elif words.take("COMMENT"):
        _say(words, said, "comment", words.string())
    elif words.take("PARTITIONED", "BY"):
        _say(words, said, "partition_by", _partitioned_by(words, columns, flink=flink))
    elif words.take("TBLPROPERTIES") or words.take("OPTIONS") or words.take("WITH"):
        options = _options(words)
        both = said.setdefault("options", {})
        if both.keys() & options.keys():
            raise words.wrong(f"options are said twice: {', '.join(both.keys() & options.keys())}")
        both.update(options)
    elif words.ahead("LOCATION"):
        raise words.refused("LOCATION", "tables lie in the folder of their database")
    elif words.ahead("CLUSTERED") or words.ahead("CLUSTER"):
        raise words.refused(
            "CLUSTERED BY", "write TBLPROPERTIES ('bucket' = '4', 'bucket-key' = '…')"
        )
    else:
        raise words.wrong("expected USING, COMMENT, PARTITIONED BY, TBLPROPERTIES, WITH or AS")


def _partitioned_by(words: Words, columns: list[Field], *, flink: bool) -> tuple[str, ...]:
    """Names of columns, or columns, which then come last."""
    words.expect("(")
    names = []
    while True:
        name = words.name("the name of a column")
        names.append(name)
        if words.ahead("("):
            raise words.refused(f"PARTITIONED BY {name}(…)", "partition by a column")
        if not words.ahead(",") and not words.ahead(")"):
            columns.append(Field(0, name, take_type(words, flink=flink)))
        if not words.take(","):
            break
    words.expect(")")
    return tuple(names)


def _options(words: Words) -> dict[str, str]:
    words.expect("(")
    options: dict[str, str] = {}
    while not words.take(")"):
        key = _option_key(words)
        words.take("=")
        value = take_value(words)
        if key in options:
            raise words.wrong(f"option {key!r} is set twice")
        if value is None:
            raise words.wrong(f"option {key!r} is NULL: leave it out")
        options[key] = str(value).lower() if isinstance(value, bool) else str(value)
        if not words.take(",") and not words.ahead(")"):
            raise words.wrong("expected , or )")
    return options


def _option_key(words: Words) -> str:
    word = words.word
    if word is not None and word.kind == "string":
        return words.string()
    parts = [words.name("an option")]
    while words.ahead(".") or words.ahead("-"):
        parts.append("." if words.take(".") else "-" if words.take("-") else "")
        parts.append(words.name("an option"))
    return "".join(parts)


# ----------------------------------------------------------------------------------------- DROP
def drop(words: Words) -> Statement:
    """What follows DROP."""
    _refuse_other_things(words, "DROP")
    if words.take("DATABASE") or words.take("SCHEMA"):
        exists = words.take("IF", "EXISTS")
        name = words.name("the name of a database")
        cascade = words.take("CASCADE")
        if not cascade:
            words.take("RESTRICT")
        return DropDatabase(name, exists, cascade)
    words.expect("TABLE")
    exists = words.take("IF", "EXISTS")
    table = take_table(words)
    words.take("PURGE")
    return DropTable(table, exists)


def comment(words: Words) -> Statement:
    """What follows COMMENT: ``ON TABLE t IS 'text'``."""
    words.expect("ON", "TABLE")
    table = take_table(words)
    words.expect("IS")
    text = None if words.take("NULL") else words.string()
    return AlterTable(table, (change.UpdateComment(text),))


# ---------------------------------------------------------------------------------------- ALTER
def alter(words: Words) -> Statement:
    """What follows ALTER."""
    _refuse_other_things(words, "ALTER")
    if words.ahead("DATABASE") or words.ahead("SCHEMA"):
        raise words.refused("ALTER DATABASE", "a database has a name and no more")
    words.expect("TABLE")
    table = take_table(words)
    if words.take("RENAME", "TO"):
        return RenameTable(table, take_table(words))
    if words.take("DROP", "IF", "EXISTS", "PARTITION"):
        return _drop_partition(words, table, if_exists=True)
    if words.take("DROP", "PARTITION"):
        return _drop_partition(words, table, if_exists=False)
    return AlterTable(table, tuple(_changes(words)))


def _drop_partition(words: Words, table: TableName, *, if_exists: bool) -> DropPartition:
    partitions = [dict(take_partition(words, whole=True)[0])]
    while words.take(","):
        words.expect("PARTITION")
        partitions.append(dict(take_partition(words, whole=True)[0]))
    return DropPartition(table, tuple(partitions), if_exists)


def _changes(words: Words) -> list[SchemaChange]:
    if words.take("SET", "TBLPROPERTIES"):
        return [
            change.UpdateComment(value) if key == "comment" else change.SetOption(key, value)
            for key, value in _options(words).items()
        ]
    if words.take("UNSET", "TBLPROPERTIES"):
        words.take("IF", "EXISTS")
        words.expect("(")
        keys = [_option_key(words)]
        while words.take(","):
            keys.append(_option_key(words))
        words.expect(")")
        return [
            change.UpdateComment(None) if key == "comment" else change.RemoveOption(key)
            for key in keys
        ]
    if words.take("ADD", "COLUMNS") or words.take("ADD", "COLUMN"):
        return _added(words)
    if words.take("DROP", "COLUMNS") or words.take("DROP", "COLUMN"):
        return _dropped(words)
    if words.take("RENAME", "COLUMN"):
        name = _path(words)
        words.expect("TO")
        return [change.RenameColumn(name, words.name("the new name"))]
    if words.take("ALTER", "COLUMN") or words.take("ALTER") or words.take("CHANGE", "COLUMN"):
        return _column_changes(words)
    raise words.refused(
        "this ALTER TABLE",
        "there are ADD, DROP, RENAME and ALTER COLUMN, SET and UNSET TBLPROPERTIES, RENAME TO and DROP "
        "PARTITION",
    )


def _path(words: Words) -> str:
    parts = [words.name("the name of a column")]
    while words.take("."):
        parts.append(words.name("the name of a member"))
    return path_text(parts)


def _added(words: Words) -> list[SchemaChange]:
    bracket = words.take("(")
    added: list[SchemaChange] = []
    while True:
        name = _path(words)
        type_ = take_type(words)
        said: dict[str, Any] = {}
        while True:
            if words.take("NOT", "NULL"):
                type_ = with_nullability(type_, nullable=False)
            elif words.take("COMMENT"):
                _say(words, said, "comment", words.string())
            elif words.take("DEFAULT"):
                _say(words, said, "default", _default(words))
            elif words.take("AFTER"):
                _say(words, said, "after", words.name("the name of a column"))
            elif words.take("FIRST"):
                _say(words, said, "first", value=True)
            else:
                break
        added.append(change.AddColumn(name, type_, **said))
        if not words.take(","):
            break
    if bracket:
        words.expect(")")
    return added


def _dropped(words: Words) -> list[SchemaChange]:
    bracket = words.take("(")
    names = [_path(words)]
    while words.take(","):
        names.append(_path(words))
    if bracket:
        words.expect(")")
    return [change.DropColumn(name) for name in names]


def _column_changes(words: Words) -> list[SchemaChange]:
    name = _path(words)
    if words.take("TYPE"):
        return [change.UpdateColumnType(name, take_type(words))]
    if words.take("COMMENT"):
        return [change.UpdateColumnComment(name, words.string())]
    if words.take("SET", "NOT", "NULL"):
        return [change.UpdateColumnNullability(name, nullable=False)]
    if words.take("DROP", "NOT", "NULL"):
        return [change.UpdateColumnNullability(name, nullable=True)]
    if words.take("SET", "DEFAULT"):
        return [change.UpdateColumnDefault(name, _default(words))]
    if words.take("DROP", "DEFAULT"):
        return [change.UpdateColumnDefault(name, None)]
    if words.take("FIRST"):
        return [change.UpdateColumnPosition(name, first=True)]
    if words.take("AFTER"):
        return [change.UpdateColumnPosition(name, after=words.name("the name of a column"))]
    raise words.wrong("expected TYPE, COMMENT, SET|DROP NOT NULL, SET|DROP DEFAULT, FIRST or AFTER")
