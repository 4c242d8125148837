"""Goal: what a case of ``tests/upstream`` expects in the midst of its steps is what Apache Paimon gives there.

Method: cases are played on disk.  At each step that reads a state, a range, a changelog or a stream, Paimon reads the same of the
table as it is then.  Where the step is refused, it must refuse too.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from judge import Judge, JudgedTable, JudgeError
from sameness import assert_same

from tests.lanes import sampled
from tests.upstream.every import CASES
from tests.upstream.play import NAME, Case, Play
from tests.upstream.steps import Changes, Follows, Refused, Rows

pytestmark = pytest.mark.interop

STATES = {
    "snapshot": "scan.snapshot-id",
    "tag": "scan.tag-name",
    "timestamp": "scan.timestamp-millis",
}
"""Arguments of a read, and the options that say the same."""


ELSEWISE = {
    "a branch has tags of its own",  # Paimon's catalog looks for tags of a branch among those of main
    "nested_update replaces a key at its limit",  # the order of nested rows is that of a hash table
    "a sum of DECIMAL does not wrap",  # a value that is none of its type is shown
}
"""Where Paimon gives something else that nobody wants."""


def looks(step: Any) -> bool:
    """Whether Paimon can be asked the same."""
    if isinstance(step, Refused):
        return isinstance(step.step, Rows) and looks(step.step)
    if isinstance(step, Changes):
        return not step.options and step.how.get("mode") == "changelog"
    if isinstance(step, Follows):
        return not step.how
    return isinstance(step, Rows) and step.how.keys() <= {*STATES, "columns"}


def is_asked(one: Case) -> bool:
    if one.is_refused or one.missing or one.shape is None or "VECTOR" in one.shape.columns:
        return False
    if not one.promise.isascii() or one.promise in ELSEWISE:
        return False
    return any(looks(step) for step in one.steps[:-1]) or any(
        looks(step) and not isinstance(step, Rows) for step in one.steps
    )


ASKED = [one for one in CASES if is_asked(one)]


@pytest.mark.parametrize("one", sampled(ASKED, 20), ids=lambda one: f"{one.area}: {one.promise}")
def test_paimon_sees_at_each_step_what_the_case_expects(
    one: Case, paimon: Judge, tmp_path: Path
) -> None:
    state = Play(one.shape, tmp_path.as_uri())
    state.create()
    for number, step in enumerate(one.steps):
        step.run(state)
        if not looks(step):
            continue
        question = f"{one.promise}, step {number}: {step}"
        if isinstance(step, Refused):
            with pytest.raises(JudgeError):
                _theirs(step.step, paimon, tmp_path, state)
        else:
            assert_same(_ours(step, state), _theirs(step, paimon, tmp_path, state), question)


def _ours(step: Any, state: Play) -> pa.Table:
    if isinstance(step, Changes):
        return state.table().changes(**step.how).to_arrow()
    if isinstance(step, Rows):
        return state.table(step.options, step.branch).read(**step.how).to_arrow()
    batches = step.batches(state)
    return (
        pa.concat_tables(batches) if batches else pa.table({"_ROW_KIND": pa.array([], pa.string())})
    )


def _theirs(step: Any, paimon: Judge, warehouse: Path, state: Play) -> list[list[Any]]:
    table = paimon.table(warehouse, NAME)
    newest = state.table().latest_snapshot()
    head = newest.id if newest else 0
    if isinstance(step, Changes):
        return table.changes(step.how.get("after") or 0, step.how.get("to") or head)
    options = dict(step.options or {})
    if isinstance(step, Follows):
        return table.stream(head, **options)
    options |= {STATES[key]: str(value) for key, value in step.how.items() if key in STATES}
    if step.branch:
        table = paimon.table(warehouse, f"{NAME}$branch_{step.branch}")
    columns = step.how.get("columns")
    rows = _read(table, columns, options)
    return [["+I", *cells] for _, *cells in rows]


def _read(
    table: JudgedTable, columns: list[str] | None, options: dict[str, str]
) -> list[list[Any]]:
    return table.read(columns, **options)
