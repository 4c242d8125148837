"""Our tables on Spark beside Iceberg, Delta and plain Parquet: what ``make bench-spark`` prints.

    python -m bench.spark [--rounds 5] [--cold 3] [--scale 1] [--engines ours,iceberg,…] [--only W1,W2]

Warm: one session on ``local[2]`` with all of them, on the same rows.  Engines take turns within a round, each
round begins with another one, and one round before goes unmeasured.  Cold: each engine's first load in a
JVM of its own.  Shown are medians, and ours as a multiple of the others': the median of the ratios of each
round, so that what else the machine does hits both sides alike.  Iceberg stands in for Apache Paimon's
own connector, which no registry has for Spark 4: ``STANDS`` has Paimon's time as a multiple of Iceberg's.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
from collections import defaultdict
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
from rich.console import Console
from rich.table import Table

import table_core as tc
import table_core.spark as tcs
from bench.rows import Rows
from table_core.spark.session.create import open_session
from tests.interop.judge import jar

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

CACHE = Path(__file__).resolve().parent.parent / ".cache" / "bench"
JARS = (
    ("org.apache.iceberg", "iceberg-spark-runtime-4.1_2.13", "1.11.0"),
    ("io.delta", "delta-spark_4.1_2.13", "4.1.0"),
    ("io.delta", "delta-storage", "4.1.0"),
)
EXTENSIONS = (
    "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
    "io.delta.sql.DeltaSparkSessionExtension",
)
STANDS = {"W1": 1.4, "W2": 0.46, "W3": 1.0, "W4": 0.8, "W8": 1.3, "W8r": 2.9}
TARGETS: dict[str, tuple[tuple[str, float], ...]] = {
    "W1": (("paimon", 0.5), ("iceberg", 0.9), ("parquet", 1.3)),
    "W2": (("paimon", 0.7), ("iceberg", 0.5)),
    "W3": (("paimon", 0.7), ("iceberg", 0.7)),
    "W3a": (("iceberg", 0.7),),
    "W4": (("paimon", 0.5), ("iceberg", 0.5)),
    "W4r": (("parquet", 1.1),),
    "W5": (("seconds", 0.35),),
    "W8": (("iceberg", 1.0), ("parquet", 1.1)),
    "W8r": (("parquet", 1.1),),
    "W1 cold": (("iceberg", 1.1),),
}
"""What ours is to reach: a multiple of another's time, or seconds.  W3a is W3 by ``tcs.aggregate``, W5 the
median of small commits to the table after W4."""
ON_THE_PAGE = {
    "W1": "load 1 million rows",
    "W1 cold": "the same as the first work of a session",
    "W2": "five upserts",
    "W5": "a commit of 10,000 rows",
    "W3": "query over merged rows",
    "W3a": "the same by `tcs.aggregate`",
    "W4": "full compaction",
    "W4r": "scan after compaction",
    "W8": "append 5 million rows",
    "W8r": "scan of the append table",
}
"""The rows of ``docs/speed.md``, in their order."""
SMALL_COMMITS = 5
ON = "ON t.id = s.id WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"


def conf(folder: Path) -> dict[str, str]:
    return {
        "spark.master": "local[2]",
        "spark.driver.memory": "4g",
        "spark.sql.shuffle.partitions": "4",
        "spark.jars": ",".join(str(jar(*name)) for name in JARS),
        "spark.sql.extensions": ",".join(EXTENSIONS),
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "spark.sql.catalog.ice": "org.apache.iceberg.spark.SparkCatalog",
        "spark.sql.catalog.ice.type": "hadoop",
        "spark.sql.catalog.ice.warehouse": f"{folder}/ice",
        "spark.sql.warehouse.dir": f"{folder}/spark",
        "spark.sql.parquet.compression.codec": "zstd",
    }


class Ours:
    """Tables of this project."""

    def __init__(self, spark: Any, folder: Path) -> None:
        self.spark = spark
        self.catalog = tc.open_catalog(f"{folder}/ours")
        self.catalog.create_database("b")

    def load(self, name: str, rows: Any, key: str | None) -> None:
        options = {"bucket": "4" if key else "-1", "write-only": "true", "file.compression": "zstd"}
        keys = (key,) if key else ()
        tcs.create_table_as(
            self.spark, rows, f"b.{name}", self.catalog, primary_key=keys, options=options
        )

    def upsert(self, name: str, rows: Any) -> None:
        tcs.write(rows, self.catalog.table(f"b.{name}"))

    def read(self, name: str, columns: Sequence[str]) -> Any:
        return tcs.read(self.spark, self.catalog.table(f"b.{name}"), columns=columns)

    def sums(self, name: str, by: str, of: str) -> Any:
        table = self.catalog.table(f"b.{name}")
        return tcs.aggregate(self.spark, table, [by], {"sum": ("sum", of)})

    def compact(self, name: str) -> None:
        tcs.compact(self.spark, self.catalog.table(f"b.{name}"))


class Iceberg:
    """Format 2, merge on read."""

    def __init__(self, spark: Any, folder: Path) -> None:
        del folder
        self.spark = spark

    def load(self, name: str, rows: Any, key: str | None) -> None:
        rows.createOrReplaceTempView("rows")
        layout = f"PARTITIONED BY (bucket(4, {key}))" if key else ""
        self.spark.sql(
            f"CREATE TABLE ice.b.{name} USING iceberg {layout} TBLPROPERTIES ('format-version'='2', "
            "'write.merge.mode'='merge-on-read', 'write.parquet.compression-codec'='zstd') "
            "AS SELECT * FROM rows"
        )

    def upsert(self, name: str, rows: Any) -> None:
        rows.createOrReplaceTempView("rows")
        self.spark.sql(f"MERGE INTO ice.b.{name} t USING rows s {ON}")

    def read(self, name: str, columns: Sequence[str]) -> Any:
        return self.spark.table(f"ice.b.{name}").select(*columns)

    def compact(self, name: str) -> None:
        options = "map('rewrite-all', 'true', 'delete-file-threshold', '1')"
        self.spark.sql(
            f"CALL ice.system.rewrite_data_files(table => 'b.{name}', options => {options})"
        ).collect()


class Delta:
    """As it comes."""

    def __init__(self, spark: Any, folder: Path) -> None:
        self.spark, self.folder = spark, folder / "delta"

    def load(self, name: str, rows: Any, key: str | None) -> None:
        del key
        rows.write.format("delta").save(f"{self.folder}/{name}")

    def upsert(self, name: str, rows: Any) -> None:
        rows.createOrReplaceTempView("rows")
        self.spark.sql(f"MERGE INTO delta.`{self.folder}/{name}` t USING rows s {ON}")

    def read(self, name: str, columns: Sequence[str]) -> Any:
        return self.spark.read.format("delta").load(f"{self.folder}/{name}").select(*columns)

    def compact(self, name: str) -> None:
        self.spark.sql(f"OPTIMIZE delta.`{self.folder}/{name}`")


class Parquet:
    """Spark's own hash, sort and write; it has no upserts: when all have compacted it takes our files."""

    def __init__(self, spark: Any, folder: Path, ours: Ours) -> None:
        self.spark, self.folder, self.ours = spark, folder / "parquet", ours
        self.files: dict[str, list[str]] = {}

    def load(self, name: str, rows: Any, key: str | None) -> None:
        if key:
            rows = rows.repartition(4, key).sortWithinPartitions(key)
        rows.write.parquet(f"{self.folder}/{name}")

    def read(self, name: str, columns: Sequence[str]) -> Any:
        paths = self.files.get(name, [f"{self.folder}/{name}"])
        return self.spark.read.parquet(*paths).select(*columns)

    def take_ours(self, name: str) -> None:
        self.files[name] = list(self.ours.read(name, ["id"]).inputFiles())


def answer(sums: Any, by: str) -> str:
    return str(hash(tuple(map(tuple, sums.orderBy(by).collect()))))


def sums(engine: Any, name: str, by: str, of: str) -> str:
    return answer(engine.read(name, (by, of)).groupBy(by).agg({of: "sum"}), by)


def folded(engine: Any, name: str, by: str, of: str) -> str:
    """The same, where an engine has a way of its own."""
    own = getattr(engine, "sums", None)
    return answer(own(name, by, of), by) if own else sums(engine, name, by, of)


def commits(engine: Any, parts: Sequence[Any]) -> float:
    """The median of small commits, in seconds."""
    taken = []
    for part in parts:
        started = time.perf_counter()
        engine.upsert("keyed", part)
        taken.append(time.perf_counter() - started)
    return median(taken)


def one_round(engines: dict[str, Any], data: dict[str, Any], only: set[str]) -> dict[Any, Any]:
    """Seconds by workload and engine; engines take turns."""
    taken: dict[Any, Any] = {}
    answers: dict[str, set[str]] = {}

    def timed(workload: str, work: Callable[[Any], Any], skip: Sequence[str] = ()) -> None:
        for name, engine in engines.items():
            if name in skip or workload not in only:
                continue
            started = time.perf_counter()
            found = work(engine)
            taken[workload, name] = time.perf_counter() - started
            if isinstance(found, float):
                taken[workload, name] = found
            elif found is not None:
                answers.setdefault(workload, set()).add(found)

    timed("W1", lambda e: e.load("keyed", data["base"], "id"))
    timed(
        "W2", lambda e: [e.upsert("keyed", part) for part in data["upserts"]] and None, ["parquet"]
    )
    timed("W3", lambda e: sums(e, "keyed", "country", "amount"), ["parquet"])
    timed("W3a", lambda e: folded(e, "keyed", "country", "amount"), ["parquet"])
    timed("W4", lambda e: e.compact("keyed"), ["parquet"])
    if "parquet" in engines and "W4r" in only:
        engines["parquet"].take_ours("keyed")
    timed("W4r", lambda e: sums(e, "keyed", "country", "amount"))
    timed("W5", lambda e: commits(e, data["small"]), ["parquet", "delta"])
    timed("W8", lambda e: e.load("narrow", data["narrow"], None))
    timed("W8r", lambda e: sums(e, "narrow", "kind", "id"))
    wrong = [workload for workload, found in answers.items() if len(found) > 1]
    if wrong:
        sys.exit(f"engines disagree about {wrong}")
    return taken


def frames(spark: Any, scale: float) -> dict[str, Any]:
    """The rows as Parquet, from which every engine reads them alike."""
    rows, folder = Rows(CACHE / "rows", scale), CACHE / f"spark-rows-{scale:g}"
    folder.mkdir(parents=True, exist_ok=True)

    def kept(name: str, make: Callable[[], Any]) -> Any:
        path = folder / f"{name}.parquet"
        if not path.exists():
            pq.write_table(make(), path, row_group_size=1 << 17)
        return spark.read.parquet(str(path))

    upserts = range(len(rows.upserts()))
    changed = [kept(f"upsert-{n}", lambda n=n: rows.upserts()[n]) for n in upserts]
    return {
        "base": kept("base", rows.base),
        "upserts": changed,
        "small": [changed[n % len(changed)].limit(10_000) for n in range(SMALL_COMMITS)],
        "narrow": kept("narrow", rows.narrow),
    }


def told(workload: str, taken: dict[Any, list[float]]) -> str:
    """Ours as a multiple of the others', and what it is to reach."""
    ours, words = taken.get((workload, "ours")), []
    for peer, limit in TARGETS[workload]:
        stands = STANDS.get(workload, 1.0) if peer == "paimon" else 1.0
        theirs = taken.get((workload, "iceberg" if peer == "paimon" else peer))
        if not ours or (peer != "seconds" and not theirs):
            continue
        if peer == "seconds":
            found = median(ours)
        else:
            found = median(a / (b * stands) for a, b in zip(ours, theirs or (), strict=True))
        missed = "" if found <= limit else "  MISSED"
        words.append(
            f"{found:.2f} of {limit:g} {'s' if peer == 'seconds' else 'x ' + peer}{missed}"
        )
    return ", ".join(words)


def show(taken: dict[Any, list[float]], engines: Sequence[str]) -> None:
    table = Table("workload", *engines, "ours to reach", title="Medians in seconds")
    for workload in TARGETS:
        times = [taken.get((workload, name)) for name in engines]
        if any(times):
            cells = [f"{median(found):.2f}" if found else "-" for found in times]
            table.add_row(workload, *cells, told(workload, taken))
    Console(width=140).print(table)


def for_the_page(taken: dict[Any, list[float]]) -> str:
    """The rows that were measured, as ``docs/speed.md`` has them."""
    lines = []
    for workload, text in ON_THE_PAGE.items():
        times = [taken.get((workload, name)) for name in ("ours", "iceberg", "parquet")]
        if any(times):
            lines.append(
                f"| {text} | {' | '.join(f'{median(t):.2f}' if t else '' for t in times)} |"
            )
    return "\n".join(lines)


def started(home: Path) -> Any:
    spark = open_session(conf(home))
    spark.sparkContext.setLogLevel("OFF")
    return spark


def engines_of(spark: Any, home: Path, chosen: Sequence[str]) -> dict[str, Any]:
    """Those that are chosen, with nothing of a round before."""
    for name in ("keyed", "narrow"):
        spark.sql(f"DROP TABLE IF EXISTS ice.b.{name}")
    shutil.rmtree(home, ignore_errors=True)
    ours = Ours(spark, home)
    every = {
        "ours": ours,
        "iceberg": Iceberg(spark, home),
        "delta": Delta(spark, home),
        "parquet": Parquet(spark, home, ours),
    }
    return {name: every[name] for name in chosen}


def cold(engine: str, scale: float) -> None:
    """The first load of a JVM: print its seconds."""
    home = CACHE / f"spark-cold-{engine}"
    spark = started(home)
    data = frames(spark, scale)
    taken = one_round(engines_of(spark, home, [engine]), data, {"W1"})
    print(json.dumps(taken["W1", engine]))
    spark.stop()
    shutil.rmtree(home, ignore_errors=True)


def cold_in_a_process(engine: str, scale: float) -> float:
    words = [sys.executable, "-m", "bench.spark", "--here", engine, "--scale", str(scale)]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    return float(json.loads(done.stdout.splitlines()[-1]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--cold", type=int, default=3, help="rounds of first loads")
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--engines", default="ours,iceberg,delta,parquet")
    parser.add_argument("--only", default=",".join(TARGETS))
    parser.add_argument("--here", help="this engine's first load, in this process")
    given = parser.parse_args()
    if given.here:
        cold(given.here, given.scale)
        return
    chosen, only = given.engines.split(","), set(given.only.split(","))
    busy = os.getloadavg()[0]
    if busy > 1:
        print(f"the machine is busy (load {busy:.1f}): look at ratios only", flush=True)
    taken: dict[Any, list[float]] = defaultdict(list)
    if only - {"W1 cold"}:
        warm(chosen, only, given.rounds, given.scale, taken)
    for number in range(given.cold if "W1 cold" in only else 0):
        turn = number % len(chosen)
        for name in (*chosen[turn:], *chosen[:turn]):
            taken["W1 cold", name].append(cold_in_a_process(name, given.scale))
    show(taken, chosen)
    print(for_the_page(taken))


def warm(
    chosen: Sequence[str], only: set[str], rounds: int, scale: float, taken: dict[Any, list[float]]
) -> None:
    """Rounds in one session; the first is not counted."""
    home = CACHE / "spark"
    spark = started(home)
    data = frames(spark, scale)
    for number in range(rounds + 1):
        turn = number % len(chosen)
        engines = engines_of(spark, home, [*chosen[turn:], *chosen[:turn]])
        found = one_round(engines, data, only)
        for key, seconds in found.items():
            if number:
                taken[key].append(seconds)
        print(
            f"round {number}: { {'/'.join(k): round(v, 2) for k, v in found.items()} }", flush=True
        )
    spark.stop()
    shutil.rmtree(home, ignore_errors=True)


if __name__ == "__main__":
    main()
