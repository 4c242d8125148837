"""Deletes many files of a table, some at a time in parallel (``file-operation.thread-num``)."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Final

from table_core.errors import UnsupportedFeatureError
from table_core.ondisk import layout
from table_core.options import keys_files

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from table_core.ondisk.data_file import DataFile
    from table_core.table.metadata.access import TableAccess

__all__ = ["delete_empty_folders", "delete_files", "paths_of"]

_AT_ONCE: Final = 500
"""Paths of one call: object stores take up to 1,000."""
_THREADS_MAX: Final = min(8, 2 * (os.cpu_count() or 1))


def paths_of(access: TableAccess, files: Iterable[tuple[bytes, int, DataFile]]) -> list[str]:
    """Where data files, each with partition and bucket, and their companions are.

    Raises:
        UnsupportedFeatureError: one lies outside the table.
    """
    paths: list[str] = []
    folders: dict[tuple[bytes, int], str] = {}
    for partition, bucket, file in files:
        if file.external_path is not None:
            raise _outside(file.external_path)
        folder = folders.get((partition, bucket))
        if folder is None:
            folder = layout.bucket_path(access.schema, partition, bucket)
            folders[partition, bucket] = folder
        paths.append(f"{folder}/{file.file_name}")
        paths.extend(f"{folder}/{name}" for name in file.extra_files)
    return paths


def _outside(where: str) -> UnsupportedFeatureError:
    return UnsupportedFeatureError(
        f"{where} lies outside the table (data-file.external-paths): this release deletes inside "
        "the table only; expire with Paimon, or set 'write-only'",
        feature="data-file.external-paths",
    )


def delete_files(access: TableAccess, paths: Sequence[str]) -> int:
    """Delete ``paths``; how many were there."""
    threads = access.options.get(keys_files.FILE_OPERATION_THREAD_NUM) or _THREADS_MAX
    shares = [paths[at : at + _AT_ONCE] for at in range(0, len(paths), _AT_ONCE)]
    if len(shares) < 2 or threads < 2:
        return sum(map(access.storage.delete, shares))
    with ThreadPoolExecutor(min(threads, len(shares))) as pool:
        return sum(pool.map(access.storage.delete, shares))


def delete_empty_folders(access: TableAccess, buckets: Iterable[tuple[bytes, int]]) -> None:
    """Delete the folders of ``buckets`` that are empty, then empty partitions."""
    for partition, bucket in sorted(buckets):
        folder = layout.bucket_path(access.schema, partition, bucket)
        depth = len(access.schema.partition_keys)
        while access.storage.delete_empty_folder(folder):
            folder, depth = folder.rpartition("/")[0], depth - 1
            if depth < 0:
                break
