"""What a table of the warehouse is, against what is declared: each difference, and the word that allows it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from table_core.datatypes.kinds import Array, Map, Multiset, Row, Vector, with_nullability
from table_core.datatypes.text import type_text
from table_core.datatypes.widths import Width, union, width
from table_core.options import keys_identity, keys_merge
from table_core.options.table import OPTIONS, TableOptions
from table_core.schema import change
from table_core.schema.nested import path_text
from table_core.schema.validate_fields import COLUMN_OPTION

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from table_core.datatypes.kinds import DataType, Field
    from table_core.schema.change import SchemaChange
    from table_core.schema.table_schema import TableSchema

__all__ = [
    "WORDS",
    "Difference",
    "Safety",
    "column_differences",
    "option_differences",
    "order_difference",
    "stored_with",
]

WORDS: Final[dict[str, str]] = {
    "narrow": "a column may get a type, or NOT NULL, that does not hold every old value",
    "drop": "a column may be dropped that only the table has",
    "unset": "an option, comment or default may be removed that only the table has",
    "reorder": "columns may move to their places in the declaration",
    "rebucket": "new rows may get another number of buckets; rescale the existing rows",
    "remerge": "an option may change how the existing rows of a key are merged",
}
"""What is done only where the file says ``allow: [word]``, or the command line ``--allow word``."""


class Safety(StrEnum):
    """What may become of a difference."""

    SAFE = "safe"
    """It is done: no stored value changes, and nothing goes."""
    KEPT = "kept"
    """It stays as it is in the warehouse, and is told."""
    GUARDED = "guarded"
    """It needs a word; without it the whole apply is refused."""
    REFUSED = "refused"
    """It cannot be done; what is told says which way works."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """One difference.  ``changes`` mend it."""

    safety: Safety
    description: str
    changes: tuple[SchemaChange, ...] = ()
    done_as: str = ""
    """The description of what its word allows, where its own speaks of what stays."""
    word: str | None = None
    """What allows the changes of a kept or guarded difference."""
    by_hand: bool = True
    """Whether somebody changed the table; what a sync does to the table that it fills is its work."""

    def to_document(self) -> dict[str, object]:
        """JSON-safe members."""
        word = {} if self.word is None else {"word": self.word}
        return {"class": self.safety.value, "told": self.description, **word}


def column_differences(
    goal: TableSchema, current: TableSchema, *, synced: bool
) -> Iterator[Difference]:
    """What the columns of ``current`` are not as in ``goal``.

    ``synced``: a source of changes fills the table, and adds, widens and comments columns.
    """
    yield from _of_fields((), goal.fields, current.fields, current, synced=synced)


def order_difference(goal: TableSchema, current: TableSchema, gone: set[str]) -> Difference | None:
    """The declared columns stand in another order; None if they do not."""
    wanted = [field.name for field in goal.fields]
    there = [field.name for field in current.fields if field.name not in gone]
    both = [name for name in there if name in goal.by_name]
    if both == [name for name in wanted if name in current.by_name]:
        return None
    moves: list[SchemaChange] = [change.UpdateColumnPosition(path_text(wanted[:1]), first=True)]
    for before, name in pairwise(wanted):
        moves.append(change.UpdateColumnPosition(path_text([name]), after=before))
    return Difference(
        safety=Safety.KEPT,
        description=f"order of columns {', '.join(both)}",
        changes=tuple(moves),
        word="reorder",
    )


def _of_fields(
    path: tuple[str, ...],
    declared: Sequence[Field],
    there: Sequence[Field],
    table: TableSchema,
    *,
    synced: bool,
) -> Iterator[Difference]:
    known = {field.name: field for field in there}
    folded = {field.name.casefold(): field.name for field in there}
    wanted = {field.name for field in declared}
    before: str | None = None
    for field in declared:
        name = path_text((*path, field.name))
        if field.name in known:
            yield from _of_field(path, field, known[field.name], table, synced=synced)
        elif (other := folded.get(field.name.casefold())) is not None and other not in wanted:
            yield Difference(
                safety=Safety.REFUSED,
                description=f"{name}: the table has {other!r}, which differs in case alone: write it so, "
                f"or rename it with moved: [{{from: {other}, to: {field.name}}}]",
            )
        else:
            yield _added(name, field, before, there)
        before = field.name
    for name in known:
        if name not in wanted and name.casefold() not in {w.casefold() for w in wanted}:
            full_name = path_text((*path, name))
            yield Difference(
                safety=Safety.KEPT,
                description=f"column {full_name}",
                changes=(change.DropColumn(full_name),),
                word="drop",
                by_hand=not synced,
            )


def _added(name: str, field: Field, before: str | None, there: Sequence[Field]) -> Difference:
    """A column that is to stand where it is declared; at the end the table's options say where."""
    at_end = bool(there) and before == there[-1].name
    add = change.AddColumn(
        name,
        field.type,
        comment=field.description,
        after=None if at_end else before,
        first=before is None,
        default=field.default,
    )
    return Difference(
        safety=Safety.SAFE,
        description=f"+ {name} {type_text(field.type)}{stored_with(field)}",
        changes=(add,),
    )


def stored_with(field: Field) -> str:
    """What is stored with a new column, behind its type: its default and its comment."""
    default = "" if field.default is None else f", default {field.default!r}"
    return f"{default}, comment {field.description!r}" if field.description else default


def _of_field(
    path: tuple[str, ...], field: Field, there: Field, table: TableSchema, *, synced: bool
) -> Iterator[Difference]:
    steps = (*path, field.name)
    yield from _of_type(steps, field.type, there.type, table, synced=synced)
    name = path_text(steps)
    if field.description is not None and field.description != there.description:
        yield Difference(
            safety=Safety.SAFE,
            description=f"~ comment of {name} = {field.description!r}",
            changes=(change.UpdateColumnComment(name, field.description),),
            by_hand=not synced,
        )
    elif field.description is None and there.description:
        yield Difference(
            safety=Safety.KEPT,
            description=f"comment of {name}",
            changes=(change.UpdateColumnComment(name, None),),
            word="unset",
            by_hand=not synced,
        )
    if field.default is not None and field.default != there.default:
        yield Difference(
            safety=Safety.SAFE,
            description=f"~ default of {name} = {field.default!r}",
            changes=(change.UpdateColumnDefault(name, field.default),),
        )
    elif field.default is None and there.default is not None:
        yield Difference(
            safety=Safety.KEPT,
            description=f"default of {name}",
            changes=(change.UpdateColumnDefault(name, None),),
            word="unset",
        )


def _of_type(
    steps: tuple[str, ...],
    declared: DataType,
    there: DataType,
    table: TableSchema,
    *,
    synced: bool,
) -> Iterator[Difference]:
    yield from _of_nullability(steps, declared, there, synced=synced)
    match declared, there:
        case Row(wants), Row(has):
            yield from _of_fields(steps, wants, has, table, synced=synced)
        case (Array(wants), Array(has)) | (Multiset(wants), Multiset(has)):
            yield from _of_type((*steps, "element"), wants, has, table, synced=synced)
        case Vector(wants, length), Vector(has, other) if length == other:
            yield from _of_type((*steps, "element"), wants, has, table, synced=synced)
        case Map(key, value), Map(other_key, other_value):
            key = with_nullability(
                key, nullable=other_key.nullable
            )  # no key is NULL, whatever it says
            if type_text(key) != type_text(other_key):
                yield _rekeyed(steps, declared, there)
            yield from _of_type((*steps, "value"), value, other_value, table, synced=synced)
        case _:
            difference = _retyped(steps, declared, there, table, synced=synced)
            if difference is not None:
                yield difference


def _rekeyed(steps: tuple[str, ...], declared: DataType, there: DataType) -> Difference:
    """Keys of a map keep their type: files of another one are not read by those who read this table."""
    name = path_text(steps)
    return Difference(
        safety=Safety.REFUSED,
        description=f"{name}: {type_text(there)} -> {type_text(declared)}: keys of a map keep their type: "
        "declare a column of another name and fill it",
    )


def _of_nullability(
    steps: tuple[str, ...], declared: DataType, there: DataType, *, synced: bool
) -> Iterator[Difference]:
    if declared.nullable == there.nullable:
        return
    name = path_text(steps)
    changes = (change.UpdateColumnNullability(name, declared.nullable),)
    if declared.nullable:
        description = f"~ {name}: {type_text(there)} -> NULL allowed"
        yield Difference(safety=Safety.SAFE, description=description, changes=changes)
    else:
        description = f"{name}: NULL is allowed, declared NOT NULL"
        yield Difference(
            safety=Safety.KEPT,
            description=description,
            changes=changes,
            word="narrow",
            by_hand=not synced,
        )


def _retyped(
    steps: tuple[str, ...],
    declared: DataType,
    there: DataType,
    table: TableSchema,
    *,
    synced: bool,
) -> Difference | None:
    name = path_text(steps)
    has, wants = type_text(there), type_text(declared)
    changes = (change.UpdateColumnType(name, declared),)
    match width(there, declared):
        case Width.SAME:
            return None
        case Width.NARROWER if _is_hashed(steps, declared, there, table):
            return Difference(
                safety=Safety.REFUSED,
                description=f"{name}: {has} -> {wants}: rows find their bucket by this column, and would be "
                "looked for in another one: clone the table into a new one",
            )
        case Width.NARROWER:
            return Difference(
                safety=Safety.SAFE, description=f"~ {name}: {has} -> {wants}", changes=changes
            )
        case Width.WIDER:
            return Difference(
                safety=Safety.KEPT,
                description=f"{name}: {has}, wider than {wants} as declared",
                done_as=f"~ {name}: {has} -> {wants}",
                changes=changes,
                word="narrow",
                by_hand=not synced,
            )
    both = union(there, declared)
    hint = "" if both is None else f"; declare {type_text(both)}, which holds both"
    return Difference(
        safety=Safety.GUARDED,
        description=f"~ {name}: {has} -> {wants}{hint}",
        changes=changes,
        word="narrow",
    )


def _is_hashed(
    steps: tuple[str, ...], declared: DataType, there: DataType, table: TableSchema
) -> bool:
    """Whether another type gives rows another bucket: lengths of texts do not."""
    if table.bucket == -1 and not table.is_key_table:
        return False
    same_root = getattr(declared, "root", None) is getattr(there, "root", None)
    texts = same_root and getattr(declared, "length", 0) > 0
    return len(steps) == 1 and steps[0] in table.bucket_keys and not texts


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
