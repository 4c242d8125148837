"""A table in dictionaries: performs every effect of commit and expiry, and checks what must hold.

Rows are not stored; a data file *says* which logical commits are in it.  So the head names who was
applied, and how often.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from table_core.commit import effects as cx
from table_core.commit import take_back as back
from table_core.commit.live import LiveFiles
from table_core.commit.manifest_merge import FullMerge, MergeSizes, plan, rewrite_full
from table_core.commit.readback import digest, search
from table_core.errors import CommitConflictError, StorageUnavailableError
from table_core.expire import plan as ex
from table_core.expire.live_keys import key_of
from table_core.ondisk.data_file import DataFile, EntryKind, ManifestEntry
from table_core.ondisk.manifest_meta import ManifestMeta
from table_core.ondisk.properties import carried
from table_core.ondisk.snapshot import Snapshot

PARTITION = bytes(12)
SIZES = MergeSizes(target_bytes=3, full_bytes=5, count_min=3)
Logical = tuple[str, int]


def fold(entries: Iterable[ManifestEntry]) -> dict[object, ManifestEntry]:
    live: dict[object, ManifestEntry] = {}
    for entry in entries:
        if entry.kind is EntryKind.ADD:
            assert entry.identity not in live, f"{entry.file.file_name} added twice"
            live[entry.identity] = entry
        else:
            assert live.pop(entry.identity, None), f"{entry.file.file_name} deleted, never added"
    return live


@dataclass
class FakeTable:
    """Files by name; a manifest is its entries, a list its manifest metas."""

    snapshots: dict[int, bytes] = field(default_factory=dict)
    lists: dict[str, tuple[ManifestMeta, ...]] = field(default_factory=dict)
    manifests: dict[str, tuple[ManifestEntry, ...]] = field(default_factory=dict)
    data: dict[str, Counter[Logical]] = field(default_factory=dict)
    tags: dict[str, bytes] = field(default_factory=dict)
    consumers: dict[str, int] = field(default_factory=dict)
    earliest_hint: int | None = None
    latest_hint: int | None = None
    now_ms: int = 1_000
    turns: list[tuple[int, set[str]]] = field(default_factory=list)
    """Target, and what each took back."""
    turning: int | None = None
    """The turn that is under way."""
    in_flight: list[Snapshot] = field(default_factory=list)
    """Creates whose writer heard nothing and that may still land."""
    highest: int = 0
    counter: Iterator[int] = field(default_factory=itertools.count)
    checked: dict[int, bytes] = field(default_factory=dict)
    floor_is_late: bool = False
    """Java expires: it deletes before it raises the floor."""

    # -------------------------------------------------------------------------- reading
    def snapshot(self, id: int) -> Snapshot | None:
        body = self.snapshots.get(id)
        return None if body is None else Snapshot.from_json(body, path=f"snapshot-{id}")

    def head_id(self) -> int:
        """By listing, above the floor: a dead id that was used again is no head."""
        return max(self.snapshots, default=0)

    def floor(self) -> int:
        if self.earliest_hint is not None:
            return self.earliest_hint
        return min(self.snapshots, default=1)

    def metas(self, snapshot: Snapshot) -> tuple[ManifestMeta, ...]:
        return self.lists[snapshot.base_manifest_list] + self.lists[snapshot.delta_manifest_list]

    def live(self, snapshot: Snapshot) -> dict[object, ManifestEntry]:
        return fold(e for m in self.metas(snapshot) for e in self.manifests[m.file_name])

    def contents(self, snapshot: Snapshot) -> Counter[Logical]:
        total: Counter[Logical] = Counter()
        for entry in self.live(snapshot).values():
            total += self.data[entry.file.file_name]
        return total

    # -------------------------------------------------------------------------- making files
    def new_file(self, rows: Counter[Logical], level: int = 0) -> ManifestEntry:
        name = f"data-{next(self.counter)}.parquet"
        self.data[name] = rows
        file = DataFile(
            file_name=name,
            file_size=1,
            row_count=sum(rows.values()),
            min_sequence_number=0,
            max_sequence_number=0,
            schema_id=0,
            level=level,
        )
        return ManifestEntry(EntryKind.ADD, PARTITION, 0, 1, file)

    def compaction(self, extra: Sequence[ManifestEntry] = ()) -> tuple[ManifestEntry, ...]:
        """All live files and ``extra`` into one at level 5."""
        head = self.snapshot(self.head_id())
        live = list(self.live(head).values()) if head else []
        before = [*live, *extra]
        if len(before) < 2 and not (before and before[0].file.level == 0):
            return ()
        rows: Counter[Logical] = Counter()
        for entry in before:
            rows += self.data[entry.file.file_name]
        if len(before) == 1:  # an upgrade: the same file, higher up
            up = replace(before[0], file=before[0].file.upgraded(5))
            return (before[0].deleted(), up)
        return (*(e.deleted() for e in before), self.new_file(rows, level=5))

    def write_manifest(self, entries: Sequence[ManifestEntry]) -> ManifestMeta:
        name = f"manifest-{next(self.counter)}"
        self.manifests[name] = tuple(entries)
        added = sum(e.kind is EntryKind.ADD for e in entries)
        return ManifestMeta(
            file_name=name,
            file_size=len(entries),
            num_added_files=added,
            num_deleted_files=len(entries) - added,
            schema_id=0,
        )

    def write_list(self, metas: Iterable[ManifestMeta]) -> str:
        name = f"manifest-list-{next(self.counter)}"
        self.lists[name] = tuple(metas)
        return name

    def merged(self, metas: tuple[ManifestMeta, ...], deletes: int) -> list[ManifestMeta]:
        decided = plan(metas, SIZES, deletes=deletes)
        out: list[ManifestMeta] = []
        if isinstance(decided, FullMerge):
            deletes = {
                e.identity
                for m in decided.with_deletes
                for e in self.manifests[m.file_name]
                if e.kind is EntryKind.DELETE
            }
            kept, read = decided.keep(lambda _: True)
            if len(read) > 1:
                out += kept
                left: list[ManifestEntry] = []
                for meta in read:
                    entries = self.manifests[meta.file_name]
                    some = rewrite_full(
                        meta, entries, deleted=deletes, target_bytes=SIZES.target_bytes
                    )
                    out += [meta] if some is None else []
                    left += some or []
                return [*out, *([self.write_manifest(left)] if left else [])]
            return list(metas)
        for group in decided.groups:
            if not group.rewrite:
                out += group.metas
                continue
            folded: dict[object, ManifestEntry] = {}
            for meta in group.metas:
                for entry in self.manifests[meta.file_name]:
                    gone = entry.kind is EntryKind.DELETE and entry.identity in folded
                    if gone:
                        del folded[entry.identity]
                    else:
                        folded[entry.identity] = entry
            out.append(self.write_manifest(list(folded.values())))
        return out

    # -------------------------------------------------------------------------- effects
    def perform(self, effect: Any) -> Any:
        self.now_ms += 1
        if callable(effect):
            return effect()
        return getattr(self, f"do_{type(effect).__name__}")(effect)

    def fail(self, effect: Any) -> Any:
        if isinstance(effect, cx.Create):
            self.in_flight.append(effect.snapshot)
            return cx.Created.UNKNOWN
        return StorageUnavailableError("the store did not answer", path="", reason="fault")

    def do_ReadHead(self, _: cx.ReadHead) -> cx.TableState:
        id = self.head_id()
        head = self.do_ReadBack(cx.ReadBack(id))
        return cx.TableState(head=head, schema_id=0, buckets_may_differ=False)

    def do_ReadBack(self, effect: cx.ReadBack) -> cx.Head | None:
        body = self.snapshots.get(effect.id)
        if body is None:
            return None
        return cx.Head(Snapshot.from_json(body, path=""), digest(body))

    def down_from(self, newest: int, oldest: int = 1) -> Iterator[Snapshot]:
        for id in range(newest, oldest - 1, -1):
            found = self.snapshot(id)
            if found is None:
                return
            yield found

    def do_FindMine(self, effect: cx.FindMine) -> cx.Search:
        return search(effect, self.snapshot)

    def do_ReadFloor(self, _: cx.ReadFloor) -> int:
        return self.floor()

    def do_LookupProperties(self, effect: cx.LookupProperties) -> Any:
        return carried(self.down_from(effect.newest), self.floor)

    def do_ReadLive(self, effect: cx.ReadLive) -> LiveFiles:
        try:
            return LiveFiles(entries=tuple(self.live(effect.snapshot).values()), index=())
        except KeyError as gone:
            raise StorageUnavailableError(
                "expired under us", path=str(gone), reason="gone"
            ) from None

    def do_CountRows(self, effect: cx.CountRows) -> int:
        return sum(entry.file.row_count for entry in effect.entries)

    def do_WriteManifests(self, effect: cx.WriteManifests) -> cx.Written:
        try:
            metas = self.metas(effect.head.snapshot) if effect.head else ()
            before = set(self.manifests)
            gone = (
                [e for e in effect.delta if e.kind is EntryKind.DELETE] if effect.rewrites else []
            )
            base = self.write_list(self.merged(metas, deletes=len(gone)))
        except KeyError as gone:
            raise StorageUnavailableError(
                "expired under us", path=str(gone), reason="gone"
            ) from None
        previous = effect.previous
        if previous is not None and effect.same_delta:
            delta = previous.delta_manifest_list
        else:
            delta = self.write_list([self.write_manifest(effect.delta)] if effect.delta else [])
        files = (base, delta, *(set(self.manifests) - before))
        if previous is not None:
            again = {delta, *(m.file_name for m in self.lists[delta])}
            self.forget(name for name in previous.files if name not in again)
            files += tuple(again)
        return cx.Written(
            base_manifest_list=base,
            base_manifest_list_size=1,
            delta_manifest_list=delta,
            delta_manifest_list_size=1,
            files=tuple(dict.fromkeys(files)),
            time_ms=self.now_ms,
            uuid=f"uuid-{next(self.counter)}",
        )

    def forget(self, names: Iterable[str]) -> None:
        for name in names:
            self.lists.pop(name, None)
            self.manifests.pop(name, None)

    def do_Create(self, effect: cx.Create) -> cx.Created:
        return cx.Created.CREATED if self.create(effect.snapshot) else cx.Created.EXISTS

    def create(self, snapshot: Snapshot) -> bool:
        if snapshot.id in self.snapshots:
            return False
        self.snapshots[snapshot.id] = snapshot.to_json()
        return True

    def do_ReadMissing(self, _: cx.ReadMissing) -> None:
        return None

    def do_WasWithdrawn(self, effect: cx.WasWithdrawn) -> int | None:
        return next((target for target, gone in reversed(self.turns) if effect.state in gone), None)

    def do_SetAside(self, effect: cx.SetAside) -> None:
        body = self.snapshots.get(effect.head.id)
        if self.turning is None and body is not None and digest(body) == effect.head.digest:
            self.turns.append((effect.head.id - 1, {effect.head.snapshot.state}))
            del self.snapshots[effect.head.id]

    def do_Announce(self, effect: cx.Announce) -> None:
        self.latest_hint = effect.id

    def do_Discard(self, effect: cx.Discard) -> None:
        self.forget(effect.written.files)

    def do_Wait(self, effect: cx.Wait) -> int:
        return effect.maximum_ms

    # -------------------------------------------------------------------------- turns
    def do_Begin(self, _: back.Begin) -> None:
        if self.turning is not None:
            raise CommitConflictError("turning", table="t", head_id=None, conflicts=[])
        self.turning = len(self.turns)
        self.turns.append((0, set()))

    def do_ReadLater(self, effect: back.ReadLater) -> tuple[Snapshot, ...]:
        ids = sorted(id for id in self.snapshots if id > effect.id)
        return tuple(found for id in ids if (found := self.snapshot(id)) is not None)

    def do_Note(self, effect: back.Note) -> None:
        assert self.turning is not None
        _, gone = self.turns[self.turning]
        gone |= {snapshot.state for snapshot in effect.snapshots}
        self.turns[self.turning] = (min(s.id for s in effect.snapshots) - 1, gone)

    def do_TakeBack(self, effect: back.TakeBack) -> None:
        self.snapshots.pop(effect.snapshot.id, None)

    def do_End(self, _: back.End) -> None:
        self.turning = None

    # -------------------------------------------------------------------------- expiry
    def do_ReadLine(self, _: ex.ReadLine) -> int | None:
        return None if self.turning is not None else len(self.turns)

    def do_ReadBounds(self, _: ex.ReadBounds) -> ex.Bounds | None:
        if not self.snapshots:
            return None
        floor = self.floor()
        promised = [id for id in self.snapshots if id >= floor]
        return ex.Bounds(
            earliest=min(promised),
            latest=max(promised),
            leftovers=tuple(sorted(id for id in self.snapshots if id < floor)),
            now_ms=self.now_ms,
        )

    def do_ReadSnapshot(self, effect: ex.ReadSnapshot) -> Snapshot | None:
        return self.snapshot(effect.id)

    def do_ReadConsumers(self, _: ex.ReadConsumers) -> int | None:
        return min(self.consumers.values(), default=None)

    def do_ReadPins(self, _: ex.ReadPins) -> ex.Pins:
        tags = (Snapshot.from_json(body, path="") for body in self.tags.values())
        return ex.Pins(tuple(sorted(tags, key=lambda s: s.id)))

    def do_Promise(self, effect: ex.Promise) -> None:
        assert not effect.lower, "nobody rolls back here"
        self.earliest_hint = max(self.earliest_hint or 1, effect.end)

    def do_ReadEntries(self, effect: ex.ReadEntries) -> Iterator[ManifestEntry] | None:
        name = effect.snapshot.delta_manifest_list
        if effect.changelog:
            return iter(())
        metas = self.lists.get(name)
        if metas is None or any(m.file_name not in self.manifests for m in metas):
            return None
        entries = [e for m in metas for e in self.manifests[m.file_name]]
        return (e for e in entries if e.kind is effect.kind)

    def do_ReadKept(self, effect: ex.ReadKept) -> frozenset[ex.FileKey]:
        return frozenset(key_of(e) for e in self.live(effect.snapshot).values()) & effect.among

    def do_ReadStaying(self, effect: ex.ReadStaying) -> frozenset[ex.FileKey]:
        states = self.staying(effect.pins)
        return frozenset(key_of(e) for s in states for e in self.live(s).values()) & effect.among

    def do_ReadStayingPaths(self, effect: ex.ReadStayingPaths) -> frozenset[str]:
        states = self.staying(effect.pins)
        return frozenset(
            path
            for s in states
            for path in self.do_ReadMetadata(ex.ReadMetadata(s, must_read=True)).state
        )

    def staying(self, pins: ex.Pins) -> list[Snapshot]:
        assert pins.since is not None
        ids = [id for id in self.snapshots if id >= pins.since]
        return [*pins.tags, *(found for id in ids if (found := self.snapshot(id)) is not None)]

    def do_ReadMetadata(self, effect: ex.ReadMetadata) -> ex.Metadata:
        names: dict[str, int] = {}
        snapshot = effect.snapshot
        for name in (snapshot.base_manifest_list, snapshot.delta_manifest_list):
            if name in self.lists:
                names[name] = 1
                names |= {m.file_name: m.file_size for m in self.lists[name]}
        return ex.Metadata(state=names)

    def do_Delete(self, effect: ex.Delete) -> None:
        for _, _, file in effect.data:
            self.data.pop(file.file_name, None)
        self.forget(effect.paths)

    def do_DeleteSnapshots(self, effect: ex.DeleteSnapshots) -> None:
        for id in effect.ids:
            self.snapshots.pop(id, None)

    # -------------------------------------------------------------------------- the world itself
    def spontaneous(self) -> list[str]:
        return ["late"] if self.in_flight else []

    def act(self, name: str) -> None:
        assert name == "late"
        self.create(self.in_flight.pop(0))

    def check(self) -> None:
        """Every promised snapshot and every tag reads whole; numbers go up only."""
        head = self.head_id()
        assert head >= self.highest, (head, self.highest)
        self.highest = head
        floor = self.floor()
        for id, body in self.snapshots.items():
            if id < floor:
                continue
            before = self.checked.setdefault(id, body)
            assert before == body, f"snapshot {id} was replaced"
            found = self.snapshot(id)
            assert found is not None
            self.assert_whole(found)
            previous = self.snapshot(id - 1)
            if previous is not None and id - 1 >= floor:
                assert previous.time_millis <= found.time_millis
                delta = found.delta_record_count
                assert found.total_record_count == previous.total_record_count + delta
        promised = set(range(max(floor, 1), head + 1))
        assert self.floor_is_late or promised <= set(self.snapshots)
        for body in self.tags.values():
            self.assert_whole(Snapshot.from_json(body, path=""))

    def assert_whole(self, snapshot: Snapshot) -> None:
        contents = self.contents(snapshot)  # a KeyError names the missing file
        assert sum(contents.values()) == snapshot.total_record_count
