"""Change events of every form, good ones and hostile ones, for tests of what a sync makes of them."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final

import pyarrow as pa

__all__ = [
    "FORMS",
    "HARMLESS",
    "MAX_BYTES",
    "MAX_COLUMNS",
    "SCHEMA",
    "Form",
    "good_row",
    "typed_row",
]

SCHEMA: Final = pa.schema(
    [
        pa.field("id", pa.int64(), nullable=False),
        ("name", pa.string()),
        ("amount", pa.float64()),
        ("price", pa.decimal128(10, 2)),
        ("day", pa.date32()),
        ("at", pa.timestamp("ms")),
    ]
)
"""Of the table that all good events are of."""
DEEP: Final = "[" * 50_000 + "]" * 50_000
SPARE: Final = "@@"
"""A text in an event that a way puts raw JSON in place of."""
MAX_BYTES: Final = 1 << 18
"""The largest event that is read."""
MAX_COLUMNS: Final = 60
HARMLESS: Final = {
    "only null": False,
    "schema is a number": True,
    "types of lists": True,
    "types that are none": True,
    "other keys": True,
}
"""Ways that leave no dead letter, and whether the row is there nevertheless."""
Row = dict[str, Any]
Way = Callable[["Form", int], bytes | None]


def good_row(n: int) -> Row:
    """As JSON of each form has it; ``Form.value`` writes it."""
    return {
        "id": n,
        "name": f"n{n}",
        "amount": n + 0.25,
        "price": f"{n}.50",
        "day": "2024-02-29",
        "at": "2024-02-29 01:02:03.456",
    }


def typed_row(n: int) -> Row:
    """What the table holds of it."""
    at = dt.datetime(2024, 2, 29, 1, 2, 3, 456000)
    price = Decimal(f"{n}.50")
    return {**good_row(n), "price": price, "day": dt.date(2024, 2, 29), "at": at}


@dataclass(frozen=True, slots=True)
class Form:
    """One form of events."""

    format: str
    event: Callable[[Row, Mapping[str, Any]], Any]
    """An event that inserts a row; other members of it."""
    named: Mapping[str, Callable[[str], Mapping[str, Any]]]
    """How it says of which table the row is: members for a name."""
    own: Mapping[str, Way]
    """What can be hostile in this form only."""
    whole: bool = True
    """Whether events say of which table they are."""

    def value(self, n: int, /, *, members: Mapping[str, Any] = {}, **columns: Any) -> bytes:
        """The event of row ``n``, with other columns and members."""
        row = {**good_row(n), **columns}
        return json.dumps(self.event(row, members)).encode()

    def raw(self, n: int, text: str, column: str = "name") -> bytes:
        """The event with raw JSON as a column's value."""
        return self.value(n, **{column: SPARE}).replace(f'"{SPARE}"'.encode(), text.encode())

    @property
    def ways(self) -> dict[str, Way]:
        """All ways in which an event can be hostile."""
        ways = {**GENERAL, **self.own}
        if self.named:
            ways |= {f"table {w}": _table(w) for w in TABLE_NAMES}
        return ways

    def table(self, n: int, name: str) -> bytes:
        """The event, of another table."""
        return self.value(n, members=self.named["table"](name))


def _column(name: str) -> Way:
    return lambda form, n: form.value(n, **{name: 1})


def _table(which: str) -> Way:
    return lambda form, n: form.table(n, TABLE_NAMES[which])


TABLE_NAMES: Final = {
    "with slash": "a/b",
    "above": "../x",
    "empty": "",
    "of a branch": "a$branch_b",
    "with zero": "a\0b",
    "very long": "a" * 2000,
    "dots": "..",
}

GENERAL: Final[dict[str, Way]] = {
    "no JSON": lambda form, n: b"no json",
    "cut short": lambda form, n: form.value(n)[:-9],
    "garbage behind": lambda form, n: form.value(n) + b" garbage",
    "two on a line": lambda form, n: form.value(n) + form.value(n + 1_000_000),
    "a comma too many": lambda form, n: form.value(n)[:-1] + b",}",
    "a byte order mark": lambda form, n: b"\xef\xbb\xbf" + form.value(n),
    "a control character": lambda form, n: form.raw(n, '"a\x01b"'),
    "deep": lambda form, n: DEEP.encode(),
    "deep value": lambda form, n: form.raw(n, DEEP),
    "deep objects": lambda form, n: form.raw(n, '{"a":' * 30_000 + "1" + "}" * 30_000),
    "NaN": lambda form, n: form.raw(n, "NaN", "amount"),
    "Infinity": lambda form, n: form.raw(n, "-Infinity", "amount"),
    "huge whole number": lambda form, n: form.value(n, id=10**30),
    "5,000 digits": lambda form, n: form.raw(n, "9" * 5000, "id"),
    "larger than a double": lambda form, n: form.raw(n, "1e400", "amount"),
    "absurd exponent": lambda form, n: form.raw(n, "1e999999999", "price"),
    "absurd exponent as key": lambda form, n: form.raw(n, "1e999999999", "id"),
    "decimal overflow": lambda form, n: form.value(n, price="99999999999999.99"),
    "date that is none": lambda form, n: form.value(n, day="2024-02-30"),
    "date out of range": lambda form, n: form.value(n, day="99999999-01-01"),
    "days out of range": lambda form, n: form.value(n, day=10**12),
    "time that is none": lambda form, n: form.value(n, at="25:61"),
    "time out of range": lambda form, n: form.value(n, at=10**25),
    "text as key": lambda form, n: form.value(n, id="x"),
    "fraction as key": lambda form, n: form.value(n, id=n + 0.5),
    "null as key": lambda form, n: form.value(n, id=None),
    "list as key": lambda form, n: form.value(n, id=[n]),
    "text as number": lambda form, n: form.value(n, amount="x" * 300),
    "list as number": lambda form, n: form.value(n, amount=[[[]]]),
    "object as number": lambda form, n: form.value(n, amount={"a": {"b": 1}}),
    "no UTF-8": lambda form, n: form.value(n).replace(f'"n{n}"'.encode(), b'"\xff\xfe"'),
    "half a character": lambda form, n: form.raw(n, '"\\ud800"'),
    "half a character in a name": lambda form, n: form.value(n, **{SPARE: 1}).replace(
        SPARE.encode(), b"\\udfff"
    ),
    "key twice": lambda form, n: form.value(n).replace(
        f'"id": {n},'.encode(), f'"id": {n}, "id": {n + 1_000_000},'.encode()
    ),
    "column twice": lambda form, n: form.value(n).replace(
        f'"id": {n},'.encode(), f'"id": {n}, "name": 7,'.encode()
    ),
    "giant text": lambda form, n: form.value(n, name="x" * (MAX_BYTES + 1)),
    "too many columns": lambda form, n: form.value(n, **{f"c{m}": 1 for m in range(80)}),
    "column without a name": _column(""),
    "column of the engine": _column("_SEQUENCE_NUMBER"),
    "column of a key": _column("_KEY_x"),
    "kind of a row": _column("_ROW_KIND"),
    "column with a long name": _column("c" * 2000),
    "only null": lambda form, n: b"null",
    "a number": lambda form, n: b"5",
    "a list": lambda form, n: b"[1]",
    "a text": lambda form, n: b'"x"',
    "truth": lambda form, n: b"true",
    "nothing in it": lambda form, n: b"{}",
}


def _debezium(row: Row, members: Mapping[str, Any]) -> Any:
    source = {"db": "s", "table": "a", "ts_ms": 1_700_000_000_000}
    return {"op": "c", "before": None, "after": row, "source": source, **members}


def _canal(row: Row, members: Mapping[str, Any]) -> Any:
    told = {"database": "s", "table": "a", "es": 1_700_000_000_000, "isDdl": False}
    return {"type": "INSERT", **told, "data": [row], "old": None, "pkNames": ["id"], **members}


def _maxwell(row: Row, members: Mapping[str, Any]) -> Any:
    told = {"database": "s", "table": "a", "ts": 1_700_000_000}
    return {"type": "insert", **told, "data": row, "primary_key_columns": ["id"], **members}


def _ogg(row: Row, members: Mapping[str, Any]) -> Any:
    told = {"table": "S.a", "op_ts": "2024-02-29 01:02:03.456", "primary_keys": ["id"]}
    return {"op_type": "I", **told, "after": row, **members}


def _json(row: Row, members: Mapping[str, Any]) -> Any:
    return {**row, **members}


def _member(**members: Any) -> Way:
    return lambda form, n: form.value(n, members=members)


def _struct(fields: Any) -> list[Any]:
    return [{"field": "after", "type": "struct", "fields": fields}]


def _with_schema(fields: Any) -> Way:
    def way(form: Form, n: int) -> bytes:
        event = json.loads(form.value(n))
        schema = {"type": "struct", "fields": fields}
        return json.dumps({"schema": schema, "payload": event}).encode()

    return way


_OF_DEBEZIUM: Final[dict[str, Way]] = {
    "forged op": _member(op="x"),
    "op is a list": _member(op=["c"]),
    "no op": _member(op=None, status=["x"]),
    "no row": _member(after=None),
    "row is a number": _member(after=7),
    "delete of nothing": _member(op="d", before=None, after=None),
    "update of nothing": _member(op="u", after=None),
    "time of an event": _member(source={"db": "s", "table": "a", "ts_ms": 10**30}),
    "source is a number": _member(source=7),
    "payload missing": lambda form, n: b'{"schema": {"type": "struct", "fields": []}}',
    "payload is a number": lambda form, n: b'{"schema": null, "payload": 5}',
    "schema is a number": _with_schema(5),
    "schema of numbers": _with_schema(_struct([5])),
    "schema of strange types": _with_schema(_struct([{"field": "id", "type": {"x": 1}}])),
    "schema of strange names": _with_schema(_struct([{"field": ["id"], "type": "int64"}])),
    "news of numbers": lambda form, n: json.dumps(
        {"source": {"db": "s", "table": "a"}, "ddl": "…", "tableChanges": [5]}
    ).encode(),
    "news without columns": lambda form, n: json.dumps(
        {
            "source": {"db": "s", "table": "a"},
            "ddl": "…",
            "tableChanges": [{"id": '"s"."a"', "table": {"columns": [{}]}}],
        }
    ).encode(),
}
_OF_CANAL: Final[dict[str, Way]] = {
    "forged op": _member(type="EVIL"),
    "op is a list": _member(type=["INSERT"]),
    "no rows": _member(data=None),
    "rows are a number": _member(data=7),
    "rows of numbers": _member(data=[5]),
    "old is a number": _member(type="UPDATE", old=5),
    "old of numbers": _member(type="UPDATE", old=[5]),
    "too few old rows": _member(type="UPDATE", data=[good_row(1), good_row(2)], old=[{}]),
    "time of an event": _member(es=10**30),
    "time is text": _member(es="x"),
    "types are a number": _member(mysqlType=7),
    "types of lists": _member(mysqlType={"id": ["x"]}),
    "types that are none": _member(mysqlType={"id": "decimal(9999,9999)", "name": "set('"}),
    "keys of lists": _member(pkNames=[["id"]]),
    "other keys": _member(pkNames=["nobody"]),
}
_OF_MAXWELL: Final[dict[str, Way]] = {
    "forged op": _member(type="evil"),
    "op is a list": _member(type=["insert"]),
    "no row": _member(data=None),
    "row is a number": _member(data=7),
    "old is a number": _member(type="update", old=5),
    "time of an event": _member(ts=10**30),
    "time is text": _member(ts="x"),
    "other keys": _member(primary_key_columns=["nobody"]),
}
_OF_OGG: Final[dict[str, Way]] = {
    "forged op": _member(op_type="X"),
    "op is a list": _member(op_type=["I"]),
    "no row": _member(after=None),
    "row is a number": _member(after=7),
    "before is a number": _member(op_type="U", before=7),
    "time of an event": _member(op_ts="9" * 50),
    "time is a number": _member(op_ts=10**30),
    "table is a number": _member(table=7),
}
_OF_JSON: Final[dict[str, Way]] = {
    "forged op": _member(__op="x"),
    "deleted is a list": _member(__deleted=["x"]),
    "time of an event": _member(__op="c", __source_ts_ms=10**30),
    "no id": lambda form, n: b'{"name": "nobody"}',
}
FORMS: Final = {
    form.format: form
    for form in (
        Form(
            "debezium-json",
            _debezium,
            {"table": lambda name: {"source": {"db": "s", "table": name, "ts_ms": 5}}},
            _OF_DEBEZIUM,
        ),
        Form("canal-json", _canal, {"table": lambda name: {"table": name}}, _OF_CANAL),
        Form("maxwell-json", _maxwell, {"table": lambda name: {"table": name}}, _OF_MAXWELL),
        Form("ogg-json", _ogg, {"table": lambda name: {"table": f"S.{name}"}}, _OF_OGG),
        Form("json", _json, {}, _OF_JSON, whole=False),
    )
}
