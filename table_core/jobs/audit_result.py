"""What a job says of the differences between tables and their source."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from table_core.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["require_equal"]


def require_equal(details: Mapping[str, object], fail_on: str) -> None:
    """Refuse differences that were not repaired.

    ``details`` are those of the result of ``source_audit``.

    Raises:
        DataError: has the tables; unless ``fail_on`` is ``never``.
    """
    audit = cast("Mapping[str, Any]", details)
    left: Sequence[str] = audit["left"]
    if not left or fail_on == "never":
        return
    counts = {name: audit["tables"][name]["differences"] for name in left}
    more = {name: " or more" if audit["tables"][name]["has_more"] else "" for name in left}
    raise DataError(
        "tables differ from their source: "
        + ", ".join(f"{name} in {counts[name]}{more[name]} rows" for name in left)
        + "; run table-core source audit with --repair, or give the operator repair=True",
        tables=list(left),
    )
