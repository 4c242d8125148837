"""Recorded change streams, legal interleavings of them, and the rows that the servers had."""

from __future__ import annotations

import base64
import datetime as dt
import gzip
import json
import random
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "streams"
CONNECTORS = ("mariadb", "postgres")
FLAVOURS = ("default", "text-numbers")
FORMS = ("plain", "schema")


@cache
def lines(connector: str, flavour: str, form: str) -> tuple[bytes, ...]:
    body = (FOLDER / connector / f"{flavour}.{form}.jsonl.gz").read_bytes()
    return tuple(gzip.decompress(body).splitlines(keepends=True))


@cache
def phases(connector: str) -> list[dict[str, Any]]:
    return json.loads(gzip.decompress((FOLDER / connector / "phases.json.gz").read_bytes()))


@cache
def state(connector: str, phase: int) -> dict[str, list[dict[str, Any]]]:
    """Rows of every table at the end of a phase."""
    name = phases(connector)[phase]["name"]
    body = (FOLDER / connector / f"state-{phase:02}-{name}.jsonl.gz").read_bytes()
    found: dict[str, list[dict[str, Any]]] = {t: [] for t in phases(connector)[phase]["rows"]}
    for line in gzip.decompress(body).splitlines():
        row = json.loads(line)
        found[row["table"]].append(row["row"])
    return found


@cache
def columns(connector: str, phase: int) -> dict[str, dict[str, Any]]:
    """Columns and key of every table at the end of a phase."""
    found: dict[str, dict[str, Any]] = {}
    for one in phases(connector)[: phase + 1]:
        found |= one.get("schema", {})
    return found


def interleaved(part: tuple[bytes, ...], seed: int) -> list[bytes]:
    """The same records in another order that a consumer of the partitions may see."""
    chance = random.Random(seed)
    queues: dict[tuple[str, int], list[bytes]] = {}
    for line in part:
        record = json.loads(line)
        queues.setdefault((record["topic"], record["partition"]), []).append(line)
    left, found = [queue[::-1] for queue in queues.values()], []
    while left:
        queue = chance.choice(left)
        found.append(queue.pop())
        if not queue:
            left.remove(queue)
    return found


def ours(value: Any, type_: str) -> Any:
    """A value of our table in one spelling, by the type of the source's column."""
    if ("blob" in type_ or "binary" in type_) and isinstance(
        value, str
    ):  # hexadecimal text of a column declared as text
        return base64.b64encode(bytes.fromhex(value)).decode()
    match value:
        case None:
            return None
        case bool():
            return base64.b64encode(bytes([value])).decode() if "bit" in type_ else int(value)
        case bytes():
            return base64.b64encode(value).decode()
        case Decimal() if "int" in type_:
            return int(value)
        case Decimal():
            return value.normalize() + 0
        case float() if value != value:
            return "NaN"
        case float() if "decimal" in type_ or "numeric" in type_:
            return Decimal(repr(value)).normalize()
        case dt.datetime():
            return value.replace(tzinfo=None)
        case list():
            return value
        case dt.date():
            return value.isoformat()
        case float() | int() if type_ == "interval":
            return "some"
        case _:
            return theirs(value, type_)


def theirs(value: Any, type_: str) -> Any:
    """A value of a state file in the same spelling."""
    if value is None or isinstance(value, list):
        return value
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, float) and value != value:
        return "NaN"
    if type_.startswith(("decimal", "numeric")):
        return Decimal(str(value)).normalize() + 0
    if type_.startswith("character(") and isinstance(value, str):
        return value.rstrip()
    if type_ == "time with time zone":
        moment = dt.time.fromisoformat(value)
        return dt.datetime.combine(dt.date(2000, 1, 2), moment).astimezone(dt.UTC).time()
    if type_ == "interval":
        return "some"  # Debezium counts a month as 30.4375 days: not the server's text
    if type_.startswith(("datetime", "timestamp")) and isinstance(value, str):
        return dt.datetime.fromisoformat(value).replace(tzinfo=None)
    if type_.startswith("time") and isinstance(value, str):
        return value.rstrip("0").rstrip(".") if "." in value else value
    if type_ == "inet" and isinstance(value, str):
        return value.removesuffix("/128")
    if type_.startswith("json") and isinstance(value, str):
        return value
    return value


def spelled(rows: list[dict[str, Any]], types: dict[str, str], spell: Any) -> list[dict[str, Any]]:
    return [{n: spell(row.get(n), t) for n, t in types.items()} for row in rows]


def differences(
    found: list[dict[str, Any]],
    expected: list[dict[str, Any]],
    types: dict[str, str],
    *,
    maybe_null: frozenset[str] = frozenset(),
    digits: int = 6,
) -> list[Any]:
    """Pairs of rows that differ.

    ``maybe_null``: columns that may be null in ours: no event told the value.  ``digits`` behind
    the second, for streams that carry fewer than the state.
    """

    def cut(value: Any) -> Any:
        if isinstance(value, dt.datetime):
            return value.replace(
                microsecond=value.microsecond // 10 ** (6 - digits) * 10 ** (6 - digits)
            )
        return value

    left = [{n: cut(v) for n, v in row.items()} for row in spelled(found, types, ours)]
    right = [{n: cut(v) for n, v in row.items()} for row in spelled(expected, types, theirs)]
    fixed = [n for n in types if n not in maybe_null]
    order = lambda row: [repr(row[n]) for n in fixed]  # noqa: E731
    left, right = sorted(left, key=order), sorted(right, key=order)
    if len(left) != len(right):
        return [(len(left), len(right))]
    return [
        {n: (a[n], b[n]) for n in types if a[n] != b[n]}
        for a, b in zip(left, right, strict=True)
        if any(a[n] != b[n] and not (n in maybe_null and a[n] is None) for n in types)
    ]
