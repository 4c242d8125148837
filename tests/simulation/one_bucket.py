"""One bucket that several writers and compactions change, on real files in memory, beside a slow oracle.

The oracle folds the rows of the commits in the order in which they landed, a row at a time.  Whatever the
heads were when the rows were written and the compactions made, readers must see that, before and
after each compaction, and the changelog must replay to it.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType

import pyarrow as pa

import table_core as tc
from table_core.commit.basis import Basis
from table_core.commit.request import CommitPart
from table_core.ondisk.snapshot import CommitKind
from table_core.scan.split import hides_level0
from table_core.table.api.table import Table
from table_core.table.commit_io.committer import commit_parts, compact_part, parts_of
from table_core.table.commit_io.prepared import WriteResult
from table_core.table.compact.compact import Selection, _compact_buckets, choose
from table_core.table.dml.overwrite import overwrite_selection
from table_core.table.write.writer import TableWriter
from tests.tables import new_catalog

SCHEMA = pa.schema(
    [
        pa.field("k", pa.int64(), nullable=False),
        ("a", pa.int64()),
        ("b", pa.int64()),
        ("g", pa.int64()),
    ]
)
Row = tuple[int, int | None, int | None, int | None, str]
"""k, a, b, g and the kind."""
Values = tuple[int | None, int | None, int | None]
ENGINES: Mapping[str, Mapping[str, str]] = {
    "deduplicate": {},
    "deduplicate by g": {"sequence.field": "g"},
    "partial-update": {"fields.g.sequence-group": "b"},
    "aggregation": {
        "fields.a.aggregate-function": "sum",
        "fields.b.aggregate-function": "last_value",
        "fields.g.aggregate-function": "max",
    },
    "first-row": {},
}
PRODUCERS = ("none", "input", "lookup", "full-compaction")
AT_ONCE = {"write-buffer-size": "1 b", "write-buffer-spillable": "false"}
_NUMBERS = itertools.count()


@dataclass(frozen=True)
class Kind:
    """What sort of table."""

    engine: str
    producer: str
    vectors: bool
    write_only: bool

    @property
    def options(self) -> dict[str, str]:
        return {
            "bucket": "1",
            "merge-engine": self.engine.partition(" ")[0],
            "changelog-producer": self.producer,
            "deletion-vectors.enabled": str(self.vectors).lower(),
            "write-only": str(self.write_only).lower(),
            "num-sorted-run.compaction-trigger": "3",
            "commit.min-retry-wait": "0 ms",
            "commit.max-retry-wait": "0 ms",
            **ENGINES[self.engine],
        }

    @property
    def deletes(self) -> bool:
        """With a sequence field, how long a delete counts depends on the compactions."""
        return self.engine == "deduplicate"

    def __str__(self) -> str:
        more = ["vectors"] * self.vectors + ["write-only"] * self.write_only
        return " ".join([self.engine, self.producer, *more])


def kinds() -> list[Kind]:
    """Every one that a table may be."""
    found = []
    for engine, producer, vectors, alone in itertools.product(
        ENGINES, PRODUCERS, (False, True), (False, True)
    ):
        refused = engine == "first-row" and (vectors or producer in ("input", "full-compaction"))
        refused = refused or (engine != "deduplicate" and producer == "input")
        refused = refused or (vectors and producer == "full-compaction")
        if not refused:
            found.append(Kind(engine, producer, vectors, alone))
    return found


def fold(kind: Kind, rows: Iterable[Row]) -> dict[int, Values]:
    """What a reader must see after ``rows``, one after the other."""
    state: dict[int, tuple[Values, bool]] = {}
    for k, a, b, g, sign in rows:
        old, there = state.get(k, ((None, None, None), False))
        new: Values = (a, b, g)
        match kind.engine:
            case "deduplicate by g":
                least = -1 if old[2] is None else old[2]
                if there and (-1 if g is None else g) < least:
                    new = old
            case "partial-update" if there:
                newer = g is not None and (old[2] is None or g >= old[2])
                new = (a if a is not None else old[0], *((b, g) if newer else old[1:]))
            case "partial-update":
                new = (a, b, g) if g is not None else (a, None, None)
            case "aggregation" if there:
                sums = [v for v in (old[0], a) if v is not None]
                most = [v for v in (old[2], g) if v is not None]
                new = (sum(sums) if sums else None, b, max(most, default=None))
            case "first-row" if there:
                new = old
        state[k] = new, sign != "-D"
    return {k: values for k, (values, alive) in state.items() if alive}


def replay(
    kind: Kind,
    changes: Iterable[tuple[str, int, Values]],
    before: Mapping[int, Values] = MappingProxyType({}),
) -> dict[int, Values]:
    """The state that a changelog after ``before`` amounts to; each step must fit on the one before."""
    state = dict(before)
    for sign, k, values in changes:
        if kind.producer == "input":
            state.pop(k, None)
        elif sign in ("-U", "-D"):
            assert state.pop(k, None) == values, ("takes back what is not there", sign, k, values)
        else:
            assert k not in state, ("brings what is there", sign, k, values, state[k])
        if sign in ("+I", "+U"):
            state[k] = values
    return state


def rows_of(table: pa.Table) -> list[tuple[int, Values]]:
    columns = (table[name].to_pylist() for name in "kabg")
    return [(k, (a, b, g)) for k, a, b, g in zip(*columns, strict=True)]


@dataclass
class Bucket:
    """A table of one bucket with its writers and compactions under way."""

    kind: Kind
    table: tc.Table = field(init=False)
    rows: dict[str, Sequence[Row]] = field(init=False, default_factory=dict)
    """What each user commits."""
    prepared: dict[str, WriteResult] = field(init=False, default_factory=dict)
    merging: dict[str, CommitPart | None] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        catalog = new_catalog(f"memory://one-bucket-{next(_NUMBERS)}")
        self.table = catalog.create_table(
            "d.t", SCHEMA, primary_key=("k",), options=self.kind.options
        )

    # ------------------------------------------------------------------------------- writers
    def open(self, user: str, rows: Sequence[Row]) -> TableWriter:
        """Write and number ``rows``; what is still to come is the compaction along with them."""
        self.rows[user] = [row if self.kind.deletes else (*row[:4], "+I") for row in rows]
        as_ = tc.CommitAs(user=user)
        writer = Table(self.table.access.with_options(AT_ONCE)).write(commit=as_)
        writer.write(arrow(self.rows[user], self.kind))
        return writer

    def prepare(self, user: str, rows: Sequence[Row]) -> None:
        """Write ``rows`` and compact along; nothing is visible."""
        self.prepared[user] = self.open(user, rows).prepare()

    def commit(self, user: str) -> tc.Commit:
        return self.table.commit([self.prepared.pop(user)], tc.CommitAs(user=user))

    def write(self, rows: Sequence[Row]) -> None:
        user = f"alone-{next(_NUMBERS)}"
        self.prepare(user, rows)
        self.commit(user)

    def overwriting(self, user: str, rows: Sequence[Row]) -> None:
        """An overwrite up to its commit."""
        self.rows[user] = [(*row[:4], "+I") for row in rows]
        with self.table.write(overwrite="table") as writer:
            writer.write(arrow(self.rows[user], self.kind))
            self.prepared[user] = writer.prepare()

    def parts_of_overwrite(self, user: str) -> tuple[CommitPart, CommitPart | None]:
        selection = overwrite_selection(self.table.access, "table", ())
        return parts_of([self.prepared.pop(user)], selection)

    def overwrite(self, user: str) -> None:
        as_ = tc.CommitAs(user=user)
        self.table.commit([self.prepared.pop(user)], as_, overwrite="table")

    def commit_as_others_do(self, user: str) -> None:
        """A writer that numbers its rows when it writes them and never looks again."""
        result = replace(self.prepared.pop(user), basis=Basis())
        self.table.commit([result], tc.CommitAs(user=user))

    # --------------------------------------------------------------------------- compactions
    def begin(self, name: str, strategy: str) -> CommitPart | None:
        """A compaction up to its commit."""
        access = self.table.access.with_options({"write-only": "false"})
        choice = choose(Selection.of(access, strategy=strategy), access.head())
        part = compact_part(_compact_buckets(access, choice, None))
        self.merging[name] = part
        return part

    def end(self, name: str) -> bool:
        """Whether the compaction still fitted."""
        part = self.merging.pop(name)
        try:
            if part is not None:
                commit_parts(self.table.access, tc.CommitAs(), compact=part)
        except tc.errors.CommitConflictError:
            return False
        return True

    def compact(self, strategy: str = "full") -> None:
        self.begin("alone", strategy)
        assert self.end("alone")

    # -------------------------------------------------------------------------------- checks
    def landed(self, to: int) -> list[Row]:
        """The rows of all commits up to a snapshot, in the order of commits."""
        found: list[Row] = []
        for snapshot in self.table.snapshots():
            if snapshot.id > to or snapshot.commit_kind is CommitKind.COMPACT:
                continue
            if snapshot.commit_kind is CommitKind.OVERWRITE:
                found.clear()
            found += self.rows[snapshot.commit_user]
        return found

    def read(self, id: int) -> dict[int, Values]:
        rows = rows_of(self.table.read(snapshot=id).to_arrow())
        found = dict(rows)
        assert len(found) == len(rows), f"a key twice in snapshot {id}"
        return found

    @property
    def hides(self) -> bool:
        """Whether rows on level 0 are not read."""
        access = self.table.access
        return hides_level0(access.schema, access.options)

    def changes(self) -> Iterator[tuple[str, int, Values]]:
        for snapshot in self.table.snapshots():
            if snapshot.commit_kind is CommitKind.OVERWRITE:
                continue
            rows = self.table.changes(after=snapshot.id - 1, to=snapshot.id).to_arrow()
            signs = rows["_ROW_KIND"].to_pylist()
            yield from ((sign, *row) for sign, row in zip(signs, rows_of(rows), strict=True))

    def check(self) -> None:
        """Readers see what was committed, before and after each compaction, and changes tell it."""
        self.compact()
        history = self.table.snapshots()
        for snapshot in history:
            seen = self.read(snapshot.id)
            if not self.hides or snapshot is history[-1]:
                wanted = fold(self.kind, self.landed(snapshot.id))
                assert seen == wanted, f"snapshot {snapshot.id} of {snapshot.commit_user}"
        overwritten = any(s.commit_kind is CommitKind.OVERWRITE for s in history)
        if self.kind.producer != "none" and not overwritten:
            told = replay(self.kind, self.changes())
            assert told == self.read(history[-1].id), "the changelog"


def arrow(rows: Sequence[Row], kind: Kind) -> pa.Table:
    columns = list(zip(*rows, strict=True)) if rows else [[]] * 5
    made = pa.table([pa.array(c, pa.int64()) for c in columns[:4]], schema=SCHEMA)
    return (
        made.append_column("_ROW_KIND", pa.array(columns[4], pa.string())) if kind.deletes else made
    )
