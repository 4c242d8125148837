"""A process dies at any call of the store, in any verb that commits: the table is as before or as after.

Method: a verb runs once without faults, to count its calls.  Then, for every call that changes
something, it runs on a table of its own and dies there, once before the effect and once after it.
Checked each time: the rows are those before or those after; a retry under the same name ends in
the rows after, by the same number of snapshots as a run without a crash; expiry that follows
deletes nothing that a reader needs; and one orphan removal leaves nothing that nothing names.
"""

from __future__ import annotations

from itertools import product

import pyarrow as pa
import pytest

import table_core as tc
from table_core.storage.stores.faults import Fault
from tests.durability.crashing import (
    AS,
    COMPACTING,
    LONG,
    NEW,
    Case,
    changes_of,
    crash,
    dated,
    failure,
    fresh,
    keyed,
    masked,
    on,
    snapshots,
    state,
    sweep,
    unnamed,
    writes,
)
from tests.lanes import sampled

CASES = {
    "write": Case(keyed(**{"write-only": "true"}), writes(NEW)),
    "write with a compaction": Case(keyed(**COMPACTING), writes(NEW)),
    "write with changelogs": Case(
        keyed(**{"changelog-producer": "full-compaction", "full-compaction.delta-commits": "1"}),
        writes(NEW),
    ),
    "write with input changelog": Case(keyed(**{"changelog-producer": "input"}), writes(NEW)),
    "append": Case(dated, writes({"dt": ["2020-01-02"], "v": [9]})),
    "overwrite": Case(keyed(), writes(NEW, overwrite="table")),
    "overwrite partitions": Case(
        dated, writes({"dt": ["2020-01-02"], "v": [9]}, overwrite="partitions")
    ),
    "truncate": Case(dated, on(lambda table: table.truncate(commit=AS))),
    "delete": Case(keyed(), on(lambda table: table.delete("k = 1", commit=AS))),
    "update an append table": Case(
        dated, on(lambda table: table.update({"v": "v + 10"}, "v > 1", commit=AS))
    ),
    "merge into": Case(keyed(), on(lambda table: table.merge_into(*MERGE, commit=AS))),
    "mask rows": Case(masked, on(lambda table: table.delete("v = 2", commit=AS))),
    "write with vectors": Case(
        keyed(**COMPACTING, **{"deletion-vectors.enabled": "true"}), writes(NEW)
    ),
    "write to dynamic buckets": Case(keyed(bucket="-1"), writes(NEW)),
    "compact": Case(keyed(), on(lambda table: table.compact(commit=AS))),
    "compact an append table": Case(dated, on(lambda table: table.compact(commit=AS))),
    "rescale": Case(keyed(), on(lambda table: table.rescale(3, commit=AS))),
    "expire snapshots": Case(keyed(**LONG), on(lambda table: table.expire_snapshots(retain_max=1))),
    "expire partitions": Case(dated, on(lambda table: table.expire_partitions("7 d", commit=AS))),
}
CRASHES = (Fault.CRASH_BEFORE, Fault.CRASH_AFTER)
MERGE = (
    pa.table({"k": pa.array([1, 9], pa.int32()), "v": [70, 71]}),
    ["k"],
    [tc.MatchedUpsert(), tc.NotMatchedInsert()],
)


@pytest.mark.parametrize(("name", "fault"), sampled(product(CASES, CRASHES), 8))
def test_a_crash_at_any_call_leaves_the_old_rows_or_the_new(name: str, fault: Fault) -> None:
    case = CASES[name]
    calls, before, after, last = changes_of(case)
    assert len(calls) >= 4, calls
    for nth, call in enumerate(calls):
        catalog = crash(case, nth, fault)
        assert state(catalog) in (before, after), (nth, call)

        case.verb(catalog)
        assert state(catalog) == after, (nth, call)
        if name == "expire snapshots":
            assert not unnamed(catalog), (nth, call)
        ids = snapshots(catalog)
        assert ids[-1] - last in (0, -1 if "write with" in name else 0), (nth, call)
        assert ids == list(range(ids[0], ids[-1] + 1)), (nth, call)

        case.verb(catalog)
        assert (state(catalog), snapshots(catalog)) == (after, ids), (nth, call)

        sweep(catalog)
        assert not unnamed(catalog), (nth, call)
        catalog.table("d.t").expire_snapshots(retain_max=1)
        assert state(catalog) == after, (nth, call)
        sweep(catalog)
        assert not unnamed(catalog), (nth, call)


@pytest.mark.parametrize("name", sampled(CASES, 5))
def test_a_failing_call_leaves_the_old_rows_or_the_new(name: str) -> None:
    """The store answers with an error, before or after the effect, and the process lives on."""
    case = CASES[name]
    calls, before, after, _ = changes_of(case)
    for nth, call in enumerate(calls):
        for fault in (Fault.ERROR_BEFORE, Fault.ERROR_AFTER):
            catalog = fresh(case)
            error, failed = failure(case, catalog, nth, fault)
            assert error in {None, "unavailable", "unknown-outcome"}, (nth, call, error)
            assert state(catalog) in (before, after), (nth, call)
            tidies_up = failed is not None and failed.name not in {"delete", "open_output"}
            if error == "unavailable" and tidies_up and "expire s" not in name:
                assert not unnamed(catalog), (nth, failed, fault)
            case.verb(catalog)
            assert state(catalog) == after, (nth, call)
