"""Table statistics: what ANALYZE found out about rows and columns.

On disk:  ``<table>/statistics/stat-<uuid>-<n>``, JSON, named by an ANALYZE snapshot.
Source:   ``org.apache.paimon.stats.Statistics``, ``ColStats``; format 3.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["ColumnStatistics", "TableStatistics"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnStatistics:
    """One column; None where nobody knows."""

    field_id: int
    distinct_count: int | None = None
    min: str | None = None
    """As Paimon's serializers write it; a DATE is a number of days."""
    max: str | None = None
    null_count: int | None = None
    average_bytes: int | None = None
    max_bytes: int | None = None

    def to_document(self) -> dict[str, object]:
        """Members that are known, under their stored names."""
        document = {
            "colId": self.field_id,
            "distinctCount": self.distinct_count,
            "min": self.min,
            "max": self.max,
            "nullCount": self.null_count,
            "avgLen": self.average_bytes,
            "maxLen": self.max_bytes,
        }
        return {name: value for name, value in document.items() if value is not None}


@dataclass(frozen=True, slots=True, kw_only=True)
class TableStatistics:
    """A table at one snapshot."""

    snapshot_id: int
    schema_id: int
    merged_record_count: int
    merged_record_size: int
    columns: Mapping[str, ColumnStatistics] = field(default_factory=dict)

    def to_json(self) -> bytes:
        """Encode."""
        document = {
            "snapshotId": self.snapshot_id,
            "schemaId": self.schema_id,
            "mergedRecordCount": self.merged_record_count,
            "mergedRecordSize": self.merged_record_size,
            "colStats": {name: column.to_document() for name, column in self.columns.items()},
        }
        return json.dumps(document, ensure_ascii=False).encode()
