"""A declaration as it was compiled: parsed ahead, so that a Dag file costs next to nothing.

Two lines of JSON.  The first has all that Dags are made of, and its size does not depend on the
number of tables; the second has the tables and their policies.  A digest of the YAML tells whether
the manifest is still of it.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any, Final

from table_core.declaration.model import (
    CheckDeclaration,
    Declaration,
    Step,
    TableDeclaration,
    TriggerDeclaration,
    UpkeepDeclaration,
)

__all__ = ["compiled", "digest_of", "head_of", "whole"]

_VERSION: Final = 2
_PLAIN: Final = ("name", "connection", "catalog", "warehouse", "pool", "pipeline")


def digest_of(body: bytes) -> str:
    """What tells one state of a declaration's file from another."""
    return hashlib.sha256(body).hexdigest()


def compiled(declaration: Declaration, digest: str) -> str:
    """The manifest of ``declaration``, read from a file with that ``digest``."""
    head = {
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
    }
    return f"{json.dumps(head)}\n{json.dumps(body)}\n"


def head_of(first_line: str, digest: str | None) -> Declaration | None:
    """The declaration without its tables; None if the manifest is of another file or release."""
    head = json.loads(first_line)
    if head.get("version") != _VERSION or digest not in {None, head.get("digest")}:
        return None
    return Declaration(**_members(head))


def whole(text: str, digest: str | None) -> Declaration | None:
    """The declaration with its tables; None if the manifest is of another file or release."""
    first, _, second = text.partition("\n")
    head = json.loads(first)
    if head.get("version") != _VERSION or digest not in {None, head.get("digest")}:
        return None
    body = json.loads(second)
    tables = {name: _table(document) for name, document in body["tables"].items()}
    return Declaration(**_members(head), tables=tables, policies=body["policies"])


def _members(head: dict[str, Any]) -> dict[str, Any]:
    upkeep = head["upkeep"]
    return {
        **{name: head[name] for name in _PLAIN},
        "steps": tuple(
            Step.from_document({**step, "after": tuple(step["after"])}) for step in head["steps"]
        ),
        "checks": tuple(CheckDeclaration.from_document(check) for check in head["checks"]),
        "triggers": tuple(
            TriggerDeclaration.from_document({**one, "flows": tuple(one["flows"])})
            for one in head["triggers"]
        ),
        "upkeep": None if upkeep is None else UpkeepDeclaration.from_document(upkeep),
    }


def _table(document: dict[str, Any]) -> TableDeclaration:
    keys = {name: tuple(document[name]) for name in ("primary_key", "partition_by")}
    return TableDeclaration.from_document(document | keys)
