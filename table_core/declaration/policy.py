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

    What is nearer wins, setting by setting; of several patterns that match, the later one.  What was
    switched off and is switched on again has the settings that it would have inherited.
    """
    database = table.partition(".")[0]
    layers = [upkeep.get("policy") or {}]
    patterns: Mapping[str, Any] = upkeep.get("databases") or {}
    layers += [rules for name, rules in patterns.items() if fnmatch.fnmatchcase(database, name)]
    layers.append((upkeep.get("tables") or {}).get(table) or {})
    policy: dict[str, Any] = {}
    off: set[str] = set()
    for rules in layers:
        for name, settings in rules.items():
            if settings is False:
                off.add(name)
                continue
            off.discard(name)
            more = {} if settings is True else settings
            policy[name] = {**policy.get(name, {}), **more}
    actions = [*UPKEEP_ACTIONS, "thresholds"]
    return {name: policy[name] for name in actions if name in policy and name not in off}
