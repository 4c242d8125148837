"""Talk to ``Judge.java``: Apache Paimon's own code in one JVM, asked line by line."""

from __future__ import annotations

import datetime as dt
import hashlib
import json
import os
import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

SOURCES = tuple(
    Path(__file__).with_name(f"{name}.java")
    for name in ("Judge", "Wishes", "Wanderers", "Picks", "Timed", "Upkeep", "Keys")
)
CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "airflow-provider-paimon"
JARS = (
    "org.apache.paimon:paimon-flink-2.0:2.0.0",
    "org.apache.hadoop:hadoop-client-api:3.4.2",
    "org.apache.hadoop:hadoop-client-runtime:3.4.2",
    "org.slf4j:slf4j-api:2.0.17",
    "org.slf4j:slf4j-nop:2.0.17",
    "org.xerial.snappy:snappy-java:1.1.10.8",
    "org.lz4:lz4-java:1.8.0",
    "org.postgresql:postgresql:42.7.4",
    "com.mysql:mysql-connector-j:8.4.0",
)
OPENS = ("java.nio", "java.lang")
KIND = "_ROW_KIND"
UNITS = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}
"""Of a timestamp, in a second."""
FLOAT = re.compile(r"-?\d+\.\d+[eE]\+?-?\d+|-?\d+[eE]\+?-?\d+")
"""A number in scientific notation: only floats are written so."""

Rows = list[list[Any]]


class JudgeError(Exception):
    """Apache Paimon refused; the message begins with the class of its exception."""


class Judge:
    """The JVM.  ``judge.table(warehouse, "db.name")`` gives what to ask."""

    def __init__(self, log: Path, heap: str = "1g", more: str = "") -> None:
        """``more``: what else is on the classpath, behind Paimon's own."""
        self.log = log
        opens = [f"--add-opens=java.base/{name}=ALL-UNNAMED" for name in OPENS]
        with log.open("wb") as errors:
            self.process = subprocess.Popen(
                [
                    "java",
                    f"-Xmx{heap}",
                    f"-Djava.io.tmpdir={log.parent}",
                    *opens,
                    "-cp",
                    os.pathsep.join(filter(None, (_classpath(), more))),
                    "Judge",
                ],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
            )

    def table(
        self, warehouse: Path, name: str, catalog: Mapping[str, str] | None = None
    ) -> JudgedTable:
        """``catalog``: more options of the catalog, as its metastore and lock."""
        return JudgedTable(self, warehouse, name, catalog or {})

    def ask(self, verb: str, warehouse: Path, table: str, **more: Any) -> Any:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        question = {"verb": verb, "warehouse": str(warehouse), "table": table, **more}
        self.process.stdin.write(json.dumps(question) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise JudgeError(f"the JVM is gone:\n{self.log.read_text()[-2000:]}")
        answer = json.loads(line)
        if "error" in answer:
            raise JudgeError(f"{answer['error']}: {answer['message']}")
        return answer["ok"]

    def picks(self, cases: Sequence[Mapping[str, Any]]) -> list[list[int] | None]:
        """What universal compaction picks; ``cases`` as in ``Picks.java``."""
        return list(self.ask("picks", Path(), "", cases=list(cases)))

    def close(self) -> None:
        self.process.kill()
        self.process.communicate()


@dataclass(frozen=True)
class JudgedTable:
    """One table as Apache Paimon sees it.  Rows are lists whose first member is the row kind."""

    judge: Judge
    warehouse: Path
    name: str
    catalog: Mapping[str, str] = field(default_factory=dict)

    def create(
        self,
        columns: Sequence[tuple[str, Any]],
        *,
        primary_key: Sequence[str] = (),
        partition_by: Sequence[str] = (),
        **options: str,
    ) -> None:
        """Create the table; ``options`` with ``__`` for dots and ``_`` for dashes."""
        self._ask(
            "create",
            columns=[list(column) for column in columns],
            primary_key=list(primary_key),
            partition_by=list(partition_by),
            options={k.replace("__", ".").replace("_", "-"): v for k, v in options.items()},
        )

    def read(
        self,
        columns: Sequence[str] | None = None,
        where: Mapping[str, Any] | None = None,
        **options: str,
    ) -> Rows:
        """The rows of a batch read; ``where`` as in ``Wishes.java``, ``options`` as in ``create``."""
        named = {k.replace("__", ".").replace("_", "-"): v for k, v in options.items()}
        return list(self._ask("read", columns=columns, where=where, options=named))

    def alter(self, changes: Sequence[Sequence[Any]]) -> None:
        """Change the schema; ``changes`` as in ``Wishes.java``."""
        self._ask("alter", changes=[list(change) for change in changes])

    def changes(self, after: int, to: int) -> Rows:
        """What a streaming reader is given for the snapshots in (after, to]."""
        return list(self._ask("changes", after=after, to=to))

    def stream(self, until: int, **options: str) -> Rows:
        """What a streaming reader is given from its start until it has read snapshot ``until``."""
        named = {k.replace("__", ".").replace("_", "-"): v for k, v in options.items()}
        return list(self._ask("stream", until=until, options=named))

    def write(
        self, rows: Rows, watermark: int | None = None, overwrite: str | None = None
    ) -> int | None:
        """Commit rows; the newest snapshot then, None without any.  So do the other verbs.

        ``overwrite``: ``"partitions"`` (those that occur in the rows) or ``"table"``.
        """
        given = {"watermark": watermark, "overwrite": overwrite}
        more = {name: value for name, value in given.items() if value is not None}
        return self._newest("write", rows=rows, **more)

    def rounds(self, rounds: Sequence[Rows]) -> int | None:
        """Commit each list of rows, one after the other."""
        return self._newest("rounds", rounds=rounds)

    def compact(self, *, minor: bool = False) -> int | None:
        return self._newest("compact", minor=minor)

    def expire(self, retain: int) -> int | None:
        return self._newest("expire", retain=str(retain))

    def keep(self, verb: str, **more: Any) -> Any:
        """One of the verbs of ``Upkeep.java``."""
        return self._ask(verb, **more)

    def tag(self, name: str) -> int | None:
        return self._newest("tag", name=name)

    def timed(self, verb: str, **more: Any) -> tuple[float, int]:
        """Seconds and rows of a verb of ``Timed.java``: ``write`` (``from``), ``compact``, ``changes``."""
        done = self._ask(f"timed_{verb}", **more)
        return float(done["seconds"]), int(done["rows"])

    def columns(self) -> list[tuple[str, str]]:
        return [(name, type_) for name, type_ in self._ask("columns")]

    def _newest(self, verb: str, **more: Any) -> int | None:
        newest = self._ask(verb, **more)
        return None if newest is None else int(newest)

    def _ask(self, verb: str, **more: Any) -> Any:
        return self.judge.ask(verb, self.warehouse, self.name, catalog=self.catalog, **more)


def agree(ours: pa.Table, theirs: Rows, *, ordered: bool = False) -> None:
    """Assert that our rows are the judge's, with the same kinds, in any order unless ``ordered``."""
    floats = [i + 1 for i, f in enumerate(_values(ours).schema) if pa.types.is_floating(f.type)]
    want = [[_float(ours, i, c) if i in floats else c for i, c in enumerate(row)] for row in theirs]
    if ordered:
        assert judged(ours) == want
        return
    agree_rows(judged(ours), want)


def agree_rows(left: Rows, right: Rows) -> None:
    """Assert that two lists of rows are the same in any order; floats as text compare as numbers."""
    have, want = (Counter(json.dumps(row) for row in _like_java(rows)) for rows in (left, right))
    assert (have - want, want - have) == (Counter(), Counter())  # only left, only right


def _like_java(rows: Rows) -> Rows:
    """``1.0E300`` and ``1e+300`` are one number."""
    return [[_one_float(cell) for cell in row] for row in rows]


def _one_float(cell: Any) -> Any:
    if isinstance(cell, str) and FLOAT.fullmatch(cell):
        return repr(float(cell))
    return cell


def judged(table: pa.Table) -> Rows:
    """An Arrow table as the judge would print it; without ``_ROW_KIND`` all rows are ``+I``."""
    kinds = table[KIND].to_pylist() if KIND in table.column_names else ["+I"] * table.num_rows
    columns = [cells(column.combine_chunks()) for column in _values(table).columns]
    return [list(row) for row in zip(kinds, *columns, strict=True)]


def _values(table: pa.Table) -> pa.Table:
    return table.drop_columns([KIND]) if KIND in table.column_names else table


def _float(table: pa.Table, position: int, cell: Any) -> Any:
    kind = _values(table).schema.field(position - 1).type
    return None if cell is None else _number(float(cell), kind)


def _number(value: float, kind: pa.DataType) -> str:
    return repr(float(np.float32(value)) if pa.types.is_float32(kind) else value)


def cells(column: pa.Array) -> list[Any]:
    """The values of a column as the judge would print them."""
    if isinstance(column, pa.ChunkedArray):
        column = pa.concat_arrays(column.chunks) if column.num_chunks else column.combine_chunks()
    kind = column.type
    if pa.types.is_dictionary(kind):
        return cells(column.dictionary_decode())
    if pa.types.is_timestamp(kind):
        return [_moment(n, UNITS[kind.unit]) for n in column.cast(pa.int64()).to_pylist()]
    if pa.types.is_struct(kind):
        parts = [cells(part) for part in column.flatten()]
        rows = zip(*parts, strict=True)
        return [list(r) if v else None for r, v in zip(rows, column.is_valid(), strict=True)]
    if pa.types.is_map(kind):
        return [
            None
            if not item.is_valid
            else list(
                map(
                    list,
                    zip(cells(item.values.field(0)), cells(item.values.field(1)), strict=True),
                )
            )
            for item in column
        ]
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return [cells(item.values) if item.is_valid else None for item in column]
    return [None if value is None else _plain(value, kind) for value in column.to_pylist()]


def _plain(value: Any, kind: pa.DataType) -> Any:
    if pa.types.is_floating(kind):
        return _number(value, kind)
    if pa.types.is_decimal(kind):
        return format(value, "f")
    if isinstance(value, bytes):
        return f"0x{value.hex()}"
    if isinstance(value, dt.time):
        return str(value).rstrip("0") if value.microsecond else str(value)
    return value if isinstance(value, bool | int | str) else str(value)


def _moment(units: int | None, a_second: int) -> str | None:
    if units is None:
        return None
    seconds, rest = divmod(units, a_second)
    return f"{np.datetime64(seconds, 's')}.{rest * (10**9 // a_second):09d}"


def _classpath() -> str:
    jars = os.pathsep.join(str(jar(*name.split(":"))) for name in JARS)
    sources = b"".join(source.read_bytes() for source in SOURCES)
    mark = hashlib.sha256(sources + jars.encode()).hexdigest()[:12]
    classes = CACHE / f"judge-{mark}"
    if not classes.is_dir():
        fresh = CACHE / f"judge-{mark}.{os.getpid()}"
        fresh.mkdir(parents=True)
        _run("javac", "-nowarn", "-cp", jars, "-d", str(fresh), *map(str, SOURCES))
        shutil.move(fresh, classes)
    return f"{classes}{os.pathsep}{jars}"


def jar(group: str, artifact: str, version: str) -> Path:
    """A jar of Maven Central, fetched once."""
    folder = Path.home() / ".m2" / "repository" / group.replace(".", "/") / artifact / version
    path = folder / f"{artifact}-{version}.jar"
    if not path.exists():
        name = f"{group}:{artifact}:{version}"
        _run(
            "mvn", "-q", "-B", "-ntp", "dependency:get", f"-Dartifact={name}", "-Dtransitive=false"
        )
    return path


def _run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise JudgeError(f"{command[0]} failed:\n{(done.stdout + done.stderr)[-3000:]}")
