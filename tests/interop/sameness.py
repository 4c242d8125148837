"""Whether two readers gave the same rows, whatever forms their cells are printed in."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from judge import KIND, Rows, judged

NANOS = (pa.timestamp("ns"), pa.timestamp("ns", "UTC"))


def assert_same(
    rows: pa.Table,
    wanted: Rows,
    question: Any,
    seen: Callable[[Any, Any], Any] | None = None,
    loose: Mapping[str, Callable[[Any], Any]] | None = None,
    *,
    ordered_within: Sequence[str] | None = None,
) -> None:
    """Assert that rows are equal in any order, their cells as ``seen`` (default ``canonical``).

    ``loose`` says for some columns what of a cell must be equal.  The order counts too among rows
    that are equal in the columns ``ordered_within``.
    """
    see = seen or canonical
    values = [f for f in rows.schema if f.name != KIND]

    def text(row: list[Any]) -> str:
        cells = [see(cell, f.type) for cell, f in zip(row[1:], values, strict=True)]
        for i, f in enumerate(values):
            if loose and f.name in loose and cells[i] is not None:
                cells[i] = loose[f.name](cells[i])
        return json.dumps([row[0], *cells])

    have, want = (Counter(map(text, side)) for side in (judged(rows), wanted))
    if have != want:
        for side, rest in (("only ours", have - want), ("only theirs", want - have)):
            print(side, rest.total(), *sorted(rest)[:8], sep="\n  ")
        names = [f"{f.name} {f.type}" for f in rows.schema]
        pytest.fail(f"{question}: {have.total()} rows, {want.total()} theirs; {names}")
    if ordered_within is not None:
        at = [
            rows.schema.names.index(name) - (KIND in rows.schema.names) for name in ordered_within
        ]
        groups = [
            sorted(map(text, side), key=lambda row: [str(json.loads(row)[1 + i]) for i in at])
            for side in (judged(rows), wanted)
        ]
        ours, theirs = groups
        pairs = enumerate(zip(ours, theirs, strict=True))
        first = next((at for at, (one, other) in pairs if one != other), None)
        assert first is None, (question, first, ours[first:][:4], theirs[first:][:4])


def roughly(cell: Any, kind: pa.DataType) -> Any:
    """``canonical`` without what pypaimon loses: NULL rows, nanoseconds, blanks that ORC pads."""
    return canonical(cell, kind, rough=True)


def canonical(cell: Any, kind: pa.DataType, *, rough: bool = False) -> Any:
    """A value as one text, whoever printed it: floats as numbers, maps in order of their keys."""
    if cell is None:
        return None

    def inner(part: Any, its: pa.DataType) -> Any:
        return canonical(part, its, rough=rough)

    if rough and kind in NANOS:
        return cell[:-3]
    if rough and pa.types.is_string(kind):
        return cell.rstrip(" ")
    if pa.types.is_floating(kind):
        number = float(cell) + 0.0  # Java's ORC takes a zero for the other that came before
        return repr(float(np.float32(number)) if pa.types.is_float32(kind) else number)
    if pa.types.is_struct(kind):
        members = [inner(c, kind.field(i).type) for i, c in enumerate(cell)]
        return None if rough and not any(m is not None for m in members) else members
    if pa.types.is_map(kind):
        pairs = [[inner(k, kind.key_type), inner(v, kind.item_type)] for k, v in cell]
        return sorted(pairs, key=json.dumps)
    if pa.types.is_list(kind):
        return [inner(c, kind.value_type) for c in cell]
    return cell
