"""Reads a declaration: all faults at once, each with file, line and column."""

from __future__ import annotations

import fnmatch
import re
from typing import TYPE_CHECKING, Any, Final

from table_core.datatypes.kinds import Field
from table_core.datatypes.text import parse_type
from table_core.declaration.change_sources import source_faults
from table_core.declaration.columns import column_faults
from table_core.declaration.cron import schedule_faults
from table_core.declaration.grammar import DECLARATION, TABLE, VERBS
from table_core.declaration.located import Fault, Located, Place, place_of, read_yaml
from table_core.declaration.model import (
    CheckDeclaration,
    Declaration,
    Step,
    TableDeclaration,
    TriggerDeclaration,
    UpkeepDeclaration,
)
from table_core.declaration.order import cycle, ordered, tables_read, tables_written
from table_core.declaration.policy import policy_of
from table_core.errors import ArgumentError, SchemaError, TableError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from table_core.schema.table_schema import TableSchema

__all__ = ["VERSION", "faults_of", "parse", "schema_of"]

VERSION: Final = 1
_NAME: Final = re.compile(r"[A-Za-z0-9_-]+")
_TABLE: Final = re.compile(r"[^./\\\s$]+\.[^./\\$]+")
_COMMON: Final = {"table", "after", "engine", "events", "spark_conf"}


def parse(text: str, file: str = "<declaration>") -> Declaration:
    """The declaration in ``text``.

    Raises:
        ArgumentError: it has faults; facts list all of them as ``file:line:column: message``.
    """
    found, faults = _read(text, file)
    if faults or found is None:
        problems = [str(fault) for fault in faults]
        raise ArgumentError(
            f"{len(problems)} faults in {file}:\n" + "\n".join(problems),
            argument="declaration",
            problems=problems,
        )
    return found


def faults_of(text: str, file: str = "<declaration>") -> list[Fault]:
    """Everything that is wrong with ``text``, in the order of the file; tables and SQL in depth."""
    found, faults = _read(text, file)
    root, _ = read_yaml(text, file)
    if root is not None and isinstance(root.value, dict):
        faults += schedule_faults(root, file)
    if root is not None and found is not None:
        faults += [*column_faults(found, root, file), *source_faults(found, root, file)]
    tables = root.value.get("tables") if root and isinstance(root.value, dict) else None
    if tables is not None and isinstance(tables.value, dict):
        for place in tables.value.values():
            shape: list[Fault] = []
            TABLE.check(place, file, shape)
            if not shape:
                faults += _table_faults(_table(place.plain(), {}), place, file)
    return sorted(faults, key=lambda fault: (fault.line, fault.column))


def schema_of(table: TableDeclaration) -> TableSchema:
    """The schema of a new table that is as declared.

    Raises:
        SchemaError: rules are broken; facts list all of them.
        OptionError: an option is unknown, or its value does not parse.
        UnsupportedFeatureError: a feature that this release refuses by name.
    """
    from table_core.schema.evolve import create  # Arrow: only where tables are looked into

    return create(
        [Field(0, name, parse_type(kind)) for name, kind in table.columns.items()],
        primary_key=table.primary_key,
        partition_by=table.partition_by,
        options=table.options,
        comment=table.comment,
        now_ms=0,
    )


def _read(text: str, file: str) -> tuple[Declaration | None, list[Fault]]:
    root, faults = read_yaml(text, file)
    if root is None:
        return None, faults
    DECLARATION.check(root, file, faults)
    if faults:
        return None, faults
    given = root.plain()
    if given["version"] != VERSION:
        return None, [_at(root, ("version",), file, f"version {given['version']} is not {VERSION}")]
    if not _NAME.fullmatch(str(given["name"])):
        faults.append(_at(root, ("name",), file, "a name has letters, digits, - and _ only"))
    declaration = _declaration(given)
    faults += _reference_faults(declaration, given, root, file)
    return (None if faults else declaration), faults


def _declaration(given: Mapping[str, Any]) -> Declaration:
    tables = {
        name: _table(table, given.get("options") or {}) for name, table in given["tables"].items()
    }
    steps = [
        _step(name, step)
        for group in ("sources", "flows")
        for name, step in (given.get(group) or {}).items()
    ]
    upkeep = given.get("upkeep")
    return Declaration(
        name=str(given["name"]),
        connection=str(given.get("connection") or "paimon_default"),
        pool=given.get("pool"),
        catalog=given.get("catalog"),
        warehouse=given.get("warehouse"),
        pipeline=given.get("pipeline") or {},
        steps=tuple(ordered(steps)),
        checks=tuple(
            CheckDeclaration(
                name=name,
                table=check["table"],
                rules={key: value for key, value in check.items() if key != "table"},
            )
            for name, check in (given.get("checks") or {}).items()
        ),
        triggers=tuple(_trigger(n, t) for n, t in (given.get("triggers") or {}).items()),
        upkeep=None if upkeep is None else _upkeep(upkeep),
        tables=tables,
        policies={} if upkeep is None else {name: policy_of(name, upkeep) for name in tables},
    )


def _table(given: Mapping[str, Any], common: Mapping[str, Any]) -> TableDeclaration:
    return TableDeclaration(
        columns={name: str(kind) for name, kind in given["columns"].items()},
        primary_key=tuple(given.get("primary_key") or ()),
        partition_by=tuple(given.get("partition_by") or ()),
        options=_texts({**common, **(given.get("options") or {})}),
        comment=given.get("comment"),
    )


def _step(name: str, given: Mapping[str, Any]) -> Step:
    return Step(
        name=name,
        table=given["table"],
        verb=next(verb for verb in VERBS if verb in given),
        arguments={key: value for key, value in given.items() if key not in _COMMON},
        after=tuple(given.get("after") or ()),
        engine=given.get("engine"),
        events=given.get("events") or "changes",
        spark_conf=given.get("spark_conf"),
    )


def _upkeep(given: Mapping[str, Any]) -> UpkeepDeclaration:
    return UpkeepDeclaration(
        schedule=given.get("schedule"),
        max_concurrent_jobs=given.get("max_concurrent_jobs"),
        engine=given.get("engine"),
    )


def _trigger(name: str, given: Mapping[str, Any]) -> TriggerDeclaration:
    other = {"table", "report", "flows"}
    return TriggerDeclaration(
        name=name,
        table=given["table"],
        watch={key: value for key, value in given.items() if key not in other},
        report=given.get("report"),
        flows=tuple(given.get("flows") or ()),
    )


def _texts(given: Mapping[str, Any]) -> dict[str, str]:
    return {k: str(v).lower() if isinstance(v, bool) else str(v) for k, v in given.items()}


def _reference_faults(
    found: Declaration, given: Mapping[str, Any], root: Located, file: str
) -> list[Fault]:
    """Names that lead nowhere."""
    faults = [
        _at(root, ("tables", name), file, f"{name!r} is no database.table")
        for name in found.tables
        if not _TABLE.fullmatch(name)
    ]
    names = [*(given.get("sources") or {}), *(given.get("flows") or {})]
    for step in found.steps:
        group = "sources" if step.name in (given.get("sources") or {}) else "flows"
        path = (group, step.name)
        faults += [
            _at(root, path, file, f"table {table!r} is not declared")
            for table in sorted(tables_written(step) | tables_read(step))
            if table not in found.tables
        ]
        faults += [
            _at(root, (*path, "after"), file, f"no source or flow {name!r}")
            for name in step.after
            if name not in names
        ]
        if names.count(step.name) > 1:
            faults.append(_at(root, path, file, f"{step.name!r} names a source and a flow"))
    round_trip = cycle(found.steps)
    if round_trip:
        told = f"these wait for each other: {', '.join(round_trip)}"
        faults.append(_at(root, ("flows",), file, told))
    for group, entries in (("checks", found.checks), ("triggers", found.triggers)):
        faults += [
            _at(root, (group, entry.name), file, f"table {entry.table!r} is not declared")
            for entry in entries
            if entry.table not in found.tables
        ]
    for trigger in found.triggers:
        faults += [
            _at(root, ("triggers", trigger.name, "flows"), file, f"no source or flow {name!r}")
            for name in trigger.flows
            if name not in names
        ]
    return faults + _upkeep_faults(found, given, root, file)


def _upkeep_faults(
    found: Declaration, given: Mapping[str, Any], root: Located, file: str
) -> list[Fault]:
    upkeep = given.get("upkeep") or {}
    databases = {name.partition(".")[0] for name in found.tables}
    faults = [
        _at(root, ("upkeep", "tables", name), file, f"table {name!r} is not declared")
        for name in upkeep.get("tables") or {}
        if name not in found.tables
    ]
    faults += [
        _at(root, ("upkeep", "databases", name), file, f"no database of a table matches {name!r}")
        for name in upkeep.get("databases") or {}
        if not fnmatch.filter(databases, name)
    ]
    return faults


def _table_faults(table: TableDeclaration, place: Located, file: str) -> list[Fault]:
    """What the rules of tables have against it."""
    faults = []
    for name, kind in table.columns.items():
        try:
            parse_type(kind)
        except TableError as error:
            at: Place = place.value["columns"].value[name].place
            faults.append(Fault(file, *at, f"column {name!r}: {error}"))
    if faults:
        return faults
    try:
        schema_of(table)
    except SchemaError as error:
        told = error.facts.get("problems")
        problems = told if isinstance(told, list | tuple) else [str(error)]
        return [Fault(file, *place.place, str(problem)) for problem in problems]
    except TableError as error:
        options = place.value.get("options") or place
        option = str(error.facts.get("option") or "")
        where: Place = (options.keys or {}).get(option, options.place)
        return [Fault(file, *where, str(error))]
    return []


def _at(root: Located, path: tuple[str, ...], file: str, message: str) -> Fault:
    """A fault at the key that ``path`` leads to, or as near as it goes."""
    return Fault(file, *place_of(root, path), message)
