"""What ``validate`` looks at beyond the shape of a file: all that Dags and jobs would refuse."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from table_core.datatypes.kinds import Array, Map, Multiset, Row, Vector
from table_core.datatypes.text import parse_type
from table_core.declaration.change_sources import source_faults
from table_core.declaration.columns import column_faults
from table_core.declaration.computed_faults import computed_faults
from table_core.declaration.cron import schedule_faults
from table_core.declaration.foreign_types import type_hint
from table_core.declaration.located import Fault, place_of
from table_core.declaration.merge_expressions import merge_faults
from table_core.declaration.parameters import parameter_faults
from table_core.declaration.queries import query_faults
from table_core.declaration.read_document import read, read_for_target
from table_core.declaration.table_schema import schema_of
from table_core.declaration.templates import template_faults
from table_core.errors import SchemaError, TableError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from table_core.datatypes.kinds import DataType
    from table_core.declaration.located import Located, Place
    from table_core.declaration.model import Declaration, TableDeclaration

__all__ = ["faults_of"]


def faults_of(
    text: str,
    file: str = "<declaration>",
    *,
    environment: Mapping[str, str] | None = None,
    texts: Callable[[str], str] | None = None,
) -> list[Fault]:
    """Everything that is wrong with ``text``, in the order of the file; tables and SQL in depth."""
    found = read(text, file, environment, texts)
    faults = list(found.faults)
    if found.root is not None and found.sound is not None:
        faults += schedule_faults(found.root, file)
        faults += source_faults(found.sound, found.root, file)
        for name, table in found.sound.tables.items():
            faults += _table_faults(name, table, found.root, file)
        for name, external in found.sound.external.items():
            if external is not None:
                faults += _type_faults("external", name, external, found.root, file)
        told = (
            *column_faults(found.sound),
            *computed_faults(found.sound),
            *query_faults(found.sound),
            *merge_faults(found.sound),
            *template_faults(found.sound),
            *parameter_faults(found.sound),
        )
        faults += [Fault(file, *_place(found.root, path), message) for path, message in told]
        faults += _common_option_faults(found.sound, found.root, file)
        faults += _upkeep_faults(found.sound, found.root, file)
        faults += _target_faults(found.root, file, set(faults))
    return sorted(dict.fromkeys(faults), key=lambda fault: (fault.file, fault.line, fault.column))


_OF_TARGETS: Final = ("pipeline", "upkeep", "options", "pool")
"""What a target may say that can be wrong only together with the rest."""


def _target_faults(root: Located, file: str, known: set[Fault]) -> list[Fault]:
    """What is wrong for a target and not without it."""
    faults: dict[Fault, None] = {}
    for name, given in _members(root, "targets").items():
        if not isinstance(given.value, dict) or not set(_OF_TARGETS) & given.value.keys():
            continue
        aim, found = read_for_target(root, file, name)
        told = [*found.faults, *schedule_faults(aim, file)]
        if found.sound is not None:
            both = (
                *column_faults(found.sound),
                *computed_faults(found.sound),
                *parameter_faults(found.sound),
            )
            told += [Fault(file, *_place(aim, path), message) for path, message in both]
            if "options" in given.value:
                for table, declared in found.sound.tables.items():
                    told += _table_faults(table, declared, aim, file)
        told = [one for one in told if one not in known]
        for one in told:
            faults[replace(one, message=f"for target {name!r}: {one.message}")] = None
    return list(faults)


def _upkeep_faults(found: Declaration, root: Located, file: str) -> list[Fault]:
    """What is asked for one table, by its name, and never happens there."""
    upkeep = root.value.get("upkeep")
    faults = []
    for name, given in _members(upkeep, "tables").items() if upkeep and _is_mapping(upkeep) else ():
        settings = given.value.get("expire-partitions") if _is_mapping(given) else None
        table = found.tables.get(name)
        if settings is None or settings.value is False or table is None or table.partition_by:
            continue
        at = place_of(root, ("upkeep", "tables", name, "expire-partitions"))
        told = f"{name} has no partitions: leave expire-partitions out, or declare partition_by"
        faults.append(Fault(file, *at, told))
    return faults


def _is_mapping(given: Located) -> bool:
    return isinstance(given.value, dict)


def _place(root: Located, path: tuple[str, ...]) -> Place:
    """A step is looked for among the flows, then among the sources."""
    if path[0] == "flows" and path[1] in _members(root, "sources"):
        path = ("sources", *path[1:])
    return place_of(root, path)


def _members(root: Located, group: str) -> Mapping[str, Any]:
    found = root.value.get(group)
    return found.value if found is not None and isinstance(found.value, dict) else {}


def _type_faults(
    group: str, name: str, table: TableDeclaration, root: Located, file: str
) -> list[Fault]:
    """Types that there are not."""
    faults = []
    columns = _members(_members(root, group)[name], "columns")
    for column, kind in table.columns.items():
        try:
            told = _twins(parse_type(kind))
        except TableError as error:
            near = "" if "is not between" in str(error) else type_hint(kind)
            told = f"{error}{near}"
        if told:
            given = columns[column]
            at: Place = given.value["type"].place if isinstance(given.value, dict) else given.place
            faults.append(Fault(file, *at, f"column {column!r}: {told}"))
    return faults


def _twins(kind: DataType) -> str:
    """Two members of one ROW, at any depth, that Spark cannot tell apart."""
    match kind:
        case Row(fields):
            seen: dict[str, str] = {}
            for field in fields:
                other = seen.setdefault(field.name.casefold(), field.name)
                if other != field.name:
                    return f"members {field.name!r} and {other!r} differ in case alone: rename one"
            return next(filter(None, (_twins(field.type) for field in fields)), "")
        case Array(inner) | Multiset(inner) | Vector(inner):
            return _twins(inner)
        case Map(key, value):
            return _twins(key) or _twins(value)
    return ""


def _table_faults(name: str, table: TableDeclaration, root: Located, file: str) -> list[Fault]:
    """What the rules of tables have against it."""
    path = ("tables", name)
    faults = _type_faults("tables", name, table, root, file)
    if faults:
        return faults
    try:
        schema_of(table)
    except SchemaError as error:
        told_all = error.facts.get("problems")
        problems = told_all if isinstance(told_all, list | tuple) else [str(error)]
        return [
            Fault(file, *_place_of_problem(root, path, str(problem), table), str(problem))
            for problem in problems
        ]
    except TableError as error:
        option = str(error.facts.get("option") or "")
        given = _members(_members(root, "tables")[name], "options")
        where = (*path, "options", option) if option in given else ("options", option)
        if option not in given and option not in _members(root, "options"):
            where = path
        return [Fault(file, *place_of(root, where), str(error))]
    return []


def _place_of_problem(
    root: Located, path: tuple[str, str], problem: str, table: TableDeclaration
) -> Place:
    """Where the member stands that a rule of tables speaks of."""
    given = _members(_members(root, "tables")[path[1]], "options")
    for key in given:
        if re.search(rf"(^|[^\w.-]){re.escape(key)}([^\w.-]|$)", problem):
            return place_of(root, (*path, "options", key))
    for words, member in (("primary key", "primary_key"), ("partition", "partition_by")):
        if problem.startswith(words):
            return place_of(root, (*path, member))
    for column in table.columns:
        if re.match(rf"(default .*of )?column (name )?{re.escape(repr(column))}", problem):
            return place_of(root, (*path, "columns", column))
    return place_of(root, path)


def _common_option_faults(found: Declaration, root: Located, file: str) -> list[Fault]:
    """Options of every table, where no table is there to try them."""
    from table_core.options.given import refuse_wrong

    given = root.value.get("options")
    if found.tables or given is None or not isinstance(given.value, dict):
        return []
    faults = []
    for key, item in given.value.items():
        try:
            refuse_wrong({key: str(item.text)})
        except TableError as error:
            faults.append(Fault(file, *place_of(root, ("options", key)), str(error)))
    return faults
