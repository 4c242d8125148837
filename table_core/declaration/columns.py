"""Columns and conditions in a declaration, held against the tables that it declares.

Looked at by ``validate`` only: a Dag file has no time to parse conditions.
"""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from table_core.datatypes.arrow import arrow_type
from table_core.datatypes.bounds import Bounds
from table_core.datatypes.kinds import Atomic, Root
from table_core.declaration.document import fields_of
from table_core.declaration.hints import hint
from table_core.declaration.partition_texts import partition_problem
from table_core.errors import TableError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from table_core.datatypes.kinds import Field
    from table_core.declaration.model import Declaration, Step, TableDeclaration

__all__ = ["column_faults"]

_TEMPLATE: Final = "{{"
_NUMBERS: Final = frozenset(
    {Root.TINYINT, Root.SMALLINT, Root.INT, Root.BIGINT, Root.FLOAT, Root.DOUBLE, Root.DECIMAL}
)
_OPEN: Final = "both bounds are open: this checks nothing"
_OF_PARTITIONS: Final = ("drop-partitions", "expire-partitions", "mark-done")
Told = tuple[tuple[str, ...], str]


def column_faults(found: Declaration) -> Iterator[Told]:
    """Checks, steps, upkeep and triggers that name a column or a value that cannot be."""
    yield from _of_checks(found)
    yield from _of_upkeep(found)
    for trigger in found.triggers:
        table = found.tables.get(trigger.table)
        if table is None:
            continue
        path = ("triggers", trigger.name)
        for member, name in (trigger.report or {}).items():
            if told := _no_column(trigger.table, table, [name]):
                yield (*path, "report", member), told
        yield from _of_partitions((*path, "partitions"), trigger.watch.get("partitions"), table)
    for step in found.steps:
        if step.table in found.tables:
            yield from _of_step(step, found.tables[step.table])


def _no_column(name: str, table: TableDeclaration, columns: Iterable[str]) -> str:
    for column in columns:
        if column not in table.columns:
            near = hint(column, table.columns)
            more = f"; {near}" if near.startswith("did") else ""
            return f"{name} has no column {column!r}{more}"
    return ""


def _of_checks(found: Declaration) -> Iterator[Told]:
    for check in found.checks:
        table = found.tables.get(check.table)
        if table is None:
            continue
        path = ("checks", check.name)
        for rule in ("not_null", "unique", "range"):
            for name in check.rules.get(rule) or ():
                if told := _no_column(check.table, table, [name]):
                    yield (*path, rule), told
        for name, bounds in (check.rules.get("range") or {}).items():
            if name in table.columns:
                yield from (((*path, "range", name), t) for t in _bounds(name, bounds, table))
        for rule in ("rows", "change"):
            low, high = check.rules.get(rule) or (0, 0)
            if low is None and high is None:
                yield (*path, rule), _OPEN
            elif None not in (low, high) and low > high:
                yield (*path, rule), f"no number is at least {low} and at most {high}"
        if told := _condition(check.rules.get("where"), table):
            yield (*path, "where"), told


def _bounds(name: str, bounds: Any, table: TableDeclaration) -> Iterator[str]:
    field = next((field for field in _fields(table) if field.name == name), None)
    if field is None or any(_TEMPLATE in str(bound) for bound in bounds):
        return
    if all(bound is None for bound in bounds):
        yield _OPEN
    if not isinstance(field.type, Atomic) or field.type.root not in _NUMBERS:
        try:
            Bounds(name, *bounds).outside(pa.array([], arrow_type(field.type)))
        except TableError as error:
            yield str(error)
        return
    values: list[Decimal] = []
    for bound in bounds:
        try:
            values += [] if bound is None else [Decimal(bound)]
        except InvalidOperation:
            yield f"bound {bound!r} is no number, and {name} is {table.columns[name]}"
    if len(values) == len(bounds) and values[0] > values[1]:
        yield f"no value is at least {bounds[0]} and at most {bounds[1]}"


def _fields(table: TableDeclaration) -> list[Field]:
    try:
        return fields_of(table)
    except TableError:
        return []  # told where the type stands


def _condition(where: Any, table: TableDeclaration) -> str:
    """What is wrong with a condition over the columns of ``table``."""
    if not isinstance(where, str) or _TEMPLATE in where or not (fields := _fields(table)):
        return ""
    from table_core.predicate.bind import bind
    from table_core.predicate.sql import parse_where

    try:
        bind(parse_where(where), fields)
    except TableError as error:
        return str(error)
    return ""


def _value(sql: Any, table: TableDeclaration) -> str:
    if not isinstance(sql, str) or _TEMPLATE in sql or not (fields := _fields(table)):
        return ""
    from table_core.predicate.bind import bind_term
    from table_core.predicate.sql import parse_value

    try:
        bind_term(parse_value(sql), fields)
    except TableError as error:
        return str(error)
    return ""


def _of_partitions(path: tuple[str, ...], given: Any, table: TableDeclaration) -> Iterator[Told]:
    for partition in given if isinstance(given, list) else ():
        if told := partition_problem(partition, table):
            yield path, told


def _of_step(step: Step, table: TableDeclaration) -> Iterator[Told]:
    path = ("flows", step.name)
    overwrite = step.arguments.get("overwrite")
    if isinstance(overwrite, dict) and (told := partition_problem(overwrite, table)):
        yield (*path, "overwrite"), told
    if overwrite == "partitions" and not table.partition_by:
        yield (*path, "overwrite"), f"{step.table} has no partitions: overwrite: table"
    if step.verb == "merge":
        on = [name for name in step.arguments["merge"]["on"] if _TEMPLATE not in name]
        if told := _no_column(step.table, table, on):
            yield (*path, "merge", "on"), told
        for clause in step.arguments["merge"]["when"]:
            if told := _no_column(step.table, table, clause.get("values") or ()):
                yield (*path, "merge", "when"), told
    yield from _of_arguments(step, path, table)


def _of_arguments(step: Step, path: tuple[str, ...], table: TableDeclaration) -> Iterator[Told]:
    given: Mapping[str, Any] = step.arguments.get("with") or {}
    yield from _of_partitions((*path, "with", "partitions"), given.get("partitions"), table)
    if told := _condition(given.get("where"), table):
        yield (*path, "with", "where"), told
    if step.verb != "run":
        return
    if step.arguments["run"] in _OF_PARTITIONS and not table.partition_by:
        yield (*path, "run"), f"{step.table} has no partitions"
    for member in ("order_by", "columns", "values"):
        if told := _no_column(step.table, table, given.get(member) or ()):
            yield (*path, "with", member), told
    for name, sql in (given.get("values") or {}).items():
        if name in table.columns and (told := _value(sql, table)):
            yield (*path, "with", "values", name), told
    if told := _retained(given):
        yield (*path, "with"), told


def _retained(given: Mapping[str, Any]) -> str:
    most, least = given.get("retain_max"), given.get("retain_min")
    if most is not None and least is not None and most < least:
        return f"retain_max {most} is less than retain_min {least}"
    return ""


def _of_upkeep(found: Declaration) -> Iterator[Told]:
    for name, policy in found.policies.items():
        table = found.tables[name]
        compact = policy.get("compact") or {}
        if told := _no_column(name, table, compact.get("order_by") or ()):
            yield ("upkeep",), f"compact.order_by: {told}"
        if told := _condition(compact.get("where"), table):
            yield ("upkeep",), f"compact.where of {name}: {told}"
        kept = policy.get("expire-snapshots") or {}
        if told := _retained(kept):
            yield ("upkeep",), f"expire-snapshots of {name}, as inherited: {told}"
