"""The data files of one state of a table, as commands show them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from table_core.cli.output import Bytes, moment_of

if TYPE_CHECKING:
    from table_core.ondisk.snapshot import Snapshot

__all__ = ["data_files", "named_shortly"]


def data_files(handle: Any, snapshot: Snapshot | None) -> list[dict[str, Any]]:
    """One record for each file that is live at ``snapshot``, by partition, bucket and level."""
    from table_core.table.system_tables.files import file_path, key_texts, row_text

    access = handle.access
    records = []
    for entry in access.live_entries(snapshot):
        file = entry.file
        low, high = key_texts(access, file)
        created = file.creation_time_ms
        records.append(
            {
                "partition": row_text(access, entry.partition),
                "bucket": entry.bucket,
                "level": file.level,
                "rows": file.row_count,
                "size": Bytes(file.file_size),
                "min_key": low,
                "max_key": high,
                "format": file.format,
                "schema": file.schema_id,
                "created": None if created is None else moment_of(created),
                "file": file_path(access, entry),
            }
        )
    return sorted(records, key=lambda one: (one["partition"] or "", one["bucket"], one["level"]))


def named_shortly(files: list[dict[str, Any]], *, as_json: bool) -> list[dict[str, Any]]:
    """For people the last part of a path will do: partition and bucket have their columns."""
    if as_json:
        return files
    return [{**one, "file": one["file"].rpartition("/")[2]} for one in files]
