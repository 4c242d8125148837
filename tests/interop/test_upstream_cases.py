"""Goal: the cases of ``tests/upstream`` say what Apache Paimon does, not what we think that it does.

Method: a part of the cases is played on disk, and Paimon reads the table that is left: the same rows.  And Paimon is asked to create
each table that a case says is refused: it must refuse too.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from judge import Judge, JudgeError
from sameness import assert_same

from table_core.datatypes.text import type_to_json
from tests.lanes import sampled
from tests.upstream.every import CASES
from tests.upstream.play import NAME, Case, play

pytestmark = pytest.mark.interop

OURS_ALONE = {
    "an option that nobody knows is refused with the nearest",
}
"""What Paimon takes and we refuse, so that a misspelt option is not silently nothing."""
REFUSED = [one for one in CASES if one.is_refused and one.promise not in OURS_ALONE]
PLAYED = [one for one in CASES if not one.is_refused and not one.missing and one.shape]


def ident(one: Case) -> str:
    return f"{one.area}: {one.promise}".encode("ascii", "replace").decode()


@pytest.mark.parametrize("one", sampled(REFUSED, 4), ids=ident)
def test_paimon_refuses_the_table_too(one: Case, paimon: Judge, tmp_path: Path) -> None:
    assert one.shape is not None
    columns = [(field.name, type_to_json(field.type)) for field in one.shape.fields]
    with pytest.raises(JudgeError):
        paimon.table(tmp_path, NAME).create(
            columns,
            primary_key=_names(one.shape.key),
            partition_by=_names(one.shape.partition),
            **one.shape.options,
        )


@pytest.mark.parametrize("one", sampled(PLAYED, 20), ids=ident)
def test_paimon_reads_the_rows_that_a_case_leaves(one: Case, paimon: Judge, tmp_path: Path) -> None:
    table = play(one, tmp_path.as_uri()).table()
    wanted = [["+I", *cells] for _, *cells in paimon.table(tmp_path, NAME).read()]
    assert_same(table.read().to_arrow(), wanted, one.promise)


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]
