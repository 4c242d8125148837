"""Column names as a caller gives them: several, or one as plain text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from table_core.errors import ArgumentError

__all__ = ["column_names"]


def column_names(argument: str, names: object) -> tuple[str, ...]:
    """``names`` of ``argument``; ``"id"``, as ``("id")`` is too, means one column.

    Raises:
        ArgumentError: it is no list of names.
    """
    if isinstance(names, str):
        return (names,)
    columns = (
        tuple(names) if isinstance(names, Iterable) and not isinstance(names, Mapping) else None
    )
    if columns is None or not all(isinstance(name, str) for name in columns):
        raise ArgumentError(
            f"{argument} takes column names, such as ['id', 'day'], not {names!r}",
            argument=argument,
            value=repr(names),
        )
    return columns
