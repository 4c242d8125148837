"""The steps of a case: what is done, and what must be there then."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa

import table_core as tc
from table_core.datatypes.arrow import arrow_field
from table_core.datatypes.text import type_text
from table_core.table.api.table import Table
from tests.clocks import Impatient, WouldWaitError
from tests.tables import altered_elsewhere, write_rows
from tests.upstream.play import NAME, Shape, must_refuse, names_in

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from table_core.datatypes.kinds import Field
    from table_core.schema.change import SchemaChange
    from tests.upstream.play import Play, Row, Step

__all__ = [
    "Alter",
    "Changes",
    "Follows",
    "Refused",
    "Rows",
    "after_ms",
    "alter",
    "alter_elsewhere",
    "changes",
    "columns",
    "do",
    "follows",
    "gives",
    "merge",
    "names",
    "put",
    "refused",
    "rows",
    "rows_for",
    "same",
    "snapshots",
    "system",
    "tuples",
]

KINDS = ("+I", "-U", "+U", "-D")


# ------------------------------------------------------------------------------------ what is done
@dataclass(frozen=True, slots=True)
class Put:
    """Rows, written with one commit."""

    rows: tuple[Row, ...]
    options: Mapping[str, str] | None = None
    columns: tuple[str, ...] = ()
    overwrite: str | Mapping[str, object] | None = None
    watermark: int | None = None
    branch: str | None = None

    def run(self, play: Play) -> None:
        table = play.table(self.options, self.branch)
        commit = tc.CommitAs(watermark=self.watermark) if self.watermark is not None else None
        play.result = write_rows(
            table, rows_for(table, self.rows, self.columns), overwrite=self.overwrite, commit=commit
        )


@dataclass(frozen=True, slots=True)
class Do:
    """A verb of the handle, of its tags, branches or consumers, by name: ``tags.create``."""

    verb: str
    args: tuple[Any, ...]
    how: Mapping[str, Any]
    options: Mapping[str, str] | None = None
    branch: str | None = None

    def run(self, play: Play) -> None:
        target: Any = play.table(self.options, self.branch)
        for name in self.verb.split("."):
            target = getattr(target, name)
        play.result = target(*self.args, **self.how)


@dataclass(frozen=True, slots=True)
class Alter:
    """Changes of the schema, all at once."""

    changes: tuple[SchemaChange, ...]
    elsewhere: bool = False

    def run(self, play: Play) -> None:
        if self.elsewhere:
            altered_elsewhere(play.catalog, NAME, *self.changes)
        else:
            play.catalog.alter_table(NAME, self.changes)


@dataclass(frozen=True, slots=True)
class Merge:
    """A merge of rows with the columns of the table."""

    rows: tuple[Row, ...]
    on: Any
    when: tuple[Any, ...]
    columns: str = ""

    def run(self, play: Play) -> None:
        table = play.table()
        fields = Shape(self.columns).fields if self.columns else table.definition.fields
        source = _table(fields, self.rows)
        play.result = table.merge_into(source, on=self.on, when=self.when)


@dataclass(frozen=True, slots=True)
class AfterMs:
    """Time that goes by."""

    ms: int

    def run(self, play: Play) -> None:
        play.clock.ms += self.ms


def put(
    *values: Row,
    options: Mapping[str, str] | None = None,
    columns: str = "",
    over: str | Mapping[str, object] | None = None,
    watermark: int | None = None,
    branch: str | None = None,
) -> Put:
    """Write rows with one commit; ``over`` replaces partitions or the table by them."""
    return Put(values, options, tuple(names_in(columns)), over, watermark, branch)


def do(
    verb: str,
    *args: Any,
    options: Mapping[str, str] | None = None,
    branch: str | None = None,
    **how: Any,
) -> Do:
    """Call a verb."""
    return Do(verb, args, how, options, branch)


def alter(*changes: SchemaChange) -> Alter:
    """Change the schema."""
    return Alter(changes)


def alter_elsewhere(*changes: SchemaChange) -> Alter:
    """Change the schema as Paimon does: without a word, and whatever becomes of the values."""
    return Alter(changes, elsewhere=True)


def merge(*values: Row, on: Any, when: Sequence[Any], columns: str = "") -> Merge:
    """Merge rows into the table."""
    return Merge(values, on, tuple(when), columns)


def after_ms(ms: int) -> AfterMs:
    """Let time go by."""
    return AfterMs(ms)


# ------------------------------------------------------------------------------------ what must hold
@dataclass(frozen=True, slots=True)
class Rows:
    """The rows of one state, in any order."""

    expected: tuple[Row, ...]
    how: Mapping[str, Any]
    options: Mapping[str, str] | None = None
    branch: str | None = None

    def run(self, play: Play) -> None:
        scan = play.table(self.options, self.branch).read(**self.how)
        same(tuples(scan.to_arrow()), self.expected)


@dataclass(frozen=True, slots=True)
class Changes:
    """The changes of a range of snapshots, in any order, each with its kind."""

    expected: tuple[Row, ...]
    how: Mapping[str, Any]
    options: Mapping[str, str] | None = None

    def run(self, play: Play) -> None:
        scan = play.table(self.options).changes(**self.how)
        same(_kinded(scan.to_arrow()), tuple(_with_kind(row) for row in self.expected))


@dataclass(frozen=True, slots=True)
class Follows:
    """What a reader that follows is handed until it would wait: rows with their kinds."""

    expected: tuple[Row, ...]
    options: Mapping[str, str] | None
    how: Mapping[str, Any]

    def run(self, play: Play) -> None:
        seen = [row for batch in self.batches(play) for row in _kinded(batch)]
        same(seen, tuple(_with_kind(row) for row in self.expected))

    def batches(self, play: Play) -> list[pa.Table]:
        """What comes until it would wait."""
        access = play.table(self.options).access
        handle = Table(replace(access, clock=Impatient(access.clock)))
        seen = []
        with suppress(WouldWaitError):
            for batch in handle.follow(**self.how):
                seen.append(batch)
        return seen


@dataclass(frozen=True, slots=True)
class Refused:
    """A step that raises an error of ours which says these words."""

    step: Step
    words: str

    def run(self, play: Play) -> None:
        must_refuse(self.step.run, play, self.words)


@dataclass(frozen=True, slots=True)
class System:
    """Columns of the rows of a system table."""

    name: str
    columns: tuple[str, ...]
    expected: tuple[Row, ...]
    options: Mapping[str, str] | None = None

    def run(self, play: Play) -> None:
        table = play.table(self.options).system(self.name).to_arrow()
        same(tuples(table.select(list(self.columns))), self.expected)


@dataclass(frozen=True, slots=True)
class Gives:
    """What the step before gave, or what a path of names on a fresh handle is: equal to ``expected``."""

    path: str
    expected: Any
    of_table: bool

    def run(self, play: Play) -> None:
        value: Any = play.table() if self.of_table else play.result
        for name in self.path.split("."):
            if isinstance(value, Mapping):
                value = value[name]
                continue
            value = getattr(value, name.removesuffix("()"))
            value = value() if name.endswith("()") else value
        if isinstance(self.expected, tuple) and not isinstance(value, tuple):
            value = tuple(value)
        assert value == self.expected, f"{self.path}: {value!r}, not {self.expected!r}"


@dataclass(frozen=True, slots=True)
class Snapshots:
    """The kinds of all snapshots, oldest first."""

    kinds: str

    def run(self, play: Play) -> None:
        kinds = " ".join(one.commit_kind for one in play.table().snapshots())
        assert kinds == self.kinds, f"snapshots: {kinds}, not {self.kinds}"


@dataclass(frozen=True, slots=True)
class Columns:
    """Names and types of the columns."""

    expected: str

    def run(self, play: Play) -> None:
        fields = play.table().definition.fields
        text = ", ".join(f"{one.name} {type_text(one.type)}" for one in fields)
        assert text == self.expected, f"columns: {text}, not {self.expected}"


def rows(
    *expected: Row,
    options: Mapping[str, str] | None = None,
    branch: str | None = None,
    **how: Any,
) -> Rows:
    """A read gives these rows; ``how`` goes to ``read``."""
    return Rows(expected, how, options, branch)


def changes(*expected: Row, options: Mapping[str, str] | None = None, **how: Any) -> Changes:
    """``Table.changes`` gives these; a row without a kind is ``+I``."""
    return Changes(expected, how, options)


def follows(*expected: Row, options: Mapping[str, str] | None = None, **how: Any) -> Follows:
    """``Table.follow`` hands these over, then waits."""
    return Follows(expected, options, how)


def refused(step: Step, words: str) -> Refused:
    """The step is refused."""
    return Refused(step, words)


def system(
    name: str, columns: str, *expected: Row, options: Mapping[str, str] | None = None
) -> System:
    """A system table has these rows."""
    return System(name, tuple(names_in(columns)), expected, options)


def gives(path: str, expected: Any) -> Gives:
    """A member of what the step before gave."""
    return Gives(path, expected, of_table=False)


def names(path: str, *expected: Any) -> Gives:
    """A member of the handle that lists: ``names("tags.list()", "a", "b")``."""
    return Gives(path, expected, of_table=True)


def snapshots(kinds: str) -> Snapshots:
    """The kinds of the snapshots."""
    return Snapshots(kinds)


def columns(expected: str) -> Columns:
    """The columns of the newest schema."""
    return Columns(expected)


# ------------------------------------------------------------------------------------------ helpers
def _table(fields: Iterable[Field], values: Sequence[Row], kinds: Sequence[str] = ()) -> pa.Table:
    shown = [arrow_field(one) for one in fields]
    arrays = [
        pa.array([row[number] for row in values], type=one.type) for number, one in enumerate(shown)
    ]
    if any(kind != "+I" for kind in kinds):
        shown.append(pa.field("_ROW_KIND", pa.string()))
        arrays.append(pa.array(kinds, pa.string()))
    plain = [one.with_nullable(True) for one in shown]
    return pa.table(arrays, schema=pa.schema(plain))


def rows_for(table: tc.Table, values: Sequence[Row], only: Sequence[str] = ()) -> pa.Table:
    """``values`` as the table takes them: its columns or ``only`` some, and their kinds."""
    definition = table.definition
    fields = definition.select(only) if only else definition.fields
    kinds, plain = [], []
    for row in values:
        kind, *rest = row if _has_kind(row, len(fields)) else ("+I", *row)
        assert len(rest) == len(fields), f"{row!r} does not have {len(fields)} columns"
        kinds.append(kind)
        plain.append(tuple(rest))
    return _table(fields, plain, kinds)


def _has_kind(row: Row, width: int) -> bool:
    return len(row) == width + 1 and row[0] in KINDS


def _with_kind(row: Row) -> Row:
    return row if row and row[0] in KINDS else ("+I", *row)


def tuples(table: pa.Table) -> list[Row]:
    """Rows of values that compare."""
    return [tuple(_plain(value) for value in row.values()) for row in table.to_pylist()]


def _kinded(table: pa.Table) -> list[Row]:
    kinds = table.column("_ROW_KIND").to_pylist()
    plain = tuples(table.drop_columns(["_ROW_KIND"]))
    return [(kind, *row) for kind, row in zip(kinds, plain, strict=True)]


def _plain(value: Any) -> Any:
    """Values that compare: nothing of Arrow's own, NaN as a text, moments in UTC."""
    if isinstance(value, float) and value != value:
        return "NaN"
    if isinstance(value, dt.datetime) and value.tzinfo is not None:
        return value.astimezone(dt.UTC)
    if isinstance(value, Mapping):
        return {name: _plain(member) for name, member in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(member) for member in value]
    return value


def same(seen: Sequence[Row], expected: Sequence[Row]) -> None:
    """Assert that both are the same rows, in any order."""
    left = sorted(repr(row) for row in seen)
    right = sorted(repr(tuple(_plain(value) for value in row)) for row in expected)
    assert left == right, f"rows: {left}, not {right}"
