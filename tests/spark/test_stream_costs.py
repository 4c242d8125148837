"""Goal: the thousandth micro-batch of a stream costs what the first ones did.

Method: reader and sink are driven as Spark drives them, in one process, so that what is counted is ours alone: the
requests to the store, the bytes that are read and written, and the seconds of CPU of each batch.
"""

from __future__ import annotations

import time
from collections import Counter
from statistics import mean, median
from typing import Any

import pytest

import table_core as tc
from table_core.spark.datasource import PaimonSource
from table_core.storage.stores.local import LocalStorage
from tests.lanes import budget
from tests.spark.stream_tables import keyed, write
from tests.tables import rows_of

BATCHES = budget("STREAM_BATCHES", ci=60, nightly=1_000)
SETTLED, KEYS = 20, 50
"""After so many batches compaction and expiry have begun; so many keys change again and again."""
GROWN_MOST = {"requests": 1.25, "named": 1.25, "bytes": 1.5, "CPU": 2.0}
FEW = {"snapshot.num-retained.max": "10", "snapshot.num-retained.min": "10"}
REQUESTS = (
    "create",
    "write",
    "read",
    "exists",
    "list",
    "walk",
    "move",
    "open_input",
    "open_output",
)


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """What the store was asked for, by verb, and the bytes of what was written and read whole."""
    counts: Counter[str] = Counter()

    def counted(verb: str, there: Any) -> Any:
        def asked(self: LocalStorage, *args: Any, **how: Any) -> Any:
            counts[verb] += 1
            found = there(self, *args, **how)
            if verb in ("list", "walk"):
                names = list(found)
                counts["named"] += len(names)
                return iter(names)
            if verb == "read":
                counts["bytes"] += len(found)
            elif verb in ("create", "write"):
                counts["bytes"] += len(args[1])
            return found

        return asked

    for verb in REQUESTS:
        monkeypatch.setattr(LocalStorage, verb, counted(verb, getattr(LocalStorage, verb)))
    return counts


class Stream:
    """A query without Spark: a position, and the number of the next batch."""

    def __init__(self, source: tc.Table, target: tc.Table) -> None:
        reading = PaimonSource(
            {"path": source.uri, "consumer-id": "copy", "read.changelog": "true"}
        )
        self.schema = reading.schema()
        self.reader: Any = reading.streamReader(self.schema)
        self.sink = PaimonSource({"path": target.uri, "commit-user": "copy"})
        self.at, self.number = self.reader.initialOffset(), 0

    def batch(self) -> None:
        """All that is there now."""
        end = self.reader.latestOffset()
        parts = self.reader.partitions(self.at, end)
        rows = [batch for part in parts for batch in self.reader.read(part)]
        writer: Any = self.sink.streamWriter(self.schema, overwrite=False)
        writer.commit([writer.write(iter(rows))], self.number)
        self.reader.commit(end)
        self.at, self.number = end, self.number + 1


@pytest.mark.parametrize("kind", ["kept", "expired", "append"])
def test_a_late_batch_costs_what_an_early_one_did(
    catalog: tc.Catalog, seen: Counter[str], kind: str
) -> None:
    """``kept``: every snapshot stays; ``expired``: the newest ten do."""
    source = keyed(catalog, "source", **{"changelog-producer": "input"})
    options = {} if kind == "kept" else FEW
    if kind == "append":
        target = catalog.create_table("d.target", source.arrow_schema, options=options)
    else:
        target = keyed(catalog, "target", **options)
    stream, costs, cpu = Stream(source, target), [], []
    for number in range(BATCHES):
        write(source, ("+I", number % KEYS if kind != "append" else number, f"v{number}"))
        seen.clear()
        before = time.process_time()
        stream.batch()
        cpu.append(time.process_time() - before)
        costs.append(Counter(seen))
    part = max(10, BATCHES // 10)
    early, late = slice(SETTLED, SETTLED + part), slice(-part, None)
    for what in ("requests", "named", "bytes"):
        first, last = (mean(weight(one, what) for one in costs[which]) for which in (early, late))
        print(f"{kind}, {what} of a batch: {first:.1f}, of the last ones {last:.1f}")
        assert last <= GROWN_MOST[what] * first + 2
    first, last = (median(cpu[which]) for which in (early, late))
    print(f"{kind}, CPU of a batch: {first * 1000:.1f} ms, of the last ones {last * 1000:.1f} ms")
    assert last <= GROWN_MOST["CPU"] * first
    assert len(rows_of(target)) == (BATCHES if kind == "append" else min(KEYS, BATCHES))


def weight(cost: Counter[str], what: str) -> int:
    """How many requests a batch made, or how many names or bytes it met."""
    return sum(cost[verb] for verb in REQUESTS) if what == "requests" else cost[what]
