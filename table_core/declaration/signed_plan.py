"""A plan as a file: what was decided on what, to be carried out later as it was read, or not at all."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from table_core.declaration.manifest import compiled, whole
from table_core.errors import ArgumentError, CommitConflictError
from table_core.validation_errors import UNFORESEEN

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from table_core.declaration.compare import TablePlan
    from table_core.declaration.model import Declaration

__all__ = ["is_plan", "opened", "require_same", "written"]

_MARK: Final = "table-core plan"
_FORMAT: Final = f"{_MARK} 1"


def written(
    declaration: Declaration,
    plans: Sequence[TablePlan],
    *,
    warehouse: str,
    allow: Iterable[str],
    digest: str,
) -> str:
    """The text of the file."""
    document = {
        "format": _FORMAT,
        "warehouse": warehouse,
        "allow": sorted(allow),
        "tables": [one.to_document() for one in plans],
        "declaration": compiled(declaration, digest),
    }
    return json.dumps(document, indent=2) + "\n"


def is_plan(text: str) -> bool:
    """Whether ``text`` is such a file, and not a declaration."""
    if not text.lstrip().startswith("{"):
        return False
    try:
        document = json.loads(text)
    except ValueError:
        return False
    return isinstance(document, dict) and str(document.get("format")).startswith(_MARK)


def opened(text: str) -> tuple[Declaration, dict[str, Any]]:
    """The declaration that was planned, and the other members of the file.

    Raises:
        ArgumentError: the file is broken, or of another release.
    """
    try:
        document = json.loads(text)
        declaration = whole(document["declaration"], None)
        sound = _is_sound(document)
    except UNFORESEEN:
        declaration, document, sound = None, {}, False
    if declaration is None or not sound:
        raise ArgumentError(
            "the plan is broken, or of another release: plan again", argument="file", value=None
        )
    return declaration, document


def _is_sound(document: dict[str, Any]) -> bool:
    return (
        document["format"] == _FORMAT
        and isinstance(document["warehouse"], str)
        and all(isinstance(name, str) for name in document["allow"])
        and all(isinstance(one["table"], str) for one in document["tables"])
    )


def require_same(document: dict[str, Any], plans: Sequence[TablePlan]) -> None:
    """Refuse a plan whose warehouse is not as it was.

    Raises:
        CommitConflictError: facts list the tables that would get another plan now.
    """
    before = {one["table"]: one for one in document["tables"]}
    now = {one.table: one.to_document() for one in plans}
    moved = sorted(name for name in before.keys() | now.keys() if before.get(name) != now.get(name))
    if moved:
        raise CommitConflictError(
            f"the warehouse has moved on since this was planned: {', '.join(moved)}; plan again",
            table=moved[0],
            head_id=None,
            conflicts=moved,
        )
