"""What Arrow alone takes for the work of a workload: no engine of ours comes below it by much."""

from __future__ import annotations

import tempfile
from concurrent.futures import ThreadPoolExecutor
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bench.engines import Engine
    from bench.rows import Rows
    from bench.stopwatch import Stopwatch

__all__ = ["compaction_floor"]


def compaction_floor(engine: Engine, rows: Rows, watch: Stopwatch) -> str:
    """Read the files of every bucket, keep the newest row of each key, write one file a bucket."""
    del rows
    paths = sorted(engine.files("keyed"))
    buckets = [list(some) for _, some in groupby(paths, key=lambda path: Path(path).parent)]
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(len(buckets)) as pool:
        targets = [Path(folder) / f"{number}.parquet" for number in range(len(buckets))]
        with watch():
            counts = list(pool.map(_merged, buckets, targets))
    return str(sum(counts))


def _merged(paths: Sequence[str], target: Path) -> int:
    table = pa.concat_tables([pq.read_table(path, use_threads=False) for path in paths])
    ids, numbers = (table[name].to_numpy() for name in ("id", "_SEQUENCE_NUMBER"))
    order = np.lexsort((numbers, ids))
    newest = np.append(np.diff(ids[order]) != 0, True)
    kept = table.combine_chunks().take(pa.array(order[newest]))
    pq.write_table(kept, target, compression="zstd", compression_level=1, use_dictionary=False)
    return int(kept.num_rows)
