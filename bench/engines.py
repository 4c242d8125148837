"""The contenders, behind the few verbs that the workloads need."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Protocol

import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

__all__ = ["DATABASE", "ENGINES", "CannotError", "Engine", "engine"]

DATABASE = "bench"
RUST = (
    "read.native.enabled",
    "write.native.enabled",
    "commit.native.enabled",
    "scan.native-plan.enabled",
)


class CannotError(Exception):
    """The engine cannot do this."""


class Engine(Protocol):
    """One way to use Paimon tables from Python.  Tables are named without their database."""

    def create(
        self,
        name: str,
        schema: pa.Schema,
        key: Sequence[str],
        options: Mapping[str, str],
        parts: Sequence[str] = (),
    ) -> None: ...
    def write(self, name: str, rows: pa.Table) -> None: ...
    def read(
        self, name: str, columns: Sequence[str] | None, equal: tuple[str, object] | None = None
    ) -> pa.Table: ...
    def stream(self, name: str) -> int: ...
    def files(self, name: str) -> list[str]: ...
    def plan(self, name: str) -> int: ...
    def compact(self, name: str) -> None: ...
    def changes(self, name: str) -> int: ...
    def expire(self, name: str, keep: int) -> None: ...


class Ours:
    """``table_core`` by its public names."""

    def __init__(self, warehouse: Path) -> None:
        import table_core

        self.catalog = table_core.open_catalog(warehouse.as_uri())
        self.catalog.create_database(DATABASE, if_not_exists=True)

    def create(
        self,
        name: str,
        schema: pa.Schema,
        key: Sequence[str],
        options: Mapping[str, str],
        parts: Sequence[str] = (),
    ) -> None:
        self.catalog.create_table(
            f"{DATABASE}.{name}",
            schema,
            primary_key=tuple(key),
            partition_by=tuple(parts),
            options=dict(options),
        )

    def write(self, name: str, rows: pa.Table) -> None:
        with self.catalog.table(f"{DATABASE}.{name}").write() as writer:
            writer.write(rows)
            writer.commit()

    def read(
        self, name: str, columns: Sequence[str] | None, equal: tuple[str, object] | None = None
    ) -> pa.Table:
        from table_core import col

        wanted = None if columns is None else list(columns)
        where = None if equal is None else col(equal[0]) == equal[1]
        return self.catalog.table(f"{DATABASE}.{name}").read(columns=wanted, where=where).to_arrow()

    def stream(self, name: str) -> int:
        """Read all rows batch by batch, and keep none; how many there were."""
        scan = self.catalog.table(f"{DATABASE}.{name}").read()
        return sum(batch.num_rows for batch in scan.to_batches())

    def files(self, name: str) -> list[str]:
        """Where the data files are that a reader of the table opens."""
        from table_core.ondisk.layout import data_file_path

        table = self.catalog.table(f"{DATABASE}.{name}")
        root = table.uri.removeprefix("file://")
        return [
            f"{root}/{data_file_path(table.definition, split.partition, split.bucket, file)}"
            for split in table.read().splits()
            for file in split.files
        ]

    def plan(self, name: str) -> int:
        return len(self.catalog.table(f"{DATABASE}.{name}").read().splits())

    def compact(self, name: str) -> None:
        self.catalog.table(f"{DATABASE}.{name}").compact(strategy="full")

    def changes(self, name: str) -> int:
        """How many rows of changes all snapshots deliver, read to the last."""
        table = self.catalog.table(f"{DATABASE}.{name}")
        newest = table.latest_snapshot()
        batches = table.changes(after=0, to=newest.id).to_batches()
        return sum(batch.num_rows for batch in batches)

    def expire(self, name: str, keep: int) -> None:
        table = self.catalog.table(f"{DATABASE}.{name}")
        table.expire_snapshots(retain_max=keep, retain_min=1)


class PyPaimon:
    """Apache Paimon's own Python package, as it is or with its Rust engine."""

    def __init__(self, warehouse: Path, *, rust: bool) -> None:
        from pypaimon import CatalogFactory

        self.catalog = CatalogFactory.create({"warehouse": str(warehouse)})
        self.catalog.create_database(DATABASE, True)
        self.dynamic = dict.fromkeys(RUST, "true") if rust else {}

    def _table(self, name: str) -> object:
        table = self.catalog.get_table(f"{DATABASE}.{name}")
        return table.copy(self.dynamic) if self.dynamic else table

    def create(
        self,
        name: str,
        schema: pa.Schema,
        key: Sequence[str],
        options: Mapping[str, str],
        parts: Sequence[str] = (),
    ) -> None:
        from pypaimon import Schema

        stated = pa.schema([f.with_nullable(f.name not in key) for f in schema])
        made = Schema.from_pyarrow_schema(
            stated, partition_keys=list(parts), primary_keys=list(key), options=dict(options)
        )
        self.catalog.create_table(f"{DATABASE}.{name}", made, False)

    def write(self, name: str, rows: pa.Table) -> None:
        builder = self._table(name).new_batch_write_builder()
        writing, commit = builder.new_write(), builder.new_commit()
        writing.write_arrow(rows)
        commit.commit(writing.prepare_commit())
        writing.close()
        commit.close()

    def read(
        self, name: str, columns: Sequence[str] | None, equal: tuple[str, object] | None = None
    ) -> pa.Table:
        builder = self._table(name).new_read_builder()
        if equal is not None:
            builder = builder.with_filter(builder.new_predicate_builder().equal(*equal))
        if columns is not None:
            builder = builder.with_projection(list(columns))
        return builder.new_read().to_arrow(builder.new_scan().plan().splits())

    def stream(self, name: str) -> int:
        builder = self._table(name).new_read_builder()
        splits = builder.new_scan().plan().splits()
        reader = builder.new_read().to_arrow_batch_reader(splits)
        return sum(batch.num_rows for batch in reader)

    def files(self, name: str) -> list[str]:
        raise CannotError(f"{name}: measured once, on our files")

    def plan(self, name: str) -> int:
        return len(self._table(name).new_read_builder().new_scan().plan().splits())

    def compact(self, name: str) -> None:
        raise CannotError(f"{name}: pypaimon does not compact key tables")

    def changes(self, name: str) -> int:
        raise CannotError(f"{name}: pypaimon delivers no changes of compactions")

    def expire(self, name: str, keep: int) -> None:
        raise CannotError(f"{name}: pypaimon does not expire snapshots to {keep}")


ENGINES = ("ours", "pypaimon", "pypaimon+rust", *(["java"] if shutil.which("java") else []))


def engine(name: str, warehouse: Path) -> Engine:
    """The engine of that name on its own warehouse."""
    if name == "ours":
        return Ours(warehouse)
    if name == "java":
        from bench.java import Java

        return Java(warehouse)
    return PyPaimon(warehouse, rust=name == "pypaimon+rust")
