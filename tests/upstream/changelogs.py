"""Changelog producers, streams, startup modes, ranges and consumers.

Facts from ``ChangelogMergeTreeRewriterTest``, ``LookupChangelogMergeFunctionWrapperTest``, the tests of starting and
follow-up scanners, ``ContinuousFileStoreITCase``, ``IncrementalTableTest``, ``ConsumerManagerTest`` and pypaimon's
``stream_read_builder_test`` and ``incremental_diff_scanner_test``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import table_core as tc
from tests.upstream.play import START_MS, area, case, shape
from tests.upstream.shapes import AP, KV, PARTED
from tests.upstream.steps import (
    after_ms,
    alter,
    changes,
    do,
    follows,
    names,
    put,
    refused,
    rows,
    snapshots,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.upstream.play import Case

__all__ = ["CASES"]

N = None


def producer(name: str, **more: str) -> dict[str, str]:
    """Options of a table with that producer."""
    return {"changelog-producer": name, **{k.replace("_", "-"): v for k, v in more.items()}}


INPUT, LOOKUP, FULL = producer("input"), producer("lookup"), producer("full-compaction")
DEDUPLICATED = "changelog-producer.row-deduplicate"

PRODUCERS = (
    case("input: rows are in the changelog as they came", KV, put((1, "a")), put(("-U", 1, "a"), ("+U", 1, "b"), ("-D", 2, "x")), changes((1, "a"), ("-U", 1, "a"), ("+U", 1, "b"), ("-D", 2, "x"), mode="changelog"), options=INPUT),
    case("input: two rows of one key in one write are both in the changelog", KV, put((1, "a"), (1, "b")), changes((1, "a"), (1, "b"), mode="changelog"), rows((1, "b")), options=INPUT),
    case("input: a compaction adds no changes", KV, put((1, "a")), put((1, "b")), do("compact"), changes((1, "a"), (1, "b"), mode="changelog"), options=INPUT),
    case("lookup: an update has its old row", KV, put((1, "a")), put((1, "b")), changes((1, "a"), ("-U", 1, "a"), ("+U", 1, "b"), mode="changelog"), options=LOOKUP),
    case("lookup: a delete has the row that was there", KV, put((1, "a")), put(("-D", 1, N)), changes((1, "a"), ("-D", 1, "a"), mode="changelog"), options=LOOKUP),
    case("lookup: a delete of nothing is no change", KV, put((1, "a")), put(("-D", 2, "x")), changes((1, "a"), mode="changelog"), options=LOOKUP),
    case("lookup: two rows of one key in one write are one change", KV, put((1, "a"), (1, "b")), changes((1, "b"), mode="changelog"), options=LOOKUP),
    case("lookup: a row that comes and goes in one write is no change", KV, put((1, "a"), ("-D", 1, "a")), changes(mode="changelog"), options=LOOKUP),
    case("lookup: a row that comes back is an insert", KV, put((1, "a")), put(("-D", 1, "a")), put((1, "c")), changes((1, "a"), ("-D", 1, "a"), (1, "c"), mode="changelog"), options=LOOKUP),
    case("lookup: an equal row is an update, unless told otherwise", KV, put((1, "a")), put((1, "a")), changes((1, "a"), ("-U", 1, "a"), ("+U", 1, "a"), mode="changelog"), options=LOOKUP),
    case("lookup: an equal row is no change, if told so", KV, put((1, "a")), put((1, "a")), changes((1, "a"), mode="changelog"), options={**LOOKUP, DEDUPLICATED: "true"}),
    case("lookup: columns can be left out of that comparison", shape("k INT, v STRING, t INT", key="k", bucket="1"), put((1, "a", 1)), put((1, "a", 2)), put((1, "b", 3)), changes((1, "a", 1), ("-U", 1, "a", 2), ("+U", 1, "b", 3), mode="changelog"), options={**LOOKUP, DEDUPLICATED: "true", f"{DEDUPLICATED}-ignore-fields": "t"}),
    case("lookup: each write is an APPEND and a COMPACT", KV, put((1, "a")), put((1, "b")), snapshots("APPEND COMPACT APPEND COMPACT"), options=LOOKUP),
    case("lookup: a sequence field decides what changed", shape("k INT, s INT, v STRING", key="k", bucket="1"), put((1, 5, "a")), put((1, 3, "b")), changes((1, 5, "a"), mode="changelog"), options={**LOOKUP, DEDUPLICATED: "true", "sequence.field": "s"}),
    case("lookup with deletion vectors: the same changes", KV, put((1, "a")), put((1, "b")), put(("-D", 1, N)), changes((1, "a"), ("-U", 1, "a"), ("+U", 1, "b"), ("-D", 1, "b"), mode="changelog"), options={**LOOKUP, "deletion-vectors.enabled": "true"}),
    case("full-compaction: changes come with the compaction", KV, put((1, "a")), changes(mode="changelog"), do("compact", options={"write-only": "false"}), changes((1, "a"), mode="changelog"), options={**FULL, "write-only": "true"}),
    case("full-compaction: several writes are one change", KV, put((1, "a")), do("compact", options={"write-only": "false"}), put((1, "b")), put((1, "c")), do("compact", options={"write-only": "false"}), changes((1, "a"), ("-U", 1, "a"), ("+U", 1, "c"), mode="changelog"), options={**FULL, "write-only": "true"}),
    case("full-compaction: a delete has the row that was there", KV, put((1, "a")), do("compact"), put(("-D", 1, N)), do("compact"), changes((1, "a"), ("-D", 1, "a"), mode="changelog"), options=FULL),
    case("full-compaction: what came and went between is no change", KV, put((1, "a")), put(("-D", 1, "a")), do("compact", options={"write-only": "false"}), changes(mode="changelog"), options={**FULL, "write-only": "true"}),
    case("full-compaction: a writer compacts after each so-many commits", KV, put((1, "a")), put((1, "b")), put((1, "c")), changes((1, "a"), ("-U", 1, "a"), ("+U", 1, "b"), ("-U", 1, "b"), ("+U", 1, "c"), mode="changelog"), options={**FULL, "full-compaction.delta-commits": "1"}),
    case("full-compaction: an equal row is no change, if told so", KV, put((1, "a")), do("compact"), put((1, "a")), do("compact"), changes((1, "a"), mode="changelog"), options={**FULL, DEDUPLICATED: "true"}),
    case("none: a range has the rows of the writes", KV, put((1, "a")), put((1, "b")), put(("-D", 1, "b")), changes((1, "a"), (1, "b"), ("-D", 1, "b"), mode="delta")),
    case("none: a difference has what is left, without old halves", KV, put((1, "a"), (2, "x")), put((1, "b"), (3, "y")), put(("-D", 2, "x")), changes((1, "b"), (3, "y"), ("-D", 2, "x"), mode="diff", after=1, to=3)),
    case("none: a difference looks at the files that one state has alone", KV, put((1, "a")), put((1, "b")), put((1, "a")), changes((1, "a"), mode="diff", after=1, to=3), do("compact"), changes(mode="diff", after=3, to=4)),
    case("an overwrite is not streamed, unless told to", PARTED, put((1, "a", "x")), put((2, "b", "x"), over="partitions"), changes((1, "a", "x"), mode="changelog"), options=INPUT),
    case("an overwrite is streamed, if told to", PARTED, put((1, "a", "x")), put((2, "b", "x"), over="partitions"), follows((1, "a", "x"), ("-D", 1, "a", "x"), (2, "b", "x"), options={"scan.snapshot-id": "1"}), options={**INPUT, "streaming-read-overwrite": "true"}),
    case("a changelog can have another format and compression", KV, put((1, "a")), put((1, "b")), changes((1, "a"), ("-U", 1, "a"), ("+U", 1, "b"), mode="changelog"), options={**LOOKUP, "changelog-file.format": "avro", "changelog-file.compression": "zstd"}),
    case("a changelog can have its own prefix", KV, put((1, "a")), put((1, "b")), changes((1, "a"), ("-U", 1, "a"), ("+U", 1, "b"), mode="changelog"), options={**LOOKUP, "changelog-file.prefix": "log-"}),
    case("the producer is set later, and takes effect with the next write", KV, put((1, "a")), alter(tc.SetOption("changelog-producer", "input")), put((1, "b")), changes((1, "b"), mode="changelog", after=1)),
)  # fmt: skip


def _startups() -> Iterator[Case]:
    """Three snapshots: 1, 2 replaces a row, 3 deletes one; each mode begins elsewhere."""
    three = (
        put((1, "a"), (2, "b"), watermark=10),
        put((1, "c"), watermark=20),
        put(("-D", 2, "b"), watermark=30),
    )
    state = ((1, "c"),)
    deltas = ((1, "a"), (2, "b"), (1, "c"), ("-D", 2, "b"))
    for mode, options, expected in (
        ("latest-full, the default, hands the newest state over", {}, state),
        ("latest-full by name", {"scan.mode": "latest-full"}, state),
        ("full is its old name", {"scan.mode": "full"}, state),
        ("latest hands only new rows over", {"scan.mode": "latest"}, ()),
        ("from-snapshot begins with the rows of the snapshot", {"scan.mode": "from-snapshot", "scan.snapshot-id": "2"}, deltas[2:]),
        ("a snapshot alone says from-snapshot", {"scan.snapshot-id": "3"}, deltas[3:]),
        ("from-snapshot-full begins with the state of the snapshot", {"scan.mode": "from-snapshot-full", "scan.snapshot-id": "2"}, ((1, "c"), (2, "b"), ("-D", 2, "b"))),
        ("from-timestamp begins after that time", {"scan.mode": "from-timestamp", "scan.timestamp-millis": str(START_MS + 600_000)}, ()),
        ("a time before all begins with the first snapshot", {"scan.timestamp-millis": "0"}, deltas),
        ("a time as text is a time", {"scan.timestamp": "2000-01-01 00:00:00"}, deltas),
        ("compacted-full without a compaction hands the newest state over", {"scan.mode": "compacted-full"}, state),
        ("from-file-creation-time filters files", {"scan.mode": "from-file-creation-time", "scan.file-creation-time-millis": "1"}, state),
        ("a bounded watermark ends the stream", {"scan.snapshot-id": "1", "scan.bounded.watermark": "20"}, deltas[:3]),
    ):  # fmt: skip
        yield case(f"stream: {mode}", KV, *three, follows(*expected, options=options), options={"write-only": "true"})  # fmt: skip
    yield case("stream: compacted-full hands the newest full compaction over", KV, put((1, "a")), do("compact"), put((1, "b")), follows((1, "a"), (1, "b"), options={"scan.mode": "compacted-full"}))  # fmt: skip
    yield case("stream: the snapshot that comes next is waited for", KV, put((1, "a")), follows(options={"scan.snapshot-id": "2"}), refused(follows(options={"scan.snapshot-id": "5"}), "5"))  # fmt: skip
    yield case("stream: an append table hands its rows over", AP, put((1, "a")), put((1, "a")), follows((1, "a"), (1, "a")))  # fmt: skip
    yield case("stream: a compaction of an append table is no change", AP, put((1, "a")), put((2, "b")), do("compact"), put((3, "c")), follows((1, "a"), (2, "b"), (3, "c"), options={"scan.snapshot-id": "1"}))  # fmt: skip
    yield case("stream: overwrites of an append table are passed over", AP, put((1, "a")), put((2, "b"), over="table"), follows((1, "a"), options={"scan.snapshot-id": "1"}))  # fmt: skip
    yield case("stream: overwrites of an append table are handed over, if told to", AP, put((1, "a")), put((2, "b"), over="table"), follows((1, "a"), (2, "b"), options={"scan.snapshot-id": "1"}), options={"streaming-read-append-overwrite": "true"})  # fmt: skip
    yield case("stream: the lookup changelog is handed over", KV, put((1, "a")), put((1, "b")), follows((1, "a"), ("-U", 1, "a"), ("+U", 1, "b"), options={"scan.snapshot-id": "1"}), options=LOOKUP)  # fmt: skip
    yield case("stream: an unread snapshot that is gone is an error", KV, put((1, "a")), put((1, "b")), put((1, "c")), do("expire_snapshots", retain_max=1, retain_min=1), refused(follows(after=0), "1"), options={"write-only": "true"})  # fmt: skip


RANGES = (
    case("a range of an append table has the new rows", AP, put((1, "a")), put((2, "b")), put((3, "c")), rows((2, "b"), (3, "c"), options={"incremental-between": "1,3"})),
    case("a range of one snapshot has its rows", AP, put((1, "a")), put((2, "b")), rows((2, "b"), options={"incremental-between": "1,2"})),
    case("a range passes compactions over", AP, put((1, "a")), put((2, "b")), do("compact"), put((3, "c")), rows((2, "b"), (3, "c"), options={"incremental-between": "1,4"})),
    case("a range of a key table has the rows as they came", KV, put((1, "a")), put((1, "b"), (2, "x")), put((1, "c")), rows((1, "b"), (2, "x"), (1, "c"), options={"incremental-between": "1,3"}), options={"write-only": "true"}),
    case("a range leaves deletes out", KV, put((1, "a"), (2, "b")), put(("-D", 1, "a"), (3, "c")), rows((3, "c"), options={"incremental-between": "1,2"}), options={"write-only": "true"}),
    case("a range between tags", AP, put((1, "a")), do("tags.create", "x"), put((2, "b")), put((3, "c")), do("tags.create", "y"), rows((2, "b"), (3, "c"), options={"incremental-between": "x,y"})),
    case("a range between tags that look like numbers", AP, put((1, "a")), put((2, "b")), put((3, "c")), do("tags.create", "20241201", snapshot=1), do("tags.create", "20241202", snapshot=2), rows((2, "b"), options={"incremental-between": "20241201,20241202"})),
    case("a range between times", AP, put((1, "a")), put((2, "b")), rows((1, "a"), (2, "b"), options={"incremental-between-timestamp": f"0,{START_MS * 2}"})),
    case("a range between times as text", AP, put((1, "a")), put((2, "b")), rows((1, "a"), (2, "b"), options={"incremental-between-timestamp": "2000-01-01 00:00:00,2050-01-01 00:00:00"})),
    case("a range between times of a zone", AP, put((1, "a")), put((2, "b")), rows((1, "a"), (2, "b"), options={"incremental-between-timestamp": "2000-01-01T00:00:00+01:00,2050-01-01T00:00:00Z"})),
    case("a range between texts that are no times is refused", AP, put((1, "a")), refused(rows(options={"incremental-between-timestamp": "yesterday,today"}), "yesterday")),
    case("a range between times that ends before it begins is refused", AP, put((1, "a")), refused(rows(options={"incremental-between-timestamp": "2050-01-01,2000-01-01"}), "2050-01-01")),
    case("a range that ends before it begins is refused", AP, put((1, "a")), put((2, "b")), refused(rows(options={"incremental-between": "2,1"}), "incremental-between")),
    case("a range needs an end", AP, put((1, "a")), refused(rows(options={"incremental-between": "1"}), "incremental-between")),
    case("a range from 0 has every row", AP, put((1, "a")), put((2, "b")), rows((1, "a"), (2, "b"), options={"incremental-between": "0,2"})),
    case("a range as a difference of states", KV, put((1, "a"), (2, "b")), put((1, "c")), put(("-D", 2, "b"), (3, "d")), rows((1, "c"), (3, "d"), options={"incremental-between": "1,3", "incremental-between-scan-mode": "diff"}), options={"write-only": "true"}),
    case("a range of the changelog", KV, put((1, "a")), put((1, "b")), rows((1, "b"), options={"incremental-between": "2,4", "incremental-between-scan-mode": "changelog"}), options=LOOKUP),
    case("a range to an automatic tag", AP, put((1, "a")), after_ms(86_400_000), put((2, "b")), rows((2, "b"), options={"incremental-to-auto-tag": "2023-11-14"}), options={"tag.automatic-creation": "process-time", "tag.creation-period": "daily"}),
    case("a range on an empty table is empty", AP, rows(options={"incremental-between-timestamp": "0,1"})),
    case("a condition is applied to a range", AP, put((1, "a")), put((2, "b"), (3, "c")), rows((3, "c"), where="k > 2", options={"incremental-between": "1,2"})),
    case("a range of an unknown tag is refused", AP, put((1, "a")), refused(rows(options={"incremental-between": "x,y"}), "x")),
)  # fmt: skip

CONSUMERS = (
    case("a consumer begins where it is set to", KV, put((1, "a")), put((2, "b")), do("consumers.reset", "me", 2), follows((2, "b"), consumer="me"), options={"write-only": "true"}),
    case("a consumer goes on where it was", KV, put((1, "a")), follows((1, "a"), consumer="me"), put((2, "b")), follows((2, "b"), consumer="me"), options={"write-only": "true"}),
    case("a consumer keeps snapshots from expiry", KV, put((1, "a")), put((2, "b")), put((3, "c")), do("consumers.reset", "me", 2), do("expire_snapshots", retain_max=1, retain_min=1), snapshots("APPEND APPEND"), options={"write-only": "true"}),
    case("a consumer is deleted, and expiry goes on", KV, put((1, "a")), put((2, "b")), do("consumers.reset", "me", 1), do("consumers.delete", "me"), do("expire_snapshots", retain_max=1, retain_min=1), snapshots("APPEND"), options={"write-only": "true"}),
    case("consumers are listed with what they read next", KV, put((1, "a")), put((2, "b")), do("consumers.reset", "a", 1), do("consumers.reset", "b", 2), names("consumers.list()", "a", "b"), options={"write-only": "true"}),
    case("a consumer that is not there is an error", KV, put((1, "a")), refused(do("consumers.get", "me"), "me")),
    case("an option names the consumer of a stream", KV, put((1, "a")), follows((1, "a"), options={"consumer-id": "me"}), put((2, "b")), follows((2, "b"), options={"consumer-id": "me"}), options={"write-only": "true"}),
    case("several consumers are independent", KV, put((1, "a")), follows((1, "a"), consumer="x"), put((2, "b")), follows((1, "a"), (2, "b"), consumer="y"), follows((2, "b"), consumer="x"), options={"write-only": "true"}),
    case("a consumer can be set aside", KV, put((1, "a")), put((2, "b")), do("consumers.reset", "me", 2), follows((1, "a"), (2, "b"), options={"consumer.ignore-progress": "true"}, consumer="me"), options={"write-only": "true"}),
    case("all consumers but some are cleared", KV, put((1, "a")), do("consumers.reset", "a", 1), do("consumers.reset", "b", 1), do("consumers.clear", including="a"), names("consumers.list()", "b")),
)  # fmt: skip

CASES = (
    *area("Changelog producers", PRODUCERS),
    *area("Streams and startup modes", _startups()),
    *area("Incremental reads", RANGES),
    *area("Consumers", CONSUMERS),
)
