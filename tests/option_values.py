"""Wrong values of every option of Apache Paimon that is honoured, and right ones of the same spelling rules.

By Java type, as ``core_options.tsv`` has it, then what one option alone does not take: ``OWN`` for texts,
``BELOW`` and ``ABOVE`` for numbers.  Written down by hand, not derived from the code that is judged.
"""

from __future__ import annotations

from tests.option_keys import LINES

WRONG: dict[str, tuple[str, ...]] = {
    "Boolean": (
        *("", " ", "yes", "no", "1", "0", "on", "off", "tru", "truee", "t", "f", " true", "false "),
        *("true,", "null", "None", "-1", "ja", "false;", "true false"),
    ),
    "Integer": (
        *("", " ", "x", "1.5", "1e3", "0x10", "1_000", "3 ", " 3", "--1", "+", "2147483648"),
        *("-2147483649", "9223372036854775808", "NaN", "true", "1,000", "three", "1b", "3;", "½"),
    ),
    "Long": (
        *("", " ", "x", "1.5", "1e3", "0x10", "1_000", "3 ", " 3", "--1", "+", "1L", "now"),
        *("9223372036854775808", "-9223372036854775809", "NaN", "true", "1,000", "3;", "½"),
    ),
    "Double": (
        *("", " ", "x", "1,5", "--1", "1e", "0x", "1_000", "half", "true", "NaN", "Infinity", "."),
        *("-Infinity", "inf", "-0.1", "1.1", "50%", "1/2", "٣", "0.1.2"),
    ),
    "Duration": (
        *("", " ", "x", "-1 h", "1.5 h", "1 fortnight", "h", "1h 30m", "PT1H", "1:30", "1 weeks"),
        *(
            "two days",
            "1e3",
            "1,5 h",
            "9223372036854775808",
            "9223372036854775807 d",
            "٣ h",
            "1 hr",
        ),
        *("1 y", "∞"),
    ),
    "MemorySize": (
        *(
            "",
            " ",
            "x",
            "-1 mb",
            "1.5 gb",
            "1 pb",
            "mb",
            "1 mb 2 kb",
            "1e3",
            "1,5 gb",
            "1 MiB",
            "1 %",
        ),
        *("one gb", "1 bit", "9223372036854775808", "99999999999 tb", "٣ mb", "1gbb", "0x10", "∞"),
    ),
}
_TYPOS = (
    "",
    " ",
    "x",
    "1",
    "-1",
    "true",
    "null",
    "?",
    "a b",
    "\n",
    "any",
    "every",
    "0.5",
    "[]",
    "{}",
)
_WORDS = (*_TYPOS, "zst", "zstdd", "gz ip", "par quet", "prquet", "orcc", "avroo", "trunc", "ful")
_NOT_NAMES = (
    *(
        "",
        " ",
        "  ",
        "\t",
        "\n",
        "a\nb",
        "a\rb",
        "\x00",
        "a\x00",
        "\x1b[31m",
        "a\tb",
        "\x7f",
        "\u200b",
    ),
    *("\u2028", "\u202e", "\ufeff", "\x85", "a\x0bb", "\x0c", "\ud800"),
)
_NO_COLUMNS = tuple(
    f"{left}{right}"
    for left in ("nope", "K", "k;v", "k v", "v.", ".v", "k|v", "*", "ﬀ", "kk")
    for right in ("", ",v")
)
_ENDS = (
    *("", " ", ",", "1", "1,", ",2", "1,2,3", "1;2", "1-2", "1 2", "a", ",,", " , ", "1:2", "[1]"),
    *("(1)", "1..2", "latest", "2026-01-01", "\n"),
)
_BY_LEVEL = (
    *(
        "x",
        "0",
        "a:b",
        "0:",
        ":zstd",
        "-1:zstd",
        "0:zst",
        "0=zstd",
        "0:x,1",
        "0:x;1:y",
        "1.5:zstd",
        "0 zstd",
    ),
    *("0:prquet", "0:orcc", "0:trunc", "0:ful", "0:truncate(0)", "0:none:x", "a", "0:zstd,x"),
)
OWN: dict[str, tuple[str, ...]] = {
    "scan.partitions": (
        *(*_TYPOS, "dt", "dt=", "=1", "dt=1;", ";dt=1", "dt=1,", "dt=1,,hh=2", "dt:1"),
        *("max_pt", "max_pt(1)", "max_three_pt()", "max_pt();dt=1", "dt==;"),
    ),
    **dict.fromkeys(
        (
            *("bucket-key", "sequence.field", "clustering.columns"),
            "changelog-producer.row-deduplicate-ignore-fields",
            "partial-update.remove-record-on-sequence-group",
            *("manifest-sort.partition-field", "record-level.time-field", "rowkind.field"),
            "fields.default-aggregate-function",
        ),
        _NO_COLUMNS,
    ),
    **dict.fromkeys(
        (
            *("file.compression", "changelog-file.compression", "manifest.compression"),
            *("spill-compression", "lookup.cache-spill-compression", "file.format"),
            *("changelog-file.format", "metadata.stats-mode", "changelog-file.stats-mode"),
            *("clustering.strategy", "partition.expiration-strategy", "partition.mark-done-action"),
        ),
        _WORDS,
    ),
    **dict.fromkeys(
        ("file.format.per.level", "file.compression.per.level", "metadata.stats-mode.per.level"),
        _BY_LEVEL,
    ),
    **dict.fromkeys(
        (
            *(
                "commit.user-prefix",
                "consumer-id",
                "incremental-to-auto-tag",
                "owner",
                "scan.version",
            ),
            *("partition.default-name", "scan.fallback-branch", "scan.tag-name"),
            "tag.batch.customized-name",
        ),
        _NOT_NAMES,
    ),
    **dict.fromkeys(
        ("data-file.prefix", "changelog-file.prefix"),
        (*_NOT_NAMES, "a/b", "/", "../x-", "a\\b", " x-", "x ", "..\\x-"),
    ),
    "data-file.path-directory": (
        *("", "/", "//", ".", "..", "a/../b", "/..", "a//b", "a\\b", "a\nb", "a/.", "./a", "a\x00"),
        *("../../etc", "..\\x", "a/..", "\t", "a\rb", "\\", "a/\u2028"),
    ),
    "partition.timestamp-pattern": (
        *_NOT_NAMES,
        *("$nope", "$d", "$k", "$dt $nope", "$DT", "$v $dt"),
    ),
    "partition.timestamp-formatter": (
        *(
            "",
            " ",
            "x",
            "yyyy",
            "yyyy-MM",
            "HH:mm",
            "yyyy-MM-ddTHH",
            "iso",
            "daily",
            "%Y-%m-%d",
            "date",
        ),
        *(
            "YYYY-MM-DD",
            "yyyy-mm-dd",
            "MM-dd",
            "'yyyy-MM-dd'",
            "yyyy-MM-dd'",
            "yyyy]-MM-dd",
            "dd.MM",
        ),
        *("{yyyy}-MM-dd", "auto", "yyyy-MM-dd #"),
    ),
    **dict.fromkeys(
        ("sink.process-time-zone", "sink.watermark-time-zone"),
        (
            *(
                "",
                " ",
                "x",
                "Europe",
                "Europe/Berlinn",
                "+25:00",
                "+1:0",
                "UTC+",
                "+",
                "25",
                "/etc",
            ),
            *("../UTC", "Mars/Base", "\x00", "UTC ", "local", "GMT+99", "+02:0", "a" * 300, "."),
        ),
    ),
    "scan.timestamp": (
        *(
            "",
            " ",
            "x",
            "now",
            "yesterday",
            "2026.",
            "2026-13-01",
            "2026-02-30",
            "2026-1-1T",
            "1.5",
        ),
        *("2026-01-01 25:00:00", "2026-01-01 10", "01.02.2026", "2026/01/01", "1700000000000 ms"),
        *("2026-01-01 00:00:00+99:00", "-", "T10:00", "2026-01-01T", "2026-01-01 12:61:00"),
    ),
    "incremental-between": _ENDS,
    "incremental-between-timestamp": (*_ENDS, "2,1", "a,b", "1,b", "1.5,2"),
}
_AT_LEAST = {
    -1: ("commit.strict-mode.last-safe-snapshot", "metadata.stats-keep-first-n-columns"),
    0: (
        *(
            "commit.max-retries",
            "compaction.max-size-amplification-percent",
        ),
        *("compaction.offpeak-ratio", "scan.creation-time-millis", "scan.timestamp-millis"),
        *("scan.file-creation-time-millis", "scan.snapshot-id"),
    ),
    1: (
        *("changelog.num-retained.max", "changelog.num-retained.min", "compaction.min.file-num"),
        *("dynamic-bucket.assigner-parallelism", "dynamic-bucket.initial-buckets"),
        *(
            "dynamic-bucket.target-row-num",
            "file-operation.thread-num",
            "full-compaction.delta-commits",
        ),
        *(
            "lookup-compact.max-interval",
            "manifest.merge-min-count",
            "partition.expiration-batch-size",
        ),
        *(
            "num-sorted-run.compaction-trigger",
            "num-sorted-run.stop-trigger",
            "target-file-row-num",
        ),
        *("partition.expiration-max-num", "postpone.default-bucket-num", "read.batch-size"),
        *("postpone.target-row-num-per-bucket", "scan.parallelism", "sink.parallelism"),
        *("snapshot.expire.limit", "snapshot.num-retained.max", "snapshot.num-retained.min"),
        *("tag.num-retained-max", "file.compression.zstd-level", "spill-compression.zstd-level"),
    ),
    2: ("num-levels", "sort-spill-threshold"),
}
BELOW = {key: str(least - 1) for least, keys in _AT_LEAST.items() for key in keys} | {
    **dict.fromkeys(
        (
            *(
                "deletion-vector.index-file.target-size",
                "file.block-size",
                "manifest.target-file-size",
            ),
            *("read.memory-limit", "source.split.target-size", "target-file-size"),
            *("write-buffer-size", "write.memory-limit", "postpone.target-size-per-bucket"),
        ),
        "0 b",
    ),
    "bucket": "0",
    "dynamic-bucket.max-buckets": "0",
    "compaction.offpeak.start.hour": "-2",
    "compaction.offpeak.end.hour": "-2",
    "tag.creation-period-duration": "0 ms",
    "continuous.discovery-interval": "0",
    "lookup.cache.bloom.filter.fpp": "0",
}
ABOVE = {
    "compaction.offpeak.start.hour": "24",
    "compaction.offpeak.end.hour": "24",
    "file.compression.zstd-level": "23",
    "spill-compression.zstd-level": "23",
    "lookup.cache.bloom.filter.fpp": "1",
    "compaction.delete-ratio-threshold": "1.01",
    "compaction.small-file-ratio": "20",
}
_OTHERS = {
    "changelog-producer.compaction-interval": "Duration",
    "owner": "String",
    "primary-key.nullable": "Boolean",
    "read.memory-limit": "MemorySize",
    "write.memory-limit": "MemorySize",
    "write.by-driver.max-size": "MemorySize",
    "write.one-task.max-size": "MemorySize",
    "scan.distributed-planning.min-manifests": "Integer",
    "scan.infer-parallelism": "Boolean",
    "scan.parallelism": "Integer",
    "scan.partitions": "String",
    "sink.parallelism": "Integer",
    "write.by-spark": "Boolean",
    "parquet.enable.dictionary": "Boolean",
}
"""Options declared elsewhere than in ``CoreOptions``."""
TYPES = {line.split("\t")[0]: line.split("\t")[1] for line in LINES} | _OTHERS
WORDS = {line.split("\t")[0]: line.split("\t")[2:] for line in LINES}
OF_COLUMNS_AND_FORMATS = {
    "parquet.enable.dictionary#v": ("Boolean", ()),
    "parquet.block.size": ("MemorySize", ("0",)),
    "parquet.page.size": ("MemorySize", ("0",)),
    "parquet.dictionary.page.size": ("MemorySize", ("0",)),
    "parquet.compression.codec.zstd.level": ("Integer", ("0", "23")),
    "orc.stripe.size": ("MemorySize", ("0",)),
    "orc.row.index.stride": ("Integer", ("-1",)),
    "orc.dictionary.key.threshold": ("Double", ()),
    "file-index.bloom-filter.v.fpp": ("Double", ("0", "1")),
    "file-index.bloom-filter.v.items": ("Integer", ("0", "-3")),
    "fields.v.ignore-retract": ("Boolean", ()),
    "fields.v.distinct": ("Boolean", ()),
    "fields.v.count-limit": ("Integer", ("0", "-1")),
}


def wrong_values(key: str) -> list[str]:
    """Twenty and more that the honoured option ``key`` must not have."""
    if key in OF_COLUMNS_AND_FORMATS:
        type_, more = OF_COLUMNS_AND_FORMATS[key]
        return [*WRONG[type_], *more]
    if key in OWN:
        return [value for value in OWN[key] if (key, value) != ("manifest.compression", "null")]
    more = [edge[key] for edge in (BELOW, ABOVE) if key in edge]
    words = WORDS.get(key, [])
    if TYPES[key] in WRONG:
        return [*WRONG[TYPES[key]], *more]
    typos = [f"{word}{end}" for word in words for end in ("x", " ", "-")] + [f" {w}" for w in words]
    turned = [w.replace("-", "_") for w in words if "-" in w] + [
        w.replace("_", "-") for w in words if "_" in w
    ]
    beheaded = [word[1:] for word in words if word[1:] not in words]
    return [*_TYPOS, *typos, *turned, *beheaded]
