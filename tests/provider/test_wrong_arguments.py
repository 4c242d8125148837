"""A wrong argument of an operator, a sensor or a trigger is an error in the Dag, with what was meant.

Method: every parameter that a signature has is given twenty wrong values and more (``wrong_values``), so one
that nobody checks fails here, and so does one that nobody has written down.  A value is refused where it is
written, before a connection is looked at.  What only the table can tell is refused when the task starts,
and nothing is committed.  What a template gives is set as Airflow does when it renders.
"""

from __future__ import annotations

import asyncio
import importlib
import inspect
import pkgutil
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest
from airflow.sdk.exceptions import AirflowException, AirflowFailException

import paimon_provider.operators
import paimon_provider.sensors
import paimon_provider.triggers
from paimon_provider._compat import BaseTrigger
from paimon_provider.arguments import shapes
from paimon_provider.arguments.checks import ChecksArguments, require_arguments
from paimon_provider.failures import RETRY, airflow_failures
from paimon_provider.hooks.paimon import PaimonHook
from paimon_provider.operators.compact import PaimonCompactOperator
from paimon_provider.operators.expire import PaimonExpireSnapshotsOperator
from paimon_provider.runs.identity import RunIdentity
from paimon_provider.sensors.base import PaimonSensor
from paimon_provider.sensors.snapshot import PaimonSnapshotSensor
from paimon_provider.triggers.snapshot import PaimonSnapshotTrigger
from paimon_provider.triggers.wait import PaimonWaitTrigger
from table_core.cdc.sync.source_kinds import SOURCE_KINDS
from table_core.errors import ArgumentError, TableError
from table_core.jobs.actions import sync
from table_core.schema import change
from table_core.table.api.catalog import Catalog
from table_core.table.api.opening import open_catalog
from tests.provider.wrong_values import wrong_values
from tests.tables import write_rows

GOOD: dict[str, Any] = {
    "table": "d.t",
    "database": "d",
    "branch": "b",
    "tag": "t",
    "rules": {"rows": [0, None]},
    "source": {"kind": "files", "uri": "file:///nowhere"},
    "file": "x.yaml",
    "policy": {},
    "partitions": [{"dt": "1"}],
    "partition": {"dt": "1"},
    "position": "tc.p.at",
    "label_column": "dt",
    "value_column": "n",
    "where": "n = 1",
    "values": {"n": "1"},
    "columns": {"a": "INT"},
    "changes": [{"change": "UpdateComment", "comment": "x"}],
    "sql": "SELECT '1' AS dt, CAST(5 AS BIGINT) AS id, CAST(5 AS BIGINT) AS n",
    "on": ["id"],
    "when": [{"action": "matched-delete"}],
    "within": "2 h",
    "at": "2026-01-01T00:00:00+00:00",
    "asset_uri": "paimon://default/d/t",
    "paimon_conn_id": "paimon_default",
    "pipeline_name": "sales",
    "hops": [{"name": "s", "action": "write", "target": "d.t", "args": {"sql": "SELECT 1 AS n"}}],
    "submission": {"id": "driver-1", "folder": "job-1"},
}
SERVER = {"kind": "mysql", "host": "127.0.0.1", "port": 1, "user": "u"}
GOOD_OF: dict[str, dict[str, Any]] = {
    "PaimonWriteOperator": {"sql": GOOD["sql"]},
    "PaimonPipelineOperator": {"max_lifetime": "1 s"},
    "PaimonCloneOperator": {"source": "d.s"},
    "PaimonMergeIntoOperator": {"source": {"table": "d.s"}},
    "PaimonCreateTableOperator": {"table": "d.new"},
    "PaimonResyncOperator": {"source": SERVER, "tables": ["t"]},
    "PaimonSourceAuditOperator": {"source": SERVER, "tables": ["t"]},
    "PaimonSourceDoctorOperator": {"source": SERVER},
    "PaimonSourceReplayOperator": {
        "source": {"kind": "files", "uri": "x"},
        "overwrite": True,
        "dead_letter": "d.dead",
        "synced_table": "t",
    },
}
"""Where a parameter means something else."""


def classes() -> list[type]:
    """Every operator, sensor and trigger that a Dag may name."""
    found = []
    for package in (
        paimon_provider.operators,
        paimon_provider.sensors,
        paimon_provider.triggers,
    ):
        for info in pkgutil.iter_modules(package.__path__):
            module = importlib.import_module(f"{package.__name__}.{info.name}")
            found += [
                c
                for n, c in vars(module).items()
                if inspect.isclass(c)
                and c.__module__ == module.__name__
                and issubclass(c, ChecksArguments | BaseTrigger)
                and not n.startswith("_")
                and n not in BASES
            ]
    return found


BASES = {"PaimonTableOperator", "PaimonDatabaseOperator", "PaimonSensor", "PaimonWaitTrigger"}


def parameters(cls: type) -> dict[str, Any]:
    """Name to default of what ``cls`` takes; what Airflow's own bases take is theirs to check."""
    found: dict[str, inspect.Parameter] = {}
    for one in reversed(cls.__mro__):
        ours = one.__module__.startswith("paimon_provider")
        if ours and "__init__" in vars(one):
            found |= inspect.signature(one.__init__).parameters  # type: ignore[misc]
    if issubclass(cls, PaimonWaitTrigger):
        found |= inspect.signature(cls.wait).parameters
    if "database" in found:
        found.pop("table", None)
    return {n: p.default for n, p in found.items() if p.kind is p.KEYWORD_ONLY}


def made(cls: type, **given: Any) -> Any:
    """A task, or a trigger, of which ``given`` is told and the rest is right."""
    own = {**GOOD, **GOOD_OF.get(cls.__name__, {})}
    needed = {n: own[n] for n, d in parameters(cls).items() if d is inspect.Parameter.empty}
    needed |= GOOD_OF.get(cls.__name__, {})
    if cls.__name__ == "PaimonRollbackOperator" and not {"tag", "timestamp"}.intersection(given):
        needed["snapshot"] = 1
    if cls.__name__ == "PaimonWriteOperator" and {"rows_uri", "rows_position"}.intersection(given):
        del needed["sql"]
        needed["rows_uri"] = "file:///nowhere/*.parquet"
    if cls.__name__ == "PaimonMergeIntoOperator" and "parameters" in given:
        needed["source"] = {"sql": "SELECT 1 AS id"}
    if issubclass(cls, ChecksArguments):
        needed["task_id"] = "x"
    if "engine" in parameters(cls):
        needed["engine"] = "local"
    return cls(**(needed | given))


@pytest.fixture(scope="module")
def catalog(tmp_path_factory: pytest.TempPathFactory) -> Catalog:
    """Two small tables."""
    found = open_catalog(f"file://{tmp_path_factory.mktemp('wh')}")
    found.create_database("d")
    schema = pa.schema([("dt", pa.string()), ("id", pa.int64()), ("n", pa.int64())])
    for name in ("t", "s"):
        table = found.create_table(
            f"d.{name}", schema, partition_by=("dt",), options={"bucket": "-1"}
        )
        write_rows(table, pa.table({"dt": ["1"], "id": [1], "n": [1]}, schema))
    return found


@pytest.fixture(autouse=True)
def _connection(catalog: Catalog, monkeypatch: pytest.MonkeyPatch) -> None:
    extra = '"extra": {"spark_master": "local[1]"}'
    document = f'{{"conn_type": "paimon", "host": "{catalog.storage.uri}", {extra}}}'
    monkeypatch.setenv("AIRFLOW_CONN_PAIMON_DEFAULT", document)


def state_of(catalog: Catalog) -> list[Any]:
    """Everything that a verb could have changed."""
    found: list[Any] = []
    for name in catalog.tables("d"):
        table = catalog.table(f"d.{name}")
        head = table.latest_snapshot()
        told = (head and head.id, table.definition.id, table.tags.list(), table.branches.list())
        found.append((name, *told))
    return found


def start(task: Any) -> None:
    """Do what a worker, or the triggerer, does with ``task``."""
    if isinstance(task, BaseTrigger):
        events = asyncio.run(_first(task))
        if events["status"] == "error":
            raise ArgumentError(str(events["error"]), argument="?", value=None)
        return
    with airflow_failures():
        if isinstance(task, PaimonSensor):
            task.poke({})
            return
        require_arguments(task)
        hook = PaimonHook("paimon_default", identity=RunIdentity("wrong"))
        hook.run(task.action, task.table, task.arguments(), engine="local")


def refusal(task: Any) -> BaseException | None:
    """Why ``task`` does not start; None if it does."""
    try:
        start(task)
    except (AirflowFailException, ArgumentError) as error:
        return error.__cause__ or error
    return None


async def _first(trigger: Any) -> Any:
    events = trigger.run()
    try:
        return (await asyncio.wait_for(anext(events), 20)).payload
    finally:
        await events.aclose()


ONLY_THE_TABLE_KNOWS = {"invalid", "not-found", "unsupported"}
"""Why a value is refused at the start: also for a column that is not there, or a format."""
PARAMETERS = [(cls, name) for cls in classes() for name in parameters(cls)]


@pytest.mark.parametrize("cls", classes(), ids=lambda c: c.__name__)
def test_what_is_right_is_taken(cls: type) -> None:
    made(cls)


@pytest.mark.parametrize(
    ("cls", "name"), PARAMETERS, ids=[f"{c.__name__}-{name}" for c, name in PARAMETERS]
)
def test_twenty_wrong_values_of_every_parameter_are_refused(
    cls: type, name: str, catalog: Catalog
) -> None:
    wrong = wrong_values(cls, name)
    assert wrong is not None, f"write down what {cls.__name__} must refuse as {name}"
    assert len(wrong) >= 20
    default, before, told = parameters(cls)[name], state_of(catalog), 0
    for value in wrong:
        if value is default or (type(value) is type(default) and value == default):
            continue
        try:
            task = made(cls, **{name: value})
        except ArgumentError as error:
            assert name in str(error), (value, error)
            assert error.kind == "invalid"
            assert not RETRY[error.kind]
            told += 1
        else:
            cause = refusal(task)
            assert isinstance(cause, TableError), (value, cause)
            assert cause.kind in ONLY_THE_TABLE_KNOWS, (value, cause)
            assert not RETRY[cause.kind]
            assert "no table" not in str(cause), "the value is refused, not the table"
    assert told >= 20
    assert state_of(catalog) == before


TEMPLATED = [
    (c, n) for c, n in PARAMETERS if n in getattr(c, "template_fields", ()) and n != "spark_conf"
]


@pytest.mark.parametrize(
    ("cls", "name"), TEMPLATED, ids=[f"{c.__name__}-{name}" for c, name in TEMPLATED]
)
def test_a_template_that_renders_wrong_is_refused_at_the_start(
    cls: type, name: str, catalog: Catalog
) -> None:
    """Airflow sets what it has rendered, and the checks of the Dag's file are over by then."""
    before = state_of(catalog)
    for value in wrong_values(cls, name) or ():
        try:
            made(cls, **{name: value})
        except ArgumentError:
            task = made(cls, **{name: "{{ params.x }}"}, **_without_assets(cls))
            setattr(task, name, value)
            if cls.__name__ in {"PaimonRelayPartitionsOperator", "PaimonChangeReportOperator"}:
                with pytest.raises(ArgumentError, match=name):
                    require_arguments(task)
                continue
            with pytest.raises(AirflowException) as told:
                task.execute({"ti": SimpleNamespace(dag_id="d", task_id="x", map_index=-1)})
            assert isinstance(told.value, AirflowFailException), (value, told.value)
            assert name in str(told.value)
    assert state_of(catalog) == before


def _without_assets(cls: type) -> dict[str, Any]:
    """What a templated table needs: nobody knows its asset when the Dag is read."""
    if cls.__name__ == "PaimonChangeReportOperator":
        return {"inlets": []}
    return {"outlets": []} if "outlets" in parameters(cls) else {}


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


def test_the_words_of_the_checks_are_the_core_s() -> None:
    assert set(shapes.CHANGES) == set(change.__all__) - {"SchemaChange", "changes_of"}
    assert set(sync.SOURCE_KINDS) == set(SOURCE_KINDS)
