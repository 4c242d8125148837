"""What calls that commit take, and what they give back."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from table_core.commit.asked import asked
from table_core.errors import ArgumentError
from table_core.ondisk.layout import MAIN
from table_core.ondisk.snapshot import BATCH_IDENTIFIER
from table_core.position.reader import require_position_name

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Commit", "CommitAs", "FilesMoved", "ResultDocument"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitAs:
    """The name of a commit, and what is stored with it.

    A user *and* an identifier make a call repeatable. If the same call has landed before, it does
    nothing and returns the first result. If a different call has landed under that name, the error
    says what differs.

    Raises:
        ArgumentError: ``expect`` of a name without ``tc.``; an identifier without a user, or one that is no 64-bit number of one's own;
            a watermark that is no 64-bit number; a text that is no Unicode.
    """

    user: str | None = None
    """None is a random user.  Without an identifier it is a name for the history, and no more."""
    identifier: int | None = None
    """The number of one logical write of ``user``, stable across its retries.  None: that of Paimon's
    batch writers, under which nothing is ever taken for a replay."""
    properties: Mapping[str, str] = field(default_factory=dict)
    """Kept in the snapshot; names that begin with ``tc.`` are carried forward by later commits."""
    watermark: int | None = None
    """Event time in epoch milliseconds up to which rows are complete."""
    expect: Mapping[str, str | None] = field(default_factory=dict)
    """Properties and the values that the caller read; a difference is kind ``conflict``."""
    growing: bool = False
    """Identifiers of ``user`` only grow, as those of a stream: one at or below the newest that landed
    is a no-op, and a commit without rows makes a snapshot too (``snapshot.ignore-empty-commit``)."""
    since_ms: int | None = None
    """For who tries again: no attempt began before this time, in epoch milliseconds.  A commit that is not
    found, and may have landed since in a snapshot that is expired, is then ``OutcomeUnknownError``.
    None: this is the first attempt, or nobody knows."""
    asked: str | None = None
    """What the identifier stands for.  The verbs say it; who makes one verb of several says it first,
    with ``with_request``."""

    def __post_init__(self) -> None:
        """Refuse what names nobody, and expectations of what no commit carries on."""
        for name in self.expect:
            require_position_name("expect", name)
        self._require_storable()
        if self.identifier is None:
            return
        if not self.user:
            raise ArgumentError(
                f"identifier {self.identifier} without a user names no commit: give both, and a retry "
                "finds what has landed; or give neither",
                argument="identifier",
                value=self.identifier,
            )
        if not -(2**63) <= self.identifier < BATCH_IDENTIFIER:
            raise ArgumentError(
                f"identifier {self.identifier} is no number of your own: take one from -2^63 to "
                "2^63 - 2; the largest is that of every batch writer",
                argument="identifier",
                value=self.identifier,
            )

    def _require_storable(self) -> None:
        """Refuse what no snapshot can hold, before files are written that nobody could commit."""
        if self.watermark is not None and not -(2**63) <= self.watermark < 2**63:
            raise ArgumentError(
                f"watermark {self.watermark} is no 64-bit number of milliseconds",
                argument="watermark",
                value=self.watermark,
            )
        for text in (self.user or "", *self.properties, *self.properties.values()):
            try:
                str(text).encode()
            except UnicodeEncodeError as error:
                raise ArgumentError(
                    f"the user or a property of the commit is no Unicode: {str(text)[:100]!r} has half a "
                    f"surrogate pair at position {error.start}",
                    argument="properties",
                    value=None,
                ) from error

    @property
    def is_named(self) -> bool:
        """Whether the caller can repeat this very commit."""
        return self.identifier is not None

    def with_request(self, verb: str, branch: str = MAIN, /, **arguments: object) -> CommitAs:
        """This, with what is asked for; as it is where that was said before, or nobody can ask again."""
        if not self.is_named or self.growing or self.asked is not None:
            return self
        where = {} if branch == MAIN else {"branch": branch}
        return replace(self, asked=asked(verb, {**arguments, **where}))

    def nth(self, number: int) -> CommitAs:
        """Who makes commit ``number`` of a verb that makes several: the first (0) as the caller says.

        The others have a user of their own: numbers that the caller did not give may be in use.
        """
        if number == 0 or not self.is_named:
            return self
        return replace(self, user=f"{self.user}-{self.identifier}", identifier=number)


@dataclass(frozen=True, slots=True, kw_only=True)
class FilesMoved:
    """What one commit, both halves taken together, did to the files of the table.

    A file that only came to another level has not gone; one that came and went has not been there.
    """

    files_gone: int = 0
    bytes_gone: int = 0
    rows_written: int = 0
    """Rows of new files.  Of a write those of its rows, without what was compacted along with it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Commit:
    """What one commit did."""

    snapshot_ids: tuple[int, ...] = ()
    """New snapshots, oldest first; none when there was nothing to commit."""
    rows_added: int = 0
    """Rows of the new files, compaction aside: of rows with one key, a key table keeps one."""
    files_added: int = 0
    files_deleted: int = 0
    bytes_added: int = 0
    replayed: bool = False
    """Whether the commit was found instead of made."""
    compact_conflicts: tuple[str, ...] = ()
    """Why the compaction that went along was dropped; the rows are in."""
    moved: FilesMoved = field(default=FilesMoved(), repr=False)

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        from table_core.table.metadata.as_html import facts_html

        names = ("rows_added", "files_added", "files_deleted", "bytes_added", "replayed")
        facts = {name: getattr(self, name) for name in names}
        snapshots = ", ".join(map(str, self.snapshot_ids)) or "none: there was nothing to commit"
        return facts_html("Commit", {"snapshots": snapshots, **facts})

    @property
    def snapshot_id(self) -> int | None:
        """The newest snapshot of this commit."""
        return self.snapshot_ids[-1] if self.snapshot_ids else None


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultDocument:
    """What every maintenance call returns; ``to_document`` is its JSON form.

    None stands for an unknown number: what a commit did whose snapshot has expired, or what a
    compaction would write. See ``table.metadata.describing``, which makes it from what was done.
    """

    action: str
    table: str
    snapshot_before: int | None = None
    """The newest snapshot before; None: the table had none, or it is a database, or nobody can know."""
    snapshot_after: int | None = None
    files_before: int | None = 0
    """Data files of the state ``snapshot_before``.  Where files of all kinds are counted, the verb says so."""
    files_after: int | None = 0
    bytes_before: int | None = 0
    bytes_after: int | None = 0
    files_deleted: int | None = 0
    """Files of the state before that the verb took out; of a verb that expires, deleted from the store."""
    bytes_deleted: int | None = 0
    rows_written: int | None = 0
    """Rows of the files that came in."""
    seconds: float = 0.0
    dry_run: bool = False
    details: Mapping[str, object] = field(default_factory=dict)

    def to_document(self) -> dict[str, object]:
        """JSON-safe members, under the same names; unknown numbers are absent."""
        document = {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}
        absent = {name for name in _NUMBERS if document[name] is None}
        known = {name: value for name, value in document.items() if name not in absent}
        return known | {"details": dict(self.details)}

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        from table_core.table.metadata.as_html import facts_html

        facts = {k: v for k, v in self.to_document().items() if k not in {"action", "details"}}
        return facts_html(f"{self.action} {self.table}", {**facts, **self.details})

    def having(self, **members: Any) -> ResultDocument:
        """The same with other ``members``."""
        return replace(self, **members)


_NUMBERS: Final = frozenset(
    f"{what}_{when}" for what in ("files", "bytes") for when in ("before", "after", "deleted")
) | {"rows_written"}
