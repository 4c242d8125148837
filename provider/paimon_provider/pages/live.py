"""The live view: one follower a table and process, shared by all who look.

The first viewer starts it, the last who leaves ends it.  A follower is a thread that looks for the next
snapshot once a second; viewers are queues of the server's event loop.  All of it is bounded: followers,
viewers, what waits for a slow viewer (it gets the newest), rows of an event, and the sums of bars.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from paimon_provider._compat import AirflowException, conf
from paimon_provider.pages.answers import iso
from paimon_provider.pages.bars import Bars
from paimon_provider.pages.refusals import error_document
from paimon_provider.pages.text import cell_text
from table_core.errors import ArgumentError, StorageUnavailableError, TableError
from table_core.table.read.commit_stream import CommitStream

if TYPE_CHECKING:
    from collections.abc import Callable

    import pyarrow as pa

    from paimon_provider.pages.bars import BarsOf
    from table_core.table.read.commit_stream import CommitRead

__all__ = ["LIVE", "LiveTables", "Viewer"]

_POLL_S: Final = 1.0
_TABLES_MAX: Final = 20
_VIEWERS_MAX: Final = 200
_WAITING_MAX: Final = 32
_ROWS_MAX: Final = 50
_COLUMNS_MAX: Final = 60
_COMPUTED: Final = frozenset({"lookup", "full-compaction"})
_KINDS: Final = ("+I", "-U", "+U", "-D")


@dataclass(slots=True, eq=False)
class Viewer:
    """Somebody who looks at a table."""

    loop: asyncio.AbstractEventLoop
    bars: BarsOf | None
    waiting: deque[tuple[str, Any]] = field(default_factory=lambda: deque(maxlen=_WAITING_MAX))
    """Events that are not sent yet.  Of one that reads too slowly the oldest are left out."""
    arrived: asyncio.Event = field(default_factory=asyncio.Event)

    def tell(self, event: str, document: Any) -> None:
        """Put an event into the queue; called by the follower's thread."""
        try:
            self.loop.call_soon_threadsafe(self._put, event, document)
        except RuntimeError:  # the server ends
            return

    def _put(self, event: str, document: Any) -> None:
        self.waiting.append((event, document))
        self.arrived.set()


class Follower(threading.Thread):
    """Follows one table for its viewers."""

    def __init__(self, open_access: Callable[[], Any], ended: Callable[[Follower], None]) -> None:
        super().__init__(name="paimon-live", daemon=True)
        self.viewers: list[Viewer] = []
        self._open = open_access
        self._ended = ended
        self._lock = threading.Lock()
        self._changed = threading.Event()
        self._new: list[Viewer] = []
        self._bars: dict[BarsOf, tuple[Bars, int]] = {}

    def join_viewer(self, viewer: Viewer) -> None:
        """Tell ``viewer`` too, from now on."""
        with self._lock:
            self.viewers.append(viewer)
            self._new.append(viewer)
        self._changed.set()

    def leave(self, viewer: Viewer) -> bool:
        """Tell ``viewer`` no more; whether it was the last."""
        with self._lock:
            if viewer in self.viewers:
                self.viewers.remove(viewer)
            wanted = {one.bars for one in self.viewers}
            for of in [of for of in self._bars if of not in wanted]:
                del self._bars[of]
            is_last = not self.viewers
        if is_last:
            self._changed.set()
        return is_last

    def run(self) -> None:
        """Follow until the last viewer has left, or the table is gone; whoever still looks is told."""
        gone: TableError = StorageUnavailableError(
            "the live view has ended by a fault, which the log of the API server shows: look again",
            path="live",
            reason="ended",
        )
        try:
            stream = CommitStream(self._open())
            while self._has_viewers():
                self._welcome(stream)
                commit = stream.next()
                if commit is None:
                    self._changed.wait(_POLL_S)
                    self._changed.clear()
                    continue
                self._tell(stream, commit)
        except TableError as error:
            gone = error
        except AirflowException as error:  # the connection
            gone = StorageUnavailableError(str(error), path="connection", reason="lost")
        finally:
            self._ended(self)  # before viewers are told: from now on nobody joins
            for viewer in self._all():
                viewer.tell("gone", error_document(gone))

    def _has_viewers(self) -> bool:
        with self._lock:
            return bool(self.viewers)

    def _all(self) -> list[Viewer]:
        with self._lock:
            return list(self.viewers)

    def _welcome(self, stream: CommitStream) -> None:
        """Read the state for who came, once for all who ask for the same bars, and tell it."""
        with self._lock:
            new, self._new = self._new, []
        for viewer in new:
            try:
                if viewer.bars is not None and viewer.bars not in self._bars:
                    self._bars[viewer.bars] = _begun(stream, viewer.bars)
            except TableError as error:
                viewer.tell("gone", error_document(error))
                self.leave(viewer)
                continue
            viewer.tell("state", self._state(viewer, stream.next_id - 1))

    def _state(self, viewer: Viewer, snapshot_id: int) -> dict[str, Any]:
        known = None if viewer.bars is None else self._bars.get(viewer.bars)
        bars = [] if known is None else known[0].shown()
        return {"snapshot_id": snapshot_id, "bars": bars}

    def _tell(self, stream: CommitStream, commit: CommitRead) -> None:
        id = commit.snapshot.id
        document = _changes(commit)
        for of, (bars, next_id) in list(self._bars.items()):
            if id < next_id:
                continue
            if _takes_off(stream.access):
                bars.add(commit.batches(of.columns))
            else:
                self._bars[of] = _begun(stream, of)
        for viewer in self._all():
            viewer.tell("changes", document)
            viewer.tell("state", self._state(viewer, id))


def _begun(stream: CommitStream, of: BarsOf) -> tuple[Bars, int]:
    """The bars of the state, and the first snapshot whose changes are not in them.

    Raises:
        ArgumentError: no such column, or the state is larger than the page may read.
    """
    of.require(stream.arrow_schema)
    begin, most = stream.state_now(), _rows_max()
    if not _takes_off(stream.access):
        most //= 20  # it is read anew after each commit
    rows = 0 if begin.full is None else begin.full.total_record_count
    if rows > most:
        why = (
            ""
            if _takes_off(stream.access)
            else ", for its changelog does not say what was replaced, and it is read anew each time"
        )
        raise ArgumentError(
            f"the table has {rows:,} rows, and the live view reads at most {most:,} to begin with{why}: "
            "see [paimon] live_rows_max",
            argument="by",
            value=rows,
        )
    bars = Bars(of)
    bars.add(stream.state(begin, of.columns))
    return bars, begin.next_id


def _rows_max() -> int:
    return int(conf.getint("paimon", "live_rows_max", fallback=5_000_000))


def _takes_off(access: Any) -> bool:
    """Whether changes say what is gone: those of a table without key, or whose changelog is computed.

    With ``input`` the changelog is what was written: a row that replaces one comes as ``+I``, and the old one as
    nothing.
    """
    producer = str(access.options.raw.get("changelog-producer", "none")).lower()
    return not access.schema.is_key_table or producer in _COMPUTED


def _changes(commit: CommitRead) -> dict[str, Any]:
    """The event of a commit: how many rows of each kind, and the first of them as text."""
    counts = dict.fromkeys(_KINDS, 0)
    columns: list[str] = []
    rows: list[list[str]] = []
    for batch in commit.batches():
        columns = [name for name in batch.schema.names if name != "_ROW_KIND"][:_COLUMNS_MAX]
        for counted in batch.column("_ROW_KIND").value_counts().to_pylist():
            counts[str(counted["values"])] = (
                counts.get(str(counted["values"]), 0) + counted["counts"]
            )
        rows += _texts(batch, columns, _ROWS_MAX - len(rows))
    snapshot = commit.snapshot
    return {
        "snapshot_id": snapshot.id,
        "at": iso(snapshot.time_millis),
        "kind": snapshot.commit_kind.value,
        "counts": counts,
        "columns": [cell_text(name) for name in columns],
        "rows": rows,
    }


def _texts(batch: pa.RecordBatch, columns: list[str], most: int) -> list[list[str]]:
    texts = []
    for at in range(min(most, batch.num_rows)):
        # one row at a time, and of it what is shown: a cell may be large
        row = batch.slice(at, 1).select(["_ROW_KIND", *columns]).to_pylist()[0]
        texts.append([cell_text(value) for value in row.values()])
    return texts


class LiveTables:
    """The followers of this process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._followers: dict[str, Follower] = {}

    def join(self, uri: str, viewer: Viewer, open_access: Callable[[], Any]) -> Follower:
        """Let ``viewer`` be told of the table.

        Raises:
            StorageUnavailableError: too many look already.
        """
        with self._lock:
            known = self._followers.get(uri)
            self._require_room(uri)
            if known is None:
                known = self._followers[uri] = Follower(open_access, self._forget)
                known.join_viewer(viewer)
                known.start()
            else:
                known.join_viewer(viewer)
            return known

    def require_room(self, uri: str) -> None:
        """Refuse one viewer more of a table than there may be.

        Raises:
            StorageUnavailableError: too many look already.
        """
        with self._lock:
            self._require_room(uri)

    def _require_room(self, uri: str) -> None:
        viewers = sum(len(one.viewers) for one in self._followers.values())
        is_new = uri not in self._followers
        if viewers >= _VIEWERS_MAX or (is_new and len(self._followers) >= _TABLES_MAX):
            raise StorageUnavailableError(
                "too many people look at live tables: try again when some have left",
                path=uri,
                reason="full",
            )

    def leave(self, follower: Follower, viewer: Viewer) -> None:
        """``viewer`` has left; a follower without any ends."""
        with self._lock:
            if follower.leave(viewer):
                self._drop(follower)

    @property
    def followed(self) -> int:
        """How many tables are followed."""
        with self._lock:
            return len(self._followers)

    def _forget(self, follower: Follower) -> None:
        with self._lock:
            self._drop(follower)

    def _drop(self, follower: Follower) -> None:
        for uri in [uri for uri, one in self._followers.items() if one is follower]:
            del self._followers[uri]


LIVE: Final = LiveTables()
