"""Where Paimon's rule means that no partition can ever expire, everybody who could know says so, and what helps."""

from __future__ import annotations

import datetime as dt
import json
import logging
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from typer.testing import CliRunner

import table_core as tc
from table_core.cli.main import app
from table_core.jobs.job_spec import JobSpec
from table_core.jobs.run import run_embedded
from tests.tables import new_catalog, write_rows

KEPT = {"partition.expiration-time": "1 d"}
BY_UPDATE = {**KEPT, "partition.expiration-strategy": "update-time"}
HELP = "partition.expiration-strategy to update-time"
KINDS: dict[str, tuple[pa.DataType, Any, str]] = {
    "DATE": (pa.date32(), dt.date(2020, 1, 1), "DATE"),
    "TIMESTAMP": (pa.timestamp("us"), dt.datetime(2020, 1, 1, 7), "TIMESTAMP(6)"),
    "BOOLEAN": (pa.bool_(), True, "BOOLEAN"),
}


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> tuple[pa.DataType, Any, str]:
    return KINDS[request.param]


def made(kind: tuple[pa.DataType, Any, str], options: dict[str, str]) -> tc.Table:
    schema = pa.schema([("p", kind[0]), ("v", pa.int64())])
    return new_catalog().create_table("d.t", schema, partition_by="p", options=options)


def test_creation_and_the_option_that_helps(kind: Any, caplog: pytest.LogCaptureFixture) -> None:
    made(kind, KEPT)
    assert HELP in caplog.text
    caplog.clear()
    made(kind, BY_UPDATE)
    made(kind, {})
    made((pa.string(), "2020-01-01", "STRING"), KEPT)
    assert caplog.text == ""


def test_an_alteration_says_it_once(caplog: pytest.LogCaptureFixture) -> None:
    table = made(KINDS["DATE"], {})
    catalog = tc.open_catalog(table.uri.rsplit("/", 2)[0])
    catalog.alter_table("d.t", [tc.SetOption("partition.expiration-time", "1 d")])
    assert HELP in caplog.text
    caplog.clear()
    catalog.alter_table("d.t", [tc.SetOption("snapshot.num-retained.min", "5")])
    assert caplog.text == ""


def test_health_is_not_well(kind: Any) -> None:
    table = made(kind, KEPT)
    write_rows(table, pa.table({"p": [kind[1]], "v": [1]}, schema=table.schema))
    verdict = table.health().of("expire-partitions")
    assert verdict.urgency == "due"
    assert HELP in verdict.reasons[0]
    assert made(kind, BY_UPDATE).health().of("expire-partitions").reasons == ()


def test_health_tells_of_texts_that_are_all_no_time() -> None:
    table = made((pa.string(), "", ""), KEPT)
    write_rows(table, pa.table({"p": ["north", "south"], "v": [1, 2]}))
    verdict = table.health().of("expire-partitions")
    assert (verdict.urgency, verdict.reasons) == (
        "due",
        ("none of 2 partitions has a value that can be dated: none expires",),
    )
    write_rows(table, pa.table({"p": ["2999-01-01"], "v": [1]}))
    assert table.health().of("expire-partitions").urgency == "ok"


@pytest.mark.parametrize("action", ["create-table", "alter-table", "expire-partitions"])
def test_a_job_says_it_in_its_result(action: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    table = made(KINDS["DATE"], {} if action == "alter-table" else KEPT)
    args: dict[str, dict[str, Any]] = {
        "create-table": {"columns": {"p": "DATE"}, "partition_by": ["p"], "options": KEPT},
        "alter-table": {
            "changes": [{"change": "SetOption", "key": "partition.expiration-time", "value": "1 d"}]
        },
        "expire-partitions": {},
    }
    spec = JobSpec(
        action=action,
        warehouse=table.uri.rsplit("/", 2)[0],
        table="d.n" if action == "create-table" else "d.t",
        args=args[action],
    )
    result = run_embedded(JobSpec.from_json(spec.to_json()))
    assert HELP in result["details"]["advice"]


DECLARED = """\
name: shop
version: 1
tables:
  shop.orders:
    columns: {day: %s, id: BIGINT}
    partition_by: [day]
    options:
      bucket: -1
      partition.expiration-time: 1 d
"""


def test_validation_warns_and_passes(tmp_path: Path) -> None:
    file = tmp_path / "shop.yaml"
    file.write_text(DECLARED % "DATE")
    said = CliRunner().invoke(app, ["validate", str(file)])
    assert (said.exit_code, said.stdout) == (0, "")
    assert f"{file}:9:7: shop.orders: no partition can expire by day (DATE)" in said.stderr
    told = CliRunner().invoke(app, ["validate", str(file), "--json"])
    document = json.loads(told.stdout)
    assert document["faults"] == []
    assert [w["line"] for w in document["warnings"]] == [9]
    file.write_text(DECLARED % "STRING")
    assert CliRunner().invoke(app, ["validate", str(file)]).stderr == ""
