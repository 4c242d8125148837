"""One line of a manifest list: a manifest file and what is in it.

Source: ``org.apache.paimon.manifest.ManifestFileMeta``; format 4.2.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from table_core.ondisk.data_file import EMPTY_STATS, SimpleStats

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["ManifestMeta"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ManifestMeta:
    """A manifest file.  Bounds that are None are unknown: never prune by them."""

    file_name: str
    file_size: int
    num_added_files: int
    num_deleted_files: int
    partition_stats: SimpleStats = EMPTY_STATS
    schema_id: int
    min_bucket: int | None = None
    max_bucket: int | None = None
    min_level: int | None = None
    max_level: int | None = None
    min_row_id: int | None = None
    max_row_id: int | None = None
    extra: Mapping[str, object] = field(default_factory=dict, compare=False)
    """Members that this release does not know."""
