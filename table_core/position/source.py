"""Which source is read, with what tells it from another one of that name.

All of it is plain text, so that it is stored and compared as it is.  An empty member is one that
nobody knows, e.g. because a server does not tell it: it equals every other.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Final, TypeAlias

from table_core.position.members import checked

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "FilesId",
    "MySqlId",
    "PostgresId",
    "SourceId",
    "TableId",
    "TopicsId",
    "birth_of",
    "source_from_document",
    "time_of_birth",
]

_MAIN: Final = "main"


def birth_of(schema: bytes, time_millis: int) -> str:
    """What tells a table from another that stands, or stood, at its place.

    ``schema``: the bytes of the earliest schema document, which never change; ``time_millis``: its
    time.  A table that is dropped and recreated gets another one.
    """
    return f"{time_millis}-{hashlib.sha256(schema).hexdigest()[:16]}"


def time_of_birth(birth: str) -> int:
    """The time in ``birth_of``, in epoch milliseconds.

    >>> time_of_birth(birth_of(b"{}", 1_700_000_000_000))
    1700000000000
    """
    return int(birth.rpartition("-")[0])


@dataclass(frozen=True, slots=True, kw_only=True)
class TableId:
    """A branch of a table."""

    kind: ClassVar[str] = "table"
    location: str
    """URI of its folder, without secrets."""
    birth: str = ""
    """``birth_of``; '' if nobody looked."""
    branch: str = _MAIN

    def is_same(self, other: SourceId) -> bool:
        """Whether ``other`` is this table, at its place."""
        return (
            isinstance(other, TableId)
            and self.in_place_of(other)
            and _agree(self.birth, other.birth)
        )

    def is_born_as(self, other: SourceId) -> bool:
        """Whether ``other`` may be this table before it was moved: births alone do not prove it."""
        return (
            isinstance(other, TableId)
            and not self.in_place_of(other)
            and bool(self.birth)
            and (self.birth, self.branch) == (other.birth, other.branch)
        )

    def in_place_of(self, other: SourceId) -> bool:
        """Whether it stands where ``other`` stood."""
        return (
            isinstance(other, TableId)
            and (self.location, self.branch) == (other.location, other.branch)
        )  # fmt: skip

    def to_document(self) -> dict[str, Any]:
        """JSON members."""
        members = {"kind": self.kind, "location": self.location, "birth": self.birth}
        return members if self.branch == _MAIN else {**members, "branch": self.branch}

    def __str__(self) -> str:
        return self.location if self.branch == _MAIN else f"{self.location} branch {self.branch}"


@dataclass(frozen=True, slots=True, kw_only=True)
class FilesId:
    """Files below a folder.

    Which of them were taken is known by their whole paths, so another folder or pattern of one
    reader is no other source: what was not taken is.
    """

    kind: ClassVar[str] = "files"
    folder: str
    """URI, without secrets."""
    pattern: str = ""

    def is_same(self, other: SourceId) -> bool:
        """Whether ``other`` is files too."""
        return isinstance(other, FilesId)

    def in_place_of(self, other: SourceId) -> bool:
        """Files take the place of files."""
        return isinstance(other, FilesId)

    def to_document(self) -> dict[str, Any]:
        """JSON members."""
        return {"kind": self.kind, "folder": self.folder, "pattern": self.pattern}

    def __str__(self) -> str:
        return f"{self.folder}/{self.pattern}".rstrip("/")


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicsId:
    """Topics of a Kafka cluster."""

    kind: ClassVar[str] = "kafka"
    cluster: str = ""
    topics: Mapping[str, str] = field(default_factory=dict)
    """Topic to its id; '' where the cluster does not tell."""

    def is_same(self, other: SourceId) -> bool:
        """Whether ``other`` is in this cluster; each topic is looked at by itself."""
        return isinstance(other, TopicsId) and _agree(self.cluster, other.cluster)

    def in_place_of(self, other: SourceId) -> bool:
        """Whether they have a topic's name in common."""
        return isinstance(other, TopicsId) and bool(set(self.topics) & set(other.topics))

    def to_document(self) -> dict[str, Any]:
        """JSON members."""
        topics = dict(sorted(self.topics.items()))
        return {"kind": self.kind, "cluster": self.cluster, "topics": topics}

    def __str__(self) -> str:
        return f"topics {', '.join(sorted(self.topics))} of cluster {self.cluster or '(unknown)'}"


@dataclass(frozen=True, slots=True, kw_only=True)
class MySqlId:
    """The log of a MySQL or MariaDB server."""

    kind: ClassVar[str] = "mysql"
    server: str = ""
    """``server_uuid``, or of MariaDB what tells it from others, e.g. host, port and server id."""

    def is_same(self, other: SourceId) -> bool:
        """Whether ``other`` is this server."""
        return isinstance(other, MySqlId) and _agree(self.server, other.server)

    def in_place_of(self, other: SourceId) -> bool:
        """A server takes the place of a server."""
        return isinstance(other, MySqlId)

    def to_document(self) -> dict[str, Any]:
        """JSON members."""
        return {"kind": self.kind, "server": self.server}

    def __str__(self) -> str:
        return f"MySQL server {self.server or '(unknown)'}"


@dataclass(frozen=True, slots=True, kw_only=True)
class PostgresId:
    """A replication slot of a PostgreSQL cluster."""

    kind: ClassVar[str] = "postgres"
    system: str = ""
    slot: str = ""
    timeline: str = ""

    def is_same(self, other: SourceId) -> bool:
        """Whether ``other`` is a slot of this cluster, on one timeline."""
        return (
            isinstance(other, PostgresId)
            and _agree(self.system, other.system)
            and _agree(self.slot, other.slot)
            and _agree(self.timeline, other.timeline)
        )

    def in_place_of(self, other: SourceId) -> bool:
        """A slot takes the place of a slot."""
        return isinstance(other, PostgresId)

    def to_document(self) -> dict[str, Any]:
        """JSON members."""
        members = {"system": self.system, "slot": self.slot, "timeline": self.timeline}
        return {"kind": self.kind, **members}

    def follows(self, other: SourceId) -> bool:
        """Whether it is of the system and database of ``other``: e.g. a standby that was promoted."""
        return (
            isinstance(other, PostgresId)
            and bool(self.system)
            and self.system == other.system
            and self.slot.partition("/")[0] == other.slot.partition("/")[0]
        )

    def __str__(self) -> str:
        timeline = f", timeline {self.timeline}" if self.timeline else ""
        return f"slot {self.slot!r} of PostgreSQL system {self.system or '(unknown)'}{timeline}"


SourceId: TypeAlias = TableId | FilesId | TopicsId | MySqlId | PostgresId
_KINDS: Final[Mapping[str, type[Any]]] = {
    cls.kind: cls for cls in (TableId, FilesId, TopicsId, MySqlId, PostgresId)
}


def source_from_document(document: Mapping[str, Any]) -> SourceId:
    """Read what ``to_document`` of one of them made.

    Raises:
        KeyError: of a kind that this release does not know.
    """
    members = dict(document)
    source: SourceId = checked(_KINDS[members.pop("kind")](**members))
    return source


def _agree(left: str, right: str) -> bool:
    return not left or not right or left == right
