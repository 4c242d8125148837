"""Draw the pictures of the pages: ``python docs/pictures/draw.py`` writes each as an SVG beside this file."""

from __future__ import annotations

import sys
from pathlib import Path

FOLDER = Path(__file__).parent
sys.path.insert(0, str(FOLDER))

from canvas import Canvas  # noqa: E402  - a script beside this one


def overview() -> Canvas:
    c = Canvas(
        "What runs where",
        "Airflow tasks start jobs in the worker or on Spark. Jobs commit snapshots to a warehouse of files. A new"
        " snapshot starts Dags. Spark, Flink and pypaimon use the same tables.",
        820,
        330,
    )
    c.frame(20, 20, 240, 240, "Airflow")
    c.box(40, 60, 200, 50, "operators", "write, merge, compact …")
    c.box(40, 125, 200, 50, "sensors, watchers", "wait for a snapshot")
    c.box(40, 190, 200, 50, "a declaration", "Dags from one YAML file")
    c.frame(300, 20, 200, 240, "where work runs")
    c.box(320, 60, 160, 75, "in the worker", "Arrow, no JVM", fill="data")
    c.box(320, 160, 160, 75, "on Spark", "for large tables", fill="data")
    c.frame(562, 20, 238, 240, "the warehouse: files only")
    c.box(580, 60, 200, 50, "data files", "Parquet, ORC, Avro", fill="good")
    c.box(580, 125, 200, 50, "snapshots", "one for each commit", fill="good")
    c.box(580, 190, 200, 50, "changelog", "-U, +U, +I, -D", fill="good")
    c.arrow((260, 85), (316, 85))
    c.arrow((260, 110), (280, 110), (280, 195), (316, 195))
    c.arrow((500, 85), (576, 85))
    c.text(530, 102, "commit", anchor="middle", soft=True)
    c.arrow((680, 260), (680, 290), (140, 290), (140, 264))
    c.text(410, 310, "a new snapshot starts the next Dag", anchor="middle", soft=True)
    return c


def bucket() -> Canvas:
    c = Canvas(
        "Partitions and buckets",
        "A table is split into partitions by column values. A partition is split into buckets by the hash of the"
        " key. All versions of one key are in one bucket, so a bucket is merged on its own.",
        820,
        300,
    )
    c.box(20, 120, 130, 60, "shop.orders", "a table", fill="plain")
    for n, day in enumerate(("dt=2026-01-01", "dt=2026-01-02")):
        y = 30 + 140 * n
        c.frame(220, y, 580, 115, f"partition {day}")
        c.arrow((150, 150), (185, 150), (185, y + 60), (216, y + 60))
        for b in range(2):
            x = 240 + 280 * b
            c.box(x, y + 32, 260, 68, fill="data")
            c.text(x + 12, y + 54, f"bucket-{b}", bold=True)
            c.text(x + 12, y + 74, f"all rows with hash(id) mod 2 = {b}", soft=True)
            c.text(x + 12, y + 92, "its own files and levels", soft=True)
    return c


def lsm() -> Canvas:
    c = Canvas(
        "Levels of a bucket",
        "Each write adds a sorted file to level 0. Compaction merges files of lower levels into one sorted run"
        " of a higher level. Readers merge the runs, and the newest version of a key wins.",
        820,
        310,
    )
    c.box(20, 40, 110, 50, "a write", "id 3, id 7")
    c.arrow((130, 65), (186, 65))
    for n, keys in enumerate(("newest: 3, 7", "2, 7", "1, 3")):
        c.box(190 + 140 * n, 40, 125, 50, keys, fill="warn")
    c.text(190, 28, "level 0: one sorted run for each file", soft=True, bold=True)
    c.box(190, 140, 190, 45, "1 … 4", fill="data")
    c.box(390, 140, 190, 45, "5 … 9", fill="data")
    c.text(590, 167, "level 4: one sorted run", soft=True, bold=True)
    c.box(190, 230, 190, 50, "1 … 4", fill="good")
    c.box(390, 230, 190, 50, "5 … 9", fill="good")
    c.text(590, 257, "level 5: the largest run", soft=True, bold=True)
    c.arrow((385, 90), (385, 136))
    c.text(395, 119, "compaction", soft=True)
    c.arrow((385, 185), (385, 226))
    c.text(395, 211, "full compaction: deletes are dropped", soft=True)
    c.box(20, 140, 110, 140, "a read", "merges", "the runs;", "newest wins")
    c.arrow((186, 162), (134, 162))
    c.arrow((186, 255), (134, 255))
    c.arrow((186, 80), (160, 80), (160, 180), (134, 180))
    return c


def changelog() -> Canvas:
    c = Canvas(
        "Where changes come from",
        "The producer input stores rows as they were written. Lookup and full-compaction find the old value during"
        " a compaction and store what really changed. With none, a reader gets the rows of the write.",
        820,
        320,
    )
    c.box(20, 30, 190, 60, "the table holds", "id 1, qty 1")
    c.box(20, 120, 190, 60, "a write brings", "id 1, qty 5", fill="data")
    rows = (
        ("none", "+U 1, 5 or +I 1, 5: as written", "with the write"),
        ("input", "+U 1, 5: the rows of the source", "with the write"),
        ("lookup", "-U 1, 1   +U 1, 5: what changed", "with each write's compaction"),
        (
            "full-compaction",
            "-U 1, 1   +U 1, 5: what changed",
            "with a full compaction, less often",
        ),
    )
    for n, (name, what, when) in enumerate(rows):
        y = 24 + 72 * n
        c.arrow((210, 150), (235, 150), (235, y + 28), (262, y + 28))
        c.box(266, y, 130, 56, name, fill="good" if n > 1 else "warn")
        c.text(412, y + 24, what, bold=True)
        c.text(412, y + 44, when, soft=True)
    c.text(20, 214, "-U old value, +U new value,", soft=True)
    c.text(20, 234, "+I new row, -D deleted row", soft=True)
    return c


def commit() -> Canvas:
    c = Canvas(
        "A commit",
        "A writer first stores data files and manifests that nobody sees. Then it creates the file snapshot-8,"
        " which succeeds for one writer only. The loser checks again and tries snapshot-9.",
        820,
        300,
    )
    c.box(20, 40, 150, 60, "1  data files", "nobody sees them", fill="data")
    c.box(210, 40, 150, 60, "2  manifests", "name the files", fill="data")
    c.box(400, 40, 190, 60, "3  create snapshot-8", "only if it is absent", fill="warn")
    c.box(630, 40, 170, 60, "readers see it", "all rows at once", fill="good")
    c.arrow((170, 70), (206, 70))
    c.arrow((360, 70), (396, 70))
    c.arrow((590, 70), (626, 70))
    c.text(610, 30, "won", anchor="middle", soft=True)
    c.box(400, 150, 190, 60, "somebody else won", "do our files still fit?")
    c.arrow((495, 100), (495, 146))
    c.text(505, 128, "lost", soft=True)
    c.box(630, 150, 170, 60, "conflict", "nothing is visible", fill="warn")
    c.arrow((590, 180), (626, 180))
    c.text(610, 170, "no", anchor="middle", soft=True)
    c.box(210, 150, 150, 60, "new manifests", "for snapshot-9", fill="data")
    c.arrow((400, 180), (364, 180))
    c.text(382, 170, "yes", anchor="middle", soft=True)
    c.arrow((285, 150), (285, 104))
    c.text(
        20,
        250,
        "A snapshot holds the name of its task run. A retry looks for that name first:",
        soft=True,
    )
    c.text(20, 272, "if the commit is there, the retry returns it and writes nothing.", soft=True)
    return c


def batch() -> Canvas:
    c = Canvas(
        "The way of one batch",
        "Change events of a source are decoded, ordered and applied. Rows and position are committed in one"
        " snapshot. If the run is killed before that, the next run reads the same events again.",
        820,
        260,
    )
    steps = (
        ("source", "log, topic, files"),
        ("decode", "events to rows"),
        ("order", "as in the source"),
        ("write", "sorted by key"),
        ("commit", "rows + position"),
    )
    for n, (name, what) in enumerate(steps):
        c.box(20 + 160 * n, 50, 135, 60, name, what, fill="good" if n == 4 else "data")
        if n:
            c.arrow((155 + 160 * (n - 1), 80), (176 + 160 * (n - 1), 80))
    c.arrow((727, 110), (727, 160), (87, 160), (87, 114))
    c.text(
        410,
        180,
        "the next run starts after the position of the newest snapshot",
        anchor="middle",
        soft=True,
    )
    c.text(
        410,
        216,
        "kill -9 before the commit: nothing is visible, and the events come again.",
        anchor="middle",
    )
    c.text(
        410,
        238,
        "kill -9 after the commit: the position is there, and the events do not come again.",
        anchor="middle",
    )
    return c


FIGURES = (
    ("load 1 million rows", (0.548, 0.900, 4.303)),
    ("five upserts of 50,000 rows", (0.198, 0.363, 1.499)),
    ("full compaction", (0.503, None, 2.174)),
    ("upserts with a `lookup` changelog", (1.58, None, 15.5)),
)
"""Rows of the table in speed.md: seconds of this engine, of pypaimon with Rust, of Paimon in Java."""


def speed() -> Canvas:
    c = Canvas(
        "Seconds for the same work",
        "Bars of seconds, shorter is better. This engine is faster than pypaimon with Rust and than Paimon in Java"
        " in each of the four workloads.",
        820,
        340,
    )
    engines = ("this engine", "pypaimon + Rust", "Paimon in Java")
    fills = ("good", "data", "warn")
    for n, (name, fill) in enumerate(zip(engines, fills, strict=True)):
        c.box(300 + 165 * n, 14, 22, 16, fill=fill)
        c.text(328 + 165 * n, 27, name)
    c.text(20, 27, "seconds, shorter is better", soft=True)
    for group, (name, seconds) in enumerate(FIGURES):
        y = 48 + 72 * group
        c.text(20, y + 32, name.replace("`", ""), bold=True)
        slowest = max(one for one in seconds if one is not None)
        for n, (one, fill) in enumerate(zip(seconds, fills, strict=True)):
            top = y + 20 * n
            if one is None:
                c.text(304, top + 13, "cannot", soft=True)
            else:
                width = max(3, round(400 * one / slowest))
                c.box(300, top, width, 17, fill=fill)
                c.text(308 + width, top + 14, f"{one:g} s", soft=True)
    return c


PICTURES = {
    draw.__name__: draw for draw in (overview, bucket, lsm, changelog, commit, batch, speed)
}


def drawn() -> dict[str, str]:
    """Each picture's file name and its text."""
    return {f"{name}.svg": draw().svg() for name, draw in PICTURES.items()}


if __name__ == "__main__":
    for name, text in drawn().items():
        (FOLDER / name).write_text(text)
