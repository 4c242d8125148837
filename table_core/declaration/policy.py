"""Upkeep rules as a table inherits them: warehouse, then database patterns, then the table's own."""

from __future__ import annotations

import fnmatch
from typing import TYPE_CHECKING, Any

from table_core.declaration.grammar import UPKEEP_ACTIONS

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["policy_of"]


def policy_of(table: str, upkeep: Mapping[str, Any]) -> dict[str, Any]:
    """Action to its settings for ``table``; an action that is ``false`` is off.

    What is nearer wins, setting by setting; of several patterns that match, the later one.
    """
    database = table.partition(".")[0]
    layers = [upkeep.get("policy") or {}]
    patterns: Mapping[str, Any] = upkeep.get("databases") or {}
    layers += [rules for name, rules in patterns.items() if fnmatch.fnmatchcase(database, name)]
    layers.append((upkeep.get("tables") or {}).get(table) or {})
    found: dict[str, Any] = {}
    for rules in layers:
        for name, settings in (rules or {}).items():
            if settings is False:
                found.pop(name, None)
            elif settings is True or settings is None:
                found.setdefault(name, {})
            else:
                found[name] = {**found.get(name, {}), **settings}
    actions = [*UPKEEP_ACTIONS, "thresholds"]
    return {name: found[name] for name in actions if name in found}
