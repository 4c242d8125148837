"""A sensor says the same wherever it waits: in a worker, or in the triggerer."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

from paimon_provider._compat import (
    AirflowFailException,
    AirflowNotFoundException,
    AirflowSkipException,
)
from paimon_provider.sensors.base import PaimonSensor
from paimon_provider.sensors.partition import PaimonPartitionSensor
from paimon_provider.sensors.snapshot import PaimonSnapshotSensor
from paimon_provider.sensors.tag import PaimonTagSensor
from paimon_provider.triggers.wait import PaimonSnapshotWaitTrigger, PaimonTagTrigger
from table_core.table.api.catalog import Catalog
from tests.provider.dag_runs import states, xcom
from tests.tables import write_rows

pytestmark = [pytest.mark.airflow, pytest.mark.filterwarnings("default")]

MODES = {"poke": 'mode="poke"', "wait": "deferrable=True"}
FLAGS = ("soft_fail", "never_fail", "silent_fail", "")
COMMON = 'table="shop.t", poke_interval=0.2'
WRONG = 'partition={"no_such": "a"}'
THERE = 'partition={"dt": "a"}'


def test_a_first_look_that_fails_is_taken_alike(
    run: Callable[..., Any], warehouse: Catalog
) -> None:
    warehouse.create_database("shop")
    schema = pa.schema([("dt", pa.string()), ("n", pa.int64())])
    table = warehouse.create_table("shop.t", schema, partition_by=("dt",), options={"bucket": "-1"})
    write_rows(table, pa.table({"dt": ["a"], "n": [1]}))
    tasks = [
        f'PaimonPartitionSensor(task_id="{name}_{flag}_{mode}", {partition}, {how}, {COMMON}'
        + (f", {flag}=True)" if flag else ")")
        for name, partition in (("wrong", WRONG), ("there", THERE))
        for flag in FLAGS
        for mode, how in MODES.items()
    ]
    done = run("\n".join(tasks))
    ended = states(done)
    for mode in MODES:
        for flag in FLAGS:
            skipped = flag in {"soft_fail", "never_fail"}
            assert ended[f"there_{flag}_{mode}"] == "success"
            assert ended[f"wrong_{flag}_{mode}"] == ("skipped" if skipped else "failed"), flag
    assert xcom(done, "there__poke") == xcom(done, "there__wait")


class Skipping(PaimonPartitionSensor):
    """Its look says that the task is to be skipped."""

    def poke(self, context: Any) -> Any:
        raise AirflowSkipException("nothing today")


@pytest.mark.parametrize("flag", FLAGS[1:])
def test_a_first_look_that_skips_is_not_taken_for_a_failure(flag: str) -> None:
    given: dict[str, Any] = {flag: True} if flag else {}
    sensor = Skipping(task_id="t", table="shop.t", partition={"dt": "a"}, deferrable=True, **given)
    with pytest.raises(AirflowSkipException, match="nothing today"):
        sensor.execute({})  # type: ignore[typeddict-item]


def test_a_look_that_finds_nothing_says_what_is_there(
    warehouse: Catalog, capsys: pytest.CaptureFixture[str]
) -> None:
    def said(kind: type[PaimonSensor], **arguments: Any) -> str:
        sensor = kind(task_id="t", **arguments)
        assert not sensor.poke({}).is_done  # type: ignore[typeddict-item]
        printed = capsys.readouterr()
        (line,) = re.findall("Still waiting: (.*?)(?: \\[|$)", printed.out + printed.err)
        return str(line)

    warehouse.create_database("shop")
    schema = pa.schema([("dt", pa.string()), ("n", pa.int64())])
    assert said(PaimonSnapshotSensor, table="shop.ordres") == "there is no table shop.ordres"
    table = warehouse.create_table("shop.t", schema, partition_by=("dt",), options={"bucket": "-1"})
    assert said(PaimonSnapshotSensor, table="shop.t") == "shop.t has no snapshot"
    write_rows(table, pa.table({"dt": ["a", "a"], "n": [1, 2]}))
    assert said(PaimonSnapshotSensor, table="shop.t", min_rows=3).endswith("with 2 of 3 rows")
    assert said(PaimonSnapshotSensor, table="shop.t", after=1).endswith(
        "is 1, and none came after it"
    )
    assert "was rolled back, or dropped and made anew" in said(
        PaimonSnapshotSensor, table="shop.t", after=4
    )
    day = {"dt": "a"}
    assert said(PaimonPartitionSensor, table="shop.t", partition=day, min_rows=3) == (
        "partition {'dt': 'a'} has 2 of 3 rows"
    )
    assert said(PaimonTagSensor, table="shop.t", tag="v1").startswith("shop.t has no tag v1")


@pytest.mark.parametrize("deferrable", [False, True])
def test_a_missing_table_ends_a_sensor_that_is_told_so(
    deferrable: bool, warehouse: Catalog
) -> None:
    warehouse.create_database("shop")
    sensor = PaimonTagSensor(
        task_id="t", table="shop.ordres", tag="v1", missing="fail", deferrable=deferrable
    )
    with pytest.raises(AirflowFailException, match=r"shop\.ordres"):
        sensor.execute({})  # type: ignore[typeddict-item]
    trigger = PaimonTagTrigger(
        paimon_conn_id="paimon_default", table="shop.ordres", tag="v1", missing="fail"
    )

    async def first() -> Any:
        return [event async for event in trigger.run()]

    (event,) = asyncio.run(first())
    assert event.payload["status"] == "error"
    assert "shop.ordres" in str(event.payload["error"])
    assert dict(trigger.serialize()[1])["missing"] == "fail"


def test_a_sensor_that_has_looked_outlives_a_connection_that_is_away(
    warehouse: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    def sensor() -> Any:
        return PaimonTagSensor(task_id="t", table="shop.t", tag="v1")

    first = sensor()
    assert not first.poke({}).is_done
    monkeypatch.delenv("AIRFLOW_CONN_PAIMON_DEFAULT")
    assert not first.poke({}).is_done
    assert not sensor().poke({"task_reschedule_count": 1}).is_done
    with pytest.raises(AirflowNotFoundException):
        sensor().poke({})


class _Kept(dict[str, Any]):
    """The state of a task run, which outlives each look."""

    def set(self, key: str, value: Any) -> None:
        self[key] = json.loads(json.dumps(value))


@pytest.mark.parametrize("mode", ["poke", "reschedule", "triggerer"])
@pytest.mark.parametrize("how", ["made-anew", "rolled-back"])
def test_a_sensor_counts_what_stands_in_the_place_of_the_table_that_it_began_with(
    mode: str, how: str, warehouse: Catalog
) -> None:
    """Its numbers are smaller than the one that the sensor was told, or the same."""

    def commit() -> None:
        write_rows(warehouse.table("shop.t"), pa.table({"n": [1, 2]}))

    def make() -> None:
        schema = pa.schema([("n", pa.int64())])
        warehouse.create_table("shop.t", schema, options={"bucket": "-1"})

    state = _Kept()
    looks = _looks_of(mode, state)
    warehouse.create_database("shop")
    make()
    for _ in range(4):
        commit()
    assert looks() is None
    if how == "made-anew":
        warehouse.drop_table("shop.t")
        assert looks() is None
        make()
    else:
        warehouse.table("shop.t").rollback_to(2)
    assert looks() is None
    commit()
    assert looks() is None, "2 of 3 rows"
    commit()
    found = looks()
    assert found is not None
    first = 1 if how == "made-anew" else 3
    assert found["reset"] == how
    assert found["snapshots"] == {"first": first, "last": first + 1, "count": 2}


def _looks_of(mode: str, state: _Kept) -> Callable[[], Any]:
    """One look after another of a sensor that waits for three rows after snapshot 4."""
    wanted: dict[str, Any] = {"table": "shop.t", "after": 4, "min_rows": 3}
    if mode == "triggerer":
        trigger = PaimonSnapshotWaitTrigger(paimon_conn_id="paimon_default", **wanted)
        return trigger._look
    kept = PaimonSnapshotSensor(task_id="t", mode=mode, **wanted)

    def look() -> Any:
        sensor = kept
        if mode == "reschedule":
            sensor = PaimonSnapshotSensor(task_id="t", mode=mode, **wanted)
        return sensor.poke({"task_state_store": state}).xcom_value  # type: ignore[typeddict-item]

    return look
