"""Applies the changes of one batch to one table: schema first, then rows.

Everything is converted before the table is touched, so a bad value leaves it as it was.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from table_core.cdc.apply.default_backfill import (
    BACKFILL_OPTION,
    all_defaults,
    backfill_pending,
    default_texts,
    late_columns,
    pending_defaults,
    with_defaults,
)
from table_core.cdc.apply.earlier_rows import earlier_values
from table_core.cdc.apply.inferred import made_whole, widened
from table_core.cdc.apply.remove import compared_columns, remove_rows, retracts
from table_core.cdc.apply.repeats import warn_of_repeats, without_repeats
from table_core.cdc.apply.settings import NewTable
from table_core.cdc.apply.target import keeps_before
from table_core.cdc.model.bad import refuse
from table_core.cdc.model.computed import with_metadata
from table_core.cdc.model.envelope import bad_line
from table_core.cdc.model.evolution import evolved, schema_changes
from table_core.cdc.model.fit import (
    computed_values,
    nulls,
    unfit_columns,
    without_columns,
    without_key,
)
from table_core.cdc.model.infer import table_fields
from table_core.cdc.model.rows import Converted, Target, event_batch, typed
from table_core.cdc.model.unavailable_values import with_earlier_values
from table_core.datatypes.kinds import with_nullability
from table_core.datatypes.row_kind import ROW_KIND_COLUMN
from table_core.errors import DataError, EventError, SchemaError
from table_core.schema.change import SetOption

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from table_core.cdc.apply.settings import ApplySettings
    from table_core.cdc.apply.table_state import TableState
    from table_core.cdc.apply.target import SyncTarget
    from table_core.cdc.model.bad import BadEvent
    from table_core.cdc.model.batch import Position, SourceBatch
    from table_core.cdc.model.changes import Changes
    from table_core.cdc.model.computed import ComputedColumn
    from table_core.cdc.model.delivered import Delivered
    from table_core.cdc.model.encoding import PlainSettings
    from table_core.cdc.model.record import EventBatch, Place
    from table_core.datatypes.kinds import Field
    from table_core.schema.change import SchemaChange
    from table_core.schema.table_schema import TableSchema
    from table_core.table.api.table import Table

    Ints = np.ndarray[Any, np.dtype[np.int64]]
    Guard: TypeAlias = Callable[[Table, pa.Table, Ints, Callable[[int], Place]], Iterable[BadEvent]]
    """What is wrong with rows of a table, by the numbers of their events."""

__all__ = ["Guard", "TableFeed"]

_NEW_TABLE_OPTIONS: Final = {"bucket": "1"}
_KEYLESS_OPTIONS: Final = {"bucket": "-1"}
_OF_KEY_TABLES: Final = frozenset(
    {
        *("bucket", "changelog-producer", "merge-engine", "sequence.field", "rowkind.field"),
        *("deletion-vectors.enabled", "full-compaction.delta-commits", "ignore-delete"),
    }
)
"""Options that tables without a key do not get, though they are given for all."""
_ATTEMPTS: Final = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class TableFeed:
    """What applies events to one target table."""

    target: SyncTarget
    settings: ApplySettings
    plain: PlainSettings
    new_table: NewTable = field(default_factory=NewTable)
    guard: Guard | None = None

    @property
    def state(self) -> TableState:
        """The table as it is now."""
        return self.target.state

    def apply(self, batch: SourceBatch[Position], changes: Sequence[Changes]) -> None:
        """Apply rows; nothing is touched where one does not convert.

        Raises:
            DataError: a value does not fit its column.
            EventError: an event lacks what is needed.
        """
        changes = [
            with_metadata(one, self.settings.metadata, self.settings.metadata_prefix)
            for one in changes
        ]
        there = [] if self.state.table is None else self.state.table.definition.fields
        refuse(unfit_columns(changes, there, self.settings.max_columns), together=self._together)
        self.target.feed_from({*self.state.sources, *(one.table for one in changes)})
        converted = None
        if self.state.table is None:
            converted = self._create(batch, changes)
        table, converted = self._follow(changes, converted)
        rows, numbers = self._rows(batch, changes, converted)
        table = self.state.table or table
        if self.guard is not None:
            refuse(self.guard(table, rows, numbers, changes[0].place), together=self._together)
        backfill_pending(self.target, table, self.settings)
        if table.primary_key or not retracts(rows):
            self.target.write(rows)
        else:
            lacking = self._lacking(numbers, changes[0].place)
            remove_rows(self.target, rows, compared_columns(rows, changes), lacking)

    @property
    def _together(self) -> bool:
        """Whether all bad events are wanted, not the first alone."""
        return self.settings.dead_letter is not None

    # --------------------------------------------------------------------------------- schema
    def _create(self, batch: SourceBatch[Position], changes: Sequence[Changes]) -> Converted:
        """Make the table from the first events; nothing is made if they do not convert.

        Returns: their rows, old ones of updates too: the options of the table say whether it needs them.
        """
        key = self._key(batch, changes)
        computed_names = {c.name for c in (*self.settings.computed, *self.new_table.computed)}
        source_key = [name for name in key if name not in computed_names]
        refuse(without_key(changes, source_key), together=self._together)
        fields = table_fields(changes, source_key)
        fields = self._as_wanted(changes, fields)
        # shards may be altered at different times: room for the rows of all of them
        fields = evolved(fields, schema_changes(changes, fields, key, self.settings.mapping))
        if not fields:
            refuse(without_columns(changes), together=self._together)
        converted = self._converted(fields, key, changes, keep_before=True)
        computed: list[Field] = []
        for column in self._computed(fields):
            computed.append(column.field([*fields, *computed]))
        names = {f.name for f in (*fields, *computed)}
        partition_by = tuple(
            n for n in self.new_table.partition_by if n in names or not self.new_table.optional
        )
        late = self._backfill_options(changes, late_columns(changes, fields))
        backfill = {option.key: str(option.value) for option in late}
        options = self.new_table.options
        if not key:
            options = {k: v for k, v in options.items() if k not in _OF_KEY_TABLES}
        usual = _NEW_TABLE_OPTIONS if key else _KEYLESS_OPTIONS
        self.target.create(
            [*fields, *computed],
            key,
            partition_by,
            {**usual, **backfill, **made_whole(changes, fields, key), **options},
        )
        self.target.count("tables_created", 1)
        if not key:
            warn_of_repeats(batch, changes, self.target.name)
        return converted

    def _key(self, batch: SourceBatch[Position], changes: Sequence[Changes]) -> tuple[str, ...]:
        """The primary key of the table, or of one that is to be made of ``changes``."""
        if self.state.table is not None:
            return tuple(self.state.table.primary_key)
        if self.new_table.primary_key is not None:
            return self.new_table.primary_key
        known = (batch.key_of(one.table) for one in changes)
        return next((k for k in known if k is not None), ())

    def _as_wanted(self, changes: Sequence[Changes], fields: Sequence[Field]) -> tuple[Field, ...]:
        """With the types that the user wants and the comments of the source."""
        columns = {name: d for one in changes for name, d in (one.declared or {}).items()}
        mapping = self.settings.mapping
        return tuple(
            replace(
                f,
                type=with_nullability(mapping.applied(f.type), nullable=f.type.nullable),
                description=columns[f.name].comment if f.name in columns else f.description,
            )
            for f in fields
        )

    def _follow(
        self, changes: Sequence[Changes], converted: Converted | None
    ) -> tuple[Table, Converted | None]:
        """Bring the schema of the table up to the events; another run may do the same.

        Args:
            changes: the events.
            converted: their rows, if they were needed before.

        Returns: the table, and the rows of the events if they were needed.
        """
        target = self.target
        table = target.state.table
        assert table is not None
        for attempt in range(_ATTEMPTS):
            definition = table.definition
            wanted = schema_changes(
                changes,
                definition.fields,
                (*definition.primary_keys, *definition.partition_keys),
                self.settings.mapping,
            )
            wanted += tuple(widened(changes, definition.fields, table.options, wanted))
            if not wanted:
                return table, converted
            fields = evolved(definition.fields, wanted)
            converted = self._converted_for(table, fields, changes, converted)
            options = self._backfill_options(changes, wanted)
            try:
                table = target.alter((*wanted, *options))
            except SchemaError as error:
                if attempt + 1 == _ATTEMPTS:
                    source = str(changes[-1].table)
                    raise EventError(
                        f"{target.name} cannot follow its source {source}: {error}: drop the table here, "
                        "and the next sync reads it anew",
                        table=source,
                    ) from error
                table = target.reload()
                continue
            self.target.count(
                "columns_added", sum(1 for c in wanted if type(c).__name__ == "AddColumn")
            )
            self.target.count("schema_changes", len(wanted))
        return table, converted

    def _backfill_options(
        self, changes: Sequence[Changes], wanted: Sequence[SchemaChange]
    ) -> list[SetOption]:
        if not self.settings.fill_defaults:
            return []
        texts = default_texts(changes, wanted)
        return [SetOption(f"{BACKFILL_OPTION}{name}", text) for name, text in texts.items()]

    # ----------------------------------------------------------------------------------- rows
    def _converted_for(
        self,
        table: Table,
        fields: Sequence[Field],
        changes: Sequence[Changes],
        known: Converted | None,
    ) -> Converted:
        """The rows of the events for a table that has ``fields``: ``known``, if they are that."""
        definition = table.definition
        keep = keeps_before(definition) or self._computes_place(table)
        shape = self._shape(fields, definition.primary_keys, keep_before=keep)
        fitting = None if known is None else known.fitted(shape)
        return fitting or Converted(shape, self._batch(shape, changes))

    def _converted(
        self,
        fields: Sequence[Field],
        key: Sequence[str],
        changes: Sequence[Changes],
        *,
        keep_before: bool,
    ) -> Converted:
        shape = self._shape(fields, key, keep_before=keep_before)
        return Converted(shape, self._batch(shape, changes))

    def _shape(self, fields: Sequence[Field], key: Sequence[str], *, keep_before: bool) -> Target:
        computed = {column.name for column in self._computed(fields)}
        return Target(
            fields=[f for f in fields if f.name not in computed],
            key=tuple(name for name in key if name not in computed),
            keep_before=keep_before,
        )

    def _batch(self, shape: Target, changes: Sequence[Changes]) -> EventBatch:
        return event_batch(changes, shape, self.plain, together=self._together)

    def _lacking(
        self, numbers: np.ndarray[Any, np.dtype[np.int64]], place: Callable[[int], Place]
    ) -> Callable[[Sequence[int], str], None]:
        """Refuses the events of rows that should be in a table without key, and are not."""

        def refused(rows: Sequence[int], why: str) -> None:
            places = [place(int(number)) for number in numbers[list(rows)]]
            refuse(
                (
                    DataError(
                        f"{at.text}: {self.target.name}: {why}",
                        table=self.target.name,
                        row=at.number,
                        **at.facts,
                    )
                    for at in places
                ),
                together=self._together,
            )

        return refused

    def _rows(
        self,
        batch: SourceBatch[Position],
        changes: Sequence[Changes],
        converted: Converted | None,
    ) -> tuple[pa.Table, np.ndarray[Any, np.dtype[np.int64]]]:
        """Rows as the table takes them, and the number of the event of each."""
        table = self.state.table
        assert table is not None
        definition = table.definition
        events = self._converted_for(table, definition.fields, changes, converted).events
        rows = events.rows
        if events.lacking:
            rows = self._with_unavailable(batch, events, table, changes)
        several = len(self.state.sources) > 1
        defaults = all_defaults(table) if several else pending_defaults(self.target, table)
        rows = with_defaults(rows, events.numbers, changes, defaults)
        rows = self._with_computed(rows, definition, events.numbers, changes[0].place)
        return rows, events.numbers

    def _computes_place(self, table: Table) -> bool:
        """Whether an update may move its row to another partition by a computed column."""
        computed = self._computed(table.definition.fields)
        return any(c.name in table.partition_by for c in computed)

    def _with_unavailable(
        self,
        batch: SourceBatch[Position],
        events: EventBatch,
        table: Table,
        changes: Sequence[Changes],
    ) -> pa.Table:
        if not table.primary_key:
            number = int(events.numbers[np.flatnonzero(next(iter(events.lacking.values())))[0]])
            why = (
                "PostgreSQL did not send a large value that did not change, and the table has no "
                "key to find it by; run ALTER TABLE … REPLICA IDENTITY FULL on the source"
            )
            raise bad_line(changes[0].place(number), why)
        self.target.flush(complete=False)
        return with_earlier_values(
            events,
            table.primary_key,
            lambda number: self._old_key(batch, number, table, changes),
            lambda keys, columns: earlier_values(table, keys, columns),
            changes[0].place,
        )

    def _old_key(
        self, batch: SourceBatch[Position], number: int, table: Table, changes: Sequence[Changes]
    ) -> tuple[Any, ...] | None:
        """The key that an event moved its row from, in the types of the table."""
        old_key = batch.old_key(number)
        if old_key is None or not all(name in old_key for name in table.primary_key):
            return None
        declared = next(one.declared for one in changes if number in one.lines) or {}
        types = {f.name: f for f in table.definition.fields}
        key = []
        for name in table.primary_key:
            encoding = declared[name].encoding if name in declared else None
            key.append(
                typed(pa.array([old_key[name]]), encoding, types[name], self.plain)[0].as_py()
            )
        return tuple(key)

    def _computed(self, fields: Sequence[Field]) -> list[ComputedColumn]:
        """The computed columns of this table; one may work on another that comes before it."""
        names = {f.name for f in fields}
        computed = list(self.settings.computed)
        for c in self.new_table.computed:
            known = names | {one.name for one in computed}
            if not self.new_table.optional or c.argument is None or c.argument in known:
                computed.append(c)
        return computed

    def _with_computed(
        self,
        rows: pa.Table,
        definition: TableSchema,
        numbers: np.ndarray[Any, np.dtype[np.int64]],
        place: Callable[[int], Place],
    ) -> pa.Table:
        """With the computed columns, of rows that have what they must have.

        Raises:
            DataError: a value cannot be computed, or a column that must not be null is.
            BadEvents: where there are dead letters: all such events.
        """
        types = {f.name: f.type for f in definition.fields}
        now_ms = self.target.catalog.clock.now_ms()
        bad: list[BadEvent] = []
        for column in self._computed(definition.fields):
            if column.name not in types:  # what it works on came after the table was made
                continue
            computed = computed_values(column, rows, types[column.name], now_ms)
            rows = rows.append_column(column.name, computed.values)
            bad += computed.errors(column.name, numbers, place)
        kept = np.asarray(pc.is_in(rows[ROW_KIND_COLUMN], value_set=pa.array(["+I", "+U"])))
        refuse(bad, together=self._together)
        for name, type_ in types.items():
            if type_.nullable or not rows[name].null_count:
                continue
            meant = rows[name].is_null()
            if name not in definition.primary_keys:
                meant = pc.and_(meant, pa.array(kept))
            bad += nulls(name, np.asarray(meant), numbers, place)
        refuse(bad, together=self._together)
        return rows

    # --------------------------------------------------------------------------------- repeats
    def unrepeated(
        self, batch: SourceBatch[Position], changes: Sequence[Changes]
    ) -> tuple[list[Changes], Delivered]:
        """The events that were not delivered before, and what is to be known once they are applied."""
        if not batch.may_repeat or self._key(batch, changes):
            return list(changes), self.state.delivered
        left, after = without_repeats(batch, changes, self.state.delivered)
        lines = [sum(len(one.lines) for one in part) for part in (changes, left)]
        self.target.count("events_repeated", lines[0] - lines[1])
        return left, after

    # ------------------------------------------------------------------------------ statements
    def rows_of(self, changes: Sequence[Changes]) -> EventBatch:
        """The rows of older events, as the table would take them now."""
        assert self.state.table is not None
        definition = self.state.table.definition
        annotated = [
            with_metadata(one, self.settings.metadata, self.settings.metadata_prefix)
            for one in changes
        ]
        return self._converted(
            definition.fields, definition.primary_keys, annotated, keep_before=True
        ).events
