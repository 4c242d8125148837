"""Goal: each start of a read that the options know is the one of Apache Paimon, batch and stream.

Method: one table of each kind with commits, compactions, an overwrite, a tag and watermarks; then every
``scan.*`` and ``incremental-*`` option with values before, at and after what there is.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from judge import Judge, JudgeError, Rows, judged

import table_core as tc
from tests.interop.followed import followed_table
from tests.tables import write_rows

pytestmark = pytest.mark.interop

NAME = "default.t"
KINDS: dict[str, tuple[dict[str, str], tuple[str, ...]]] = {
    "append": ({"bucket": "-1"}, ()),
    "plain": ({"bucket": "1"}, ("k",)),
    "input": ({"bucket": "1", "changelog-producer": "input"}, ("k",)),
    "lookup": ({"bucket": "1", "changelog-producer": "lookup"}, ("k",)),
    "full": ({"bucket": "1", "changelog-producer": "full-compaction"}, ("k",)),
    "first": ({"bucket": "1", "merge-engine": "first-row", "changelog-producer": "lookup"}, ("k",)),
    "vectors": ({"bucket": "1", "deletion-vectors.enabled": "true"}, ("k",)),
}


def build(kind: str, paimon: Judge, folder: Path) -> Any:
    options, keys = KINDS[kind]
    theirs, catalog = paimon.table(folder, NAME), tc.open_catalog(folder.as_uri())
    theirs.create([("k", "INT NOT NULL"), ("v", "STRING")], primary_key=keys, **options)
    gone = "-D" if keys and kind != "first" else "+I"

    def put(watermark: int, *rows: list[Any]) -> None:
        theirs.write(list(rows), watermark)
        time.sleep(0.02)  # times of snapshots must differ

    put(1000, ["+I", 1, "a"], ["+I", 2, "b"])
    put(2000, ["+I", 1, "a2"], ["+I", 3, "c"])
    theirs.compact()
    theirs.tag("middle")
    put(3000, [gone, 2, "b"], ["+I", 4, "d"])
    write_rows(
        catalog.table(NAME),
        pa.table({"k": pa.array([1, 9], pa.int32()), "v": ["w", "z"]}),
        overwrite="table",
    )
    put(5000, ["+I", 5, "e"], ["+I", 9, "z2"])
    theirs.compact()
    put(6000, ["+I", 6, "f"])
    return catalog


def cases(snapshots: list[Any]) -> Iterator[dict[str, str]]:
    newest = snapshots[-1].id
    modes = ("default", "full", "latest-full", "latest", "compacted-full", "incremental")
    needy = ("from-timestamp", "from-snapshot", "from-snapshot-full", "from-file-creation-time")
    for mode in (*modes, *needy, "from-creation-timestamp"):
        yield {"scan.mode": mode}
    for snapshot in (snapshots[0], snapshots[len(snapshots) // 2], snapshots[-1]):
        at, id = snapshot.time_millis, str(snapshot.id)
        for shift in (-1, 0, 1):
            yield {"scan.timestamp-millis": str(at + shift)}
        text = datetime.fromtimestamp(at / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S.%f")[:-3]
        yield {"scan.timestamp": text}
        yield {"scan.mode": "from-timestamp", "scan.timestamp-millis": str(at)}
        yield {"scan.snapshot-id": id}
        yield {"scan.version": id}
        yield {"scan.mode": "from-snapshot", "scan.snapshot-id": id}
        yield {"scan.mode": "from-snapshot-full", "scan.snapshot-id": id}
        for key, mode in (("file-creation", "from-file-creation-time"), ("creation", "default")):
            yield {f"scan.{key}-time-millis": str(at - 5)}
            yield {"scan.mode": mode, f"scan.{key}-time-millis": str(at)}
    yield {"scan.timestamp-millis": "5"}
    yield {"scan.timestamp-millis": str(snapshots[-1].time_millis + 10**6)}
    for watermark in (500, 1000, 1500, 3000, 5500, 9000):
        yield {"scan.watermark": str(watermark)}
        yield {"scan.bounded.watermark": str(watermark)}
        start = {"scan.mode": "from-snapshot", "scan.snapshot-id": "1"}
        yield {**start, "scan.bounded.watermark": str(watermark)}
    yield {"scan.tag-name": "middle"}
    yield {"scan.version": "middle"}
    yield {"scan.tag-name": "none"}
    for option in ("streaming-read-overwrite", "streaming-read-append-overwrite"):
        yield {option: "true", "scan.mode": "from-snapshot", "scan.snapshot-id": "1"}
    for after, to in ((0, newest), (1, newest), (2, 5), (5, 5), (3, 2), (1, 99)):
        for mode in ("auto", "delta", "changelog", "diff"):
            between = f"{after},{to}"
            yield {"incremental-between": between, "incremental-between-scan-mode": mode}
    times = [s.time_millis for s in snapshots]
    for after, to in ((times[0], times[-1]), (times[0] - 1, times[2]), (times[1], times[1])):
        yield {"incremental-between-timestamp": f"{after},{to}"}


def followed(catalog: Any, options: dict[str, str]) -> Rows:
    return followed_table(catalog, NAME, options)


def answer(ask: Callable[[], Rows]) -> Counter[str] | None:
    """Rows in any order, None for a refusal."""
    try:
        return Counter(json.dumps(row) for row in ask())
    except (JudgeError, tc.errors.TableError):
        return None


def paimon_only_refuses(options: dict[str, str], kind: str) -> bool:
    """What we do though Paimon does not: streams from tags and watermarks, diffs from nothing."""
    if {"scan.tag-name", "scan.watermark"} & set(options) or options.get(
        "scan.version"
    ) == "middle":
        return True
    if "streaming-read-overwrite" in options and kind in {"append", "lookup", "full", "first"}:
        return True
    return options.get("incremental-between", "").startswith("0,")


@pytest.mark.parametrize("kind", list(KINDS))
def test_reads_begin_where_paimon_begins(kind: str, paimon: Judge, tmp_path: Path) -> None:
    catalog, theirs = build(kind, paimon, tmp_path), paimon.table(tmp_path, NAME)
    snapshots = catalog.table(NAME).snapshots()
    wrong = []
    for options in cases(snapshots):
        asked = {k.replace("-", "_").replace(".", "__"): v for k, v in options.items()}

        def batch(options: dict[str, str] = options) -> Rows:
            return judged(catalog.table(NAME, options=options).read().to_arrow())

        def their_batch(asked: dict[str, str] = asked) -> Rows:
            return [["+I", *row[1:]] for row in theirs.read(**asked) if row[0] in ("+I", "+U")]

        pairs = [("batch", batch, their_batch)]
        if not any(key.startswith("incremental") for key in options):
            pairs.append(
                (
                    "stream",
                    lambda options=options: followed(catalog, options),
                    lambda asked=asked: theirs.stream(snapshots[-1].id, **asked),
                )
            )
        for way, ours, other in pairs:
            have, want = answer(ours), answer(other)
            if have != want and not (want is None and paimon_only_refuses(options, kind)):
                wrong.append((way, options, have, want))
    assert wrong == []


def test_a_consumer_goes_on_where_paimon_left_it(paimon: Judge, tmp_path: Path) -> None:
    catalog = build("input", paimon, tmp_path)
    theirs, newest = paimon.table(tmp_path, NAME), catalog.table(NAME).latest_snapshot().id
    reader = {"consumer_id": "c", "scan__mode": "from-snapshot", "scan__snapshot_id": "1"}
    assert theirs.stream(newest, **reader)
    assert catalog.table(NAME).system("consumers").to_arrow().to_pylist() == [
        {"consumer_id": "c", "next_snapshot_id": newest + 1}
    ]
    theirs.write([["+I", 77, "new"]])
    options = {"consumer-id": "c"}
    assert followed(catalog, options) == [["+I", 77, "new"]]
    assert theirs.stream(newest + 1, consumer_id="c") == []
    again = {"consumer-id": "c", "consumer.ignore-progress": "true", "scan.mode": "latest"}
    assert followed(catalog, again) == []
