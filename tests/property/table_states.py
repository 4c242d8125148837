"""A table's life as a state machine: writes, compactions, schema changes and travel in time, beside a model of rows."""

from __future__ import annotations

import uuid
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

import table_core as tc
from tests.tables import new_catalog, write_rows

Row = tuple[str, int, int | None, int | None]
SCHEMA = pa.schema(
    [
        pa.field("k", pa.int32(), nullable=False),
        pa.field("total", pa.int64()),
        pa.field("most", pa.int32()),
    ]
)
AGGREGATION = {
    "merge-engine": "aggregation",
    "fields.total.aggregate-function": "sum",
    "fields.most.aggregate-function": "max",
    "aggregation.remove-record-on-delete": "true",
}
ENGINES = {
    "deduplicate": {},
    "aggregation": AGGREGATION,
    "partial-update": {
        "merge-engine": "partial-update",
        "partial-update.remove-record-on-delete": "true",
    },
    "first-row": {"merge-engine": "first-row"},
}


def rows_of(kinds: list[str]) -> st.SearchStrategy[list[Row]]:
    small = st.one_of(st.none(), st.integers(-5, 5))
    return st.lists(st.tuples(st.sampled_from(kinds), st.integers(0, 7), small, small), max_size=9)


def as_arrow(rows: list[Row]) -> pa.Table:
    kinds, keys, totals, most = zip(*rows, strict=True) if rows else ((), (), (), ())
    return pa.table(
        {
            "k": pa.array(keys, pa.int32()),
            "total": pa.array(totals, pa.int64()),
            "most": pa.array(most, pa.int32()),
            "_ROW_KIND": pa.array(kinds, pa.string()),
        }
    )


class TableStates(RuleBasedStateMachine):
    """One table and its model."""

    @initialize(
        engine=st.sampled_from(["deduplicate", *ENGINES]),
        producer=st.sampled_from(["none", "input", "full-compaction", "lookup"]),
        vectors=st.booleans(),
        bucket=st.sampled_from(["1", "2", "3", "-1"]),
        form=st.sampled_from(["parquet", "orc", "avro"]),
        quiet=st.booleans(),
        trigger=st.integers(2, 4),
        delta_commits=st.integers(1, 3),
    )
    def create(
        self,
        engine: str,
        producer: str,
        vectors: bool,
        bucket: str,
        form: str,
        quiet: bool,
        trigger: int,
        delta_commits: int,
    ) -> None:
        options = {
            "bucket": bucket,
            "dynamic-bucket.target-row-num": "3",
            "file.format": form,
            "changelog-producer": producer,
            "num-sorted-run.compaction-trigger": str(trigger),
            "snapshot.time-retained": "1 ms",
            "snapshot.num-retained.min": "100",
        }
        options |= ENGINES[engine]
        if quiet:
            options["changelog-producer.row-deduplicate"] = "true"
        if engine == "first-row" and producer not in ("none", "lookup"):
            producer = options["changelog-producer"] = "lookup"
        if producer == "full-compaction":
            options["full-compaction.delta-commits"] = str(delta_commits)
        vectors = vectors and producer != "full-compaction" and engine != "first-row"
        if vectors:
            options["deletion-vectors.enabled"] = "true"
        self.hides = vectors or engine == "first-row"
        self.engine, self.producer = engine, producer
        catalog = new_catalog(self.warehouse())
        self.table = catalog.create_table("d.t", SCHEMA, primary_key=("k",), options=options)
        self.model: dict[int, list[int | None]] = {}
        self.replayed: dict[int, list[int | None]] = {}
        self.taken = 0

    @property
    def tells_changes(self) -> bool:
        """Whether the producer says what became of rows, and not only what was written."""
        return self.producer in {"full-compaction", "lookup"}

    def warehouse(self) -> str:
        """Where to make the table."""
        return f"memory://{uuid.uuid4().hex}"

    @rule(rows=st.deferred(lambda: rows_of(["+I", "+U", "-D"])), write_only=st.booleans())
    def write(self, rows: list[Row], write_only: bool) -> None:
        table = self.table
        if write_only:
            table = tc.open_table(table.uri, options={"write-only": "true"})
        self._write(table, self.fit(rows))
        if self.hides and write_only:
            self.table.compact("minor")  # nobody reads level 0 beside deletion vectors
        self._follow()

    def fit(self, rows: list[Row]) -> list[Row]:
        """Those of ``rows`` of which the engine promises what they do beside others."""
        return rows if self.engine == "deduplicate" else [row for row in rows if row[0] != "-D"]

    @precondition(lambda self: self.engine != "first-row")
    @rule(key=st.integers(0, 7))
    def delete(self, key: int) -> None:
        """Delete a key on its own, and compact fully.

        An aggregation loses a delete that is merged with a later add before it meets the old row
        (Paimon's rule, format 8.6), so no sum can be promised for less.
        """
        self._write(self.table, [("-D", key, None, None)])
        self.compact("full")

    def _write(self, table: tc.Table, rows: list[Row]) -> None:
        write_rows(table, as_arrow(rows))
        for row in rows:
            self._apply(row)

    def _apply(self, row: Row) -> None:
        kind, key, total, most = row
        if kind == "-D":
            self.model.pop(key, None)
        elif self.engine == "deduplicate" or key not in self.model:
            self.model[key] = [total, most]
        elif self.engine == "aggregation":
            old = self.model[key]
            values = [v for v in (old[0], total) if v is not None]
            peaks = [v for v in (old[1], most) if v is not None]
            self.model[key] = [sum(values) if values else None, max(peaks, default=None)]
        elif self.engine == "partial-update":
            pairs = zip(self.model[key], (total, most), strict=True)
            self.model[key] = [old if new is None else new for old, new in pairs]

    @rule(strategy=st.sampled_from(["full", "minor"]))
    def compact(self, strategy: str) -> None:
        self.table.compact(strategy)
        self._follow()

    @rule(retain=st.integers(1, 3))
    def expire(self, retain: int) -> None:
        self.table.expire_snapshots(retain_max=retain, retain_min=1)

    def _follow(self) -> None:
        """Take what was delivered since, before expiry can take it away."""
        head = self.table.latest_snapshot()
        if head is None or head.id == self.taken:
            return
        for row in self.table.changes(after=self.taken, to=head.id).to_arrow().to_pylist():
            self._replay(row)
        self.taken = head.id

    def _replay(self, row: dict[str, Any]) -> None:
        kind, key, value = row["_ROW_KIND"], row["k"], [row["total"], row["most"]]
        if not self.tells_changes:  # what was written: versions without what they replace
            if kind in {"-U", "-D"}:
                self.replayed.pop(key, None)
            else:
                self.replayed[key] = value
        elif kind in {"-U", "-D"}:
            assert self.replayed.pop(key) == value
        else:
            assert key not in self.replayed
            self.replayed[key] = value

    @rule()
    def deliver_everything(self) -> None:
        if self.tells_changes:
            self.compact("full" if self.producer == "full-compaction" else "minor")
        if self.tells_changes or self.engine == "deduplicate":
            assert self.replayed == self.model

    @invariant()
    def rows_are_those_of_the_model(self) -> None:
        if not hasattr(self, "table"):
            return
        found = self.table.read().to_arrow().to_pylist()
        assert len(found) == len({row["k"] for row in found})
        assert {row["k"]: [row["total"], row["most"]] for row in found} == self.model

    @invariant()
    def a_filter_keeps_what_the_model_keeps(self) -> None:
        if not hasattr(self, "table"):
            return
        found = self.table.read(columns=["k"], where="most > 0 AND k <= 5").to_arrow()
        want = {k for k, v in self.model.items() if v[1] is not None and v[1] > 0 and k <= 5}
        assert set(found["k"].to_pylist()) == want
