"""Writes the manifests of a table anew: fewer, larger, without entries that cancel out (format 4.7)."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import TYPE_CHECKING

from table_core.commit.effects import Head
from table_core.commit.request import CommitPart
from table_core.ondisk.snapshot import CommitKind
from table_core.options import keys_commit
from table_core.storage.stores.memory import MemoryStorage
from table_core.table.commit_io.committer import commit_parts, find_commit
from table_core.table.commit_io.manifest_writer import ManifestWriter
from table_core.table.metadata.describing import committed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from table_core.ondisk.manifest_meta import ManifestMeta
    from table_core.table.metadata.access import TableAccess
    from table_core.table.metadata.results import CommitAs, ResultDocument

__all__ = ["rewrite_manifests"]


def rewrite_manifests(access: TableAccess, *, dry_run: bool, commit: CommitAs) -> ResultDocument:
    """See ``Table.rewrite_manifests``."""
    started_ms = access.clock.now_ms()
    forced = access.with_options({keys_commit.MANIFEST_FULL_COMPACTION_THRESHOLD_SIZE.key: "1 b"})
    access.head()
    head_and_digest = access.metadata.head_with_digest()
    before: list[ManifestMeta] = []
    after: list[ManifestMeta] = []
    if head_and_digest is not None:
        before = access.metadata.data_manifests(head_and_digest[0])
        after = _planned(forced, Head(*head_and_digest)) if len(before) > 1 else before
    commit = commit.with_request("rewrite-manifests", access.branch)
    landed = find_commit(access, commit)
    done = landed
    if landed is None and not dry_run and _names(before) != _names(after):
        part = CommitPart(kind=CommitKind.COMPACT)
        done = commit_parts(forced, commit, compact=part, force=True)
    details = {
        "manifests_before": len(before),
        "manifests_after": len(after),
        "entries_before": sum(m.num_added_files + m.num_deleted_files for m in before),
        "entries_after": sum(m.num_added_files + m.num_deleted_files for m in after),
    }
    head = head_and_digest[0] if head_and_digest else None
    result = committed(access, "rewrite-manifests", done, head, details, started_ms=started_ms)
    return result.having(dry_run=dry_run)


def _planned(access: TableAccess, head: Head) -> list[ManifestMeta]:
    """The manifests that a rewrite of ``head`` ends with, written nowhere."""
    nowhere = replace(access, storage=MemoryStorage())
    return ManifestWriter(nowhere, access.ids.uuid(), itertools.count()).base(head)


def _names(metas: Sequence[ManifestMeta]) -> list[str]:
    return [meta.file_name for meta in metas]
