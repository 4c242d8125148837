"""Sources of change events in a declaration, held against what each kind of source takes.

Looked at by ``validate`` only, as sources bring their clients along.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, Final

from table_core.cdc.model.computed import METADATA_COLUMNS, computed_columns
from table_core.declaration.located import Diagnostic, Located, place_of
from table_core.declaration.steps import SyncStep
from table_core.errors import TableError
from table_core.options.nearest import hint
from table_core.schema.type_mapping import TypeMapping

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from table_core.declaration.model import Declaration, TableDeclaration

__all__ = ["source_diagnostics"]

_FROM_CONNECTION: Final = {"host", "user", "database", "servers"}
"""What an Airflow connection may give."""


def source_diagnostics(declaration: Declaration, root: Located, file: str) -> list[Diagnostic]:
    """Kinds and members of sources that do not exist, and members that are missing."""
    findings: list[tuple[tuple[str, ...], str]] = []
    for step in declaration.steps:
        if not isinstance(step, SyncStep):
            continue
        at = ("sources" if step.name in _names(root, "sources") else "flows", step.name)
        connected = bool(step.source_connection)
        for member, message in _problems(step.source, connected=connected):
            findings.append(((*at, "sync", member), message))
        findings += [((*at, "with", *path), text) for path, text in _argument_problems(step)]
        if (table := declaration.tables.get(step.table)) is not None:
            findings += [((*at, "with", name), text) for name, text in _key_problems(step, table)]
    return [Diagnostic(file, *place_of(root, path), message) for path, message in findings]


def _argument_problems(step: SyncStep) -> Iterator[tuple[tuple[str, ...], str]]:
    """Computed columns and mappings of types that are none."""
    options = step.with_arguments
    try:
        computed_columns(options.get("computed_columns") or ())
    except TableError as error:
        yield ("computed_columns",), str(error)
    try:
        TypeMapping.of(options.get("type_mapping") or ())
    except TableError as error:
        yield ("type_mapping",), str(error)
    for name in (options.get("settings") or {}).get("metadata_columns") or ():
        if name not in METADATA_COLUMNS:
            message = f"no metadata column {name!r}; {hint(name, METADATA_COLUMNS)}"
            yield ("settings", "metadata_columns"), message


def _key_problems(step: SyncStep, table: TableDeclaration) -> Iterator[tuple[str, str]]:
    """A key or partitions other than those that are declared."""
    options = step.with_arguments
    for member, declared in (
        ("primary_key", table.primary_key),
        ("partition_by", table.partition_by),
    ):
        if (
            "{{" not in str(options.get(member))
            and options.get(member)
            and tuple(options[member]) != tuple(declared)
        ):
            message = f"{step.table} is declared with {list(declared)}: leave {member} out here"
            yield member, message


def _names(root: Located, group: str) -> Mapping[str, Any]:
    node = root.value.get(group)
    return node.value if node is not None and isinstance(node.value, dict) else {}


def _problems(source: Mapping[str, Any], *, connected: bool) -> Iterator[tuple[str, str]]:
    """Each with the member that it is about."""
    from table_core.cdc.sync.source_kinds import SOURCE_KINDS

    kind = source.get("kind", "files")
    if kind not in SOURCE_KINDS:
        yield "kind", f"no kind of source {kind!r}; there are {', '.join(SOURCE_KINDS)}"
        return
    fields = {field.name: field for field in dataclasses.fields(SOURCE_KINDS[kind])}
    for name in source:
        if name == "password":
            yield name, "a password belongs into the connection that source_connection names"
        if name != "kind" and name not in fields:
            yield name, f"a source of kind {kind} has no member {name!r}; {hint(name, fields)}"
    for name, field in fields.items():
        needed = (
            field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
        )
        if needed and name not in source and not (connected and name in _FROM_CONNECTION):
            yield "", f"a source of kind {kind} needs {name!r}"
    yield from _choice_problems(SOURCE_KINDS[kind], source, fields)


def _choice_problems(
    kind: type[Any], source: Mapping[str, Any], fields: Mapping[str, Any]
) -> Iterator[tuple[str, str]]:
    """Values that the source itself refuses; what a connection gives is made up."""
    known = {name: value for name, value in source.items() if name in fields}
    if any(isinstance(value, str) and "{{" in value for value in known.values()):
        return
    made_up = {
        name: "x"
        for name, field in fields.items()
        if field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
    }
    try:
        kind(**{**made_up, **known})
    except TableError as error:
        member = str(error.facts.get("argument") or "")
        yield member if member in source else "", str(error)
    except (TypeError, ValueError, AttributeError) as error:
        yield "", f"not understood: {error}"
