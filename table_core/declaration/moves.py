"""Names of tables and columns that ``moved`` follows: also what was renamed twice, however old the warehouse is."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["newest_name", "older_names"]


def newest_name(moves: Mapping[str, str], name: str) -> str:
    """What ``name`` is called after all ``moves``, each from a name to the next."""
    seen = {name}
    while (name := moves.get(name, name)) not in seen:
        seen.add(name)
    return name


def older_names(moves: Mapping[str, str], name: str) -> list[str]:
    """What ``name`` was called before, the last name first."""
    before = {new: old for old, new in moves.items()}
    older: list[str] = []
    while (old := before.get(older[-1] if older else name)) is not None and old not in older:
        older.append(old)
    return older
