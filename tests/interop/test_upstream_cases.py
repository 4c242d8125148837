"""Goal: the cases of ``tests/upstream`` say what Apache Paimon does, not what we think that it does.

Method: a part of the cases is played on disk, and Paimon reads the table that is left: the same rows, or a refusal where the case ends
with one.  And Paimon is asked to create each table that a case says is refused, and to write a row: it must refuse too, one or the other.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from judge import Judge, JudgedTable, JudgeError
from sameness import assert_same

from table_core.datatypes.text import type_to_json
from tests.lanes import sampled
from tests.upstream.catalog_steps import Calls
from tests.upstream.every import CASES
from tests.upstream.play import NAME, Case, Shape, names_in, play
from tests.upstream.steps import Refused, Rows

pytestmark = pytest.mark.interop

_SOME = {"STRING": "p", "STRING NOT NULL": "p"}
"""Values of keys that are no numbers."""
OURS_ALONE = {
    "an option that nobody knows is refused with the nearest",  # it would be nothing, silently
    "max does not take BOOLEAN",  # Paimon fails when two values meet
    "min does not take BOOLEAN",
    "a sum of DECIMAL does not wrap",  # Paimon shows a value that is none of the type
}
"""What Paimon takes at first, and we refuse."""
UNPRINTED = "VECTOR"
"""A type whose values the judge does not print."""
GOES = {"drop_table", "rename_table", "drop_database"}
"""Verbs after which the table is not where it was."""


def is_played(one: Case) -> bool:
    """Whether a case leaves a table that Paimon can open and print."""
    if one.is_refused or one.missing or one.promise in OURS_ALONE:
        return False
    if one.shape is None or UNPRINTED in one.shape.columns:
        return False
    if any(isinstance(step, Calls) and step.verb in GOES for step in one.steps):
        return False
    return not any(key.startswith(("scan.", "incremental-")) for key in one.shape.options)


REFUSED = [one for one in CASES if one.is_refused and one.promise not in OURS_ALONE]
PLAYED = [one for one in CASES if is_played(one)]


def ident(one: Case) -> str:
    return f"{one.area}: {one.promise}".encode("ascii", "replace").decode()


@pytest.mark.parametrize("one", sampled(REFUSED, 4), ids=ident)
def test_paimon_refuses_the_table_too(one: Case, paimon: Judge, tmp_path: Path) -> None:
    assert one.shape is not None
    with pytest.raises(JudgeError):
        _used(one.shape, paimon.table(tmp_path, NAME))


@pytest.mark.parametrize("one", sampled(PLAYED, 20), ids=ident)
def test_paimon_reads_the_rows_that_a_case_leaves(one: Case, paimon: Judge, tmp_path: Path) -> None:
    table = play(one, tmp_path.as_uri()).table()
    left = paimon.table(tmp_path, NAME)
    last = one.steps[-1]
    if (
        isinstance(last, Refused)
        and isinstance(last.step, Rows)
        and not (last.step.how or last.step.branch)
    ):
        with pytest.raises(JudgeError):
            left.read(**(last.step.options or {}))
        return
    wanted = [["+I", *cells] for _, *cells in left.read()]
    assert_same(table.read().to_arrow(), wanted, one.promise)


def _used(shape: Shape, table: JudgedTable) -> None:
    """Create the table, and write a row of NULLs but for its keys."""
    keys = names_in(shape.key)
    columns = [(field.name, type_to_json(field.type)) for field in shape.fields]
    partition_by = names_in(shape.partition)
    table.create(columns, primary_key=keys, partition_by=partition_by, **shape.options)
    row = [_SOME.get(str(type_), 1) if name in keys else None for name, type_ in columns]
    table.write([["+I", *row]])
