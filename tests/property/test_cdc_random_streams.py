"""Random Debezium streams, made as the connector makes them, against a model that replays them.

Two shards, keyed tables, schema changes at different times, moved keys, truncates; with and without
schemas, both ways to write decimals and bytes; partitions in any legal order, cut into any runs.
``CDC_SEEDS=200`` asks for more of them.
"""

from __future__ import annotations

import base64
import datetime as dt
import json
import random
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any
from zlib import crc32

import pytest

import table_core as tc
from tests.golden.streams import interleaved
from tests.lanes import budget

SEEDS = budget("CDC_SEEDS", ci=2, nightly=100)
EPOCH = dt.datetime(1970, 1, 1)
SHARDS = ("shop_1", "shop_2")
PARTITIONS = 3
DDL = ["add", "add", "widen", "drop", "rename"]


@dataclass
class Column:
    name: str
    kind: str
    digits: int = 0
    """Scale of a decimal, precision of a time."""

    @property
    def type(self) -> str:
        return {
            "int": "INT", "bigint": "BIGINT", "text": "STRING", "double": "DOUBLE",
            "boolean": "BOOLEAN", "bytes": "BYTES", "date": "DATE",
            "decimal": f"DECIMAL(20, {self.digits})", "datetime": f"TIMESTAMP({self.digits})",
            "zoned": "TIMESTAMP(6) WITH LOCAL TIME ZONE",
        }[self.kind]  # fmt: skip

    def value(self, chance: random.Random) -> Any:
        if chance.random() < 0.15:
            return None
        match self.kind:
            case "int":
                return chance.randint(-(2**31), 2**31 - 1)
            case "bigint":
                return chance.randint(-(2**63), 2**63 - 1)
            case "decimal":
                return Decimal(chance.randint(-(10**9), 10**9)).scaleb(-self.digits)
            case "text":
                return chance.choice(
                    ["", "plain", 'q"uo\\te', "日本 ünï", "12", "2024-01-01", "null"]
                )
            case "double":
                return chance.choice([0.1, -1e300, 5.0, float(chance.randint(-9, 9))])
            case "boolean":
                return chance.random() < 0.5
            case "bytes":
                return chance.randbytes(chance.randint(5, 20))
            case "date":
                return dt.date(1970, 1, 1) + dt.timedelta(days=chance.randint(-9000, 30000))
        step = 10 ** (6 - self.digits) if self.kind == "datetime" else 1
        micros = chance.randint(-(10**14), 10**15) // step * step
        return EPOCH + dt.timedelta(microseconds=micros)

    def sent(self, value: Any, precise: bool, hexed: bool) -> Any:
        """As the connector puts it into JSON."""
        if value is None:
            return None
        match self.kind:
            case "decimal" if precise:
                whole = int(value.scaleb(self.digits))
                size = (whole.bit_length() + 8) // 8
                return base64.b64encode(whole.to_bytes(size, "big", signed=True)).decode()
            case "decimal":
                return f"{value:f}"
            case "bytes":
                return value.hex() if hexed else base64.b64encode(value).decode()
            case "date":
                return (value - dt.date(1970, 1, 1)).days
            case "datetime":
                micros = (value - EPOCH) // dt.timedelta(microseconds=1)
                return micros // 1000 if self.digits <= 3 else micros
            case "zoned":
                return value.isoformat() + "Z"
        return value

    def schema(self, precise: bool) -> dict[str, Any]:
        plain = {"int": "int32", "bigint": "int64", "text": "string", "zoned": "string",
                 "date": "int32", "datetime": "int64"}  # fmt: skip
        node: dict[str, Any] = {
            "type": plain.get(self.kind, self.kind), "optional": self.name != "id", "field": self.name,
        }  # fmt: skip
        if self.kind == "decimal":
            node["type"] = "bytes" if precise else "string"
            if precise:
                node["name"] = "org.apache.kafka.connect.data.Decimal"
                told = {"scale": str(self.digits), "connect.decimal.precision": "20"}
                node["parameters"] = told
        names = {
            "date": "Date", "zoned": "ZonedTimestamp",
            "datetime": "Timestamp" if self.digits <= 3 else "MicroTimestamp",
        }  # fmt: skip
        if self.kind in names:
            node["name"] = f"io.debezium.time.{names[self.kind]}"
        return node


@dataclass
class Stream:
    """A source that changes, and what it tells."""

    chance: random.Random
    schemas: bool
    precise: bool
    hexed: bool
    columns: dict[tuple[str, str], list[Column]] = field(default_factory=dict)
    rows: dict[tuple[str, str], dict[int, dict[str, Any]]] = field(default_factory=dict)
    ever: dict[tuple[str, str], list[Column]] = field(default_factory=dict)
    """Every column that a table had, with its widest type."""
    out: list[bytes] = field(default_factory=list)
    offsets: dict[tuple[str, int], int] = field(default_factory=dict)
    at: int = 0
    ids: int = 0

    def begin(self) -> None:
        kinds = [
            "int",
            "decimal",
            "text",
            "double",
            "boolean",
            "bytes",
            "date",
            "datetime",
            "zoned",
        ]
        for name in ("orders", "people"):
            made = [Column(f"c{n}", kind, self.digits(kind)) for n, kind in enumerate(kinds)]
            kept = self.chance.sample(made, 5)
            for shard in SHARDS:
                order = [Column("id", "bigint"), *self.chance.sample(kept, len(kept))]
                self.columns[shard, name] = [Column(c.name, c.kind, c.digits) for c in order]
                self.ever[shard, name] = list(self.columns[shard, name])
                self.rows[shard, name] = {}

    def digits(self, kind: str) -> int:
        return {"decimal": 2, "datetime": self.chance.choice([0, 3, 6])}.get(kind, 0)

    def emit(
        self, table: tuple[str, str], op: str, key: int | None, row: Any, old: Any = None
    ) -> None:
        topic = ".".join(("t", *table))
        self.at += 1
        send = {c.name: c for c in self.columns[table]}
        before, after = (
            None if part is None else
            {n: send[n].sent(v, self.precise, self.hexed) for n, v in part.items() if n in send}
            for part in (old, row)
        )  # fmt: skip
        source = {"connector": "mariadb", "db": table[0], "table": table[1], "file": "log.000001",
                  "pos": self.at * 10, "row": 0, "ts_ms": 1_700_000_000_000 + self.at}  # fmt: skip
        value = {"before": before, "after": after, "source": source, "op": op, "ts_ms": 1}
        self.put(topic, key, value, table)
        if op == "d":
            self.put(topic, key, None, table)

    def put(self, topic: str, key: int | None, value: Any, table: tuple[str, str]) -> None:
        partition = 0 if key is None else crc32(str(key).encode()) % PARTITIONS
        offset = self.offsets[topic, partition] = self.offsets.get((topic, partition), -1) + 1
        if self.schemas and value is not None:
            fields = [c.schema(self.precise) for c in self.columns[table]]
            images = [{"type": "struct", "fields": fields, "optional": True, "field": side}
                      for side in ("before", "after")]  # fmt: skip
            value = {"schema": {"type": "struct", "fields": images}, "payload": value}
        told = {"topic": topic, "partition": partition, "offset": offset}
        record = {**told, "key": None if key is None else {"id": key}, "value": value}
        self.out.append(json.dumps(record).encode() + b"\n")

    def step(self) -> None:
        table = self.chance.choice(list(self.columns))
        rows, kind = self.rows[table], self.chance.random()
        if kind < 0.4 or not rows:
            self.ids += 1
            id = self.ids * 10 + SHARDS.index(table[0])
            rows[id] = self.new_row(table, id)
            self.emit(table, "c", id, rows[id])
        elif kind < 0.7:
            id = self.chance.choice(list(rows))
            old, rows[id] = rows[id], self.new_row(table, id)
            self.emit(table, "u", id, rows[id], old)
        elif kind < 0.8:
            id = self.chance.choice(list(rows))
            self.emit(table, "d", id, None, rows.pop(id))
        elif kind < 0.9:
            id = self.chance.choice(list(rows))
            self.emit(table, "d", id, None, old := rows.pop(id))
            self.ids += 1
            moved = self.ids * 10 + SHARDS.index(table[0])
            rows[moved] = {**{n: v for n, v in old.items() if n in self.names(table)}, "id": moved}
            self.emit(table, "c", moved, rows[moved])
        elif kind < 0.97:
            self.alter(table)

    def names(self, table: tuple[str, str]) -> set[str]:
        return {c.name for c in self.columns[table]}

    def new_row(self, table: tuple[str, str], id: int) -> dict[str, Any]:
        made = {c.name: c.value(self.chance) for c in self.columns[table] if c.name != "id"}
        return {"id": id, **made}

    def alter(self, table: tuple[str, str]) -> None:
        """The other shard follows at another time, or never: new columns have the same names."""
        columns = self.columns[table]
        others = [c for c in columns if c.name != "id"]
        what = self.chance.choice(DDL if self.schemas else [d for d in DDL if d != "widen"])
        if what == "widen":
            for one in others:
                if one.kind in {"int", "decimal", "datetime"} and one.digits < 6:
                    wider = {
                        "int": Column(one.name, "bigint"),
                        "decimal": Column(one.name, "decimal", 4),
                        "datetime": Column(one.name, "datetime", 6),
                    }[one.kind]
                    columns[columns.index(one)] = wider
                    self.remember(table, wider)
                    return
        if what in {"drop", "rename"} and len(others) > 2:
            gone = self.chance.choice(others)
            columns.remove(gone)
            if what == "rename":
                columns.append(Column(f"{gone.name}_{self.at}", gone.kind, gone.digits))
        elif what == "add":
            kind = self.chance.choice(["text", "decimal", "boolean", "double"])
            place = self.chance.randint(1, len(columns))
            columns.insert(place, Column(f"n{self.at}_{kind}", kind, self.digits(kind)))
        for one in columns:
            self.remember(table, one)

    def remember(self, table: tuple[str, str], column: Column) -> None:
        kept = [c for c in self.ever[table] if c.name != column.name]
        self.ever[table] = [*kept, column]

    def truncate(self) -> None:
        table = self.chance.choice(list(self.columns))
        self.rows[table].clear()
        self.emit(table, "t", None, None)


def declared(catalog: tc.Catalog, stream: Stream) -> None:
    """Tables for events that tell no types, with all columns that will ever come."""
    catalog.create_database("lake", if_not_exists=True)
    for name in ("orders", "people"):
        types: dict[str, Column] = {}
        for shard in SHARDS:
            for c in stream.ever[shard, name]:
                there = types.get(c.name)
                if there is None or (c.kind == "bigint") or c.digits > there.digits:
                    types[c.name] = c
        if name not in catalog.tables("lake"):
            from table_core.datatypes.kinds import Field
            from table_core.datatypes.text import parse_type

            fields = [Field(n, c.name, parse_type(c.type)) for n, c in enumerate(types.values())]
            catalog.create_table(
                f"lake.{name}", fields, primary_key=("id",), options={"bucket": "2"}
            )


def spelled(row: dict[str, Any], numbers: set[str] = frozenset()) -> dict[str, Any]:  # type: ignore[assignment]  # never changed
    """Without nulls: a column that a table got later is null, or not there.

    ``numbers`` may be text, which is what a connector declares that writes them so.
    """
    found = {}
    for name, value in row.items():
        if isinstance(value, dt.datetime):
            value = value.replace(tzinfo=None)
        if name in numbers and isinstance(value, str):
            value = Decimal(value)
        if isinstance(value, Decimal):
            value = value.normalize()
        if value is not None:
            found[name] = value
    return found


@pytest.mark.parametrize("seed", range(SEEDS))
def test_a_random_stream_leads_to_the_state_of_its_source(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    schemas = seed % 2 == 0
    # without schemas a change of scale or unit cannot be told, so nothing widens there
    stream = Stream(chance, schemas, precise=chance.random() < 0.5, hexed=not schemas)
    if not schemas:
        stream.hexed = chance.random() < 0.5
    stream.begin()
    events = tmp_path / "events"
    events.mkdir()
    runs = []
    for _ in range(chance.randint(2, 5)):
        for _ in range(chance.randint(5, 60)):
            stream.step()
        if chance.random() < 0.3:
            stream.truncate()
        runs.append((stream.out, {t: dict(rows) for t, rows in stream.rows.items()}))
        stream.out = []
    catalog = tc.open_catalog(f"file://{tmp_path}/wh")
    more: dict[str, Any] = {}
    if not schemas:
        declared(catalog, stream)
        more = {
            "decimals": "base64" if stream.precise else "text",
            "binary": "hex" if stream.hexed else "base64",
            "timestamps": "adaptive",  # runs with moments of early 1970 only look like milliseconds
        }
    source = tc.FilesSource(f"file://{events}/*.jsonl", **more)
    given: Any = {"metadata_columns": ("database_name", "table_name"), "options": {"bucket": "2"}}
    for n, (out, state) in enumerate(runs):
        body = interleaved(tuple(out), chance.randint(0, 10**6)) if chance.random() < 0.8 else out
        (events / f"{n:02}.jsonl").write_bytes(b"".join(body))
        if chance.random() < 0.3 and n + 1 < len(runs):
            continue  # the next run takes both
        if chance.random() < 0.3:
            tc.sync_database(catalog, "lake", source, **given, max_rows=1)
        tc.sync_database(catalog, "lake", source, **given)
        for name in ("orders", "people"):
            expected = {
                id: {"database_name": shard, "table_name": name, **spelled(row)}
                for shard in SHARDS
                for id, row in state[shard, name].items()
            }
            if not expected and name not in catalog.tables("lake"):
                continue
            rows = catalog.table(f"lake.{name}").read().to_arrow().to_pylist()
            numbers = {c.name for t in stream.ever.values() for c in t if c.kind == "decimal"}
            found = {row["id"]: spelled(row, numbers) for row in rows}
            assert found.keys() == expected.keys(), (seed, n, name)
            for id, row in expected.items():
                assert sorted(found[id].items()) == sorted(row.items()), (seed, n, name, id)
    assert tc.sync_database(catalog, "lake", source, **given).rows_written == 0
