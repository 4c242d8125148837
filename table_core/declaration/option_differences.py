"""Options and comment of a table, held against the declared ones by what they mean."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from table_core.declaration.difference import Difference, Safety
from table_core.options import keys_identity, keys_merge
from table_core.options.table import OPTIONS, TableOptions
from table_core.schema import change
from table_core.schema.validate_fields import COLUMN_OPTION

if TYPE_CHECKING:
    from collections.abc import Iterator

    from table_core.schema.table_schema import TableSchema

__all__ = ["option_differences"]

_MERGING: Final = {
    option.key
    for option in (
        keys_merge.SEQUENCE_FIELD,
        keys_merge.SEQUENCE_FIELD_SORT_ORDER,
        keys_merge.ROWKIND_FIELD,
        keys_merge.IGNORE_DELETE,
        keys_merge.IGNORE_UPDATE_BEFORE,
        keys_merge.FIELDS_DEFAULT_AGGREGATE_FUNCTION,
        keys_merge.PARTIAL_UPDATE_REMOVE_RECORD_ON_DELETE,
        keys_merge.PARTIAL_UPDATE_REMOVE_RECORD_ON_SEQUENCE_GROUP,
        keys_merge.AGGREGATION_REMOVE_RECORD_ON_DELETE,
    )
}
"""Options that say how rows of one key become one row, also rows that are there already."""
_SPACES: Final = re.compile(r"\s*,\s*")


def option_differences(
    goal: TableSchema, current: TableSchema, *, declared: frozenset[str], has_snapshots: bool
) -> Iterator[Difference]:
    """What the options of ``current`` are not as in ``goal``.

    ``declared`` are the canonical keys that the declaration says; what ``goal`` has besides follows from
    its columns, as they were when the table was made.
    """
    wanted, there = goal.options, current.options
    for key, value in wanted.raw.items():
        if key not in declared:
            continue
        has = there.raw.get(key)
        if has is None or _effective(key, has, there) != _effective(key, value, wanted):
            yield _set(key, value, has, current, has_snapshots=has_snapshots)
    for key in there.raw:
        derived = key == keys_identity.BUCKET_KEY.key and key in wanted.raw
        if key not in declared and not derived:
            merges = has_snapshots and _merges(key, current)
            yield Difference(
                safety=Safety.KEPT,
                description=f"option {key}",
                changes=(change.RemoveOption(key),),
                word="remerge" if merges else "unset",
            )
    yield from _comment(goal, current)


def _effective(key: str, text: str, options: TableOptions) -> object:
    option = OPTIONS.get(key)
    if option is not None:
        return options.get(option)
    return _SPACES.sub(",", text.strip())


def _set(
    key: str, value: str, has: str | None, current: TableSchema, *, has_snapshots: bool
) -> Difference:
    sign = "+" if has is None else "~"
    was = "" if has is None else f"{has!r} -> "
    description = f"{sign} option {key} = {was}{value!r}"
    changes = (change.SetOption(key, value),)
    word = None
    if has_snapshots and key == keys_identity.BUCKET.key:
        before = current.options.get(keys_identity.BUCKET)
        after = TableOptions.parse({key: value}).get(keys_identity.BUCKET)
        word = None if before == after else "rebucket"
        description += "" if word is None else "; then rescale what is there"
    elif has_snapshots and _merges(key, current):
        word = "remerge"
    safety = Safety.SAFE if word is None else Safety.GUARDED
    return Difference(safety=safety, description=description, changes=changes, word=word)


def _merges(key: str, current: TableSchema) -> bool:
    """Whether the option has a say in rows of ``current`` that are there already."""
    if not current.is_key_table:
        return False
    if key in _MERGING:
        return True
    match = COLUMN_OPTION.fullmatch(key)
    return match is not None and any(c.strip() in current.by_name for c in match[1].split(","))


def _comment(goal: TableSchema, current: TableSchema) -> Iterator[Difference]:
    if goal.comment is None and current.comment:
        yield Difference(
            safety=Safety.KEPT,
            description="comment",
            changes=(change.UpdateComment(None),),
            word="unset",
        )
    elif goal.comment is not None and goal.comment != (current.comment or ""):
        description = f"~ comment = {goal.comment!r}"
        yield Difference(
            safety=Safety.SAFE,
            description=description,
            changes=(change.UpdateComment(goal.comment),),
        )
