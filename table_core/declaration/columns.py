"""Columns and conditions in a declaration, held against the tables that it declares.

Looked at by ``validate`` only: a Dag file has no time to parse conditions.
"""

from __future__ import annotations

import dataclasses
import re
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from table_core.cdc.model.computed import computed_columns
from table_core.cdc.model.generated import computed_problems
from table_core.datatypes.arrow import arrow_type
from table_core.datatypes.bounds import Bounds
from table_core.datatypes.kinds import Atomic, Root, with_nullability
from table_core.datatypes.text import type_text
from table_core.datatypes.widths import holds_all
from table_core.declaration.steps import FilesStep, MergeStep, RunStep
from table_core.declaration.table_schema import fields_of, partition_problem, schema_of
from table_core.declaration.verbs import MAKES_ROWS
from table_core.errors import ArgumentError, TableError
from table_core.health.verdict import Thresholds
from table_core.options.nearest import hint

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from table_core.cdc.model.computed import ComputedColumn
    from table_core.datatypes.kinds import DataType, Field
    from table_core.declaration.model import CheckDeclaration, Declaration, TableDeclaration
    from table_core.declaration.steps import Step

__all__ = ["column_diagnostics", "computed_diagnostics"]

_TEMPLATE: Final = "{{"
_NUMBERS: Final = frozenset(
    {Root.TINYINT, Root.SMALLINT, Root.INT, Root.BIGINT, Root.FLOAT, Root.DOUBLE, Root.DECIMAL}
)
_LIMITS: Final = dataclasses.asdict(Thresholds())
_WHOLE_PERCENT: Final = 100
_ZERO_TIME: Final = re.compile(r"\s*0+\s*[a-z]+\s*")
_OPEN: Final = "both bounds are open: this checks nothing"
_OF_PARTITIONS: Final = ("drop-partitions", "expire-partitions", "mark-done")
Finding = tuple[tuple[str, ...], str]


def column_diagnostics(declaration: Declaration) -> Iterator[Finding]:
    """Checks, steps, upkeep and triggers that name a column or a value that cannot be."""
    yield from _of_checks(declaration)
    yield from _of_upkeep(declaration)
    for trigger in declaration.triggers:
        table = declaration.tables.get(trigger.table) or declaration.external.get(trigger.table)
        if table is None:
            continue
        path = ("triggers", trigger.name)
        for member, name in (trigger.report or {}).items():
            if message := _no_column(trigger.table, table, [name]):
                yield (*path, "report", member), message
        yield from _of_partitions((*path, "partitions"), trigger.watch.get("partitions"), table)
    for step in declaration.steps:
        engine = step.engine or declaration.pipeline.get("engine")
        if step.spark_conf is not None and engine == "local":
            message = "spark_conf goes with engine: spark"
            yield ("flows", step.name, "spark_conf"), message
        if step.table in declaration.tables:
            yield from _of_step(step, declaration.tables[step.table])
        merged = step.source_table if isinstance(step, MergeStep) else None
        if not isinstance(step, MergeStep) or merged is None:
            continue
        source = declaration.tables.get(merged) or declaration.external.get(merged)
        if source is not None:
            on = [name for name in step.on if _TEMPLATE not in name]
            if message := _no_column(merged, source, on):
                yield ("flows", step.name, "merge", "on"), message


def _no_column(name: str, table: TableDeclaration, columns: Iterable[str]) -> str:
    for column in columns:
        if column not in table.columns:
            near = hint(column, table.columns)
            more = f"; {near}" if near.startswith("did") else ""
            return f"{name} has no column {column!r}{more}"
    return ""


def _of_checks(declaration: Declaration) -> Iterator[Finding]:
    for check in declaration.checks:
        path = ("checks", check.name)
        yield from _of_rules(path, check, audited=check.table in declaration.audited)
        table = declaration.tables.get(check.table) or declaration.external.get(check.table)
        if table is None:
            continue
        for rule in ("not_null", "unique", "range"):
            for name in check.rules.get(rule) or ():
                if message := _no_column(check.table, table, [name]):
                    yield (*path, rule), message
        for name, bounds in (check.rules.get("range") or {}).items():
            if name in table.columns:
                yield from (((*path, "range", name), t) for t in _bounds(name, bounds, table))
        for rule in ("rows", "change"):
            low, high = check.rules.get(rule) or (0, 0)
            if low is None and high is None:
                yield (*path, rule), _OPEN
            elif None not in (low, high) and low > high:
                yield (*path, rule), f"no number is at least {low} and at most {high}"
        if message := _condition(check.rules.get("where"), table):
            yield (*path, "where"), message


def _of_rules(
    path: tuple[str, ...], check: CheckDeclaration, *, audited: bool
) -> Iterator[Finding]:
    """Rules that hold always, or never, or of which a part is not looked at.

    The branch of an ``audited`` table is compared with its own main.
    """
    if check.against is not None and "change" not in check.rules:
        yield (*path, "against"), "against goes with change: write change: [lowest, highest]"
    if check.against == check.table and not audited:
        yield (*path, "against"), f"{check.table} is compared with itself: name another table"
    share = str(check.rules.get("at_most") or "")
    if share.endswith("%") and Decimal(share.removesuffix("%").strip()) > _WHOLE_PERCENT:
        yield (*path, "at_most"), f"{share} is more than all rows: write at most 100 %"
    if _ZERO_TIME.fullmatch(str(check.rules.get("freshness") or "")):
        yield (*path, "freshness"), "no rows are so fresh: write a length of time above 0"


def _bounds(name: str, bounds: Any, table: TableDeclaration) -> Iterator[str]:
    field = next((field for field in _fields(table) if field.name == name), None)
    if field is None or any(_TEMPLATE in str(bound) for bound in bounds):
        return
    if all(bound is None for bound in bounds):
        yield _OPEN
    before = len(bounds)
    for bound in bounds:
        if bound is None:
            continue
        try:
            Bounds(name, bound, None).outside(pa.array([], arrow_type(field.type)))
        except TableError as error:
            before -= 1
            yield str(error)
    if None not in bounds and before == len(bounds) and _is_reversed(bounds, field.type):
        yield f"no value is at least {bounds[0]} and at most {bounds[1]}"


def _is_reversed(bounds: Sequence[str], type_: DataType) -> bool:
    low, high = bounds
    if isinstance(type_, Atomic) and type_.root in _NUMBERS:
        return Decimal(low.strip()) > Decimal(high.strip())
    texts = isinstance(type_, Atomic) and type_.root in {Root.CHAR, Root.VARCHAR}
    return low > high and (texts or len(low) == len(high))  # moments of one spelling sort as texts


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


def _of_partitions(
    path: tuple[str, ...], partitions: Any, table: TableDeclaration
) -> Iterator[Finding]:
    for partition in partitions if isinstance(partitions, list) else ():
        if message := partition_problem(partition, table):
            yield path, message


def _of_step(step: Step, table: TableDeclaration) -> Iterator[Finding]:
    path = ("flows", step.name)
    overwrite = step.overwrite
    if isinstance(overwrite, dict) and (message := partition_problem(overwrite, table)):
        yield (*path, "overwrite"), message
    if isinstance(step, FilesStep) and (message := _no_format(step)):
        yield (*path, "rows_uri"), message
    if overwrite == "partitions" and not table.partition_by:
        yield (*path, "overwrite"), f"{step.table} has no partitions: overwrite: table"
    if isinstance(step, MergeStep):
        on = [name for name in step.on if _TEMPLATE not in name]
        if message := _no_column(step.table, table, on):
            yield (*path, "merge", "on"), message
        for clause in step.when:
            values = clause.get("values") or {}
            if values and clause["action"].endswith("-delete"):
                yield (
                    (*path, "merge", "when"),
                    f"{clause['action']} takes no values: leave them out",
                )
            if message := _no_column(step.table, table, values):
                yield (*path, "merge", "when"), message
            for sql in (*values.values(), clause.get("condition")):
                if message := _no_sql(sql):
                    yield (*path, "merge", "when"), message
    yield from _of_arguments(step, path, table)


def _no_format(step: FilesStep) -> str:
    """What is wrong with the names of files, as the job will judge them; '' if nothing is."""
    from table_core.storage.row_files import format_of

    uri = step.rows_uri
    stem, _, ending = uri.rpartition("/")[2].removesuffix(".gz").rpartition(".")
    if not stem or not ending.isalnum() or _TEMPLATE in uri or step.rows_format:
        return ""
    try:
        format_of(uri)
    except ArgumentError as error:
        return str(error)
    return ""


def _no_sql(sql: Any) -> str:
    """What is wrong with the words of an expression, whatever it speaks of."""
    if not isinstance(sql, str) or _TEMPLATE in sql:
        return ""
    from sqlglot import errors, parse_one

    try:
        parse_one(sql, dialect="spark")
    except (errors.SqlglotError, RecursionError) as error:
        return f"no SQL: {sql!r}: {str(error).partition('. Line')[0].partition(chr(10))[0]}"
    return ""


def _of_arguments(step: Step, path: tuple[str, ...], table: TableDeclaration) -> Iterator[Finding]:
    arguments = step.with_arguments
    yield from _of_partitions((*path, "with", "partitions"), arguments.get("partitions"), table)
    if message := _condition(arguments.get("where"), table):
        yield (*path, "with", "where"), message
    if not isinstance(step, RunStep):
        return
    if step.action in _OF_PARTITIONS and not table.partition_by:
        yield (*path, "run"), f"{step.table} has no partitions"
    for member in ("order_by", "columns", "values"):
        if message := _no_column(step.table, table, arguments.get(member) or ()):
            yield (*path, "with", member), message
    for name, sql in (arguments.get("values") or {}).items():
        if name in table.columns and (message := _value(sql, table)):
            yield (*path, "with", "values", name), message
    if message := _retained(arguments):
        yield (*path, "with"), message
    tag = arguments.get("tag")
    if (
        isinstance(tag, str)
        and _TEMPLATE not in tag
        and (not tag.strip() or re.search(r"[/\\]", tag))
    ):
        yield (*path, "with", "tag"), f"{tag!r} cannot name a tag: write letters, digits, - and _"
    if arguments.get("snapshot") is not None and arguments.get("timestamp") is not None:
        yield (*path, "with", "timestamp"), "snapshot says it already: leave one of the two out"


def _retained(arguments: Mapping[str, Any]) -> str:
    most, least = arguments.get("retain_max"), arguments.get("retain_min")
    if most is not None and least is not None and most < least:
        return f"retain_max {most} is less than retain_min {least}"
    return ""


def _of_upkeep(declaration: Declaration) -> Iterator[Finding]:
    for name, policy in declaration.policies.items():
        table = declaration.tables[name]
        compact = policy.get("compact") or {}
        if message := _no_column(name, table, compact.get("order_by") or ()):
            yield ("upkeep",), f"compact.order_by: {message}"
        if message := _condition(compact.get("where"), table):
            yield ("upkeep",), f"compact.where of {name}: {message}"
        limits = {**_LIMITS, **(policy.get("thresholds") or {})}
        for due in _LIMITS:
            urgent = due.replace("_due", "_urgent")
            if due.endswith("_due") and limits[due] > limits.get(urgent, limits[due]):
                message = f"{due} {limits[due]} is more than {urgent} {limits[urgent]}"
                yield ("upkeep",), f"thresholds of {name}, as inherited: {message}"
        kept = policy.get("expire-snapshots") or {}
        if message := _retained(kept):
            yield ("upkeep",), f"expire-snapshots of {name}, as inherited: {message}"


def computed_diagnostics(declaration: Declaration) -> Iterator[Finding]:
    """Computed columns that cannot be, and steps that would write past them."""
    for name, table in declaration.tables.items():
        for column, message in _of_table(table):
            path = ("tables", name, "columns", column, "computed")
            yield path, f"column {column!r}: {message}"
    for step in declaration.steps:
        table_written = declaration.tables.get(step.table)
        if table_written is not None and table_written.computed:
            yield from _past_computed(step, table_written)
        waiting = "" if step.pending is None else step.pending.table
        if waiting in declaration.tables and declaration.tables[waiting].computed:
            message = f"rows that wait have no computed columns, as {waiting} has"
            yield ("flows", step.name, "pending", "table"), message


def _of_table(table: TableDeclaration) -> Iterator[tuple[str, str]]:
    parsed: list[ComputedColumn] = []
    for name, text in table.computed.items():
        try:
            parsed += computed_columns([f"{name}={text}"])
        except TableError as error:
            yield name, str(error)
        else:
            if parsed[-1].name != name or any(letter in name for letter in "= "):
                yield name, "a computed column has a name without blanks and ="
                return
    try:
        schema = schema_of(table)
    except TableError:
        return  # told where it stands
    refused = set()
    for name, message in computed_problems(parsed, schema):
        refused.add(name)
        near = (
            hint(message.split("'")[1], schema.by_name) if message.startswith("there is no") else ""
        )
        yield name, f"{message}; {near}" if near.startswith("did") else message
    for column in parsed:
        if column.name in refused:
            continue
        made, declared = column.field(schema.fields).type, schema.by_name[column.name].type
        if not holds_all(made, with_nullability(declared, nullable=True)):
            message = f"{column.function} makes {type_text(made)}, which {type_text(declared)} does not hold"
            yield column.name, f"{message}: declare {type_text(made)}"


def _past_computed(step: Step, table: TableDeclaration) -> Iterator[Finding]:
    path, names = ("flows", step.name), ", ".join(table.computed)
    if isinstance(step, RunStep) and step.action == "update":
        message = f"run: update would leave {names} as computed before: write the rows again by sql"
        yield (*path, "run"), message
    elif step.verb not in {*MAKES_ROWS, "run"}:
        message = f"{step.verb} does not compute {names}: write the rows by sql"
        yield (*path, step.verb), message
    for name in step.overwrite if isinstance(step.overwrite, dict) else ():
        if name in table.computed:
            message = f"{name!r} is computed of each row: overwrite: partitions"
            yield (*path, "overwrite"), message
    more = step.with_arguments.get("computed_columns") or ()
    for text in more:
        name = str(text).partition("=")[0].strip()
        if name in table.computed:
            message = f"{name!r} is computed as {step.table} declares it: leave it out here"
            yield (*path, "with", "computed_columns"), message
