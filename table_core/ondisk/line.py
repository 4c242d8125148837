"""A table's line of snapshots: which one follows which, and what a change of its direction notes.

Ids are used again after a rollback, so an id tells nothing.  Each snapshot of ours names what it was built on
(docs/adr/0026)::

    snapshot-1  {..., "table-core.follows": "0.1700000000000.3/"}                    the first of its table
    snapshot-2  {..., "table-core.follows": "0.1700000000000.3/manifest-list-a-1"}   built on the one whose delta list that is

A stray is a snapshot whose bytes prove that it is of another line.  What names nothing proves nothing.

Each schema that a table is changed to names the same birth, and the content of the schema before it.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

from table_core.ondisk.snapshot import FIRST_ID
from table_core.options.stored_json import json_document
from table_core.schema.document import schema_to_json
from table_core.validation_errors import stored

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from table_core.ondisk.snapshot import Snapshot
    from table_core.schema.table_schema import TableSchema

__all__ = [
    "FOLLOWS",
    "ExpiryMark",
    "Holder",
    "Link",
    "Turn",
    "end_of_line",
    "follows",
    "is_of_another_table",
    "is_schema_of_another_table",
    "is_stray",
    "schema_follows",
    "to_withdraw",
]

FOLLOWS: Final = "table-core.follows"
"""Member of each snapshot of ours, which others ignore: the birth of its table, and what it was built on."""
_DIGITS: Final = 16


@dataclass(frozen=True, slots=True)
class Link:
    """What a snapshot or schema says that it was built on."""

    birth: str
    before: str
    """Of a snapshot: the delta list of the one before it; '': it is the first.  Of a schema: the content of the one before it."""

    @classmethod
    def of(cls, document: Snapshot | TableSchema) -> Link | None:
        """What ``document`` says; None: nothing, others made it."""
        text = document.extra.get(FOLLOWS)
        if not isinstance(text, str) or "/" not in text:
            return None
        birth, _, before = text.partition("/")
        return cls(birth, before)


def follows(birth: str, before: Snapshot | None) -> str:
    """The value of ``FOLLOWS`` of what is built on ``before``, None: the first."""
    return f"{birth}/{before.delta_manifest_list if before is not None else ''}"


def is_stray(snapshot: Snapshot, before: Snapshot) -> bool:
    """Whether ``snapshot`` proves that it was not built on ``before``, which stands before it.

    A program that copies the newest snapshot under the next number copies what it says, too: that proves nothing.
    """
    link, name = Link.of(snapshot), before.delta_manifest_list
    return link is not None and link.before != name and snapshot.delta_manifest_list != name


def is_of_another_table(snapshot: Snapshot, birth: str) -> bool:
    """Whether ``snapshot`` proves that it was made in another table than the one of that ``birth``."""
    link = Link.of(snapshot)
    return link is not None and link.birth != birth


def schema_follows(birth: str, before: TableSchema) -> str:
    """The value of ``FOLLOWS`` of a schema that ``before`` is changed to."""
    return f"{birth}/{_content(before)}"


def is_schema_of_another_table(schema: TableSchema, birth: str, before: TableSchema | None) -> bool:
    """Whether ``schema`` proves that it was made in another table than the one of that ``birth``, where it comes after ``before``.

    A copy of a table has another birth, and schemas that were made in the first one: but there they follow what they
    were made of.
    """
    link = Link.of(schema)
    if link is None or link.birth == birth:
        return False
    return before is None or link.before != _content(before)


def _content(schema: TableSchema) -> str:
    """What tells ``schema`` from others, whenever and by whom it was made."""
    body = schema_to_json(replace(schema, time_millis=0, extra={}))
    return hashlib.sha256(body).hexdigest()[:_DIGITS]


def end_of_line(ids: Sequence[int], floor: int | None) -> int:
    """The id of the newest snapshot, as a listing of ``ids`` (ascending) and the floor have it.

    >>> end_of_line([1, 2, 6], None)  # nothing has expired: 6 was built on what was taken back
    2
    >>> end_of_line([3, 10, 11], 10)  # 3 was used again by a writer that slept
    11
    >>> end_of_line([3, 10, 11], None)  # nobody can tell
    11
    """
    first = floor if floor is not None and floor in ids else ids[0]
    if first not in {floor, FIRST_ID}:
        return ids[-1]
    line = [id for id in ids if id >= first]
    return next((id for id, after in pairwise(line) if after != id + 1), line[-1])


def to_withdraw(
    target: Snapshot, later: Iterable[Snapshot], gone: Collection[str] | None
) -> list[Snapshot]:
    """Those of ``later``, all snapshots above ``target``, that are not of the line which goes on from it.

    ``gone``: states (``Snapshot.state``) that were found before; None: this is the first look, and everything
    above the target goes.  From the second look on there may be commits on the target.

    A rollback to 2 took back 3a, 4a.  Then 3b, which names 2, is there, and 5a, which names 4a: 5a goes, 3b stays.
    A foreign 7 with no 6 before it goes: nobody can have built it on what goes on from 2.
    """
    ordered = sorted(later, key=lambda snapshot: snapshot.id)
    if gone is None:
        return ordered
    lists = {state.partition("/")[2] for state in gone}
    newest, going = target, []
    for snapshot in ordered:
        link = Link.of(snapshot)
        is_old = snapshot.state in gone or (link is not None and link.before in lists)
        if is_old or snapshot.id != newest.id + 1 or is_stray(snapshot, newest):
            going.append(snapshot)
        else:
            newest = snapshot
    return going


@dataclass(frozen=True, slots=True, kw_only=True)
class Holder:
    """A process that is at work on the line."""

    token: str
    """Tells it from all others."""
    machine: str
    process: int
    at_ms: int
    """When it was heard of last."""

    def members(self) -> dict[str, object]:
        """JSON members."""
        return {
            "token": self.token,
            "machine": self.machine,
            "process": self.process,
            "atMillis": self.at_ms,
        }

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> Holder:
        """Read what ``members`` made."""
        return cls(
            token=str(document["token"]),
            machine=str(document["machine"]),
            process=int(document["process"]),
            at_ms=int(document["atMillis"]),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """A change of direction: who does it, and what it takes back."""

    verb: str
    by: str
    holder: Holder
    target: int
    """The newest snapshot that stays."""
    gone: frozenset[str] = frozenset()
    """States (``Snapshot.state``) that it takes back."""
    ended: bool = False

    def to_json(self) -> bytes:
        """The document."""
        document = {
            "verb": self.verb,
            "by": self.by,
            "target": self.target,
            **self.holder.members(),
            "gone": sorted(self.gone),
            "ended": self.ended,
        }
        return json.dumps(document, indent=2).encode()

    @classmethod
    def from_json(cls, body: bytes, *, path: str) -> Turn:
        """Read what ``to_json`` made.

        Raises:
            CorruptFileError: it is none.
        """
        with stored("turn", path):
            document = json_document(body, path=path)
            return cls(
                verb=str(document["verb"]),
                by=str(document["by"]),
                target=int(document["target"]),
                holder=Holder.of(document),
                gone=frozenset(map(str, document["gone"])),
                ended=bool(document["ended"]),
            )

    def taking(self, snapshots: Iterable[Snapshot]) -> Turn:
        """The same, which takes back ``snapshots`` too."""
        return replace(self, gone=self.gone | {snapshot.state for snapshot in snapshots})


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpiryMark:
    """An expiry that is under way."""

    holder: Holder
    at: int
    """It deletes snapshots up to this one now; 0: it has not begun."""

    def to_json(self) -> bytes:
        """The document."""
        return json.dumps({**self.holder.members(), "snapshot": self.at}).encode()

    @classmethod
    def from_json(cls, body: bytes, *, path: str) -> ExpiryMark:
        """Read what ``to_json`` made.

        Raises:
            CorruptFileError: it is none.
        """
        with stored("mark of an expiry", path):
            document = json_document(body, path=path)
            return cls(holder=Holder.of(document), at=int(document["snapshot"]))
