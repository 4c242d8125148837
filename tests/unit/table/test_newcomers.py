"""A hundred calls that a newcomer gets wrong: what each does, or says to write instead, as a table.

The table is ``newcomers.txt``.  ``NEWCOMERS=write`` writes it anew: read what has changed.
"""

from __future__ import annotations

import datetime as dt
import os
import re
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

import table_core as tc
from table_core.errors import TableError
from tests.tables import write_rows

TABLE = Path(__file__).with_name("newcomers.txt")
ROWS = pa.table({"id": pa.array([1, 2], pa.int64()), "v": ["a", "b"]})
PYTHON_SAYS = re.compile(r"missing 1 required positional argument|unexpected keyword argument")


def lake() -> Any:
    catalog = tc.open_catalog(f"memory://{uuid.uuid4().hex}")
    catalog.create_database("d")
    table = catalog.create_table("d.t", ROWS, primary_key="id", options={"bucket": "1"})
    write_rows(table, ROWS)
    return catalog


def table() -> Any:
    return lake().table("d.t")


def written(rows: Any) -> int:
    """The rows of the table afterwards."""
    t = table()
    write_rows(t, rows)
    return int(t.count())


def twice(last: Callable[[Any], Any]) -> None:
    writer = table().write()
    writer.write(ROWS)
    writer.commit()
    last(writer)


def two_tags() -> None:
    tags = table().tags
    tags.create("a")
    tags.create("a")


CALLS: dict[str, dict[str, Callable[[], Any]]] = {
    "open_catalog": {
        "None": lambda: tc.open_catalog(None),
        "number": lambda: tc.open_catalog(5),
        "empty": lambda: tc.open_catalog(""),
        "bytes": lambda: tc.open_catalog(b"/x"),
        "list": lambda: tc.open_catalog(["/x"]),
        "scheme": lambda: tc.open_catalog("flie:///x"),
        "options as text": lambda: tc.open_catalog("memory://x", "a=b"),
        "options number": lambda: tc.open_catalog("memory://x", 5),
        "user in uri": lambda: tc.open_catalog("s3://k:s@b/x"),
        "hive": lambda: tc.open_catalog("memory://x", {"metastore": "hive"}),
        "glue": lambda: tc.open_catalog("memory://x", {"metastore": "glue"}),
        "keyword": lambda: tc.open_catalog(uri="memory://x"),
    },
    "table": {
        "no database": lambda: lake().table("t"),
        "missing": lambda: lake().table("d.x"),
        "case": lambda: lake().table("d.T"),
        "None": lambda: lake().table(None),
        "tuple": lambda: lake().table(("d", "t")),
        "three parts": lambda: lake().table("a.d.t"),
        "branch": lambda: lake().table("d.t", branch="x"),
        "branch number": lambda: lake().table("d.t", branch=5),
        "options text": lambda: lake().table("d.t", options="a=b"),
        "option number": lambda: lake().table("d.t", options={"scan.snapshot-id": 1}).count(),
        "system": lambda: lake().table("d.t$nope"),
        "number": lambda: lake().table(5),
        "option slip": lambda: lake().table("d.t", options={"scan.snapshotid": "1"}),
    },
    "create_table": {
        "dict": lambda: lake().create_table("d.x", {"a": "INT"}),
        "key not there": lambda: lake().create_table("d.x", ROWS, primary_key="nope"),
        "key list of list": lambda: lake().create_table("d.x", ROWS, primary_key=[["id"]]),
        "key number": lambda: lake().create_table("d.x", ROWS, primary_key=5),
        "bucket number": lambda: lake().create_table(
            "d.x", ROWS, primary_key="id", options={"bucket": 4}
        ),
        "options list": lambda: lake().create_table("d.x", ROWS, options=["bucket=1"]),
        "option slip": lambda: lake().create_table("d.x", ROWS, options={"buckets": "1"}),
        "exists": lambda: lake().create_table("d.t", ROWS),
        "no db": lambda: lake().create_table("z.t", ROWS),
        "schema None": lambda: lake().create_table("d.x", None),
        "bool option": lambda: lake().create_table("d.x", ROWS, options={"write-only": True}),
        "comment number": lambda: lake().create_table("d.x", ROWS, comment=5),
        "name number": lambda: lake().create_table(5, ROWS),
        "columns list": lambda: lake().create_table("d.x", ["a INT"]),
        "name sql": lambda: lake().create_table("d.x y", ROWS),
        "option None": lambda: lake().create_table("d.x", ROWS, options={"bucket": None}),
    },
    "read": {
        "column slip": lambda: table().read(columns=["idd"]).to_arrow(),
        "where slip": lambda: table().read(where="idd = 1").to_arrow(),
        "where ==": lambda: table().read(where="id == 1").to_arrow(),
        "where text id": lambda: table().read(where="id = 'x'").to_arrow(),
        "where dict": lambda: table().read(where={"id": 1}).to_arrow(),
        "where number": lambda: table().read(where=5).to_arrow(),
        "limit text": lambda: table().read(limit="5").to_arrow(),
        "limit -1": lambda: table().read(limit=-1).to_arrow(),
        "snapshot text": lambda: table().read(snapshot="1").to_arrow(),
        "snapshot 99": lambda: table().read(snapshot=99).to_arrow(),
        "tag None there": lambda: table().read(tag="nope").to_arrow(),
        "two states": lambda: table().read(snapshot=1, tag="x").to_arrow(),
        "timestamp naive": lambda: table().read(timestamp=dt.datetime(2026, 1, 1)).to_arrow(),
        "date": lambda: table().read(timestamp=dt.date(2026, 1, 1)).to_arrow(),
        "columns empty": lambda: table().read(columns=[]).to_arrow(),
        "where empty": lambda: table().read(where="").to_arrow(),
        "double quotes": lambda: table().read(where='v = "a"').to_arrow(),
        "pandas expr": lambda: table().read(where="id > 1 & v = 'a'").to_arrow(),
        "list where": lambda: table().read(where=["id = 1"]).to_arrow(),
        "limit float": lambda: table().read(limit=1.5).to_arrow(),
        "columns set": lambda: table().read(columns={"id"}).to_arrow(),
        "watermark text": lambda: table().read(watermark="x").to_arrow(),
        "star": lambda: table().read(columns="*").to_arrow(),
        "comma": lambda: table().read(columns="id, v").to_arrow(),
    },
    "write": {
        "rows to write": lambda: table().write(ROWS),
        "dict of lists": lambda: written({"id": [3], "v": ["c"]}),
        "list of dicts": lambda: written([{"id": 3, "v": "c"}]),
        "one dict": lambda: written({"id": 3, "v": "c"}),
        "list of tuples": lambda: written([(3, "c")]),
        "missing key": lambda: written(pa.table({"v": ["c"]})),
        "extra column": lambda: written(pa.table({"id": [3], "x": [1]})),
        "wrong type": lambda: written(pa.table({"id": ["x"], "v": ["c"]})),
        "null key": lambda: written(pa.table({"id": pa.array([None], pa.int64()), "v": ["c"]})),
        "None": lambda: written(None),
        "path": lambda: written("/x.parquet"),
        "number": lambda: written(5),
        "overwrite True": lambda: table().write(overwrite=True),
        "overwrite text": lambda: table().write(overwrite="all"),
        "empty list": lambda: written([]),
        "commit twice": lambda: twice(lambda writer: writer.commit()),
        "write after commit": lambda: twice(lambda writer: writer.write(ROWS)),
        "to_arrow scan": lambda: written(ROWS.to_reader()),
        "generator": lambda: written(b for b in ROWS.to_batches()),
    },
    "update": {
        "no where": lambda: table().update({"v": "'x'"}),
        "python text": lambda: table().update({"v": "x"}, "id = 1"),
        "None": lambda: table().update({"v": None}, "id = 1"),
        "key": lambda: table().update({"id": "5"}, "id = 1"),
        "slip": lambda: table().update({"vv": "'x'"}, "id = 1"),
        "list": lambda: table().update(["v = 'x'"], "id = 1"),
        "text": lambda: table().update("v = 'x'", "id = 1"),
        "where dict": lambda: table().update({"v": "'x'"}, {"id": 1}),
        "empty": lambda: table().update({}, "id = 1"),
        "where True": lambda: table().update({"v": "'x'"}, True),
        "bad sql": lambda: table().update({"v": "((("}, "id = 1"),
        "bool": lambda: table().update({"v": True}, "id = 1"),
    },
    "delete": {
        "no where": lambda: table().delete(),
        "None": lambda: table().delete(None),
        "dict": lambda: table().delete({"id": 1}),
        "number": lambda: table().delete(1),
        "list": lambda: table().delete([1, 2]),
        "slip": lambda: table().delete("idd = 1"),
        "bad": lambda: table().delete("id ==== 1"),
        "True": lambda: table().delete(True),
        "empty": lambda: table().delete(""),
        "sql": lambda: table().delete("DELETE FROM t WHERE id = 1"),
        "where kw": lambda: table().delete("WHERE id = 1"),
    },
    "merge_into": {
        "on text": lambda: table().merge_into(ROWS, "id", tc.MatchedUpsert()),
        "no clauses": lambda: table().merge_into(ROWS, "id", []),
        "clauses text": lambda: table().merge_into(ROWS, "id", ["update"]),
        "clause class": lambda: table().merge_into(ROWS, "id", [tc.MatchedUpsert]),
        "source name": lambda: table().merge_into("d.s", "id", [tc.MatchedUpsert()]),
        "dict source": lambda: table().merge_into(
            {"id": [1], "v": ["z"]}, "id", [tc.MatchedUpsert()]
        ),
        "list source": lambda: table().merge_into(
            [{"id": 1, "v": "z"}], "id", [tc.MatchedUpsert()]
        ),
        "on missing": lambda: table().merge_into(ROWS, "nope", [tc.MatchedUpsert()]),
        "on None": lambda: table().merge_into(ROWS, None, [tc.MatchedUpsert()]),
        "None source": lambda: table().merge_into(None, "id", [tc.MatchedUpsert()]),
        "table source": lambda: table().merge_into(lake().table("d.t"), "id", [tc.MatchedUpsert()]),
        "twice": lambda: table().merge_into(
            pa.concat_tables([ROWS, ROWS]), "id", [tc.MatchedUpsert()]
        ),
    },
    "alter_table": {
        "text": lambda: lake().alter_table("d.t", "drop v"),
        "one": lambda: lake().alter_table("d.t", tc.AddColumn("z", "INT")),
        "dict": lambda: lake().alter_table("d.t", {"bucket": "2"}),
        "list of dicts": lambda: lake().alter_table(
            "d.t", [{"change": "AddColumn", "name": "z", "type": "INT"}]
        ),
        "type slip": lambda: lake().alter_table("d.t", [tc.AddColumn("z", "INTEGR")]),
        "python type": lambda: lake().alter_table("d.t", [tc.AddColumn("z", int)]),
        "arrow type": lambda: lake().alter_table("d.t", [tc.AddColumn("z", pa.int32())]),
        "there": lambda: lake().alter_table("d.t", [tc.AddColumn("v", "INT")]),
        "missing": lambda: lake().alter_table("d.t", [tc.DropColumn("z")]),
        "key": lambda: lake().alter_table("d.t", [tc.DropColumn("id")]),
        "class": lambda: lake().alter_table("d.t", [tc.AddColumn]),
        "option number": lambda: lake().alter_table(
            "d.t", [tc.SetOption("snapshot.num-retained.min", 5)]
        ),
        "None": lambda: lake().alter_table("d.t", None),
        "handle": lambda: lake().alter_table(lake().table("d.t"), [tc.AddColumn("z", "INT")]),
        "empty": lambda: lake().alter_table("d.t", []),
        "bucket": lambda: lake().alter_table("d.t", [tc.SetOption("bucket", "4")]),
    },
    "upkeep": {
        "expire days": lambda: table().expire_snapshots(retain_max="5"),
        "expire 0": lambda: table().expire_snapshots(retain_max=0),
        "older number": lambda: table().expire_snapshots(older_than=30),
        "older text": lambda: table().expire_snapshots(older_than="30 d"),
        "older naive": lambda: table().expire_snapshots(older_than=dt.datetime(2026, 1, 1)),
        "timedelta": lambda: table().expire_snapshots(older_than=dt.timedelta(days=1)),
        "compact slip": lambda: table().compact("fulll"),
        "compact True": lambda: table().compact(True),
        "compact part": lambda: table().compact(partitions=[{"dt": "x"}]),
        "tag number": lambda: table().tags.create(5),
        "tag twice": two_tags,
        "no such verb": lambda: table().rollback(99),
        "drop parts": lambda: table().drop_partitions([{"dt": "x"}]),
        "orphan": lambda: table().remove_orphan_files(older_than="yesterday"),
        "tag td": lambda: table().tags.create("x", time_retained=dt.timedelta(days=1)),
        "tag snapshot text": lambda: table().tags.create("x", snapshot="1"),
        "dry run text": lambda: table().compact(dry_run="no"),
    },
}


def said_of(call: Callable[[], Any]) -> str:
    try:
        result = call()
    except TableError as error:
        return f"{type(error).__name__}: {re.sub(r'memory://[0-9a-f]+', 'memory://…', str(error))}"
    except (TypeError, AttributeError) as error:
        if (
            PYTHON_SAYS.search(str(error))
            or str(error) == "'Table' object has no attribute 'rollback'"
        ):
            return f"{type(error).__name__}: {error}"
        raise
    shown = result.num_rows if isinstance(result, pa.Table) else result
    return f"works: {shown}" if isinstance(shown, int) else "works"


def lines() -> Iterator[str]:
    for verb, calls in CALLS.items():
        for name, call in calls.items():
            yield f"{verb} | {name} | {said_of(call)}".replace("\n", " ")


def test_each_call_works_or_says_what_to_write_instead() -> None:
    assert len(CALLS) >= 10
    assert all(len(calls) >= 10 for calls in CALLS.values())
    made = "\n".join(lines()) + "\n"
    if os.environ.get("NEWCOMERS") == "write":
        TABLE.write_text(made)
    assert made == TABLE.read_text()
