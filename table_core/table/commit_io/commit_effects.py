"""Performs the effects of the commit protocol, each as its docstring in ``commit.effects`` says."""

from __future__ import annotations

import logging
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial, singledispatchmethod
from itertools import chain, count
from typing import TYPE_CHECKING, Any

from table_core.commit import effects as fx
from table_core.commit.basis import Opened
from table_core.commit.live import LiveFiles
from table_core.commit.readback import digest, search
from table_core.errors import NotFoundError, OutcomeUnknownError, TableError
from table_core.ondisk import layout
from table_core.ondisk.hints import EARLIEST, encode_hint
from table_core.ondisk.index_manifest import decode_index_manifest
from table_core.ondisk.snapshot import FIRST_ID, Snapshot
from table_core.table.commit_io.manifest_writer import ManifestWriter
from table_core.table.commit_io.renumbering import renumbered
from table_core.table.commit_io.row_counts import rows_of_buckets
from table_core.table.commit_io.uncommitted import missing_files
from table_core.table.metadata.carried import carried_as_of, history, noted_head, remembered
from table_core.table.metadata.refs.turns import set_aside, target_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from table_core.commit.request import CommitPart
    from table_core.ondisk.data_file import ManifestEntry
    from table_core.ondisk.properties import CarriedProperties
    from table_core.table.metadata.access import TableAccess

__all__ = ["CommitEffects"]

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class CommitEffects:
    """Performs effects for one commit."""

    access: TableAccess
    may_be_old: bool = True
    """Whether files may be as old as their manifest entries say, and no copies."""
    made: list[CommitPart] = field(init=False, default_factory=list)
    """What halves became that were numbered anew: the last one is committed, or nothing."""
    heads: dict[int, Snapshot] = field(init=False, default_factory=dict)
    """Each newest snapshot that was seen."""
    head: Snapshot | None = field(init=False, default=None)
    """The newest snapshot when it was looked for last."""
    _started_ms: int = field(init=False)
    _attempt_ms: int = field(init=False)
    """When the attempt that runs began."""
    _uuid: str = field(init=False)
    _numbers: Iterator[int] = field(init=False, default_factory=count)

    def __post_init__(self) -> None:
        self._started_ms = self._attempt_ms = self.access.clock.now_ms()
        self._uuid = self.access.ids.uuid()

    @singledispatchmethod
    def perform(self, effect: fx.Effect) -> fx.Reply:
        """Carry out ``effect`` and give the reply that its docstring promises."""
        raise AssertionError(effect)

    @perform.register(fx.ReadHead)
    def _read_head(self, _: fx.ReadHead) -> fx.TableState:
        metadata = self.access.metadata
        head_and_digest = metadata.head_with_digest()
        self.head = head_and_digest[0] if head_and_digest else None
        if self.head is not None:
            noted_head(self.access, self.head)
            self.heads[self.head.id] = self.head
        schemas = metadata.schemas()
        if not schemas:
            raise self.access.is_gone()
        return fx.TableState(
            head=fx.Head(*head_and_digest) if head_and_digest else None,
            schema_id=schemas[-1].id,
            buckets_may_differ=len({schema.bucket for schema in schemas}) > 1,
            schemas=frozenset(map(Opened.of, schemas)),
        )

    @perform.register(fx.ReadBack)
    def _read_back(self, effect: fx.ReadBack) -> fx.Head | None:
        try:
            body = self.access.metadata.snapshot_body(effect.id)
        except NotFoundError:
            return None
        path = layout.snapshot_path(effect.id, self.access.branch)
        return fx.Head(Snapshot.from_json(body, path=path), digest(body))

    @perform.register(fx.FindMine)
    def _find_mine(self, effect: fx.FindMine) -> fx.Search:
        known = history(self.access, effect.newest)
        return search(effect, partial(remembered, self.access, known), at_hand=known)

    @perform.register(fx.ReadFloor)
    def _read_floor(self, _: fx.ReadFloor) -> int:
        metadata = self.access.metadata
        hinted = metadata.hinted_floor()
        if hinted is not None:
            return hinted
        floor = metadata.floor()
        # Else each commit would list a folder that grows with them.  A larger number is expiry's to write: what is listed
        # may be our own snapshot in a table that was made anew meanwhile, and would hide the table's.
        if floor == FIRST_ID and metadata.has_snapshot(floor):
            with suppress(TableError):
                path = layout.hint_path("snapshot", EARLIEST, self.access.branch)
                self.access.storage.create(path, encode_hint(floor))  # expiry's is never replaced
        return floor

    @perform.register(fx.LookupProperties)
    def _lookup_properties(self, effect: fx.LookupProperties) -> CarriedProperties:
        return carried_as_of(self.access, effect.newest)

    @perform.register(fx.ReadLive)
    def _read_live(self, effect: fx.ReadLive) -> LiveFiles:
        wanted = effect.partitions
        entries: Iterable[ManifestEntry] = ()
        if not effect.files:
            pass
        elif isinstance(wanted, frozenset):
            of_partitions = self.access.files_of_partitions(effect.snapshot, wanted)
            entries = chain.from_iterable(of_partitions.values())
        else:
            entries = self.access.live_entries(effect.snapshot, keep_partition=wanted)
        return LiveFiles(entries=tuple(entries), index=self._index(effect.snapshot))

    @perform.register(fx.CountRows)
    def _count_rows(self, effect: fx.CountRows) -> int | None:
        return rows_of_buckets(self.access, effect.snapshot, effect.entries)

    def _index(self, snapshot: Snapshot) -> tuple[Any, ...]:
        name = snapshot.index_manifest
        if name is None:
            return ()
        body = self.access.storage.read(layout.manifest_path(name))
        return tuple(decode_index_manifest(body, path=layout.manifest_path(name)))

    @perform.register(fx.ReadTouched)
    def _read_touched(self, effect: fx.ReadTouched) -> tuple[fx.Touched, ...]:
        touched = []
        for id in range(effect.after + 1, effect.to + 1):
            snapshot = self.access.metadata.snapshot(id)
            if effect.user is not None and snapshot.commit_user == effect.user:
                continue
            delta = list(self.access.metadata.delta(snapshot))
            touched.append(
                fx.Touched(
                    snapshot=snapshot,
                    entries=tuple(delta),
                    partitions=frozenset(e.partition for e in delta),
                    fixed_buckets=any(e.total_buckets > 0 for e in delta),
                )
            )
        return tuple(touched)

    @perform.register(fx.Renumber)
    def _renumber(self, effect: fx.Renumber) -> CommitPart:
        self.made.append(renumbered(self.access, effect.part, effect.by))
        return self.made[-1]

    @perform.register(fx.WriteManifests)
    def _write_manifests(self, effect: fx.WriteManifests) -> fx.Written:
        return ManifestWriter(self.access, self._uuid, self._numbers).write(effect)

    @perform.register(fx.Create)
    def _create(self, effect: fx.Create) -> fx.Created:
        path = layout.snapshot_path(effect.snapshot.id, self.access.branch)
        try:
            won = self.access.storage.create(path, effect.snapshot.to_json())
        except OutcomeUnknownError:
            return fx.Created.UNKNOWN
        return fx.Created.CREATED if won else fx.Created.EXISTS

    @perform.register(fx.ReadMissing)
    def _read_missing(self, effect: fx.ReadMissing) -> frozenset[str] | None:
        return missing_files(self.access, effect.part) if self.may_be_old else None

    @perform.register(fx.WasWithdrawn)
    def _was_withdrawn(self, effect: fx.WasWithdrawn) -> int | None:
        return target_of(self.access, effect.state)

    @perform.register(fx.SetAside)
    def _set_aside(self, effect: fx.SetAside) -> None:
        access, head = self.access, effect.head
        try:
            body = access.metadata.snapshot_body(head.id)
        except NotFoundError:
            return
        if digest(body) != head.digest:
            return
        if not access.metadata.schema_ids():  # nobody builds a table over what is left of another
            access.storage.delete([layout.snapshot_path(head.id, access.branch)])
        elif set_aside(access, head.snapshot, body, keep=effect.keep) and effect.keep:
            _log.warning(
                "%s: snapshot %s of %s is of a line that was taken back, and was moved to %s",
                access.name,
                head.id,
                head.snapshot.commit_user,
                layout.stray_path(head.id, head.snapshot.delta_manifest_list, access.branch),
            )

    @perform.register(fx.Announce)
    def _announce(self, effect: fx.Announce) -> None:
        path = layout.hint_path("snapshot", "LATEST", self.access.branch)
        self.access.storage.write(path, encode_hint(effect.id), durable=False)

    @perform.register(fx.Discard)
    def _discard(self, effect: fx.Discard) -> None:
        self.access.storage.delete(effect.written.files)

    @perform.register(fx.Wait)
    def _wait(self, effect: fx.Wait) -> int:
        clock = self.access.clock
        longest = (clock.now_ms() - self._attempt_ms) * effect.attempt
        longest = min(max(longest, effect.maximum_ms), effect.ceiling_ms)
        shortest = max(effect.minimum_ms, longest // 2)
        clock.sleep_ms(shortest + int((longest - shortest) * self.access.ids.jitter()))
        self._attempt_ms = clock.now_ms()
        return self._attempt_ms - self._started_ms
