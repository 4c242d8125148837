"""Columns that we put beside those of a user while Spark works, and take away again.

They share a beginning, and a table or a source that has such a name itself is refused: Spark would take one column
for the other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from table_core.errors import UnsupportedFeatureError

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["own_column", "refuse_own_columns"]

_PREFIX: Final = "__paimon_spark_"


def own_column(name: str) -> str:
    """The name of a column of ours."""
    return f"{_PREFIX}{name}"


def refuse_own_columns(names: Iterable[str], what: str) -> None:
    """Refuse columns of ``what`` that could be ours; Spark does not tell ``A`` from ``a``.

    Raises:
        UnsupportedFeatureError: one of ``names`` begins like ours.
    """
    for name in names:
        if name.lower().startswith(_PREFIX):
            raise UnsupportedFeatureError(
                f"{what} has a column {name}: on Spark names that begin with {_PREFIX} are kept for "
                "the work itself; rename the column",
                feature=f"columns that begin with {_PREFIX}",
            )
