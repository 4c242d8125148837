"""A sensor says the same wherever it waits: in a worker, or in the triggerer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

from paimon_provider._compat import AirflowSkipException
from paimon_provider.sensors.partition import PaimonPartitionSensor
from table_core.table.api.catalog import Catalog
from tests.provider.dag_runs import states, xcom

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
    with table.write() as writer:
        writer.write(pa.table({"dt": ["a"], "n": [1]}))
        writer.commit()
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
