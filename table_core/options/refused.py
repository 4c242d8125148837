"""Options whose values can ask for what this release does not do, and what that stops.

A table whose stored options ask for it is read where its rows are right, and otherwise refused by the
name of the option.  An option that is not here stops nothing.

Source: ``org.apache.paimon.CoreOptions``, ``org.apache.paimon.iceberg.IcebergOptions``.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from table_core.options import keys_commit, keys_files, keys_identity, keys_merge

if TYPE_CHECKING:
    from collections.abc import Mapping


__all__ = ["REFUSED", "Act", "Refusal"]


class Act(StrEnum):
    """What an option may stop."""

    READ = "read"
    COMMIT = "commit"
    """Write, compact, expire, roll back: whatever makes or deletes snapshots or files."""
    TAG = "tag"
    """Make, change or delete tags."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """One option: the values that ask for nothing, what another one stops, and why."""

    key: str
    idle: tuple[str, ...]
    why: str
    stops: frozenset[Act]
    readable: tuple[str, ...] = ()
    """More values with which the rows are right."""
    fixed: bool = False
    """It cannot be taken away from a table that has a snapshot."""

    def asks(self, value: str, act: Act) -> bool:
        """Whether ``value`` stops ``act``."""
        idle = (*self.idle, *self.readable) if act is Act.READ else self.idle
        return act in self.stops and value.strip().lower() not in idle

    @property
    def way_out(self) -> str:
        """What a user can do instead."""
        if self.fixed:
            return "use Apache Paimon on Spark or Flink for it"
        return (
            "use Apache Paimon on Spark or Flink for it, or take the option away with "
            f"RemoveOption({self.key!r})"
        )


_COMMITS: Final = frozenset({Act.COMMIT})
_TAGS: Final = frozenset({Act.COMMIT, Act.TAG})
_READS: Final = frozenset({Act.READ})
_BOTH: Final = frozenset({Act.READ, Act.COMMIT})
_OFF: Final = ("", "false")
_UNSET: Final = ("",)
_ALL: Final = (
    Refusal(
        keys_identity.TYPE.key,
        ("table",),
        "its rows are not in its snapshots, or are made by another engine",
        _BOTH,
        readable=("materialized-table",),
        fixed=True,
    ),
    Refusal("manifest.format", ("", "avro"), "its manifests have that format", _BOTH, fixed=True),
    Refusal(
        "chain-table.enabled",
        _OFF,
        "its rows combine two branches",
        _BOTH,
        fixed=True,
    ),
    Refusal(
        keys_commit.DATA_EVOLUTION_ENABLED.key,
        _OFF,
        "one row is spread over several files",
        _BOTH,
        fixed=True,
    ),
    Refusal(
        "query-auth.enabled", _OFF, "a catalog decides which rows and columns a user sees", _BOTH
    ),
    Refusal("branch", ("", "main"), "its rows belong to another branch", _BOTH),
    Refusal("path", _UNSET, "its files are in another folder", _BOTH),
    Refusal("scan.primary-branch", _UNSET, "another branch must be read first", _READS),
    Refusal("scan.bucket", _UNSET, "only one bucket may be read", _READS),
    Refusal("batch-scan-mode", ("", "none"), "it belongs to a job inside Paimon", _READS),
    Refusal("stream-scan-mode", ("", "none"), "it belongs to a job inside Paimon", _READS),
    Refusal(
        keys_identity.PK_CLUSTERING_OVERRIDE.key,
        _OFF,
        "its files are sorted by other columns than the key",
        _COMMITS,
        fixed=True,
    ),
    Refusal(
        keys_merge.SEQUENCE_SNAPSHOT_ORDERING.key,
        _OFF,
        "rows are numbered by their snapshots",
        _COMMITS,
        fixed=True,
    ),
    Refusal(
        keys_files.DATA_FILE_EXTERNAL_PATHS.key,
        _UNSET,
        "files must be written outside the table",
        _COMMITS,
    ),
    Refusal(
        "metadata.iceberg.storage",
        ("", "disabled"),
        "each commit must also write Iceberg metadata, which its readers need",
        _COMMITS,
    ),
    Refusal("commit.callbacks", _UNSET, "each commit must call these classes", _COMMITS),
    Refusal("tag.callbacks", _UNSET, "each tag must call these classes", _TAGS),
    Refusal(
        "metastore.partitioned-table",
        _OFF,
        "each commit must report its partitions to the metastore",
        _COMMITS,
    ),
    Refusal(
        "metastore.tag-to-partition",
        _UNSET,
        "each tag must become a partition of the metastore",
        _TAGS,
    ),
    Refusal(
        "metastore.tag-to-partition.preview",
        ("", "none"),
        "each snapshot must become a partition of the metastore",
        _TAGS,
    ),
    *(
        Refusal(
            f"pk-{kind}.index.columns",
            _UNSET,
            f"each compaction must build a {name} index of its files",
            _COMMITS,
        )
        for kind, name in (
            ("bitmap", "bitmap"),
            ("btree", "B-tree"),
            ("full-text", "full-text"),
            ("vector", "vector"),
        )
    ),
    Refusal("upsert-key", _UNSET, "rows must replace the rows with the same upsert key", _COMMITS),
    Refusal(
        "visibility-callback.enabled",
        _OFF,
        "each commit must wait until others have compacted or indexed it",
        _COMMITS,
    ),
    Refusal(
        "partition.timestamp-format.strict",
        _OFF,
        "partitions whose value is not a time must be refused",
        _COMMITS,
    ),
    Refusal(
        "clustering.incremental",
        _OFF,
        "clustering keeps files in levels",
        _COMMITS,
    ),
    Refusal("vector.file.format", _UNSET, "vector columns must have files of their own", _COMMITS),
)
REFUSED: Final[Mapping[str, Refusal]] = {refusal.key: refusal for refusal in _ALL}
"""Every such option by its key."""
