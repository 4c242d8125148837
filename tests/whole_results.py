"""What a result document must say, counted by hand from the metadata before and after."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from table_core.ondisk.data_file import EntryKind

if TYPE_CHECKING:
    from collections.abc import Mapping

    import table_core as tc

__all__ = ["MEMBERS", "State", "refuted"]

MEMBERS = {
    "action",
    "table",
    "snapshot_before",
    "snapshot_after",
    "files_before",
    "files_after",
    "bytes_before",
    "bytes_after",
    "files_deleted",
    "bytes_deleted",
    "rows_written",
    "seconds",
    "dry_run",
    "details",
}


@dataclass(frozen=True)
class State:
    """The newest snapshot of a table, its live files with their sizes and rows, and what is in the store."""

    id: int | None
    live: Mapping[tuple[bytes, int, str], tuple[int, int]]
    stored: Mapping[str, int]

    @classmethod
    def of(cls, table: tc.Table) -> State:
        """Entry by entry, in the order in which the manifests say it."""
        access = table.access
        head = access.metadata.head()
        live: dict[tuple[bytes, int, str], tuple[int, int]] = {}
        for entry in access.metadata.entries(access.metadata.data_manifests(head)) if head else ():
            key = (entry.partition, entry.bucket, entry.file.file_name)
            if entry.kind is EntryKind.ADD:
                live[key] = (entry.file.file_size, entry.file.row_count)
            else:
                del live[key]
        walked = {info.path: info.size for info in access.storage.walk("")}
        data = {path: size for path, size in walked.items() if "bucket-" in path}
        return cls(head.id if head else None, live, data)

    @property
    def bytes(self) -> int:
        """Of the live files."""
        return sum(size for size, _ in self.live.values())


def refuted(said: Mapping[str, Any], before: State, after: State) -> dict[str, Any]:
    """Members of ``said`` that are not as the states say: what it says, and what is so.

    Nothing else was committed, and nothing compacted along.
    """
    gone = {key: size for key, (size, _) in before.live.items() if key not in after.live}
    deleted = {path: size for path, size in before.stored.items() if path not in after.stored}
    if said["action"].startswith("expire-") and said["action"] != "expire-partitions":
        gone = deleted  # what is taken from the store
    true = {
        "snapshot_before": before.id,
        "snapshot_after": after.id,
        "files_before": len(before.live),
        "files_after": len(after.live),
        "bytes_before": before.bytes,
        "bytes_after": after.bytes,
        "files_deleted": len(gone),
        "bytes_deleted": sum(gone.values()),
        "rows_written": sum(n for key, (_, n) in after.live.items() if key not in before.live),
    }
    wrong = {
        name: (said.get(name), expected)
        for name, expected in true.items()
        if said.get(name) != expected
    }
    return wrong | dict.fromkeys(MEMBERS - set(said), ("missing", ""))
