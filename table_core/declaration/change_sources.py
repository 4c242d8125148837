"""Sources of change events in a declaration, held against what each kind of source takes.

Looked at by ``validate`` only, as sources bring their clients along.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, Final

from table_core.declaration.hints import hint
from table_core.declaration.located import Fault, Located, place_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from table_core.declaration.model import Declaration

__all__ = ["source_faults"]

_FROM_CONNECTION: Final = {"host", "user", "database", "servers"}
"""What an Airflow connection may give."""


def source_faults(found: Declaration, root: Located, file: str) -> list[Fault]:
    """Kinds and members of sources that do not exist, and members that are missing."""
    given = {step.name: step.arguments for step in found.steps if step.verb == "sync"}

    faults = []
    for name, arguments in given.items():
        group = "sources" if name in _names(root, "sources") else "flows"
        connected = bool(arguments.get("source_connection"))
        for member, told in _problems(arguments["sync"], connected=connected):
            place = place_of(root, (group, name, "sync", member))
            faults.append(Fault(file, *place, told))
    return faults


def _names(root: Located, group: str) -> Mapping[str, Any]:
    found = root.value.get(group)
    return found.value if found is not None and isinstance(found.value, dict) else {}


def _problems(source: Mapping[str, Any], *, connected: bool) -> Iterator[tuple[str, str]]:
    """Each with the member that it is about."""
    from table_core.sources.kinds import SOURCE_KINDS

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
