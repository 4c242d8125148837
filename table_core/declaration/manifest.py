"""A declaration as it was compiled: parsed ahead, so that a Dag file costs next to nothing.

Two lines of JSON.  The first has all that Dags are made of, and its size does not depend on the
number of tables; the second has the tables and their policies.  A digest of the YAML, and of the
variables that it speaks of, tells whether the manifest is still of it.
"""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any, Final

from table_core.declaration.environment import TARGET, names_in
from table_core.declaration.model import (
    CheckDeclaration,
    Declaration,
    TableDeclaration,
    TriggerDeclaration,
    UpkeepDeclaration,
)
from table_core.declaration.steps import step_from_document

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["compiled", "digest_of", "head_of", "included", "whole"]

_VERSION: Final = 6
_PLAIN: Final = ("name", "connection", "catalog", "warehouse", "pool", "pipeline", "moved")
_TUPLES: Final = ("allow", "include", "audited")


def digest_of(
    body: bytes, environment: Mapping[str, str] | None = None, others: Sequence[bytes] = ()
) -> str:
    """What tells one state of a declaration's file, and of its variables, from another.

    How lines end makes no difference.  ``others`` are the files that it includes.
    """
    text = b"\0".join((body, *others)).replace(b"\r\n", b"\n")
    names = names_in(text.decode(errors="replace")) + [TARGET] * (b"targets" in text)
    values = [[name, (environment or {}).get(name)] for name in names]
    return hashlib.sha256(text + json.dumps(values).encode() * bool(names)).hexdigest()


def included(first_line: str) -> list[str]:
    """The files that the declaration of a manifest includes: they belong to what the digest is of."""
    head = _head(first_line, None)
    paths = None if head is None else head.get("include")
    return [str(path) for path in paths] if isinstance(paths, list) else []


def compiled(declaration: Declaration, digest: str) -> str:
    """The manifest of ``declaration``, read from a file with that ``digest``."""
    head = {
        **{name: list(getattr(declaration, name)) for name in _TUPLES},
        "version": _VERSION,
        "digest": digest,
        **{name: getattr(declaration, name) for name in _PLAIN},
        "steps": [step.to_document() for step in declaration.steps],
        "checks": [check.to_document() for check in declaration.checks],
        "triggers": [trigger.to_document() for trigger in declaration.triggers],
        "upkeep": None if declaration.upkeep is None else declaration.upkeep.to_document(),
    }
    body = {
        "tables": {name: table.to_document() for name, table in declaration.tables.items()},
        "policies": declaration.policies,
        "external": {
            name: None if table is None else table.to_document()
            for name, table in declaration.external.items()
        },
    }
    return f"{json.dumps(head)}\n{json.dumps(body)}\n"


_BROKEN: Final = (ValueError, LookupError, TypeError, AttributeError, RecursionError)
"""What a manifest raises that was written half, or by hand: the declaration itself is read then."""


def head_of(first_line: str, digest: str | None) -> Declaration | None:
    """The declaration without its tables; None if the manifest is broken, or of another file."""
    head = _head(first_line, digest)
    try:
        return None if head is None else Declaration(**_members(head))
    except _BROKEN:
        return None


def _head(first_line: str, digest: str | None) -> dict[str, Any] | None:
    try:
        head = json.loads(first_line)
    except (
        ValueError,
        RecursionError,
    ):  # written half, or by hand: the declaration itself is read then
        return None
    if not isinstance(head, dict) or head.get("version") != _VERSION:
        return None
    return head if digest is None or head.get("digest") == digest else None


def whole(text: str, digest: str | None) -> Declaration | None:
    """The declaration with its tables; None if the manifest is broken, or of another file."""
    first, _, second = text.partition("\n")
    head = _head(first, digest)
    if head is None:
        return None
    try:
        body = json.loads(second)
        tables = {
            name: TableDeclaration.from_document(document)
            for name, document in body["tables"].items()
        }
        external = {
            name: None if one is None else TableDeclaration.from_document(one)
            for name, one in body["external"].items()
        }
        more = {"policies": body["policies"], "external": external}
        return Declaration(**_members(head), tables=tables, **more)
    except _BROKEN:
        return None


def _members(head: dict[str, Any]) -> dict[str, Any]:
    upkeep = head["upkeep"]
    return {
        **{name: head[name] for name in _PLAIN},
        **{name: tuple(head[name]) for name in _TUPLES},
        "steps": tuple(step_from_document(step) for step in head["steps"]),
        "checks": tuple(CheckDeclaration.from_document(check) for check in head["checks"]),
        "triggers": tuple(TriggerDeclaration.from_document(one) for one in head["triggers"]),
        "upkeep": None if upkeep is None else UpkeepDeclaration.from_document(upkeep),
    }
