"""Data files whose keys are plain integers, for tests of ``lsm``."""

from __future__ import annotations

from table_core.lsm.sorted_run import Key
from table_core.ondisk.data_file import DataFile

__all__ = ["bounds", "keyed"]


def keyed(
    name: str,
    low: int,
    high: int,
    *,
    level: int = 0,
    size: int = 1,
    seq: int = 0,
    deletes: int | None = 0,
) -> DataFile:
    return DataFile(
        file_name=name,
        file_size=size,
        row_count=1,
        min_key=low.to_bytes(8, "big", signed=True),
        max_key=high.to_bytes(8, "big", signed=True),
        min_sequence_number=seq,
        max_sequence_number=seq,
        schema_id=0,
        level=level,
        delete_row_count=deletes,
    )


def bounds(file: DataFile) -> tuple[Key, Key]:
    return (
        (int.from_bytes(file.min_key, "big", signed=True),),
        (int.from_bytes(file.max_key, "big", signed=True),),
    )
