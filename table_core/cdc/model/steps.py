"""Rows and statements of one target table, in the order of the source.

A statement (the source table was emptied, or dropped) holds for all rows before it and for none after
it.  So the events of a batch are taken apart there: the outcome is that of one event after the other,
however the source was cut into files, windows and runs.

Events 1 +a, 2 +b, 3 TRUNCATE, 4 +a: the steps are (rows 1 and 2), (TRUNCATE 3, row 4).  Merged at once, a of
event 4 would be the newest of its key and stay either way, but b would outlive the truncate.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

import numpy as np
import pyarrow.compute as pc

from table_core.cdc.model.truncates import chosen, within

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from table_core.cdc.model.changes import Changes
    from table_core.cdc.model.record import SourceTable
    from table_core.cdc.model.schema_change_event import SchemaChangeEvent

__all__ = ["Statement", "Step", "steps"]


class Statement(StrEnum):
    """What happened to a whole source table."""

    DROP = "drop"
    TRUNCATE = "truncate"


@dataclass(frozen=True, slots=True)
class Step:
    """A statement, and the rows until the next one."""

    number: int
    """Of the event that it begins with: everything before is done when it is applied."""
    statement: Statement | None
    """None for the rows before the first statement."""
    table: SourceTable | None
    """That the statement is about."""
    changes: Sequence[Changes]
    """Rows alone: no truncates among them."""


def steps(
    changes: Sequence[Changes], schema_changes: Iterable[SchemaChangeEvent] = ()
) -> list[Step]:
    """The events of one batch for one target.

    Args:
        changes: rows and truncates.
        schema_changes: of which the drops count; rows with their number come after them.
    """
    marks = [(one.number, 0, Statement.DROP, one.table) for one in schema_changes if one.dropped]
    for one in changes:
        emptied = one.lines[np.asarray(pc.equal(one.ops, "t"))]
        marks += [(int(n), 1, Statement.TRUNCATE, one.table) for n in emptied]
    rows = [
        part
        for one in changes
        if (part := chosen(one, np.asarray(pc.not_equal(one.ops, "t")))) is not None
    ]
    if not marks:
        return [Step(0, None, None, rows)] if rows else []
    marks.sort()  # by number; a drop before a truncate of the same one
    ends = [*(number for number, *_ in marks[1:]), np.iinfo(np.int64).max]
    after_marks = [
        Step(number, statement, table, within(rows, number, end))
        for (number, _, statement, table), end in zip(marks, ends, strict=True)
    ]
    first = within(rows, -1, marks[0][0])
    return [Step(0, None, None, first), *after_marks] if first else after_marks
