"""A table whose number of buckets changes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

import table_core as tc
from table_core.storage.stores.faults import Call, Faults, FaultyStorage
from tests.tables import new_catalog, write_rows

SCHEMA = pa.schema(
    [
        pa.field("p", pa.string(), nullable=False),
        pa.field("k", pa.int64(), nullable=False),
        ("n", pa.int64()),
    ]
)
KINDS = {
    "deduplicate": {},
    "append": {"bucket-key": "k"},
    "vectors": {"deletion-vectors.enabled": "true", "write-only": "true"},
    "first-row": {"merge-engine": "first-row", "write-only": "true"},
    "lookup": {"changelog-producer": "lookup", "write-only": "true"},
    "full-compaction": {"changelog-producer": "full-compaction", "write-only": "true"},
}


def rows(p: str, first: int, n: int = 0) -> pa.Table:
    keys = range(first, first + 20)
    return pa.table({"p": [p] * 20, "k": pa.array(keys, pa.int64()), "n": pa.array([n] * 20)})


def put(table: tc.Table, data: pa.Table, overwrite: object = None) -> None:
    write_rows(table, data, overwrite=overwrite)


@pytest.fixture
def catalog(tmp_path: Path) -> tc.Catalog:
    return new_catalog(f"memory://{tmp_path}")


def made(catalog: tc.Catalog, kind: str = "deduplicate") -> tc.Table:
    key = () if kind == "append" else ("p", "k")
    table = catalog.create_table(
        "d.t", SCHEMA, primary_key=key, partition_by=("p",), options={"bucket": "1", **KINDS[kind]}
    )
    put(table, rows("a", 0))
    put(table, rows("b", 0))
    return table


def counts(table: tc.Table) -> dict[bytes, set[int]]:
    found: dict[bytes, set[int]] = {}
    for entry in table.access.live_entries(table.latest_snapshot()):
        found.setdefault(entry.partition, set()).add(entry.total_buckets)
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_rescaling_keeps_every_row_and_changes_every_bucket(catalog: tc.Catalog, kind: str) -> None:
    made(catalog, kind).rescale(3)
    table = catalog.table("d.t")
    assert table.options["bucket"] == "3"
    assert all(found == {3} for found in counts(table).values())
    found = table.read().to_arrow().sort_by([("p", "ascending"), ("k", "ascending")])
    assert found.equals(pa.concat_tables([rows("a", 0), rows("b", 0)]).cast(SCHEMA))
    put(table, rows("a", 10, 5))
    table.compact()
    expected = {"append": 60, "deduplicate": 50}.get(kind, 50)
    assert table.read().to_arrow().num_rows == expected


def test_single_partitions_can_be_rescaled_and_the_others_take_no_rows(catalog: tc.Catalog) -> None:
    made(catalog).rescale(2, partitions=[{"p": "a"}])
    table = catalog.table("d.t")
    assert sorted(counts(table).values(), key=str) == [{1}, {2}]
    put(table, rows("a", 20))
    put(table, rows("c", 0))
    with pytest.raises(tc.errors.OptionError, match=r"'p': 'b'.* has 1 buckets: call rescale"):
        put(table, rows("b", 20))
    put(table, rows("b", 5), overwrite={"p": "b"})
    assert all(found == {2} for found in counts(table).values())
    assert table.rescale().details["partitions"] == 0


def test_rows_that_come_meanwhile_are_a_conflict(
    catalog: tc.Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = made(catalog)
    from table_core.table.compact import rescale as module

    commit = module.commit_replacing

    def late(*given: object) -> object:
        put(table, rows("a", 100))
        return commit(*given)  # type: ignore[arg-type]  # passed through

    monkeypatch.setattr(module, "commit_replacing", late)
    named = tc.CommitAs(user="flow", identifier=1)
    with pytest.raises(tc.errors.CommitConflictError):
        table.rescale(2, commit=named)
    assert table.read().to_arrow().num_rows == 60
    assert catalog.table("d.t").definition.bucket == 1  # rows can be written as before
    put(catalog.table("d.t"), rows("a", 200))
    monkeypatch.setattr(module, "commit_replacing", commit)
    assert table.rescale(2, commit=named).details["partitions"] == 2
    assert catalog.table("d.t").definition.bucket == 2
    assert all(found == {2} for found in counts(table).values())
    assert table.rescale(2, commit=named).details["replayed"]


@pytest.mark.parametrize("by", ["rescale", "overwrite", "both"])
def test_a_rescale_beside_another_change_of_its_rows_goes_on_with_what_is_left(
    catalog: tc.Catalog, monkeypatch: pytest.MonkeyPatch, by: str
) -> None:
    table = made(catalog)
    from table_core.table.compact import rescale as module

    commit = module.commit_replacing

    def late(*given: object) -> object:
        monkeypatch.setattr(module, "commit_replacing", commit)
        if by in {"overwrite", "both"}:
            put(catalog.table("d.t"), rows("a", 0, 7), {"p": "a"})
        if by in {"rescale", "both"}:
            catalog.table("d.t").rescale(2)
        return commit(*given)  # type: ignore[arg-type]  # passed through

    monkeypatch.setattr(module, "commit_replacing", late)
    table.rescale(2)
    assert catalog.table("d.t").definition.bucket == 2
    assert all(found == {2} for found in counts(table).values())
    assert table.read().to_arrow().num_rows == 40


def test_a_rescale_that_fails_beside_one_that_works_leaves_its_option(
    catalog: tc.Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The one has set the option, the other has moved a partition by it."""
    table = made(catalog)
    from table_core.table.compact import rescale as module

    commit, running = module.commit_replacing, False

    def late(*given: object) -> object:
        nonlocal running
        if not running:
            running = True
            catalog.table("d.t").rescale(2, partitions=[{"p": "b"}])
            running = False
            put(table, rows("a", 100))
        return commit(*given)  # type: ignore[arg-type]  # passed through

    monkeypatch.setattr(module, "commit_replacing", late)
    with pytest.raises(tc.errors.CommitConflictError):
        table.rescale(2)
    assert catalog.table("d.t").definition.bucket == 2
    assert sorted(map(min, counts(table).values())) == [1, 2]


@pytest.mark.parametrize("kind", ["vectors", "first-row", "lookup", "full-compaction"])
def test_rows_that_come_between_its_compaction_and_its_rewrite_are_neither_lost_nor_untold(
    catalog: tc.Catalog, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """No read finds them on level 0, or no reader was told of them: both would end with the old files."""
    table = made(catalog, kind)
    from table_core.table.compact import rescale as module

    compact, late = module.compact, [100, 200]

    def beside(*given: object, **named: object) -> object:
        done = compact(*given, **named)  # type: ignore[arg-type]  # passed through
        if late:
            put(table, rows("a", late.pop()))
        return done

    monkeypatch.setattr(module, "compact", beside)
    table.rescale(2)
    table = catalog.table("d.t")
    table.compact()
    assert table.read().to_arrow().num_rows == 80
    if kind in {"lookup", "full-compaction"}:
        told = table.changes(after=0, to=table.snapshots()[-1].id, mode="changelog").to_arrow()
        assert told.num_rows == 80
        assert set(told["_ROW_KIND"].to_pylist()) == {"+I"}


def test_a_rescale_that_others_outrun_every_time_has_changed_nothing(
    catalog: tc.Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = made(catalog, "vectors")
    from table_core.table.compact import rescale as module

    compact, at = module.compact, iter(range(100, 10_000, 20))

    def beside(*given: object, **named: object) -> object:
        done = compact(*given, **named)  # type: ignore[arg-type]  # passed through
        put(table, rows("a", next(at)))
        return done

    monkeypatch.setattr(module, "compact", beside)
    with pytest.raises(tc.errors.CommitConflictError, match="others had come"):
        table.rescale(2)
    assert all(found == {1} for found in counts(table).values())


def test_only_fixed_buckets_are_rescaled(catalog: tc.Catalog) -> None:
    table = catalog.create_table("d.u", SCHEMA, options={"bucket": "-1"})
    with pytest.raises(tc.errors.ArgumentError, match="fixed number"):
        table.rescale(2)


def test_a_rescale_brings_back_no_rows_that_a_rollback_takes_meanwhile(tmp_path: Path) -> None:
    """The number of the newest snapshot tells nothing: a new one may be below what was read."""

    def house(number: int) -> tc.Catalog:
        catalog = new_catalog(f"memory://{tmp_path}/{number}")
        table = made(catalog)
        for n in range(3):
            put(table, rows("a", 0, n + 1))
        return catalog

    def rescaled(number: int, at: int | None) -> Faults:
        now, met = house(number), list[bool]()

        def meanwhile(call: Call) -> None:
            if call.index == at:
                now.table("d.t").rollback_to(2)
                met.append(True)

        faults = Faults(meanwhile)
        replace(now, storage=FaultyStorage(now.storage, faults)).table("d.t").rescale(2)
        if at is not None:
            assert met
            assert set(now.table("d.t").read().to_arrow()["n"].to_pylist()) == {0}, at
        return faults

    places = [c.index for c in rescaled(0, None).calls if "snapshot/" in c.path]
    assert len(places) > 9
    for place in places:
        rescaled(place + 1, place)
