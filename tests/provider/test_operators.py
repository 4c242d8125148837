"""Operators say what a job is told, and nothing more."""

from __future__ import annotations

import inspect
from types import SimpleNamespace
from typing import Any

import pytest
from airflow.sdk import BaseOperator
from airflow.sdk.exceptions import AirflowFailException

from paimon_provider.hooks.paimon import PaimonHook
from paimon_provider.operators.base import PaimonTableOperator
from paimon_provider.operators.branches import (
    PaimonCreateBranchOperator,
    PaimonFastForwardOperator,
)
from paimon_provider.operators.clone import PaimonCloneOperator
from paimon_provider.operators.compact import (
    PaimonCompactOperator,
)
from paimon_provider.operators.expire import (
    PaimonExpireSnapshotsOperator,
)
from paimon_provider.operators.position import PaimonPositionOperator
from paimon_provider.operators.write import PaimonMergeIntoOperator, PaimonWriteOperator
from paimon_provider.sensors.snapshot import PaimonSnapshotSensor
from paimon_provider.waiting.wait_conditions import SnapshotWait
from table_core.errors import ArgumentError
from table_core.jobs.job_spec import ACTIONS
from tests.provider.needed_arguments import NEEDED


def make(cls: type[BaseOperator], **more: Any) -> Any:
    table = {} if "database" in NEEDED[cls] else {"table": "a.b"}
    return cls(**{"task_id": "t", **table, **NEEDED[cls], **more})


def parameters(cls: type[BaseOperator]) -> dict[str, inspect.Parameter]:
    found: dict[str, inspect.Parameter] = {}
    for base in cls.__mro__:
        if base.__module__.startswith("paimon_provider") and "__init__" in vars(base):
            found |= dict(inspect.signature(base.__init__).parameters)
    return found


@pytest.mark.parametrize("cls", NEEDED, ids=lambda c: c.__name__)
def test_every_template_field_is_a_parameter_stored_as_it_came(cls: type[BaseOperator]) -> None:
    operator = make(cls)
    known = parameters(cls)
    for field in operator.template_fields:
        assert field in known, field
        if field in NEEDED[cls]:
            assert getattr(operator, field) == NEEDED[cls][field]
    assert set(operator.template_fields_renderers) <= set(operator.template_fields)


@pytest.mark.parametrize("cls", NEEDED, ids=lambda c: c.__name__)
def test_parameters_are_keyword_only(cls: type[BaseOperator]) -> None:
    kinds = {p.kind for name, p in parameters(cls).items() if name not in {"self", "kwargs"}}
    assert kinds == {inspect.Parameter.KEYWORD_ONLY}


@pytest.mark.parametrize("cls", NEEDED, ids=lambda c: c.__name__)
def test_every_job_is_json_and_a_known_action(cls: type[BaseOperator]) -> None:
    import json

    if not issubclass(cls, PaimonTableOperator):
        return
    operator = make(cls)
    assert operator.action in ACTIONS
    assert json.loads(json.dumps(operator.arguments())) == operator.arguments()


def test_points_in_time_reach_the_job_as_milliseconds() -> None:
    assert make(PaimonExpireSnapshotsOperator).arguments()["older_than"] == 1767225600000


def test_the_table_is_announced_unless_it_is_a_template_or_not_wanted() -> None:
    (outlet,) = make(PaimonCompactOperator, catalog="Demo").outlets
    assert outlet.uri == "paimon://demo/a/b"
    assert make(PaimonCompactOperator, table="{{ params.t }}").outlets == []
    assert make(PaimonCompactOperator, outlets=[]).outlets == []


def test_rows_come_from_one_place() -> None:
    for wrong in ({"sql": None}, {"sql": "SELECT 1", "rows_uri": "x"}):
        with pytest.raises(ArgumentError, match="give one of sql, rows_uri; found"):
            make(PaimonWriteOperator, **wrong)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("sources", {"o": {"table": "a.o"}}),
        ("parameters", {"x": 1}),
        ("pending", {"table": "a.w", "sql": "SELECT 1"}),
        ("flow_name", "f"),
        ("rows_position", "tc.files"),
    ],
)
def test_what_only_the_other_way_to_rows_has_is_refused(name: str, value: Any) -> None:
    way = {} if name == "rows_position" else {"sql": None, "rows_uri": "x/*.csv"}
    with pytest.raises(ArgumentError, match=f"{name} goes with (sql|rows_uri) only"):
        make(PaimonWriteOperator, **way, **{name: value})


@pytest.mark.parametrize("rendered", ["", "None", None])
def test_a_place_that_renders_to_nothing_does_not_start_a_reader_again(rendered: Any) -> None:
    task = make(PaimonPositionOperator, snapshot="{{ params.snapshot }}")
    task.snapshot = rendered
    with pytest.raises(AirflowFailException, match="write 0 if that is meant"):
        task.execute({})


@pytest.mark.parametrize(
    ("cls", "name"),
    [
        (PaimonFastForwardOperator, "state"),
        (PaimonCreateBranchOperator, "tag"),
        (PaimonCloneOperator, "tag"),
        (PaimonWriteOperator, "overwrite"),
    ],
)
def test_a_template_that_renders_to_nothing_does_not_mean_the_opposite(cls: Any, name: str) -> None:
    """Left out, they mean any state, an empty branch, the newest state, and rows that are appended."""
    task = make(cls, **{name: "{{ ti.xcom_pull('check') }}"})
    setattr(task, name, None)
    with pytest.raises(AirflowFailException, match=f"the template of {name} has rendered to None"):
        task.execute({"ti": SimpleNamespace(dag_id="d", task_id="t")})
    make(cls, **{name: None})


def test_a_merge_takes_values_for_sql_alone_and_reads_states() -> None:
    with pytest.raises(ArgumentError, match="parameters goes with"):
        make(PaimonMergeIntoOperator, source={"table": "a.o"}, parameters={"x": 1})
    views = {"o": {"table": "a.o", "mode": "changes"}}
    with pytest.raises(ArgumentError, match="reads the newest"):
        make(PaimonMergeIntoOperator, source={"sql": "SELECT 1", "sources": views})


def test_defaults_of_sources_are_spelled_out() -> None:
    sources = {"o": {"table": "a.o", "mode": "changes"}, "c": {"table": "a.c"}}
    assert make(PaimonWriteOperator, sources=sources).arguments()["sources"] == {
        "o": {"table": "a.o", "mode": "changes", "position": None},
        "c": {"table": "a.c", "mode": "snapshot", "position": None},
    }


@pytest.mark.parametrize(
    ("cls", "wrong"),
    [(PaimonCompactOperator, {"events": "all"}), (PaimonSnapshotSensor, {"on": "chnages"})],
)
def test_a_wrong_choice_is_an_error_in_the_dag(cls: type[BaseOperator], wrong: Any) -> None:
    with pytest.raises(ArgumentError, match=r"is none of|expected one of"):
        make(cls, **wrong)


def test_the_sensor_refuses_what_is_no_snapshot() -> None:
    with pytest.raises(ArgumentError, match="after='None' is no snapshot id"):
        SnapshotWait(table="a.b", after="None").look(PaimonHook())
