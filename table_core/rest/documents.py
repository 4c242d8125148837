"""Documents that go to a REST catalog and come from it.

Source: ``org.apache.paimon.rest.requests``, ``responses`` of 2.0.0.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from table_core.datatypes.text import field_to_json
from table_core.errors import UnsupportedFeatureError
from table_core.options.stored_json import json_object
from table_core.validation_errors import ValidationErrors

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from table_core.ondisk.snapshot import Snapshot
    from table_core.schema.table_schema import TableSchema

__all__ = [
    "PartitionStatistics",
    "ServedTable",
    "commit_request",
    "create_request",
    "has_succeeded",
    "newest_id",
    "page_of",
    "rename_request",
    "rollback_request",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class ServedTable:
    """What the server says of a table."""

    id: str
    """Which no other table has, not even one that is made under the same name."""
    path: str
    """The URI of its folder."""

    @classmethod
    def of(cls, body: bytes, name: str) -> ServedTable:
        """Read the answer ``body`` about the table ``name``.

        Raises:
            CorruptFileError: a member is missing or of a wrong type.
            UnsupportedFeatureError: an external table, or one that is not in Paimon's own format.
        """
        document = json_object(body, path=name)
        problems = ValidationErrors(name)
        id, path = problems.need(document, "id", str, ""), problems.need(document, "path", str, "")
        external = problems.take(document, "isExternal", bool, False)
        schema = problems.need(document, "schema", dict, {})
        problems.raise_if_any()
        options = schema.get("options")
        kind = options.get("type", "table") if isinstance(options, dict) else "table"
        if external:
            raise UnsupportedFeatureError(
                f"{name} is an external table, whose commits its REST catalog does not take: this release reads "
                "and writes those that the catalog manages",
                feature="external table of a REST catalog",
            )
        if kind != "table":
            raise UnsupportedFeatureError(
                f"{name} is of the type {kind!r}, not a table in Paimon's own format", feature=kind
            )
        return cls(id=id, path=path)


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionStatistics:
    """How a commit changes one partition, for the server's own books."""

    spec: Mapping[str, str]
    record_count: int
    file_size_in_bytes: int
    file_count: int
    last_file_creation_time: int
    """Milliseconds since the epoch."""
    total_buckets: int

    def document(self) -> dict[str, object]:
        """As it is sent."""
        return {
            "spec": dict(self.spec),
            "recordCount": self.record_count,
            "fileSizeInBytes": self.file_size_in_bytes,
            "fileCount": self.file_count,
            "lastFileCreationTime": self.last_file_creation_time,
            "totalBuckets": self.total_buckets,
        }


def commit_request(
    table_id: str,
    base_uuid: str | None,
    snapshot: Snapshot,
    statistics: Sequence[PartitionStatistics],
) -> dict[str, object]:
    """The request to make ``snapshot`` the newest one, which was built on the one of ``base_uuid``, None: on none."""
    return {
        "tableId": table_id,
        "baseSnapshotUuid": base_uuid,
        "snapshot": json.loads(snapshot.to_json()),
        "statistics": [one.document() for one in statistics],
    }


def create_request(database: str, table: str, schema: TableSchema) -> dict[str, object]:
    """The request to create a table."""
    return {
        "identifier": _identifier(database, table),
        "schema": {
            "fields": [field_to_json(field) for field in schema.fields],
            "partitionKeys": list(schema.partition_keys),
            "primaryKeys": list(schema.primary_keys),
            "options": dict(schema.raw_options),
            "comment": schema.comment,
        },
    }


def rename_request(source: tuple[str, str], target: tuple[str, str]) -> dict[str, object]:
    """The request to call a table something else."""
    return {"source": _identifier(*source), "destination": _identifier(*target)}


def rollback_request(snapshot: int, tag: str | None, newest: int) -> dict[str, object]:
    """The request to go back to ``snapshot``, or to what ``tag`` keeps, if ``newest`` is still the newest one."""
    instant = (
        {"type": "snapshot", "snapshotId": snapshot}
        if tag is None
        else {"type": "tag", "tagName": tag}
    )
    return {"instant": instant, "fromSnapshot": newest}


def _identifier(database: str, table: str) -> dict[str, object]:
    return {"database": database, "object": table}


def has_succeeded(body: bytes, what: str) -> bool:
    """Whether a commit was made; False: the newest snapshot is another than its base.

    Raises:
        CorruptFileError: ``body`` does not say.
    """
    problems = ValidationErrors(what)
    success = problems.need(json_object(body, path=what), "success", bool, False)
    problems.raise_if_any()
    return bool(success)


def newest_id(body: bytes, what: str) -> int:
    """The id of the newest snapshot.

    Raises:
        CorruptFileError: ``body`` does not say.
    """
    problems = ValidationErrors(what)
    outer = problems.need(json_object(body, path=what), "snapshot", dict, {})
    inner = problems.need(outer, "snapshot", dict, {})
    id = problems.need(inner, "id", int, 0)
    problems.raise_if_any()
    return int(id)


def page_of(body: bytes, member: str, what: str) -> tuple[list[str], str | None]:
    """Some names of a listing, and what to ask for the next ones with; None: that is all.

    Raises:
        CorruptFileError: ``body`` is no such page.
    """
    document = json_object(body, path=what)
    problems = ValidationErrors(what)
    names = document.get(member) or []
    token = problems.take(document, "nextPageToken", str, None)
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        problems.add(member, "expected a list of names")
    problems.raise_if_any()
    return [str(name) for name in names] if isinstance(names, list) else [], token or None
