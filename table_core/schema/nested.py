"""Reaching into a type tree: find a member by its path, edit it, number new members.

Source: ``org.apache.paimon.types.ReassignFieldId``; format 2.2.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from table_core.datatypes.kinds import Array, Atomic, DataType, Field, Map, Multiset, Row, Vector
from table_core.errors import SchemaError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

__all__ = ["edit_at", "numbered", "path_text", "split_path"]

_STEP: Final = re.compile(r"`((?:[^`]|``)+)`(?:\.|\Z)|([^.`]+)(?:\.|\Z)")


def split_path(fields: Iterable[Field], name: str) -> tuple[str, ...]:
    """``name`` as steps; a column of ``fields`` that is called just so wins over a path."""
    if any(f.name == name for f in fields):
        return (name,)
    return _quoted_steps(name) or tuple(name.split("."))


def path_text(steps: Iterable[str]) -> str:
    """The text that ``split_path`` takes for ``steps``: in backquotes where a dot or one of them is in a step."""
    return ".".join(_quoted(step) if "." in step or "`" in step else step for step in steps)


def _quoted(step: str) -> str:
    return f"`{step.replace('`', '``')}`"


def _quoted_steps(text: str) -> tuple[str, ...]:
    """The steps of a path that has some in backquotes; none if it has not, or is no such path."""
    steps, at = [], 0
    while "`" in text and at < len(text):
        step = _STEP.match(text, at)
        if step is None:
            return ()
        steps.append(step[2] or step[1].replace("``", "`"))
        at = step.end()
    return () if text.endswith(".") else tuple(steps)


def edit_at(
    type_: DataType, path: tuple[str, ...], edit: Callable[[DataType], DataType]
) -> DataType:
    """``type_`` with the part at ``path`` replaced by what ``edit`` makes of it.

    Raises:
        LookupError: there is no such part; its argument says which step is missing.
        SchemaError: it is in the key of a map, which keeps its type: nobody reads the files of another one.
    """
    if not path:
        return edit(type_)
    step, rest = path[0], path[1:]
    match type_:
        case Row(fields):
            if all(f.name != step for f in fields):
                raise LookupError(step)
            return replace(
                type_,
                fields=tuple(
                    replace(f, type=edit_at(f.type, rest, edit)) if f.name == step else f
                    for f in fields
                ),
            )
        case Array(element) | Multiset(element) | Vector(element) if step == "element":
            return replace(type_, element=edit_at(element, rest, edit))
        case Map() if step == "key":
            told = (
                "the key of a map stays as it is, for files with another one are not read: add a column "
                "of another name and fill it"
            )
            raise SchemaError(told, problems=[told])
        case Map(_, value) if step == "value":
            return replace(type_, value=edit_at(value, rest, edit))
        case _:
            raise LookupError(step)


def numbered(type_: DataType, highest: int) -> tuple[DataType, int]:
    """``type_`` with fresh ids for its members, depth first, and the highest id given out."""
    match type_:
        case Atomic():
            return type_, highest
        case Array(element) | Multiset(element) | Vector(element):
            inner, highest = numbered(element, highest)
            return replace(type_, element=inner), highest
        case Map(key, value):
            new_key, highest = numbered(key, highest)
            new_value, highest = numbered(value, highest)
            return replace(type_, key=new_key, value=new_value), highest
        case Row(fields):
            members = []
            for field in fields:
                id_ = highest + 1
                inner, highest = numbered(field.type, id_)
                members.append(replace(field, id=id_, type=inner))
            return replace(type_, fields=tuple(members)), highest
