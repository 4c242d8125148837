"""A wrong argument of an operator or a sensor is an error in the Dag, with what was meant.

Method: every checked argument of every class is given twenty wrong values, at parse; those that a template
gives are set as Airflow does when it renders, and refused when the task starts, before a connection is
looked at.  Nothing can be committed: no connection exists.
"""

from __future__ import annotations

import datetime as dt
import importlib
import inspect
import pkgutil
from typing import Any

import pytest
from airflow.sdk.exceptions import AirflowException, AirflowFailException

import paimon_provider.operators
import paimon_provider.sensors
from paimon_provider.arguments.checks import CHECKS, ChecksArguments
from paimon_provider.failures import RETRY
from paimon_provider.operators.compact import PaimonCompactOperator
from paimon_provider.operators.expire import PaimonExpireSnapshotsOperator
from paimon_provider.sensors.snapshot import PaimonSnapshotSensor
from paimon_provider.triggers.snapshot import PaimonSnapshotTrigger
from table_core.errors import ArgumentError

GOOD: dict[str, Any] = {
    "table": "d.t",
    "database": "d",
    "branch": "b",
    "tag": "t",
    "rules": {},
    "source": {"kind": "files", "uri": "file:///x"},
    "file": "x.yaml",
    "policy": {},
    "partitions": [{"dt": "1"}],
    "partition": {"dt": "1"},
    "position": "tc.p.at",
    "label_column": "a",
    "value_column": "b",
    "where": "a = 1",
    "values": {"a": "1"},
    "columns": {"a": "INT"},
    "changes": [],
    "sql": "SELECT 1",
    "on": ["a"],
    "when": [],
    "within": "2 h",
    "at": "2026-01-01T00:00:00+00:00",
}
WRONG: tuple[Any, ...] = (
    *("", " ", "ful", "/", "a/b", "a\nb.c", "d.", ".t", "2 weeks", "soon", "[", "2026-01-01", "-1"),
    *(
        -1,
        0,
        1.5,
        float("nan"),
        object(),
        b"x",
        [1],
        {"a"},
        ["", None],
        True,
        None,
        dt.timedelta(-1),
    ),
)


def classes() -> list[type]:
    found = []
    for package in (paimon_provider.operators, paimon_provider.sensors):
        for info in pkgutil.iter_modules(package.__path__):
            module = importlib.import_module(f"{package.__name__}.{info.name}")
            found += [
                c
                for n, c in vars(module).items()
                if inspect.isclass(c)
                and c.__module__ == module.__name__
                and issubclass(c, ChecksArguments)
                and not n.startswith("_")
                and n not in {"PaimonTableOperator", "PaimonDatabaseOperator", "PaimonSensor"}
            ]
    return found


def parameters(cls: type) -> dict[str, inspect.Parameter]:
    found: dict[str, inspect.Parameter] = {}
    for one in reversed(cls.__mro__):
        if issubclass(one, ChecksArguments) and "__init__" in vars(one):
            found |= inspect.signature(one.__init__).parameters
    if "database" in found:
        found.pop("table", None)
    return {n: p for n, p in found.items() if p.kind is inspect.Parameter.KEYWORD_ONLY}


def made(cls: type, **given: Any) -> Any:
    needed = {
        name: GOOD[name]
        for name, p in parameters(cls).items()
        if p.default is inspect.Parameter.empty
    }
    if cls.__name__ == "PaimonWriteOperator":
        needed["sql"] = GOOD["sql"]
    if cls.__name__ == "PaimonRollbackOperator" and not {"tag", "timestamp"}.intersection(given):
        needed["snapshot"] = 1
    if cls.__name__ == "PaimonCloneOperator":
        needed["source"] = "d.s"
    if cls.__name__ == "PaimonSnapshotSensor":
        needed.pop("on", None)
    return cls(task_id="x", **(needed | given))


def refused(cls: type, name: str, value: object) -> bool:
    check = cls.checks[name if name != "dry_run" else "dry_run_only"]
    try:
        check(value, name)
    except ArgumentError:
        return True
    return False


CHECKED = [
    (cls, name)
    for cls in classes()
    for name in parameters(cls)
    if (name if name != "dry_run" else "dry_run_only") in cls.checks
]


@pytest.mark.parametrize("cls", classes(), ids=lambda c: c.__name__)
def test_what_is_right_is_taken(cls: type) -> None:
    made(cls)


@pytest.mark.parametrize(
    ("cls", "name"), CHECKED, ids=[f"{c.__name__}-{name}" for c, name in CHECKED]
)
def test_twenty_wrong_values_are_refused_at_parse(cls: type, name: str) -> None:
    wrong = [value for value in WRONG if refused(cls, name, value)]
    assert len(wrong) >= (8 if name in {"including", "excluding"} else 10)
    default = parameters(cls)[name].default
    empty = name in getattr(cls, "template_fields", ())  # as a template renders to where nothing is
    for value in wrong:
        if value == default or (empty and value == ""):
            continue
        with pytest.raises(ArgumentError, match=name) as told:
            made(cls, **{name: value})
        assert told.value.kind == "invalid"
        assert not RETRY[told.value.kind]


@pytest.mark.parametrize(
    ("make", "meant"),
    [
        (lambda: PaimonCompactOperator(task_id="x", table="d.t", strategy="ful"), "full"),
        (lambda: PaimonCompactOperator(task_id="x", table="d.t", engine="sparc"), "spark"),
        (lambda: PaimonCompactOperator(task_id="x", table="d.t", events="change"), "changes"),
        (lambda: PaimonSnapshotSensor(task_id="x", table="d.t", on="chnges"), "changes"),
        (lambda: PaimonSnapshotTrigger(table="d.t", asset_uri="x", start="latst"), "latest"),
        (lambda: PaimonSnapshotTrigger(table="d.t", asset_uri="x", events="pol"), "poll"),
    ],
)
def test_the_nearest_spelling_is_told(make: Any, meant: str) -> None:
    with pytest.raises(ArgumentError, match=f"did you mean '{meant}'"):
        make()


@pytest.mark.parametrize("change", [{"table": "t"}, {"poll_seconds": 0}, {"poll_seconds": "3"}])
def test_a_trigger_refuses_it_too(change: dict[str, Any]) -> None:
    with pytest.raises(ArgumentError):
        PaimonSnapshotTrigger(**({"table": "d.t", "asset_uri": "x"} | change))


@pytest.mark.parametrize(
    ("argument", "template", "rendered"),
    [
        ("older_than", "{{ params.when }}", "yesterday"),
        ("table", "{{ params.table }}", "orders"),
    ],
)
def test_what_a_template_gives_is_checked_when_the_task_starts(
    argument: str, template: str, rendered: str
) -> None:
    task = PaimonExpireSnapshotsOperator(
        **({"task_id": "x", "table": "d.t", "outlets": []} | {argument: template})
    )
    setattr(task, argument, rendered)
    with pytest.raises(AirflowException, match=argument) as told:
        task.execute({})
    assert isinstance(told.value, AirflowFailException)


def test_a_mixed_list_with_a_template_waits_for_it() -> None:
    task = PaimonCompactOperator(task_id="x", table="d.t", partitions="{{ ti.xcom_pull('y') }}")
    assert "xcom_pull" in str(task.partitions)
    assert set(CHECKS) >= {"table", "engine", "strategy"}
