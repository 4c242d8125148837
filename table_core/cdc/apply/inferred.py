"""Columns whose types events without schema told: whole numbers make room for fractions.

An option of the table names those that may: a type that a user or a source declared stays as it is, and
so does a column with whole numbers that a double does not hold.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from table_core.cdc.model.infer import fractions, whole_columns
from table_core.datatypes.kinds import Atomic, Root
from table_core.schema.change import AddColumn, SetOption, UpdateColumnType
from table_core.validation_errors import stored_names

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from table_core.cdc.model.changes import Changes
    from table_core.datatypes.kinds import Field
    from table_core.schema.change import SchemaChange

__all__ = ["WHOLE_OPTION", "made_whole", "widened"]

WHOLE_OPTION: Final = "tc.whole-numbers"
_DOUBLE: Final = Atomic(Root.DOUBLE)


def made_whole(
    changes: Sequence[Changes], fields: Sequence[Field], key: Sequence[str]
) -> dict[str, str]:
    """The option of a table to be made of ``fields``."""
    names = whole_columns(changes, fields) - set(key)
    names -= fractions(changes, fields, names)[1]
    return {WHOLE_OPTION: _text(names)} if names else {}


def widened(
    changes: Sequence[Changes],
    fields: Sequence[Field],
    options: Mapping[str, str],
    wanted: Sequence[SchemaChange],
) -> list[SchemaChange]:
    """What has to change beside ``wanted`` so that fractions fit where whole numbers were."""
    known = set(stored_names(WHOLE_OPTION, options.get(WHOLE_OPTION)))
    added = {c.name for c in wanted if isinstance(c, AddColumn) and c.type == Atomic(Root.BIGINT)}
    declared = {name for one in changes for name in one.declared or ()}
    names = known | (added - declared)
    if not names:
        return []
    wide, fixed = fractions(changes, fields, names)
    left = names - wide - fixed
    widenings: list[SchemaChange] = [UpdateColumnType(name, _DOUBLE) for name in sorted(wide)]
    return widenings if left == known else [*widenings, SetOption(WHOLE_OPTION, _text(left))]


def _text(names: set[str]) -> str:
    return json.dumps(sorted(names), ensure_ascii=False)
