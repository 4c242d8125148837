"""The join of a merge: source and target rows side by side, and what the clauses make of each pair.

All of it is an expression for Spark; nothing runs here.

Target (1, a), (2, b); source (2, B), (3, C); matched: update, not matched: insert.  A right join, and then::

    target  source  clause  _ROW_KIND  row
    2, b    2, B    0       +U         2, B
    none    3, C    1       +I         3, C

A pair that no clause takes has no number and is left out.  Of a source with two rows of key 2 the count over
the key is 2, and the expression raises: which of them wins would be chance.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from pyspark.sql import Window
from pyspark.sql import functions as f
from pyspark.sql.types import BooleanType, NullType

from table_core.datatypes.row_kind import ROW_KIND_COLUMN
from table_core.errors import ArgumentError, DataError, error_to_document
from table_core.merge.engines.versions import Versions
from table_core.spark.session.conditions import named, quoted
from table_core.spark.session.failures import MARK
from table_core.spark.session.own_columns import own_column
from table_core.spark.session.schema_bridge import spark_type
from table_core.spark.verbs.column_cast import as_field, meet_exactly, with_keys_of
from table_core.spark.verbs.key_merge import CLAUSE_COLUMN, OLD_COLUMN
from table_core.spark.verbs.sql_text import expression_of
from table_core.spark.writing.frames import table_spelling
from table_core.table.dml import merge_into as clauses
from table_core.table.dml.merge_checks import keys_move

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import DataType

    from table_core.table.dml.merge_into import MergeClause
    from table_core.table.metadata.access import TableAccess

__all__ = ["CLAUSE_COLUMN", "TWICE_COLUMN", "MergePairs"]

TWICE_COLUMN: Final = own_column("twice")
"""Whether the source has the key of a row several times."""

_TARGET: Final = own_column("in_target")
_SOURCE: Final = own_column("in_source")
_COUNT: Final = own_column("count")


def _of_a_pair() -> Column:
    """True, and for Spark not deterministic, so that what depends on it is asked of pairs, after the join.

    Spark copies a condition to the source's side if it can: where target and source are joined by ``b``,
    ``target.b`` is ``source.b``.  The error would be raised for source rows that match nothing.
    """
    return f.monotonically_increasing_id() >= 0


def _target(name: str) -> Column:
    return f.col(f"target.{quoted(name)}")


def _source(name: str) -> Column:
    return f.col(f"source.{quoted(name)}")


class MergePairs:
    """The join of source and target, and what the clauses make of it."""

    def __init__(
        self,
        access: TableAccess,
        source: DataFrame,
        on: Mapping[str, str],
        when: tuple[MergeClause, ...],
    ) -> None:
        if source.sparkSession.conf.get("spark.sql.caseSensitive") != "true":
            source = source.toDF(*table_spelling(source.columns, access))
            lower = {name.lower(): name for name in source.columns}
            spelled = zip(on, table_spelling(on.values(), access), strict=True)
            on = {mine: lower.get(theirs.lower(), theirs) for mine, theirs in spelled}
        clauses.refuse_absent(on, source.columns)
        self.access, self.on, self.when = access, on, when
        self._source_columns = source.columns
        fields = {theirs: access.schema.field(mine) for mine, theirs in on.items()}
        self._plain_source = source = with_keys_of(source, fields)
        same_key = Window.partitionBy(*(named(name) for name in on.values()))
        self._source = source.withColumn(_COUNT, f.count(f.lit(1)).over(same_key))

    @property
    def moves(self) -> bool:
        """Whether a row could come to a key that it is not matched by."""
        return keys_move(self.access, self._source_columns, self.on, self.when)

    def rows(
        self, target: DataFrame, extra: Sequence[str] = (), *, with_old: bool = False
    ) -> DataFrame:
        """Rows to write, with ``_ROW_KIND``, the number of the clause, ``TWICE_COLUMN``, and ``extra`` of the target.

        Rows of deletes are among them.  ``with_old``: and the whole row of the target, if there is one.
        """
        types = self._types(target)
        left = target.withColumn(_TARGET, f.lit(True)).alias("target")
        right = self._source.withColumn(_SOURCE, f.lit(True)).alias("source")
        same_key = [_target(mine) == _source(theirs) for mine, theirs in self.on.items()]
        joined = left.join(right, same_key, self._how()).withColumn(CLAUSE_COLUMN, self._decided())
        kinds = [
            "-D" if clauses.deletes(one) else "+U" if clauses.needs_target(one) else "+I"
            for one in self.when
        ]
        return joined.where(f.col(CLAUSE_COLUMN).isNotNull()).select(
            self._by_clause([f.lit(kind) for kind in kinds]).alias(ROW_KIND_COLUMN),
            *self._columns(types, with_old=with_old),
            f.col(CLAUSE_COLUMN),
            f.coalesce(f.col(_COUNT) > 1, f.lit(False)).alias(TWICE_COLUMN),
            *(_target(name).alias(name) for name in extra),
            *([self._old()] if with_old else []),
        )

    def _old(self) -> Column:
        whole = f.struct(
            *(_target(n).alias(n) for n in (x.name for x in self.access.schema.fields))
        )
        return f.when(f.col(_TARGET), whole).alias(OLD_COLUMN)

    def _how(self) -> str:
        alone = any(not clauses.needs_source(clause) for clause in self.when)
        inserts = any(not clauses.needs_target(clause) for clause in self.when)
        if alone:
            return "full" if inserts else "left"
        return "right" if inserts else "inner"

    def _decided(self) -> Column:
        """The number of the first clause that holds; an error where partners are not unique."""
        there = {True: f.col(_TARGET).isNotNull(), False: f.col(_TARGET).isNull()}
        here = {True: f.col(_SOURCE).isNotNull(), False: f.col(_SOURCE).isNull()}
        several = there[True] & here[True] & (f.col(_COUNT) > 1) & _of_a_pair()
        number_of_clause = f.when(several, f.raise_error(self._ambiguous()).cast("int"))
        for number, clause in enumerate(self.when):
            holds = there[clauses.needs_target(clause)] & here[clauses.needs_source(clause)]
            if clause.condition is not None:
                holds = holds & f.expr(expression_of(clause.condition))
            number_of_clause = number_of_clause.when(holds, f.lit(number))
        return number_of_clause

    def _ambiguous(self) -> Column:
        """The error that ``Table.merge_into`` raises, its key filled in by Spark."""
        fields = list(self.on.values())
        error = DataError(
            f"several source rows match one target row; make the source unique on {fields}",
            column=next(iter(self.on)),
            row=None,
            value=_COUNT,
        )
        before, after = (MARK + json.dumps(error_to_document(error))).split(json.dumps(_COUNT))
        key = f.struct(*(_target(name).alias(name) for name in self.on))
        return f.concat(f.lit(before), f.to_json(key), f.lit(after))

    def _types(self, target: DataFrame) -> list[DataType]:
        """The type of the value that each clause gives each column, column by column.

        Conditions and values are looked at over the columns that whoever wrote them knows, and no others: Spark's
        errors name what is there.

        Raises:
            ArgumentError: a condition is no BOOLEAN.
        """
        names = [field.name for field in self.access.schema.fields]
        plain_target = target.select(*map(named, names)).alias("target")
        known = plain_target.join(self._plain_source.alias("source"))
        conditions = [clause.condition for clause in self.when if clause.condition is not None]
        types = [
            column.dataType
            for column in known.select(
                *(f.expr(expression_of(condition)) for condition in conditions),
                *(self._value(clause, name) for name in names for clause in self.when),
            ).schema
        ]
        for condition, type_ in zip(conditions, types, strict=False):
            if not isinstance(type_, (BooleanType, NullType)):
                raise ArgumentError(
                    f"the condition {condition!r} is {type_.simpleString().upper()}, and must be BOOLEAN",
                    argument="when",
                    value=condition,
                )
        return types[len(conditions) :]

    def _columns(self, types: Sequence[DataType], *, with_old: bool) -> list[Column]:
        """The columns of the table; where values would lose by meeting, each of the column's type.

        Those of clauses meet each other, and ``with_old`` those of rows as they were.
        """
        fields = self.access.schema.fields
        values = [self._value(clause, field.name) for field in fields for clause in self.when]
        columns = []
        for at, field in enumerate(fields):
            own = slice(at * len(self.when), (at + 1) * len(self.when))
            of_clauses = values[own]
            old = [spark_type(field.type, field.name)] if with_old else []
            if not meet_exactly([*types[own], *old]):
                of_clauses = [
                    as_field(value, type_, field, f.col(CLAUSE_COLUMN) == number)
                    for number, (value, type_) in enumerate(
                        zip(of_clauses, types[own], strict=True)
                    )
                ]
            columns.append(self._by_clause(of_clauses).alias(field.name))
        return columns

    def _by_clause(self, values: Sequence[Column]) -> Column:
        chosen = f.when(f.col(CLAUSE_COLUMN) == f.lit(0), values[0])
        for number, value in enumerate(values[1:], 1):
            chosen = chosen.when(f.col(CLAUSE_COLUMN) == f.lit(number), value)
        return chosen

    def _value(self, clause: MergeClause, name: str) -> Column:
        """What ``clause`` writes into the column ``name``."""
        schema = self.access.schema
        nothing = f.lit(None).cast(spark_type(schema.field(name).type, name))
        kept = _target(name)
        if clauses.deletes(clause):
            carried = not schema.is_key_table or name in Versions(schema).carried_by_deletes
            return kept if carried else nothing
        values: Mapping[str, str] | None = getattr(clause, "values", None)
        if values is not None and name in values:
            return f.expr(expression_of(values[name]))
        if values is None and name in self._source_columns:
            return _source(name)
        return kept if clauses.needs_target(clause) else nothing
