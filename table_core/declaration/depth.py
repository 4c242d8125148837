"""What ``validate`` looks at beyond the shape of a file: all that Dags and jobs would refuse."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from table_core.datatypes.kinds import Array, Map, Multiset, Row, Vector
from table_core.datatypes.text import parse_type
from table_core.declaration.change_sources import source_diagnostics
from table_core.declaration.columns import column_diagnostics, computed_diagnostics
from table_core.declaration.cron import schedule_diagnostics
from table_core.declaration.foreign_words import type_hint
from table_core.declaration.located import Diagnostic, place_of
from table_core.declaration.parameters import parameter_diagnostics, template_diagnostics
from table_core.declaration.queries import merge_diagnostics, query_diagnostics
from table_core.declaration.read_document import read, read_for_target
from table_core.declaration.table_schema import schema_of
from table_core.errors import SchemaError, TableError
from table_core.expire.undatable import useless_retention
from table_core.options.keys_retention import PARTITION_EXPIRATION_TIME

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from table_core.datatypes.kinds import DataType
    from table_core.declaration.located import Located, Place
    from table_core.declaration.model import Declaration, TableDeclaration

__all__ = ["faults_of", "warnings_of"]


def faults_of(
    text: str,
    file: str = "<declaration>",
    *,
    environment: Mapping[str, str] | None = None,
    texts: Callable[[str], str] | None = None,
) -> list[Diagnostic]:
    """Everything that is wrong with ``text``, in the order of the file; tables and SQL in depth."""
    document = read(text, file, environment, texts)
    diagnostics = list(document.diagnostics)
    if document.root is not None and document.sound is not None:
        diagnostics += schedule_diagnostics(document.root, file)
        diagnostics += source_diagnostics(document.sound, document.root, file)
        for name, table in document.sound.tables.items():
            diagnostics += _table_diagnostics(name, table, document.root, file)
        for name, external in document.sound.external.items():
            if external is not None:
                diagnostics += _type_diagnostics("external", name, external, document.root, file)
        findings = (
            *column_diagnostics(document.sound),
            *computed_diagnostics(document.sound),
            *query_diagnostics(document.sound),
            *merge_diagnostics(document.sound),
            *template_diagnostics(document.sound),
            *parameter_diagnostics(document.sound),
        )
        diagnostics += [
            Diagnostic(file, *_place(document.root, path), message) for path, message in findings
        ]
        diagnostics += _common_option_diagnostics(document.sound, document.root, file)
        diagnostics += _upkeep_diagnostics(document.sound, document.root, file)
        diagnostics += _target_diagnostics(document.root, file, set(diagnostics))
    return sorted(
        dict.fromkeys(diagnostics),
        key=lambda diagnostic: (diagnostic.file, diagnostic.line, diagnostic.column),
    )


def warnings_of(
    text: str,
    file: str = "<declaration>",
    *,
    environment: Mapping[str, str] | None = None,
    texts: Callable[[str], str] | None = None,
) -> list[Diagnostic]:
    """What ``text``, which is sound, asks for and never happens."""
    document = read(text, file, environment, texts)
    root, declaration = document.root, document.sound
    if root is None or declaration is None:
        return []
    warnings = []
    for name, table in declaration.tables.items():
        if (advice := useless_retention(schema_of(table))) is not None:
            option = PARTITION_EXPIRATION_TIME.key
            own = option in _members(_members(root, "tables")[name], "options")
            where = ("tables", name, "options", option) if own else ("tables", name)
            warnings.append(Diagnostic(file, *place_of(root, where), f"{name}: {advice}"))
    return warnings


_OF_TARGETS: Final = ("pipeline", "upkeep", "options", "pool")
"""What a target may say that can be wrong only together with the rest."""


def _target_diagnostics(root: Located, file: str, known: set[Diagnostic]) -> list[Diagnostic]:
    """What is wrong for a target and not without it."""
    diagnostics: dict[Diagnostic, None] = {}
    for name, node in _members(root, "targets").items():
        if not isinstance(node.value, dict) or not set(_OF_TARGETS) & node.value.keys():
            continue
        aim, document = read_for_target(root, file, name)
        findings = [*document.diagnostics, *schedule_diagnostics(aim, file)]
        if document.sound is not None:
            both = (
                *column_diagnostics(document.sound),
                *computed_diagnostics(document.sound),
                *parameter_diagnostics(document.sound),
            )
            findings += [Diagnostic(file, *_place(aim, path), message) for path, message in both]
            if "options" in node.value:
                for table, declared in document.sound.tables.items():
                    findings += _table_diagnostics(table, declared, aim, file)
        findings = [one for one in findings if one not in known]
        for one in findings:
            diagnostics[replace(one, message=f"for target {name!r}: {one.message}")] = None
    return list(diagnostics)


def _upkeep_diagnostics(declaration: Declaration, root: Located, file: str) -> list[Diagnostic]:
    """What is asked for one table, by its name, and never happens there."""
    upkeep = root.value.get("upkeep")
    diagnostics = []
    for name, node in _members(upkeep, "tables").items() if upkeep and _is_mapping(upkeep) else ():
        settings = node.value.get("expire-partitions") if _is_mapping(node) else None
        table = declaration.tables.get(name)
        if settings is None or settings.value is False or table is None or table.partition_by:
            continue
        at = place_of(root, ("upkeep", "tables", name, "expire-partitions"))
        message = f"{name} has no partitions: leave expire-partitions out, or declare partition_by"
        diagnostics.append(Diagnostic(file, *at, message))
    return diagnostics


def _is_mapping(node: Located) -> bool:
    return isinstance(node.value, dict)


def _place(root: Located, path: tuple[str, ...]) -> Place:
    """A step is looked for among the flows, then among the sources."""
    if path[0] == "flows" and path[1] in _members(root, "sources"):
        path = ("sources", *path[1:])
    return place_of(root, path)


def _members(root: Located, group: str) -> Mapping[str, Any]:
    node = root.value.get(group)
    return node.value if node is not None and isinstance(node.value, dict) else {}


def _type_diagnostics(
    group: str, name: str, table: TableDeclaration, root: Located, file: str
) -> list[Diagnostic]:
    """Types that there are not."""
    diagnostics = []
    columns = _members(_members(root, group)[name], "columns")
    for column, kind in table.columns.items():
        try:
            message = _twins(parse_type(kind))
        except TableError as error:
            near = "" if "is not between" in str(error) else type_hint(kind)
            message = f"{error}{near}"
        if message:
            node = columns[column]
            at: Place = node.value["type"].place if isinstance(node.value, dict) else node.place
            diagnostics.append(Diagnostic(file, *at, f"column {column!r}: {message}"))
    return diagnostics


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


def _table_diagnostics(
    name: str, table: TableDeclaration, root: Located, file: str
) -> list[Diagnostic]:
    """What the rules of tables have against it."""
    path = ("tables", name)
    diagnostics = _type_diagnostics("tables", name, table, root, file)
    if diagnostics:
        return diagnostics
    try:
        schema_of(table)
    except SchemaError as error:
        told_all = error.facts.get("problems")
        problems = told_all if isinstance(told_all, list | tuple) else [str(error)]
        return [
            Diagnostic(file, *_place_of_problem(root, path, str(problem), table), str(problem))
            for problem in problems
        ]
    except TableError as error:
        option = str(error.facts.get("option") or "")
        options = _members(_members(root, "tables")[name], "options")
        where = (*path, "options", option) if option in options else ("options", option)
        if option not in options and option not in _members(root, "options"):
            where = path
        return [Diagnostic(file, *place_of(root, where), str(error))]
    return []


def _place_of_problem(
    root: Located, path: tuple[str, str], problem: str, table: TableDeclaration
) -> Place:
    """Where the member stands that a rule of tables speaks of."""
    options = _members(_members(root, "tables")[path[1]], "options")
    for key in options:
        if re.search(rf"(^|[^\w.-]){re.escape(key)}([^\w.-]|$)", problem):
            return place_of(root, (*path, "options", key))
    for words, member in (("primary key", "primary_key"), ("partition", "partition_by")):
        if problem.startswith(words):
            return place_of(root, (*path, member))
    for column in table.columns:
        if re.match(rf"(default .*of )?column (name )?{re.escape(repr(column))}", problem):
            return place_of(root, (*path, "columns", column))
    return place_of(root, path)


def _common_option_diagnostics(
    declaration: Declaration, root: Located, file: str
) -> list[Diagnostic]:
    """Options of every table, where no table is there to try them."""
    from table_core.options.user_options import refuse_wrong

    options = root.value.get("options")
    if declaration.tables or options is None or not isinstance(options.value, dict):
        return []
    diagnostics = []
    for key, item in options.value.items():
        try:
            refuse_wrong({key: str(item.text)})
        except TableError as error:
            diagnostics.append(Diagnostic(file, *place_of(root, ("options", key)), str(error)))
    return diagnostics
