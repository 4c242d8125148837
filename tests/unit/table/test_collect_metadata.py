"""The collector keeps what pages need, reads what is new and no more, and forgets what is gone."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

import table_core as tc
from table_core.errors import ArgumentError, CorruptFileError
from table_core.history.snapshots import CHUNK, Chunk, SnapshotRow, with_totals
from table_core.table.metadata.documents import Metadata
from tests.tables import new_catalog, write_rows

TO = "meta.history"
SCHEMA = pa.schema(
    [pa.field("dt", pa.string(), False), pa.field("id", pa.int64(), False), ("n", pa.int64())]
)


def keyed(catalog: tc.Catalog, name: str = "d.t", **options: str) -> tc.Table:
    given = {"bucket": "1", "write-only": "true"} | options
    return catalog.create_table(
        name, SCHEMA, primary_key=["dt", "id"], partition_by=["dt"], options=given
    )


def fill(table: tc.Table, *ids: int, dt: str = "a") -> None:
    write_rows(table, pa.table({"dt": [dt] * len(ids), "id": list(ids), "n": list(ids)}))


def collect(catalog: tc.Catalog, **more: Any) -> dict[str, Any]:
    return dict(catalog.collect_metadata("d", TO, "Demo", **more).details)


def kept(catalog: tc.Catalog) -> dict[tuple[str, str, str], dict[str, Any]]:
    rows = catalog.table(TO).read().to_arrow().to_pylist()
    return {(r["kind"], r["uri"], r["part"]): json.loads(r["document"]) for r in rows}


def ids(catalog: tc.Catalog, name: str = "t") -> list[int]:
    found = []
    for (kind, uri, _), document in sorted(kept(catalog).items()):
        if kind in {"open", "snapshots"} and uri.endswith(f"/{name}"):
            found += [row.id for row in Chunk.from_document(document).rows]
    return sorted(found)


def test_what_a_page_shows_of_a_table_is_kept() -> None:
    catalog = new_catalog()
    table = keyed(catalog)
    for at in range(6):
        fill(table, at, at + 1)
    fill(table, 1, dt="b")
    table.tags.create("first", snapshot=1)
    catalog.alter_table("d.t", [tc.AddColumn("note", "STRING"), tc.SetOption("bucket", "1")])
    told = collect(catalog)
    assert (told["looked_at"], told["snapshots"]) == (1, 7)
    found = kept(catalog)
    uri = "paimon://demo/d/t"
    assert {of for _, of, _ in found} == {uri}
    line = found["line", uri, ""]
    assert (line["files"], line["partitions"], line["snapshot_id"]) == (7, 2, 7)
    assert line["health"] == "due"
    assert line["next_maintenance"]["action"] == "compact"
    rows = Chunk.from_document(found["open", uri, ""]).rows
    assert [row.files for row in rows] == [1, 2, 3, 4, 5, 6, 7]
    assert rows[-1].bytes == line["bytes"]
    assert [b[:4] for b in rows[-1].by_bucket or ()] == [["dt=b", 0, 1, 0]]
    assert found["levels", uri, ""]["buckets"][0][:3] == ["dt=a", 0, 6]
    assert [p["values"] for p in found["partitions", uri, ""]["partitions"]] == [
        {"dt": "b"},
        {"dt": "a"},
    ]
    changes = found["schemas", uri, ""]["schemas"][0]["changes"]
    assert [(c["kind"], c["column"]) for c in changes] == [("add", "note")]
    assert found["refs", uri, ""]["tags"][0]["name"] == "first"


def test_a_table_whose_head_has_not_moved_costs_one_request(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    catalog = new_catalog()
    for name in ("d.t", "d.u"):
        fill(keyed(catalog, name), 1)
    collect(catalog)
    asked: Counter[str] = Counter()
    original = Metadata._hint

    def hint(self: Metadata, which: str) -> int | None:
        asked[self.storage.uri.rpartition("/")[2]] += 1
        return original(self, which)

    monkeypatch.setattr(Metadata, "_hint", hint)
    reads = type(catalog.storage).read

    def read(self: Any, path: str) -> bytes:
        if any(f"/{name}" in self.uri for name in ("d.db/t", "d.db/u")):
            asked[path] += 1
        return reads(self, path)

    monkeypatch.setattr(type(catalog.storage), "read", read)
    assert collect(catalog)["looked_at"] == 0
    asked.pop("history", None)
    assert asked == {"t": 1, "u": 1, "snapshot/LATEST": 2}


def test_new_snapshots_are_added_in_chunks_and_old_ones_are_kept() -> None:
    catalog = new_catalog()
    table = keyed(catalog)
    for at in range(CHUNK + 3):
        fill(table, at % 5)
        if at % 50 == 20:
            collect(catalog)
    assert collect(catalog, detailed=2)["snapshots"] == 10
    table.expire_snapshots(retain_max=3, retain_min=1)
    fill(table, 9)
    assert collect(catalog)["snapshots"] == 1
    found = kept(catalog)
    assert ("snapshots", "paimon://demo/d/t", f"{1:020d}") in found
    assert ids(catalog) == [*range(1, CHUNK + 5)], "longer than the table itself keeps them"


def test_snapshots_that_limits_leave_out_are_told() -> None:
    catalog = new_catalog()
    table = keyed(catalog)
    for at in range(10):
        fill(table, at)
    collect(catalog, snapshots=4, detailed=2)
    line = kept(catalog)["line", "paimon://demo/d/t", ""]
    assert ids(catalog) == [7, 8, 9, 10]
    assert line["cut"] == {"snapshots": {"from": 1, "to": 6}}
    rows = Chunk.from_document(kept(catalog)["open", "paimon://demo/d/t", ""]).rows
    assert [row.files for row in rows] == [None, 8, 9, 10]


def test_a_rollback_takes_back_what_was_kept_of_it() -> None:
    catalog = new_catalog()
    table = keyed(catalog)
    for at in range(6):
        fill(table, at)
    collect(catalog)
    table.rollback_to(snapshot=2)
    fill(catalog.table("d.t"), 77)
    collect(catalog)
    assert ids(catalog) == [1, 2, 3]
    for at in range(3):
        fill(catalog.table("d.t"), at)
    catalog.table("d.t").rollback_to(snapshot=1)
    for at in range(5):
        fill(catalog.table("d.t"), at)
    collect(catalog)
    assert ids(catalog) == [1, 2, 3, 4, 5, 6]
    rows = Chunk.from_document(kept(catalog)["open", "paimon://demo/d/t", ""]).rows
    assert [r.mark for r in rows] == [s.delta_manifest_list for s in table.snapshots()]


def test_a_table_that_is_gone_or_made_anew_is_forgotten() -> None:
    catalog = new_catalog()
    for name in ("d.t", "d.u"):
        for at in range(4):
            fill(keyed(catalog, name) if not at else catalog.table(name), at)
    collect(catalog)
    catalog.drop_table("d.t")
    catalog.drop_table("d.u")
    fill(keyed(catalog, "d.u"), 1)
    told = collect(catalog)
    assert {uri for _, uri, _ in kept(catalog)} == {"paimon://demo/d/u"}, told
    assert ids(catalog, "u") == [1]


def test_old_chunks_go_and_no_more_tables_are_looked_at_than_asked() -> None:
    catalog = new_catalog()
    for name in ("d.t", "d.u", "d.v"):
        fill(keyed(catalog, name), 1)
    runs = [collect(catalog, tables=2) for _ in range(2)]
    assert [(run["looked_at"], run["left"]) for run in runs] == [(2, 1), (1, 0)]
    table = catalog.table("d.t")
    for at in range(CHUNK + 2):
        fill(table, at % 3)
    collect(catalog, kept="0 ms", snapshots=CHUNK * 2, detailed=1)
    assert ids(catalog) == [CHUNK + 1, CHUNK + 2, CHUNK + 3]


def test_a_table_that_cannot_be_read_is_told_and_stops_no_other() -> None:
    catalog = new_catalog()
    for name in ("d.t", "d.u"):
        fill(keyed(catalog, name), 1)
    root = catalog.root("d", "t")
    root.write("snapshot/snapshot-1", b"{")
    with pytest.raises(CorruptFileError) as caught:
        collect(catalog)
    assert "failed for ['t'], done for ['u']" in caught.value.__notes__[0]
    line = kept(catalog)["line", "paimon://demo/d/t", ""]
    assert line["badges"][0]["code"] == "unreadable"
    assert kept(catalog)["line", "paimon://demo/d/u", ""]["health"] == "ok"


def test_a_dry_run_keeps_nothing_and_another_table_is_refused() -> None:
    catalog = new_catalog()
    fill(keyed(catalog), 1)
    assert collect(catalog, dry_run=True)["looked_at"] == 1
    assert kept(catalog) == {}
    with pytest.raises(ArgumentError, match="another table than one that keeps metadata"):
        catalog.collect_metadata("d", "d.t", "demo")


def test_totals_are_counted_backwards_as_far_as_they_are_known() -> None:
    def row(id: int, added: int | None) -> SnapshotRow:
        plain = SnapshotRow(
            id=id, at_ms=id, kind="APPEND", operation=None, user="u", identifier=0,
            rows_added=0, rows_deleted=0, rows=0,
        )  # fmt: skip
        return replace(
            plain, files_added=added, files_deleted=1, bytes_added=added, bytes_deleted=1
        )

    rows = with_totals([row(1, 9), row(2, None), row(3, 4), row(4, 2)], 10, 100)
    assert [r.files for r in rows] == [None, 6, 9, 10]
    assert [r.bytes for r in rows] == [None, 96, 99, 100]
