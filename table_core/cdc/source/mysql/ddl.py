"""What an ALTER TABLE of MySQL or MariaDB does to rows that are there, of which the log tells none.

A new column with a constant default gives it to all rows.  What has a value that only the server can
compute, or changes values that are there, is a *rewrite*: the table has to be read again.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from table_core.cdc.source.mysql.sql_tokens import Kind, Token

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


__all__ = ["Altered", "Name", "altered", "name_at", "parts"]

Name = tuple[str, str]
"""Database ('' for the default one) and table."""

_NO_COLUMN: Final = frozenset(
    {
        *("INDEX", "KEY", "UNIQUE", "PRIMARY", "CONSTRAINT", "FOREIGN", "FULLTEXT", "SPATIAL"),
        *("PARTITION", "CHECK", "PERIOD", "SYSTEM"),
    }
)
_INTEGERS: Final = frozenset(
    {"TINYINT", "SMALLINT", "MEDIUMINT", "INT", "INTEGER", "BIGINT", "INT1", "INT2", "INT4", "INT8"}
)
_DECIMALS: Final = frozenset({"DECIMAL", "NUMERIC", "DEC", "FIXED"})
_FLOATS: Final = frozenset({"FLOAT", "DOUBLE", "REAL"})
_BOOLEANS: Final = frozenset({"BOOL", "BOOLEAN"})
_TEXTS: Final = frozenset({"VARCHAR", "TINYTEXT", "TEXT", "MEDIUMTEXT", "LONGTEXT"})
_WORDS: Final = {"TRUE": "1", "FALSE": "0"}
_COMPUTED: Final = frozenset({"AS", "GENERATED", "AUTO_INCREMENT", "REFERENCES", "SERIAL"})
_WHOLE: Final = re.compile(r"-?\d+")
_DECIMAL: Final = re.compile(r"-?\d+(?:\.(\d+))?")
_KEEPS: Final = frozenset(
    {
        *("ALTER", "ORDER", "ENABLE", "DISABLE", "FORCE", "ALGORITHM", "LOCK", "COMMENT"),
        *("AUTO_INCREMENT", "DEFAULT", "CHARACTER", "CHARSET", "COLLATE", "ROW_FORMAT", "WAIT"),
        *("KEY_BLOCK_SIZE", "STATS_PERSISTENT", "STATS_AUTO_RECALC", "STATS_SAMPLE_PAGES"),
        *("PAGE_COMPRESSED", "PAGE_COMPRESSION_LEVEL", "PAGE_CHECKSUM", "ANALYZE", "CHECK"),
        *("OPTIMIZE", "REBUILD", "REORGANIZE", "COALESCE", "PARTITION", "REMOVE", "ENCRYPTED"),
        *("ENCRYPTION_KEY_ID", "MAX_ROWS", "MIN_ROWS", "AVG_ROW_LENGTH", "CHECKSUM", "NOWAIT"),
        *("DELAY_KEY_WRITE", "PACK_KEYS", "TRANSACTIONAL", "WITHOUT", "COMPRESSION"),
    }
)
"""Actions and options that leave the values of rows as they are."""
_ENGINES: Final = frozenset({"INNODB", "ARIA", "MYISAM", "ROCKSDB", "NDB", "TOKUDB"})
"""Engines that keep the rows they are given."""


@dataclass(slots=True)
class Altered:
    """What becomes of one table, and of others that take part."""

    table: Name
    why: str = ""
    """Why the table has to be read again; '' if its rows are known."""
    columns_why: str = ""
    """The same, where values of columns changed and rows did neither come nor go."""
    modified: list[tuple[str, Sequence[Token]]] = field(default_factory=list)
    """Columns of another definition, with its words: whether values changed depends on the old one."""
    defaults: dict[str, str | None] = field(default_factory=dict)
    """Columns that are new and what rows have that are there; None for NULL."""
    dropped: list[str] = field(default_factory=list)
    """Columns that are gone."""
    renamed: Name | None = None
    """What the table is called now."""
    others: list[tuple[Name, str]] = field(default_factory=list)
    """Further tables that have to be read again, and why."""
    gone: list[Name] = field(default_factory=list)
    """Further tables that are there no more."""

    def rewritten(self, why: str) -> None:
        """The table has to be read again."""
        self.why = self.why or why

    def changed(self, why: str) -> None:
        """The table has to be read again, because of its columns."""
        self.columns_why = self.columns_why or why


def name_at(tokens: Sequence[Token], at: int) -> tuple[Name | None, int]:
    """The table that is named at a place, and where it goes on."""
    if at >= len(tokens) or tokens[at].kind not in {Kind.WORD, Kind.NAME, Kind.NUMBER}:
        return None, at
    first = tokens[at].text
    if first.endswith("."):  # 1.t: the lexer takes the point for one of a number
        return None, at
    if at + 2 < len(tokens) and tokens[at + 1].text == "." and tokens[at + 1].kind is Kind.SIGN:
        return (first, tokens[at + 2].text), at + 3
    return ("", first), at + 1


def parts(tokens: Sequence[Token]) -> Iterator[list[Token]]:
    """What stands between commas outside of parentheses."""
    depth, part = 0, list[Token]()
    for token in tokens:
        sign = token.text if token.kind is Kind.SIGN else ""
        depth += {"(": 1, ")": -1}.get(sign, 0)
        if depth == 0 and sign == ",":
            yield part
            part = []
        else:
            part.append(token)
    yield part


def altered(tokens: Sequence[Token]) -> Altered | None:
    """What the tokens of an ALTER TABLE do; None if they are none or name no table."""
    words = [token.word for token in tokens[:4]]
    if words[:1] != ["ALTER"] or "TABLE" not in words:
        return None
    at = words.index("TABLE") + 1
    at += 2 if [t.word for t in tokens[at : at + 2]] == ["IF", "EXISTS"] else 0
    table, at = name_at(tokens, at)
    if table is None:
        return None
    altered_table = Altered(table)
    if "IGNORE" in words:
        altered_table.rewritten("ALTER IGNORE TABLE may have left rows out")
    if tokens[at : at + 1] and tokens[at].word == "WAIT":
        at += 2
    for action in parts(tokens[at:]):
        _act(altered_table, action)
    return altered_table


def _act(altered_table: Altered, action: Sequence[Token]) -> None:
    words = [token.word for token in action]
    first, second = (*words, "", "")[:2]
    if not words or first in _KEEPS:
        return
    if first == "ADD" and second not in _NO_COLUMN:
        for column in _added(action):
            _add(altered_table, column)
    elif (take := _ACTIONS.get(first)) is not None:
        take(altered_table, action)
    else:
        altered_table.rewritten(f"ALTER TABLE … {first or action[0].text} is not known")


def _rename(altered_table: Altered, action: Sequence[Token]) -> None:
    second = (*(token.word for token in action), "", "")[1]
    if second == "COLUMN":
        altered_table.changed("a column was renamed")
    elif second not in {"INDEX", "KEY"}:
        altered_table.renamed, _ = name_at(action, 2 if second in {"TO", "AS"} else 1)


def _change_rows(altered_table: Altered, action: Sequence[Token]) -> None:
    altered_table.rewritten(f"{' '.join(token.text for token in action[:2])} changed its rows")


def _engine(altered_table: Altered, action: Sequence[Token]) -> None:
    at = 2 if [token.text for token in action[1:2]] == ["="] else 1
    if [token.text.upper() for token in action[at : at + 1]] == [] or (
        action[at].text.upper() not in _ENGINES
    ):
        altered_table.rewritten("its engine was changed")


def _add_constraint(altered_table: Altered, action: Sequence[Token]) -> None:
    words = [token.word for token in action]
    if "REFERENCES" in words and ("CASCADE" in words or "SET" in words):
        altered_table.rewritten("a foreign key that changes its rows was added")
    elif words[1] in {"PERIOD", "SYSTEM"}:
        altered_table.rewritten("it keeps its history now")


def _drop(altered_table: Altered, action: Sequence[Token]) -> None:
    words = [token.word for token in action]
    if words[1:2] == ["PARTITION"]:
        altered_table.rewritten("DROP PARTITION changed its rows")
    elif words[1:2] in (["FOREIGN"], ["CONSTRAINT"]):
        altered_table.rewritten("a foreign key was dropped that may have changed its rows")
    elif words[1:2] not in (["INDEX"], ["KEY"], ["PRIMARY"], ["CHECK"], ["SYSTEM"]):
        at = 2 if words[1:2] == ["COLUMN"] else 1
        at += 2 if words[at : at + 2] == ["IF", "EXISTS"] else 0
        altered_table.dropped += [token.text for token in action[at : at + 1]]


def _modify(altered_table: Altered, action: Sequence[Token]) -> None:
    words = [token.word for token in action]
    at = 2 if words[1:2] == ["COLUMN"] else 1
    at += 2 if words[at : at + 2] == ["IF", "EXISTS"] else 0
    behind = at + (2 if words[0] == "CHANGE" else 1)
    if len(action) <= behind or action[at].text != action[behind - 1].text:
        altered_table.changed("a column was renamed")
    else:
        altered_table.modified.append((action[at].text, action[behind:]))


def _convert(altered_table: Altered, action: Sequence[Token]) -> None:
    """CONVERT TO CHARACTER SET …, CONVERT or EXCHANGE of partitions and tables."""
    words = [token.word for token in action]
    if words[:2] == ["CONVERT", "TO"]:
        altered_table.changed("CONVERT TO CHARACTER SET changed its texts")
        return
    altered_table.rewritten(
        f"{words[0]} {words[1]} changed its rows" if len(words) > 1 else words[0]
    )
    if "TABLE" not in words:
        return
    other, _ = name_at(action, words.index("TABLE") + 1)
    if other is None:
        return
    if words[0] == "CONVERT" and words[1] == "TABLE":
        altered_table.gone.append(other)
    else:
        altered_table.others.append((other, f"{words[0]} PARTITION gave it rows"))


def _added(action: Sequence[Token]) -> Iterator[list[Token]]:
    """The definitions of columns that an action of ALTER TABLE adds."""
    rest = list(action[1:])
    rest = rest[1:] if rest and rest[0].word == "COLUMN" else rest
    rest = rest[3:] if [token.word for token in rest[:3]] == ["IF", "NOT", "EXISTS"] else rest
    inside = bool(rest) and rest[0].kind is Kind.SIGN and rest[0].text == "("
    for column in parts(rest[1:-1]) if inside else [rest]:
        if len(column) > 1 and column[0].word not in _NO_COLUMN:
            yield column


def _add(altered_table: Altered, column: Sequence[Token]) -> None:
    name, words = column[0].text, [token.word for token in column[1:]]
    if words[0] == "SERIAL" or not _COMPUTED.isdisjoint(words[1:]):
        altered_table.changed(f"the server computed the values of the new column {name}")
        return
    constant, is_known = None, True
    if "DEFAULT" in words:
        constant, is_known = _constant(words[0], column[1:], words.index("DEFAULT") + 1)
    elif ("NOT", "NULL") in pairwise(words):
        constant = (
            "0" if words[0] in _INTEGERS | _DECIMALS | _FLOATS | _BOOLEANS
            else "" if words[0] in _TEXTS | {"CHAR"}
            else None
        )  # fmt: skip
        is_known = constant is not None
    elif words[0] == "TIMESTAMP":
        is_known = "NULL" in words
    if is_known:
        altered_table.defaults[name] = constant
    else:
        altered_table.changed(f"the server computed the values of the new column {name}")


def _constant(type_: str, column: Sequence[Token], at: int) -> tuple[str | None, bool]:
    """A default that takes its column's type without change, and whether it is one."""
    sign = "-" if column[at : at + 1] and column[at].text in "+-" else ""
    sign, at = (column[at].text.strip("+"), at + 1) if sign else ("", at)
    if at >= len(column):
        return None, False
    token, behind = column[at], column[at + 1 : at + 2]
    if behind and behind[0].kind in {Kind.SIGN, Kind.TEXT}:
        return None, False  # an expression, or a text in parts
    if token.word == "NULL":
        return None, True
    text = sign + _WORDS.get(token.word, token.text)
    if token.kind is Kind.WORD and token.word not in _WORDS:
        return None, False
    return text, _takes(type_, text, token.kind, column)


def _takes(type_: str, text: str, kind: Kind, column: Sequence[Token]) -> bool:
    if type_ in _INTEGERS | _BOOLEANS:
        return _WHOLE.fullmatch(text) is not None
    if type_ in _DECIMALS:
        digits = _DECIMAL.fullmatch(text)
        numbers = [t.text for t in column[1:6] if t.kind is Kind.NUMBER]
        scale = int(numbers[1]) if len(numbers) > 1 and column[3].text == "," else 0
        return digits is not None and len(digits[1] or "") <= scale
    if type_ == "CHAR":
        return kind is Kind.TEXT and not text.endswith(" ")
    return type_ in _TEXTS and kind is Kind.TEXT


_ACTIONS: Final = {
    "ADD": _add_constraint,
    "DROP": _drop,
    "CHANGE": _modify,
    "MODIFY": _modify,
    "RENAME": _rename,
    "CONVERT": _convert,
    "EXCHANGE": _convert,
    "TRUNCATE": _change_rows,
    "DISCARD": _change_rows,
    "IMPORT": _change_rows,
    "ENGINE": _engine,
    "TYPE": _engine,
}
