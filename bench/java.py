"""Apache Paimon's Java, driven in process: rows are in its memory before its clock starts."""

from __future__ import annotations

import tempfile
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

import table_core
from bench.engines import DATABASE, CannotError, Ours
from tests.interop.judge import Judge

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["Java"]

HEAP = "3g"
WARM_ROWS = 20_000


class Java:
    """One JVM, warmed up with a small table.  ``spent`` is what it measured itself."""

    def __init__(self, warehouse: Path) -> None:
        self.warehouse = warehouse
        self.judge = Judge(Path(tempfile.mkdtemp()) / "stderr.log", HEAP)
        self.staging = Ours(warehouse)
        self.names = count()
        self.spent = 0.0
        self._warm()

    def create(
        self,
        name: str,
        schema: pa.Schema,
        key: Sequence[str],
        options: Mapping[str, str],
        parts: Sequence[str] = (),
    ) -> None:
        self.staging.create(name, schema, key, options, parts)

    def write(self, name: str, rows: pa.Table) -> None:
        stage = f"stage{next(self.names)}"
        self.staging.catalog.create_table(
            f"{DATABASE}.{stage}", rows.schema, options={"bucket": "-1"}
        )
        self.staging.write(stage, rows)
        self._timed(name, "write", **{"from": f"{DATABASE}.{stage}"})
        self.staging.catalog.drop_table(f"{DATABASE}.{stage}")

    def compact(self, name: str) -> None:
        self._timed(name, "compact")

    def changes(self, name: str) -> int:
        newest = table_core.open_catalog(self.warehouse.as_uri()).table(f"{DATABASE}.{name}")
        snapshot = newest.latest_snapshot()
        return self._timed(name, "changes", to=0 if snapshot is None else snapshot.id)

    def read(
        self, name: str, columns: Sequence[str] | None, equal: tuple[str, object] | None = None
    ) -> pa.Table:
        raise CannotError(f"{name}: rows of Java are not handed to Python: {columns} {equal}")

    def stream(self, name: str) -> int:
        raise CannotError(f"{name}: rows of Java are not handed to Python")

    def files(self, name: str) -> list[str]:
        raise CannotError(f"{name}: measured once, on our files")

    def plan(self, name: str) -> int:
        raise CannotError(f"{name}: not measured for Java")

    def expire(self, name: str, keep: int) -> None:
        raise CannotError(f"{name}: not measured for Java, to {keep}")

    def close(self) -> None:
        self.judge.close()

    def _timed(self, name: str, verb: str, **more: object) -> int:
        table = self.judge.table(self.warehouse, f"{DATABASE}.{name}")
        seconds, rows = table.timed(verb, **more)
        self.spent += seconds
        return rows

    def _warm(self) -> None:
        name = f"warm{next(self.names)}"
        ids = pa.array(range(WARM_ROWS), pa.int64())
        rows = pa.table({"id": ids, "note": ids.cast(pa.string())})
        self.create(name, rows.schema, ["id"], {"bucket": "2", "changelog-producer": "lookup"})
        for _ in range(6):
            self.write(name, rows)
        self.compact(name)
        self.changes(name)
        self.staging.catalog.drop_table(f"{DATABASE}.{name}")
