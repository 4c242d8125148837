"""What a commit delivers is in its snapshot: rows by what happened to them, partitions, operation."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from functools import cache
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import table_core as tc
from table_core.commit.delivery import DELIVERY_PROPERTY, recorded_delivery
from table_core.errors import ArgumentError, CorruptFileError, NotFoundError
from table_core.jobs.job_spec import JobSpec
from table_core.jobs.run import run_embedded
from table_core.ondisk.partition_key import key_of_values, values_of_key
from table_core.ondisk.snapshot import Snapshot
from table_core.table.commit_io import row_counts
from table_core.table.commit_io.deliveries import CommitNote, told
from tests.tables import new_catalog, write_rows

DAY = dt.date(2026, 1, 1)
ROWS = pa.schema(
    [pa.field("id", pa.int64(), nullable=False), pa.field("dt", pa.date32()), ("v", pa.int64())]
)
KEYED = pa.schema([ROWS.field(0), pa.field("dt", pa.date32(), nullable=False), ROWS.field(2)])


def make(*, key: bool = False, **options: str) -> Any:
    catalog = new_catalog()
    named = {name.replace("__", ".").replace("_", "-"): text for name, text in options.items()}
    bucket = {"bucket": "1" if key else "-1", "write-only": "true"}
    return catalog.create_table(
        "d.t",
        KEYED if key else ROWS,
        primary_key=("id", "dt") if key else (),
        partition_by=("dt",),
        options=bucket | named,
    )


def write(table: Any, ids: list[int], kinds: list[str] | None = None, **more: Any) -> int:
    rows = pa.table({"id": ids, "dt": [DAY] * len(ids), "v": ids}, schema=table.arrow_schema)
    if kinds is not None:
        rows = rows.append_column("_ROW_KIND", pa.array(kinds))
    done = write_rows(table, rows, **more)
    assert done.snapshot_id is not None
    return int(done.snapshot_id)


def said(table: Any) -> tuple[str | None, int, int, int | None]:
    """Operation, rows added, updated, deleted of the newest snapshot."""
    head = table.latest_snapshot()
    known = recorded_delivery(head)
    assert known is not None
    assert known.partitions == ("dt=2026-01-01",)
    return head.operation, known.added, known.updated, known.deleted


def test_a_key_table_says_which_rows_came_and_which_went() -> None:
    table = make(key=True)
    write(table, [1, 2, 3])
    assert said(table) == ("WRITE", 3, 0, 0)
    write(table, [1, 4], ["-D", "+I"])
    assert said(table) == ("WRITE", 1, 0, 1)
    table.update({"v": "9"}, where="id = 2")
    assert said(table) == ("UPDATE", 0, 1, 0)
    table.delete(where="id > 2")
    assert said(table) == ("DELETE", 0, 0, 2)
    table.compact(strategy="full")
    assert said(table) == (None, 0, 0, 0)


@pytest.mark.parametrize("vectors", ["true", "false"])
def test_an_overwritten_key_table_tells_rows_and_not_the_records_of_its_files(vectors: str) -> None:
    """Key 1 is written three times, key 2 is deleted: the files hold six records of two rows."""

    def filled() -> Any:
        table = make(key=True, deletion_vectors__enabled=vectors)
        for ids in ([1, 2], [1], [1, 3]):
            write(table, ids)
        write(table, [2], ["-D"])
        return table

    table = filled()
    write(table, [7, 8, 9], overwrite="table")
    assert said(table) == ("OVERWRITE", 3, 0, 2)
    write(table, [], overwrite={"dt": str(DAY)})
    assert said(table) == ("OVERWRITE", 0, 0, 3)
    table = filled()
    table.truncate()
    assert said(table) == ("TRUNCATE", 0, 0, 2)
    table = filled()
    table.drop_partitions([{"dt": str(DAY)}])
    assert said(table)[1:] == (0, 0, 2)
    table = filled()
    table.compact(strategy="full")
    write(table, [5], overwrite="partitions")
    assert said(table) == ("OVERWRITE", 1, 0, 2)
    _forget(table, table.latest_snapshot())
    assert table.delivers(table.latest_snapshot().id).deleted == 2, "each record was a row"
    table = filled()
    table.truncate()
    _forget(table, table.latest_snapshot())
    assert table.delivers(table.latest_snapshot().id).deleted is None, "records are no rows"


def test_a_table_that_cannot_be_read_can_be_overwritten(monkeypatch: pytest.MonkeyPatch) -> None:
    def unreadable(*_: Any, **__: Any) -> None:
        raise CorruptFileError("a file is damaged", path="x", reason="damaged")

    table = make(key=True)
    write(table, [1, 2])
    write(table, [1])
    monkeypatch.setattr(row_counts, "committed_rows", unreadable)
    write(table, [5], overwrite="table")
    assert said(table) == ("OVERWRITE", 1, 0, None)
    assert table.count() == 1


def test_rows_that_are_too_many_to_be_merged_are_not_counted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(row_counts, "_RECORDS_MAX", 3)
    table = make(key=True)
    write(table, [1, 2])
    write(table, [1, 2])
    write(table, [5], overwrite="table")
    assert said(table) == ("OVERWRITE", 1, 0, None)
    write(table, [6], overwrite="table")
    assert said(table) == ("OVERWRITE", 1, 0, 1), "few again"


@pytest.mark.parametrize("producer", ["lookup", "full-compaction"])
def test_a_compaction_that_finds_changes_out_tells_them_by_what_happened_to_rows(
    producer: str,
) -> None:
    table = make(key=True, changelog_producer=producer)
    steps = (
        ([1, 2, 3], None, (3, 0, 0)),
        ([2, 3, 4], None, (1, 2, 0)),
        ([1, 5, 2], ["-D", "+I", "+U"], (1, 1, 1)),
        ([3], ["-D"], (0, 0, 1)),
    )
    for ids, kinds, rows in steps:
        write(table, ids, kinds)
        table.compact(strategy="full")
        assert said(table) == (None, *rows)


@pytest.mark.parametrize("producer", ["none", "input", "lookup"])
def test_a_merge_into_a_key_table_tells_new_rows_from_those_that_were_there(producer: str) -> None:
    table = make(key=True, changelog_producer=producer)
    write(table, [1, 2, 3])
    source = pa.table({"id": [2, 3, 4, 5], "dt": [DAY] * 4, "v": [0] * 4})
    gone = tc.MatchedDelete(condition="source.id = 3")
    clauses = [gone, tc.MatchedUpsert(), tc.NotMatchedInsert()]
    table.merge_into(source, on=["id", "dt"], when=clauses)
    assert said(table) == ("MERGE", 2, 1, 1)


@pytest.mark.parametrize("vectors", ["true", "false"])
def test_a_table_without_key_counts_rows_and_not_the_files_that_are_written_anew(
    vectors: str,
) -> None:
    table = make(deletion_vectors__enabled=vectors)
    write(table, [1, 2, 3, 4])
    table.delete(where="id = 1")
    assert said(table) == ("DELETE", 0, 0, 1)
    table.update({"v": "0"}, where="id = 2")
    assert said(table) == ("UPDATE", 0, 1, 0)
    source = pa.table({"id": [3, 4, 9], "dt": [DAY] * 3, "v": [0, 0, 0]})
    gone = tc.MatchedDelete(condition="source.id = 3")
    table.merge_into(source, on=["id"], when=[gone, tc.MatchedUpsert(), tc.NotMatchedInsert()])
    assert said(table) == ("MERGE", 1, 1, 1)
    write(table, [7], overwrite="partitions")
    assert said(table) == ("OVERWRITE", 1, 0, 3)
    table.truncate()
    assert said(table)[0] == "TRUNCATE"
    assert said(table)[3] == 1
    for emptied in ("table", {"dt": str(DAY)}):
        write(table, [8, 9])
        write(table, [], overwrite=emptied)
        assert said(table) == ("OVERWRITE", 0, 0, 2), "nothing came in their place"
    write(table, [1, 2, 3])
    write(table, [4], overwrite="table")
    assert said(table) == ("OVERWRITE", 1, 0, 3), "fewer came in their place"


@pytest.mark.parametrize("vectors", ["true", "false"])
def test_the_manifests_say_the_same_where_a_foreign_writer_kept_nothing(vectors: str) -> None:
    table = make(deletion_vectors__enabled=vectors)
    write(table, [1, 2, 3, 4])
    table.delete(where="id = 1")
    table.update({"v": "0"}, where="id = 2")
    ours = [table.delivers(s.id) for s in table.snapshots()]
    for snapshot in table.snapshots():
        _forget(table, snapshot)
    foreign = [table.delivers(s.id) for s in table.snapshots()]
    assert [n.deleted for n in foreign] == [n.deleted for n in ours] == [0, 1, 0]
    assert [n.partitions for n in foreign] == [({"dt": "2026-01-01"},)] * 3


def _forget(table: Any, snapshot: Snapshot) -> None:
    storage, path = table.access.storage, f"snapshot/snapshot-{snapshot.id}"
    body = storage.read(path).replace(DELIVERY_PROPERTY.encode(), b"other.property")
    storage.delete([path])
    storage.write(path, body)


def test_what_a_snapshot_keeps_does_not_grow_with_partitions() -> None:
    catalog = new_catalog()
    schema = pa.schema([("p", pa.int32()), ("v", pa.int32())])
    table = catalog.create_table("d.t", schema, partition_by=("p",), options={"bucket": "-1"})
    write_rows(table, pa.table({"p": list(range(200)), "v": [1] * 200}, schema=schema))
    head = table.latest_snapshot()
    assert head is not None
    known = recorded_delivery(head)
    assert known is not None
    assert (known.partitions, known.partitions_total) == (None, 200)
    assert len(str(head.properties)) < 500
    found = table.touched_partitions([head.id], limit=1_000)
    assert found is not None
    assert {one["p"] for one in found} == {str(p) for p in range(200)}


def test_a_job_says_what_it_has_committed_though_it_is_expired_since(tmp_path: Any) -> None:
    catalog = new_catalog(f"file://{tmp_path}")
    table = catalog.create_table(
        "d.t",
        KEYED,
        primary_key=("id", "dt"),
        partition_by=("dt",),
        options={"bucket": "1", "changelog-producer": "lookup"}
        | dict.fromkeys(("snapshot.num-retained.min", "snapshot.num-retained.max"), "1"),
    )
    write(table, [1, 2])
    spec = JobSpec(
        action="delete",
        warehouse=f"file://{tmp_path}",
        table="d.t",
        args={"where": "id = 1"},
        commit_user="me",
        commit_identifier=0,
    )
    first = run_embedded(spec)["commits"]
    assert [s.id for s in table.snapshots()] == [first[-1]["last"]]  # type: ignore[index]
    kinds = [(n["kind"], n["operation"], n["deleted"], n["partitions"]) for n in first]  # type: ignore[attr-defined]
    day = [{"dt": "2026-01-01"}]
    assert kinds == [("APPEND", "DELETE", 1, day), ("COMPACT", None, 1, day)]
    for id in (5, 6, 7):
        write(table, [id])
    (again,) = run_embedded(spec)["commits"]  # type: ignore[misc, attr-defined]
    assert (again["kind"], again["partitions"]) == (None, None), "landed, and known no more"


def test_notes_of_a_long_job_are_bounded_and_their_sums_exact() -> None:
    table = make()
    with told() as notes:
        for id in range(150):
            write(table, [id])
    found = notes.to_documents()
    assert len(found) <= 64
    assert sum(n["count"] for n in found) == sum(n["added"] for n in found) == 150
    assert (found[0]["first"], found[-1]["last"]) == (1, 150)


def test_a_note_of_many_partitions_says_so() -> None:
    def note(id: int) -> CommitNote:
        return CommitNote(
            table="t",
            branch="main",
            first=id,
            last=id,
            kind="APPEND",
            user="u",
            committed_at_ms=id,
            producer="none",
            added=1,
            partitions=({"p": str(id)},),
            partitions_total=1,
        )

    both = note(1).with_later(note(2))
    assert (both.partitions, both.partitions_total) == (({"p": "1"}, {"p": "2"}), 2)
    for id in range(3, 200):
        both = both.with_later(note(id))
    assert (both.partitions, both.count, both.added) == (None, 199, 199)


texts = st.one_of(
    st.none(), st.text(max_size=5), st.sampled_from(["", " ", "__DEFAULT_PARTITION__"])
)


@given(st.dictionaries(st.text(min_size=1, max_size=3), texts, min_size=1, max_size=3), texts)
def test_a_key_can_be_read_and_no_two_partitions_share_one(
    values: dict[str, str | None], other: str | None
) -> None:
    key = key_of_values(values)
    assert values_of_key(key) == values
    changed = {**values, next(iter(values)): other}
    assert (key_of_values(changed) == key) == (changed == values)


VALUES = {
    "BOOLEAN": (pa.bool_(), st.booleans()),
    "TINYINT": (pa.int8(), st.integers(-128, 127)),
    "INT": (pa.int32(), st.integers(-(2**31), 2**31 - 1)),
    "BIGINT": (pa.int64(), st.integers(-(2**63), 2**63 - 1)),
    "DATE": (pa.date32(), st.dates()),
    "DECIMAL": (pa.decimal128(9, 2), st.decimals(-9999999, 9999999, places=2)),
    "DOUBLE": (pa.float64(), st.floats(allow_nan=False)),
    "TIMESTAMP": (pa.timestamp("us"), st.datetimes(dt.datetime(1900, 1, 1))),
    "STRING": (pa.string(), st.text(max_size=8)),
}


@cache
def _partitioned_by(type_: pa.DataType) -> Any:
    catalog = new_catalog()
    schema = pa.schema([("p", type_), ("v", pa.int32())])
    return catalog.create_table("d.t", schema, partition_by=("p",), options={"bucket": "-1"})


@given(st.data(), st.sampled_from(sorted(VALUES)))
def test_a_partition_is_the_same_however_its_values_are_given(data: Any, name: str) -> None:
    type_, values = VALUES[name]
    value = data.draw(values)
    table = _partitioned_by(type_)
    spelled = table.partition_values({"p": value})
    assert table.partition_values(spelled) == spelled
    assert table.partition_key({"p": value}) == key_of_values(spelled)


def test_values_are_taken_by_type() -> None:
    table = make()
    for given_day in (DAY, "2026-01-01", 20454, "20454"):
        assert table.partition_key({"dt": given_day}) == "dt=2026-01-01"
    catalog = new_catalog()
    schema = pa.schema([("b", pa.bool_()), ("h", pa.int32()), ("s", pa.string()), ("v", pa.int8())])
    other = catalog.create_table("d.t", schema, partition_by=("b", "h", "s"), options={})
    same = [
        {"b": True, "h": 5, "s": "7"},
        {"b": "true", "h": "05", "s": 7},
        {"b": 1, "h": Decimal(5), "s": "7"},
    ]
    assert {other.partition_key(one) for one in same} == {"b=true/h=5/s=7"}
    for wrong in ({"h": True}, {"h": "five"}, {"hh": 5}, {"b": "maybe"}, {"h": 2**40}):
        with pytest.raises(ArgumentError):
            other.partition_values(wrong)
    with pytest.raises(ArgumentError):
        table.partition_key({"dt": "soon"})


def test_a_mark_is_seen_whatever_kind_of_mark_the_table_has() -> None:
    for action in (
        "success-file",
        "done-partition",
        "success-file,done-partition",
        "mark-event,done-partition",
    ):
        table = make(partition__mark_done_action=action)
        write(table, [1])
        assert table.partition({"dt": DAY}, with_done=True).done_ms is None
        table.mark_done([{"dt": 20454}])
        assert table.partition({"dt": "2026-01-01"}, with_done=True).done_ms is not None
        ((values, _),) = table.done_partitions()
        assert values == {"dt": "2026-01-01"}


def test_a_partition_that_is_not_there_cannot_be_marked() -> None:
    table = make()
    with pytest.raises(NotFoundError, match="no partition dt=2026-01-01"):
        table.mark_done([{"dt": DAY}])
    write(table, [1])
    with pytest.raises(NotFoundError, match="no partition dt=2026-01-02"):
        table.mark_done([{"dt": DAY}, {"dt": "2026-01-02"}])
    assert table.done_partitions() == [], "all or none"
    table.mark_done([{"dt": DAY}])
    table.truncate()
    with pytest.raises(NotFoundError):
        table.mark_done([{"dt": DAY}])
