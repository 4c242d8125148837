"""Runs verbs inside one another, and says what is wrong with what comes of it.

``first`` runs; just before its ``at``-th call of the store ``second`` runs whole, and before call ``then_at``
``third``.  The result must be that of some order of the verbs that succeeded, one after the other; ``second``
comes before ``third``.  Then everything that is there must be readable, new writes must land, and expiry, orphan
removal and compaction must change no row.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Final

import pyarrow as pa

import table_core as tc
from table_core.errors import ErrorKind, TableError
from table_core.storage.stores.faults import Call, Crash, Fault, Faults
from table_core.table.metadata.refs.branches import branch_access
from tests.interleave.lake import KINDS, Lake, forget, row, rows_of, seen, seen_of, waits
from tests.interleave.verbs import VERBS, Verb
from tests.tables import write_rows

__all__ = ["Case", "Finding", "Judge", "changeable"]

_DASHES_OF_UUID: Final = 4
"""Names with a random part in them are used once."""
_UNSURE: Final = frozenset({ErrorKind.UNKNOWN_OUTCOME, ErrorKind.UNAVAILABLE})
_MORE: Final = 6
"""So many commits go past what could wait above the head."""


def changeable(call: Call) -> bool:
    """Whether ``call`` is about a name that means one thing now and another later."""
    name = call.path.rpartition("/")[2]
    return name.count("-") <= _DASHES_OF_UUID


@dataclass(frozen=True)
class Case:
    """All that is needed to run one interleaving alone."""

    kind: str
    first: str
    second: str
    at: int
    third: str | None = None
    then_at: int = 0
    fault: Fault | None = None
    """What befalls ``first`` at its call ``at``; then ``second`` runs after it, not inside."""

    def __str__(self) -> str:
        parts = [self.kind, self.first, self.second, str(self.at)]
        if self.third is not None:
            parts += [self.third, str(self.then_at)]
        if self.fault is not None:
            parts.append(self.fault.value)
        return " | ".join(parts)

    @classmethod
    def parse(cls, text: str) -> Case:
        """What ``str`` gave."""
        kind, first, second, at, *rest = (part.strip() for part in text.split("|"))
        fault = Fault(rest.pop()) if rest and rest[-1] in {f.value for f in Fault} else None
        third, then_at = (rest[0], int(rest[1])) if rest else (None, 0)
        return cls(kind, first, second, int(at), third, then_at, fault)

    @property
    def verbs(self) -> tuple[Verb, ...]:
        names = (self.first, self.second, self.third)
        return tuple(VERBS[name] for name in names if name is not None)


@dataclass(frozen=True)
class Finding:
    """Something wrong."""

    case: Case
    what: str
    detail: str = ""
    call: str = ""

    def __str__(self) -> str:
        return f"[{self.case}] {self.what} (at {self.call})\n    {self.detail[:1500]}"


@dataclass
class _Done:
    """What became of a verb: True, False, or None where nobody can tell."""

    ok: bool | None
    error: BaseException | None = None


@dataclass
class Judge:
    """Interleavings of one kind of table; serial results are kept."""

    kind: str
    begin: Lake = field(init=False)
    _serial: dict[tuple[str, ...], tuple[tuple[bool, ...], Any]] = field(default_factory=dict)
    _calls: dict[str, list[Call]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.begin = Lake.of(KINDS[self.kind])

    # ---------------------------------------------------------------------------------- serial
    def calls(self, verb: str) -> list[Call]:
        """The calls that ``verb`` makes alone."""
        if verb not in self._calls:
            faults = Faults.none()
            _do(VERBS[verb].call, self.begin.begun().catalog(faults), "first")
            self._calls[verb] = faults.calls
        return self._calls[verb]

    def serial(self, steps: tuple[str, ...]) -> tuple[tuple[bool, ...], Any]:
        """Whether each of ``steps`` works, one after the other, and what is seen then."""
        if steps not in self._serial:
            lake = self.begin.begun()
            oks = []
            for step in steps:
                name, _, part = step.partition("#")
                verb = VERBS[name]
                call = (*verb.steps, *verb.halves)[int(part)] if part else verb.call
                oks.append(_do(call, lake.catalog(), _who(steps, step)).ok is True)
            self._serial[steps] = tuple(oks), seen(lake)
        return self._serial[steps]

    def allowed(self, verbs: tuple[str, ...], oks: tuple[bool | None, ...]) -> list[Any]:
        """What may be seen where ``verbs`` worked, or not, as ``oks`` say; the second came before the third."""
        found = []
        for chosen in itertools.product(
            *(_lives(name, ok) for name, ok in zip(verbs, oks, strict=True))
        ):
            for order in _orders(chosen):
                worked, state = self.serial(order)
                if all(worked):
                    found.append(state)
        return found

    # ------------------------------------------------------------------------------ interleaved
    def run(self, case: Case) -> Finding | None:
        """Run ``case``; what is wrong with it."""
        lake = self.begin.begun()
        met = ""
        done: dict[str, _Done] = {}

        def meanwhile(call: Call) -> Fault | None:
            nonlocal met
            if call.index == case.at:
                met = f"{call.name} {call.path}"
                if case.fault is not None:
                    return case.fault
                done["second"] = _do(VERBS[case.second].call, lake.catalog(), "second")
            if case.third is not None and call.index == case.then_at:
                done["third"] = _do(VERBS[case.third].call, lake.catalog(), "third")
            return None

        done["first"] = _do(VERBS[case.first].call, lake.catalog(Faults(meanwhile)), "first")
        try:
            what = self._wrong(case, lake, done)
        except (TableError, AssertionError) as error:
            what = "what is left cannot be read", f"{type(error).__name__}: {error}"
        if what is None:
            return None
        told = "; ".join(f"{k}: {d.ok} {d.error or ''}" for k, d in done.items())
        return Finding(case, what[0], f"{what[1]}  [{told}]", met)

    def _wrong(self, case: Case, lake: Lake, done: dict[str, _Done]) -> tuple[str, str] | None:
        for which, one in done.items():
            problem = _raw(one.error)
            if problem is not None:
                return f"{which} ended with {problem}", str(one.error)
        if case.fault is not None:
            wrong = self._after_fault(case, lake, done)
        else:
            ran = [w for w in ("first", "second", "third") if w in done]
            names = tuple(getattr(case, w) for w in ran)
            wrong = self._compared(lake, names, tuple(done[w].ok for w in ran))
        return wrong or _goes_on(lake)

    def _compared(
        self, lake: Lake, names: tuple[str, ...], oks: tuple[bool | None, ...]
    ) -> tuple[str, str] | None:
        now, allowed = seen(lake), self.allowed(names, oks)
        if now in allowed:
            return None
        nearest = min(allowed, key=lambda state: len(_difference(state, now)), default=None)
        return "no order of the verbs gives this", _difference(nearest, now)

    def _after_fault(
        self, case: Case, lake: Lake, done: dict[str, _Done]
    ) -> tuple[str, str] | None:
        """First is cut short: all of it is there or nothing; a retry makes it whole; others go on.

        What the table refuses, as a rescale where buckets are dynamic, a retry refuses too, and nothing is there.
        """
        verb = VERBS[case.first]
        works = self.serial((case.first,))[0] == (True,)
        torn = verb.goes_back  # it may be seen halfway, and is ended by being done again
        if not torn:
            wrong = self._compared(lake, (case.first,), (done["first"].ok or None,))
            if wrong is not None:
                return f"cut short: {wrong[0]}", wrong[1]
        if not verb.by_hand:
            again = _do(verb.call, lake.catalog(), "first")
            problem = _raw(again.error)
            if problem is not None:
                return f"the retry ended with {problem}", str(again.error)
            wrong = self._compared(
                lake, (case.first,), (None,) if torn and not again.ok else (works,)
            )
            if wrong is not None and again.ok is not None:
                return f"after the retry ({again.ok} {again.error}): {wrong[0]}", wrong[1]
        second = _do(VERBS[case.second].call, lake.catalog(), "second")
        problem = _raw(second.error)
        if problem is not None:
            return f"afterwards {case.second} ended with {problem}", str(second.error)
        if second.ok is not True and self.serial((case.first, case.second))[0] == (works, True):
            return f"afterwards {case.second} does not work any more", str(second.error)
        return None


def _who(steps: tuple[str, ...], step: str) -> str:
    return f"{'-'.join(steps)}-{step}"


def _do(call: Callable[..., object], catalog: tc.Catalog, who: str) -> _Done:
    try:
        call(catalog, tc.CommitAs(user=who, identifier=1))
    except Crash as error:
        return _Done(None, error)
    except TableError as error:
        return _Done(None if error.kind in _UNSURE else False, error)
    except Exception as error:  # whatever else it is, is found
        return _Done(False, error)
    return _Done(True)


def _raw(error: BaseException | None) -> str | None:
    """What no verb may end with."""
    if error is None or isinstance(error, Crash):
        return None
    if not isinstance(error, TableError):
        return f"a raw {type(error).__name__}"
    return "an error of kind corrupt" if error.kind is ErrorKind.CORRUPT else None


def _lives(name: str, ok: bool | None) -> Iterable[tuple[str, ...]]:
    """What may have happened of a verb: all of it, nothing, some of its steps, or a half where nobody can tell."""
    verb = VERBS[name]
    whole: list[tuple[str, ...]] = (
        [(name,)] if not verb.steps else [tuple(f"{name}#{n}" for n in range(len(verb.steps)))]
    )
    if ok is True:
        return whole
    parts = [whole[0][:n] for n in range(len(verb.steps))] if verb.steps else [()]
    halves = [(f"{name}#{len(verb.steps) + n}",) for n in range(len(verb.halves))]
    return parts if ok is False else [*parts, *halves, *whole]


def _orders(chosen: tuple[tuple[str, ...], ...]) -> Iterable[tuple[str, ...]]:
    """The first's steps, with the second whole before or after each of them, and the third after that."""
    first, *others = chosen
    places = itertools.combinations_with_replacement(range(len(first) + 1), len(others))
    for at in places:
        order: list[str] = []
        for n in range(len(first) + 1):
            for place, other in zip(at, others, strict=True):
                if place == n:
                    order += other
            order += first[n : n + 1]
        yield tuple(order)


# -------------------------------------------------------------------------------------- afterwards
def _goes_on(lake: Lake) -> tuple[str, str] | None:
    """All that is there can be read; new rows land; upkeep changes no row."""
    before = seen(lake)
    catalog = lake.catalog()
    for name in before:
        table = catalog.table(f"d.{name}")
        handles = [
            table,
            *(tc.Table(branch_access(table.access, b)) for b in table.branches.list()),
        ]
        for handle in handles:
            _read_history(handle)
    for name, expected in before.items():
        if name == "s":
            continue
        wrong = _new_rows(lake, f"d.{name}", expected)
        if wrong is not None:
            return wrong
    return None


def _read_history(table: tc.Table) -> None:
    previous = None
    for snapshot in table.snapshots():
        rows_of(table, snapshot=snapshot.id)
        if previous is not None and snapshot.id == previous + 1:
            table.changes(after=previous, to=snapshot.id).to_arrow()
        previous = snapshot.id
    for tag in table.tags.list():
        rows_of(table, tag=tag)


def _new_rows(lake: Lake, name: str, expected: dict[str, Any]) -> tuple[str, str] | None:
    catalog = lake.catalog()
    table = catalog.table(name)
    if table.definition.bucket > 0 and table.latest_snapshot() is not None:
        table.rescale()  # what was rescaled may have been rolled back
    names = table.arrow_schema.names
    new = []
    for n in range(_MORE):
        one = row("a", 900 + n, n)
        columns = {c: one[c].to_pylist() if c in one.column_names else [None] for c in names}
        write_rows(table, pa.table(columns, schema=table.arrow_schema))
        new.append(tuple(v[0] for v in columns.values()))
    upkeep: tuple[tuple[str, Callable[[], object]], ...] = (
        ("six commits", lambda: None),
        ("a compaction", table.compact),
        ("expiry", lambda: table.expire_snapshots(retain_max=1, retain_min=1)),
        (
            "removal of orphans",
            lambda: table.remove_orphan_files(older_than=lake.clock.now_ms(), allow_young=True),
        ),
    )
    wanted = sorted([*expected["rows"], *new], key=repr)
    for what, do in upkeep:
        do()
        if not waits(table) and (now := rows_of(catalog.table(name))) != wanted:
            return f"rows are others after {what}", _difference(wanted, now)
    forget()
    now = seen_of(lake, name)
    for part, value in (("rows", wanted), *((p, expected[p]) for p in ("tags", "branches"))):
        if now[part] != value:
            return f"{part} are others after upkeep", _difference(value, now[part])
    return None


def _difference(expected: Any, found: Any, path: str = "") -> str:
    """Where two states differ."""
    if expected == found:
        return ""
    if isinstance(expected, dict) and isinstance(found, dict):
        keys = sorted({*expected, *found})
        return " ".join(
            filter(None, (_difference(expected.get(k), found.get(k), f"{path}/{k}") for k in keys))
        )
    return f"{path}: expected {expected}, found {found};"
