"""Snapshot document: one committed version of a table.

On disk:  ``<table>/snapshot/snapshot-<id>``, UTF-8 JSON, written once and never changed.
Source:   ``org.apache.paimon.Snapshot`` (format version 3); format 3.
Owns:     the shape of the document.  It does not know paths, storage or clocks.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final

from table_core.errors import UnsupportedFeatureError
from table_core.options.stored_json import json_object, readable
from table_core.validation_errors import ValidationErrors

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["BATCH_IDENTIFIER", "FIRST_ID", "CommitKind", "Snapshot"]

FIRST_ID: Final = 1
BATCH_IDENTIFIER: Final = 2**63 - 1
"""The commit identifier that Paimon's batch writers use."""
_VERSION: Final = 3


class CommitKind(StrEnum):
    """Why a snapshot exists."""

    APPEND = "APPEND"
    COMPACT = "COMPACT"
    OVERWRITE = "OVERWRITE"
    ANALYZE = "ANALYZE"


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """A committed table version.  Immutable: a new state is a new ``Snapshot``."""

    id: int
    schema_id: int
    base_manifest_list: str
    base_manifest_list_size: int | None = None
    delta_manifest_list: str
    delta_manifest_list_size: int | None = None
    changelog_manifest_list: str | None = None
    changelog_manifest_list_size: int | None = None
    index_manifest: str | None = None
    commit_user: str
    commit_identifier: int
    commit_kind: CommitKind
    time_millis: int
    total_record_count: int
    delta_record_count: int
    changelog_record_count: int | None = None
    watermark: int | None = None
    statistics: str | None = None
    properties: Mapping[str, str] | None = None
    next_row_id: int | None = None
    operation: str | None = None
    uuid: str | None = None
    writer_version: str | None = None
    extra: Mapping[str, object] = field(default_factory=dict)
    """Members this release does not know.  Kept, so rewriting a document loses nothing."""

    @property
    def state(self) -> str:
        """Its number with what tells it from every other snapshot that has had this number."""
        return f"{self.id}/{self.delta_manifest_list}"

    def to_json(self) -> bytes:
        """Encode with known members first, so golden files diff cleanly.

        Raises:
            ArgumentError: it would be too large to be read again.
        """
        document: dict[str, object] = {"version": _VERSION}
        for key, (attribute, _, _) in _MEMBERS.items():
            value = getattr(self, attribute)
            if value is not None and not (key == "properties" and not value):
                document[key] = value
        body = json.dumps(document | dict(self.extra), indent=2, ensure_ascii=False).encode()
        return readable(body, f"snapshot {self.id}")

    @classmethod
    def from_json(cls, body: bytes, *, path: str) -> Snapshot:
        """Decode ``body`` read from ``path``.

        Raises:
            CorruptFileError: not JSON, any member missing or of the wrong type, or another number
                than ``path`` has.  All problems are reported at once.
            UnsupportedFeatureError: a version newer than 3.
        """
        document = json_object(body, path=path)
        problems = ValidationErrors(path)
        version = problems.take(document, "version", int, _VERSION)
        if version is not None and version > _VERSION:
            raise UnsupportedFeatureError(
                f"{path}: snapshot version {version} is newer than {_VERSION}",
                feature=f"snapshot version {version}",
            )
        known: dict[str, Any] = {}
        for key, (attribute, want, required) in _MEMBERS.items():
            if required:
                known[attribute] = problems.need(document, key, want, want())
            else:
                known[attribute] = problems.take(document, key, want)
        kind = document.get("commitKind")
        if isinstance(kind, str) and kind not in set(CommitKind):
            problems.add("commitKind", f"unknown value {kind!r}")
        if type(document.get("id")) is int and known["id"] < FIRST_ID:
            problems.add("id", f"expected >= {FIRST_ID}, got {known['id']}")
        for prefix in ("snapshot-", "changelog-"):
            problems.as_named(document, "id", prefix)
        problems.raise_if_any()
        known["commit_kind"] = CommitKind(known["commit_kind"])
        extra = {k: v for k, v in document.items() if k not in _MEMBERS and k != "version"}
        return cls(**known, extra=extra)


_MEMBERS: Final[Mapping[str, tuple[str, type[Any], bool]]] = {
    "uuid": ("uuid", str, False),
    "id": ("id", int, True),
    "schemaId": ("schema_id", int, True),
    "baseManifestList": ("base_manifest_list", str, True),
    "baseManifestListSize": ("base_manifest_list_size", int, False),
    "deltaManifestList": ("delta_manifest_list", str, True),
    "deltaManifestListSize": ("delta_manifest_list_size", int, False),
    "changelogManifestList": ("changelog_manifest_list", str, False),
    "changelogManifestListSize": ("changelog_manifest_list_size", int, False),
    "indexManifest": ("index_manifest", str, False),
    "commitUser": ("commit_user", str, True),
    "writerVersion": ("writer_version", str, False),
    "commitIdentifier": ("commit_identifier", int, True),
    "commitKind": ("commit_kind", str, True),
    "timeMillis": ("time_millis", int, True),
    "totalRecordCount": ("total_record_count", int, True),
    "deltaRecordCount": ("delta_record_count", int, True),
    "changelogRecordCount": ("changelog_record_count", int, False),
    "watermark": ("watermark", int, False),
    "statistics": ("statistics", str, False),
    "properties": ("properties", dict, False),
    "nextRowId": ("next_row_id", int, False),
    "operation": ("operation", str, False),
}
"""JSON member to attribute, its type, and whether it is required."""
