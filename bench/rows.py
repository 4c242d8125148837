"""The rows of the workloads: made once by seed, then mapped into every process without copying."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

__all__ = ["DAYS", "KEYED", "NARROW", "SALES", "Rows"]

BASE, UPSERT, UPSERTS = 1_000_000, 50_000, 5
APPENDED = 5_000_000
HUGE = 100_000_000
FOLDED, FOLDS = 250_000, 5
KEYED = pa.schema(
    [
        ("id", pa.int64()),
        ("country", pa.int32()),
        ("amount", pa.decimal128(12, 2)),
        ("qty", pa.int32()),
        ("updated", pa.timestamp("us")),
        ("note", pa.string()),
    ]
)
NARROW = pa.schema([("id", pa.int64()), ("kind", pa.int32()), ("value", pa.float64())])
DAYS = pa.schema([("day", pa.string()), ("id", pa.int64()), ("value", pa.float64())])
SALES = pa.schema(
    [
        ("id", pa.int64()),
        ("revenue", pa.decimal128(18, 2)),
        ("orders", pa.int64()),
        ("last", pa.timestamp("us")),
    ]
)


class Rows:
    """Arrow tables by name, kept as files in ``folder``; ``scale`` multiplies their sizes."""

    def __init__(self, folder: Path, scale: float = 1.0) -> None:
        self.folder, self.scale = folder / f"x{scale:g}", scale

    def times(self, factor: int) -> Rows:
        """The same tables, ``factor`` times as large."""
        return Rows(self.folder.parent, self.scale * factor)

    def base(self) -> pa.Table:
        """One million keyed rows in random order of key."""
        n = self._size(BASE)
        return self._kept("base", lambda random: keyed(random, random.permutation(n)))

    def upserts(self) -> list[pa.Table]:
        """Five times fifty thousand rows, half of them for keys that exist."""
        return [self._upsert(number) for number in range(UPSERTS)]

    def narrow(self) -> pa.Table:
        """Five million rows of three numbers."""
        n = self._size(APPENDED)

        def made(random: np.random.Generator) -> pa.Table:
            values = [np.arange(n), random.integers(0, 100, n, dtype=np.int32), random.random(n)]
            return pa.table(values, schema=NARROW)

        return self._kept("narrow", made)

    def folds(self) -> list[pa.Table]:
        """Five times a quarter of a million rows to add up by key."""
        return [self._fold(number) for number in range(FOLDS)]

    def patches(self) -> list[pa.Table]:
        """Three times a quarter of a million rows, each with a third of the columns."""
        return [self._patch(number) for number in range(3)]

    def huge(self) -> Iterator[pa.Table]:
        """A hundred million rows of three numbers by ascending key, a million at a time."""
        for first in range(0, self._size(HUGE), 1_000_000):
            keys = np.arange(first, min(first + 1_000_000, self._size(HUGE)))
            kinds = (keys % 100).astype(np.int32)
            yield pa.table([keys, kinds, keys * 0.5], schema=NARROW)

    def days(self, count: int) -> pa.Table:
        """Ten rows for each of ``count`` days."""
        n = count * 10
        days = pa.array([f"d{number // 10:05}" for number in range(n)])
        return pa.table([days, np.arange(n), np.ones(n)], schema=DAYS)

    def keyed_otherwise(self, rows: pa.Table, key: str) -> pa.Table:
        """``rows`` with ``id`` as text, or split in two (``key``: ``string`` or ``composite``)."""
        if key == "string":
            text = pc.binary_join_element_wise("customer-", rows["id"].cast(pa.string()), "")
            return rows.set_column(0, "id", text)
        ids = rows["id"].to_numpy()
        split = rows.set_column(0, "id", pa.array(ids // 1000))
        text = pa.array(ids % 1000).cast(pa.string())
        return split.add_column(1, "line", pc.binary_join_element_wise("line", text, "-"))

    def _patch(self, number: int) -> pa.Table:
        n = self._size(FOLDED)

        def made(random: np.random.Generator) -> pa.Table:
            table = keyed(random, random.choice(2 * n, n, replace=False))
            for at in range(1, len(KEYED)):
                if at % 3 != number:
                    table = table.set_column(at, KEYED[at], pa.nulls(n, KEYED[at].type))
            return table

        return self._kept(f"patch-{number}", made)

    def _upsert(self, number: int) -> pa.Table:
        base, n = self._size(BASE), self._size(UPSERT)

        def made(random: np.random.Generator) -> pa.Table:
            old = random.choice(base, n // 2, replace=False)
            new = base + number * n + np.arange(n - n // 2)
            return keyed(random, random.permutation(np.concatenate([old, new])))

        return self._kept(f"upsert-{number}", made)

    def _fold(self, number: int) -> pa.Table:
        n = self._size(FOLDED)

        def made(random: np.random.Generator) -> pa.Table:
            keys = random.choice(2 * n, n, replace=False)
            last = _moments(random, n)
            amounts = cents(random.integers(1, 10**7, n), 18)
            return pa.table([keys, amounts, np.ones(n, np.int64), last], schema=SALES)

        return self._kept(f"fold-{number}", made)

    def _size(self, rows: int) -> int:
        return int(rows * self.scale)

    def _kept(self, name: str, make: Callable[[np.random.Generator], pa.Table]) -> pa.Table:
        path = self.folder / f"{name}.arrow"
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            table = make(np.random.default_rng(sum(name.encode())))
            with pa.OSFile(str(path), "wb") as out, pa.ipc.new_file(out, table.schema) as writer:
                writer.write_table(table, max_chunksize=1 << 17)
        return pa.ipc.open_file(pa.memory_map(str(path))).read_all()


def keyed(random: np.random.Generator, keys: np.ndarray) -> pa.Table:
    """Rows of the keyed table for ``keys``."""
    n = len(keys)
    words = pa.array([f"{word:012x}" for word in random.integers(0, 1 << 48, 4096)])
    left, right = (words.take(pa.array(random.integers(0, 4096, n))) for _ in range(2))
    notes = pc.binary_join_element_wise(left, right, "")
    return pa.table(
        [
            keys.astype(np.int64),
            random.integers(0, 200, n, dtype=np.int32),
            cents(random.integers(1, 10**7, n), 12),
            random.integers(1, 100, n, dtype=np.int32),
            _moments(random, n),
            notes,
        ],
        schema=KEYED,
    )


def cents(values: np.ndarray, precision: int) -> pa.Array:
    """Decimals with two digits after the point."""
    words = np.zeros((len(values), 2), dtype="<i8")
    words[:, 0] = values
    kind = pa.decimal128(precision, 2)
    return pa.Array.from_buffers(kind, len(values), [None, pa.py_buffer(words)])


def _moments(random: np.random.Generator, n: int) -> pa.Array:
    micros = 1_760_000_000_000_000 + random.integers(0, 10**13, n)
    return pa.array(micros).cast(pa.timestamp("us"))
