"""Random tables with every option that says where rows go and in what form, by seed."""

from __future__ import annotations

import datetime as dt
import random
from dataclasses import dataclass
from typing import Any

from random_merges import PARTITIONS, UNFIT, RandomMerges
from random_values import INDEXED, value

PLACES = (
    "a=b/c",
    "ü %:é",
    "__DEFAULT_PARTITION__",
    " ",
    "",
    "tab\t'\"",
    "{x}[y]#?*",
    "null",
    "漢字 𝄞",
    "a" * 60,
)
"""Partitions that are hard to name a folder by."""
CODECS = {
    "parquet": ("zstd", "snappy", "lz4", "gzip", "none"),
    "orc": ("zstd", "snappy", "lz4", "none", "zlib"),
    "avro": ("zstd", "snappy", "deflate", "null"),
}
STATS = ("none", "counts", "full", "truncate(3)", "truncate(16)")
EXPIRED = dt.datetime(2001, 1, 1)
KEPT = dt.datetime(2037, 1, 1)


@dataclass
class RandomLives(RandomMerges):
    """A ``RandomMerges`` that lives in stranger places."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.chance = random.Random(f"life {self.seed}")
        if self.chance.random() < 0.4:
            self._many_keys()
        if "p" in self.partitions:
            self._strange_places()
        self._no_lost_keys()
        self._buckets()
        self._forms()
        self._seldom()
        self._expiry()

    def _strange_places(self) -> None:
        for pool in self.pools:
            if isinstance(pool["p"], str):
                place = self.chance.choice(PLACES).replace("/", "|")  # Java names local files so
                pool["p"] = place[: 9 if self._type("p").startswith("VAR") else 99]

    def _many_keys(self) -> None:
        own = [k for k in self.keys if k not in self.partitions]
        self.pools = [
            {**self.chance.choice(self.pools), **{k: self._key(k, self._type(k)) for k in own}}
            for _ in range(400)
        ]
        self.sizes = (10, 100, 300, 1000, 2000)
        if self.options["bucket"] == "-1":
            self.options["dynamic-bucket.target-row-num"] = self.chance.choice(["20", "150"])
        if "target-file-size" in self.options:
            self.options["target-file-size"] = "8 kb"

    def _no_lost_keys(self) -> None:
        """No keys that Java's ORC makes others of: it pads texts, and takes a zero for the other."""
        if self.options["file.format"] != "orc":
            return
        for pool in self.pools:
            for name in self.keys:
                if self._type(name).startswith("CHAR"):
                    pool[name] = pool[name].strip() or "x"
                elif isinstance(pool[name], float):
                    pool[name] += 0.0

    def _type(self, name: str) -> Any:
        return dict(self.columns)[name]

    def _buckets(self) -> None:
        chance, options = self.chance, self.options
        own = [k for k in self.keys if k not in self.partitions]
        if options["bucket"] == "-1":
            if chance.random() < 0.3:
                options["dynamic-bucket.max-buckets"] = "2"
            return
        options["bucket"] = chance.choice(["1", "2", "3", "7"])
        if chance.random() < 0.3:
            options["bucket-key"] = chance.choice(own)
        hashed = (
            options.get("bucket-key", own[0]) if len(own) == 1 or "bucket-key" in options else ""
        )
        if hashed and self._type(hashed).startswith(("INT ", "BIGINT ")) and chance.random() < 0.5:
            options["bucket-function.type"] = "mod"
        elif chance.random() < 0.2 and all(
            not self._type(k).startswith(("TIME", "DATE")) for k in own
        ):
            options["bucket-function.type"] = "hive"

    def _forms(self) -> None:
        chance, options = self.chance, self.options
        form = options["file.format"]
        pick = chance.choice
        nine = "TIMESTAMP(9)" in str(self.columns)
        for key, text, luck in (
            ("file.compression", pick(CODECS[form]), 0.4),
            ("file.compression.per.level", f"0:{pick(CODECS[form])},5:{pick(CODECS[form])}", 0.2),
            ("file.suffix.include.compression", "true", 0.1),
            ("file.block-size", "1 kb", 0.1),
            ("changelog-file.format", pick(["parquet", "parquet" if nine else "avro"]), 0.2),
            ("changelog-file.compression", pick(["zstd", "snappy"]), 0.2),
            ("changelog-file.stats-mode", pick(STATS), 0.2),
            ("changelog-file.prefix", "news-", 0.1),
            ("data-file.prefix", "part-", 0.1),
            ("data-file.path-directory", "data", 0.1),
            ("metadata.stats-mode", pick(STATS), 0.4),
            ("metadata.stats-mode.per.level", f"0:{pick(STATS)}", 0.3),
            ("metadata.stats-keep-first-n-columns", pick(["0", "1", "3"]), 0.2),
            ("metadata.stats-dense-store", "false", 0.2),
            ("partition.legacy-name", "false", 0.3),
            ("partition.default-name", "nowhere", 0.2),
            ("index-file-in-data-file-dir", "true", 0.2),
            ("manifest.merge-min-count", "2", 0.3),
            ("manifest.target-file-size", "2 kb", 0.2),
            ("manifest.full-compaction-threshold-size", "1 kb", 0.2),
            ("manifest.compression", pick(["null", "snappy", "zstd"]), 0.2),
            ("target-file-row-num", "40" if len(self.pools) > 99 else "3", 0.2),
            ("read.batch-size", "2", 0.2),
        ):
            if chance.random() < luck:
                options[key] = text
        if any("LOCAL" in str(type_) for name, type_ in self.columns if name in self.partitions):
            options.pop("partition.legacy-name", None)  # each process would name their folders
        if options["file.format"] != "parquet" or "file.format.per.level" in options:
            options.pop("changelog-file.format", None)
            for key in ("file.compression", "file.compression.per.level"):
                if "file.format.per.level" in options:
                    options.pop(key, None)
            if "changelog-file.compression" in options:
                options["changelog-file.compression"] = "zstd"
        elif options.get("changelog-file.format") == "avro":
            options["changelog-file.compression"] = "zstd"
        fit = [n for n, t in self.columns if t in INDEXED and n not in self.partitions]
        if fit and chance.random() < 0.3:
            kind = chance.choice(["bloom-filter", "bitmap", "bsi"])
            if kind == "bsi":
                fit = [
                    n
                    for n in fit
                    if self._type(n) in ("TINYINT", "SMALLINT", "INT", "BIGINT", "DATE")
                ]
            if fit:
                options[f"file-index.{kind}.columns"] = chance.choice(fit)
                options["file-index.in-manifest-threshold"] = chance.choice(["1 b", "1 mb"])

    def _seldom(self) -> None:
        chance, options = self.chance, self.options
        lookup = options["changelog-producer"] == "lookup" or "deletion-vectors.enabled" in options
        for key, text, luck in (
            ("lookup-compact", "gentle", 0.3 if lookup else 0),
            ("lookup-compact.max-interval", "2", 0.2 if lookup else 0),
            ("compaction.force-rewrite-all-files", "true", 0.1),
            ("compaction.small-file-ratio", "0.0", 0.15),
            ("compaction.total-size-threshold", "10 kb", 0.1),
            ("write.sequence-number-init-mode", "snapshot", 0.0),
            ("overwrite-upgrade", "false", 0.2),
            ("source.split.target-size", "1 kb", 0.2),
            ("source.split.open-file-cost", "1 b", 0.2),
        ):
            if chance.random() < luck:
                options[key] = text

    def _expiry(self) -> None:
        """Rows that are too old; far from any now."""
        chance = self.chance
        if chance.random() > 0.25:
            return
        type_ = chance.choice(
            ["INT", "BIGINT", "TIMESTAMP(3)", "TIMESTAMP(6)", "TIMESTAMP(6) WITH LOCAL TIME ZONE"]
        )
        seconds = {"INT": 1, "BIGINT": 1, "TIMESTAMP(3)": 1000}.get(type_, 10**6)
        moments = [
            int(m.replace(tzinfo=dt.UTC).timestamp()) * seconds for m in (EXPIRED, KEPT, KEPT)
        ]
        name = self._add(type_, lambda chance, _: chance.choice([None, *moments]))
        self.options["record-level.expire-time"] = "3650 d"
        self.options["record-level.time-field"] = name


class RandomMoves(RandomLives):
    """A table whose key does not say the partition: rows of a key turn up in any."""

    def __post_init__(self) -> None:
        super().__post_init__()
        chance, options = self.chance, self.options
        places = [pool.pop("p") for pool in self.pools] if self.partitions else list(PLACES[1:4])
        if not self.partitions:
            self.columns.insert(chance.randint(0, len(self.columns)), ("p", "STRING NOT NULL"))
        self.partitions, self.keys = ["p"], [key for key in self.keys if key != "p"]
        self.makers["p"] = lambda chance, _: chance.choice(places[:4])
        options["bucket"] = "-1"
        options["dynamic-bucket.target-row-num"] = chance.choice(["3", "20", "1000"])
        for key in ("bucket-key", "bucket-function.type", "sequence.field"):
            options.pop(key, None)
        options.pop("sequence.field.sort-order", None)
        self._stays_sound()

    def _stays_sound(self) -> None:
        """No table that Java makes, and then cannot go on with.

        It loses the partition with a value that is taken back, and where deletes are ignored a key
        stays in the partition that it left.
        """
        engine = self.options["merge-engine"]
        if engine == "deduplicate":
            self.options.pop("ignore-delete", None)
        elif engine == "aggregation":
            removes = "aggregation.remove-record-on-delete" in self.options
            self.kinds = ("+I", "+I", "+U", *(["-D"] if removes else []))


class RandomAppends(RandomLives):
    """A table without key that lives as strangely; its partitions may be NULL."""

    def __post_init__(self) -> None:
        chance = self.chance = random.Random(f"append {self.seed}")
        form = chance.choice(["parquet", "parquet", "orc", "avro"])
        self.avoid, self.columns, self.keys = UNFIT[form], [], []
        self.options = {"file.format": form, "bucket": "-1"}
        parts = [f"p{n}" for n in range(chance.choice([0, 0, 1, 2]))]
        self.partitions = parts
        self.columns += [(name, chance.choice(PARTITIONS)) for name in parts]
        self.columns.append(("n", "BIGINT"))
        self.makers["n"] = lambda chance, _: chance.choice([None, *range(9)])
        self._plain_columns(chance.randint(1, 4))
        if chance.random() < 0.4:
            fit = [n for n, t in self.columns if isinstance(t, str) and n not in parts]
            self.options["bucket"] = chance.choice(["1", "2", "5"])
            self.options["bucket-key"] = ",".join(chance.sample(fit, chance.choice([1, len(fit)])))
        elif chance.random() < 0.3:
            self.options["clustering.columns"] = "n"
        if chance.random() < 0.4:
            self.options["deletion-vectors.enabled"] = "true"
            if chance.random() < 0.4:
                self.options["deletion-vectors.bitmap64"] = "true"
            if chance.random() < 0.3:
                self.options["deletion-vector.index-file.target-size"] = "1 b"
        chance.shuffle(self.columns)
        self.pools = [
            {name: self._place(self._type(name)) for name in parts}
            for _ in range(chance.randint(1, 5))
        ]
        self.kinds = ("+I",)
        self.sizes = chance.choice([(1, 3, 8, 14), (1, 30, 300, 1000)])
        self._forms()
        for key in ("compaction.min.file-num", "target-file-size"):
            if chance.random() < 0.3:
                self.options[key] = {"target-file-size": "4 kb"}.get(key, "2")

    def _place(self, type_: str) -> Any:
        if self.chance.random() < 0.15:
            return None
        if type_ == "STRING":
            return self.chance.choice(PLACES)
        while "\0" in str(made := value(self.chance, type_, nulls=0)):
            pass
        return made
