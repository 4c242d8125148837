"""Goal: who watches a long verb is told how far it is; who does not is told nothing."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from table_core.jobs.job_spec import JobSpec
from table_core.jobs.run import run_embedded
from table_core.table.metadata.progress import Step, tell, watched
from tests.tables import new_catalog, write_rows


@pytest.fixture
def warehouse(tmp_path: Path) -> str:
    catalog = new_catalog(tmp_path.as_uri())
    schema = pa.schema([pa.field("id", pa.int64(), nullable=False)])
    table = catalog.create_table(
        "d.t", schema, primary_key=("id",), options={"bucket": "4", "write-only": "true"}
    )
    for number in range(4):
        write_rows(table, pa.table({"id": range(number, 100)}, schema=schema))
    (tmp_path / "rows.csv").write_text("id\n1\n")
    return tmp_path.as_uri()


@pytest.mark.parametrize(
    ("action", "table", "args", "stage", "unit", "known"),
    [
        ("write", "d.t", {"rows_files": ["rows.csv"]}, "reading", "bytes", True),
        ("compact", "d.t", {}, "compacting", "bytes", True),
        ("clone", "d.copy", {"source": "d.t"}, "copying", "bytes", True),
        ("expire-snapshots", "d.t", {"retain_max": 1, "retain_min": 1}, "expiring", "snapshots", True),
        ("remove-orphan-files", "d.t", {}, "looking at", "files", False),
    ],
)  # fmt: skip
def test_a_long_verb_says_how_far_it_is(
    warehouse: str, action: str, table: str, args: dict[str, object], stage: str, unit: str, known: bool
) -> None:  # fmt: skip
    args = {
        k: [f"{warehouse}/{one}" for one in v] if k == "rows_files" else v for k, v in args.items()
    }
    told: list[Step] = []
    with watched(told.append):
        run_embedded(JobSpec(action=action, warehouse=warehouse, table=table, args=args))
    steps = [step for step in told if step.stage == stage]
    assert steps
    assert [step.done for step in steps] == sorted(step.done for step in steps)
    assert {step.unit for step in steps} == {unit}
    if known:
        assert steps[-1].done == steps[-1].total
    else:
        assert {step.total for step in steps} == {None}


def test_nobody_is_told_who_does_not_watch() -> None:
    told: list[Step] = []
    with watched(told.append):
        tell("reading", 1, 2)
    tell("reading", 2, 2)
    assert told == [Step("reading", 1, 2, "bytes")]
