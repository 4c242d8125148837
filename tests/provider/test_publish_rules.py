"""Write-audit-publish: nothing reaches main but what was checked, whatever a Dag or a person does."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from airflow.sdk import DAG, task_group

import table_core as tc
from paimon_provider.operators.branches import PaimonFastForwardOperator
from paimon_provider.operators.write import PaimonWriteOperator
from paimon_provider.publish import PaimonWriteAuditPublish
from table_core.errors import ArgumentError
from table_core.table.api.catalog import Catalog
from tests.provider.attempts import Runs, of_dag
from tests.tables import write_rows

pytestmark = [pytest.mark.airflow, pytest.mark.filterwarnings("default")]

IMPORT = "from paimon_provider.publish import PaimonWriteAuditPublish\n"
RULES = {"range": {"id": [0, 100]}, "rows": [1, None]}
WAP = """
with PaimonWriteAuditPublish(group_id="wap", table="shop.orders",
        rules={"range": {"id": [0, 100]}, "rows": [1, None]}) as wap:
"""
LOAD = """
    load = PaimonWriteOperator(task_id="load", table=wap.branch_table, engine="local",
        sql="SELECT CAST({{ dag_run.conf['id'] }} AS BIGINT) AS id")
"""


@pytest.fixture(autouse=True)
def orders(warehouse: Catalog) -> None:
    warehouse.create_database("shop")
    warehouse.create_table("shop.orders", pa.schema([("id", pa.int64())]), options={"bucket": "-1"})


def ids(warehouse: Catalog) -> list[int]:
    return sorted(warehouse.table("shop.orders").read().to_arrow()["id"].to_pylist())


@contextmanager
def published(home: Path, body: str = WAP + LOAD, **more: Any) -> Iterator[Runs]:
    with of_dag(home, body, head=IMPORT, **more) as runs:
        yield runs


def write(sql: str = "SELECT 1", **more: Any) -> Any:
    return PaimonWriteOperator(sql=sql, **more)


def upstream(dag: Any, task_id: str) -> set[str]:
    return {name.removeprefix("g.") for name in dag.get_task(task_id).upstream_task_ids}


def test_the_audit_waits_for_every_last_task() -> None:
    @task_group
    def each(wap: Any, where: Any) -> None:
        write(where, task_id="in_mapped_group", table=wap.branch_table)

    with DAG("d") as dag, PaimonWriteAuditPublish("g", table="a.b", rules=RULES) as wap:
        mapped = PaimonWriteOperator.partial(task_id="mapped", table=wap.branch_table)
        mapped.expand(sql=["SELECT 1", "SELECT 2"])
        each.partial(wap=wap).expand(where=["SELECT 1"])
        first = write(task_id="first", table=wap.branch_table)
        first >> PaimonWriteOperator.partial(task_id="then", table=wap.branch_table).expand(
            sql=["x"]
        )
        up = write(task_id="up", table="x.y").as_setup()
        work = write(task_id="work", table=wap.branch_table)
        down = write(task_id="down", table="x.y").as_teardown(setups=up)
        up >> work >> down
        with PaimonWriteAuditPublish("inner", table="a.c", rules=RULES) as inner:
            write(task_id="load", table=inner.branch_table)
    last = {"mapped", "each.in_mapped_group", "then", "work", "inner.clean_up", "branch"}
    assert upstream(dag, "g.audit") == last
    for name in ("mapped", "each.in_mapped_group", "first", "up", "inner.branch"):
        assert "branch" in upstream(dag, f"g.{name}")
    assert upstream(dag, "g.inner.audit") == {"inner.load", "inner.branch"}
    with pytest.raises(ArgumentError, match="comes after group 'g' has ended"):
        write(task_id="late", table=wap.branch_table, task_group=wap)


def test_rows_of_mapped_tasks_are_audited(airflow_home: Path, warehouse: Catalog) -> None:
    body = WAP + (
        "    PaimonWriteOperator.partial(task_id='load', table=wap.branch_table, engine='local')"
        ".expand(sql=[f'SELECT CAST({n} AS BIGINT) AS id' for n in (1, 2, 1000)])\n"
    )
    with published(airflow_home, body) as runs:
        runs.create()
        states = runs.finish()
    assert states["wap.load[2]"] == "success"
    assert (states["wap.audit"], states["wap.publish"]) == ("failed", "upstream_failed")
    assert ids(warehouse) == []


def test_dags_that_share_run_ids_have_branches_of_their_own(
    airflow_home: Path, warehouse: Catalog
) -> None:
    one = warehouse.table("shop.orders")
    with published(airflow_home) as a, published(airflow_home) as b:
        a.create("same", id=1)
        a.step("same")
        a.step("same")
        b.create("same", id=1000)
        b.step("same")
        b.step("same")
        assert len(one.branches.list()) == 2
        assert a.finish("same")["wap.publish"] == "success"
        assert b.finish("same")["wap.audit"] == "failed"
    assert ids(warehouse) == [1]


def test_names_of_branches_are_short_valid_and_never_meet(
    airflow_home: Path, warehouse: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AIRFLOW__SCHEDULER__ALLOWED_RUN_ID_PATTERN", ".*")
    table = warehouse.table("shop.orders")
    names = ["a:b", "a_b", "a+b", "a$b c", "x" * 240, "x" * 239 + "y"]
    with published(airflow_home) as runs:
        for name in names:
            runs.create(name, id=1)
            assert runs.step(name)["wap.branch"] == "success", name
            runs.step(name)
    found = table.branches.list()
    assert len(found) == len(names)
    assert max(map(len, found)) < 130
    assert all(runs.dag.dag_id in name and "wap" in name for name in found)


def test_a_rule_for_all_tasks_does_not_publish_what_failed(
    airflow_home: Path, warehouse: Catalog
) -> None:
    body = (
        WAP.replace(
            "with ",
            "dag.default_args.update(trigger_rule='all_done', fail=False, retries=0,"
            " do_xcom_push=False)\nwith ",
        )
        + LOAD
    )
    with published(airflow_home, body) as runs:
        runs.create(id=1000)
        states = runs.finish()
    assert (states["wap.audit"], states["wap.publish"]) == ("failed", "upstream_failed")
    assert ids(warehouse) == []


def test_what_was_written_after_the_audit_is_not_published(
    airflow_home: Path, warehouse: Catalog
) -> None:
    """Somebody clears a single task while the run has not published yet."""
    with published(airflow_home) as runs:
        for cleared in (("wap.load",), ("wap.branch", "wap.load")):
            runs.create(id=1)
            for _ in range(3):
                states = runs.step()
            assert (states["wap.audit"], states["wap.publish"]) == ("success", "None")
            runs.set_conf(id=1000)
            runs.clear(*cleared)
            states = runs.finish()
            assert (states["wap.load"], states["wap.publish"]) == ("success", "failed"), cleared
            assert ids(warehouse) == []
            runs.clear("wap.audit", "wap.publish")
            assert runs.finish()["wap.audit"] == "failed"
            runs.delete()


def test_a_skipped_task_publishes_nothing(airflow_home: Path, warehouse: Catalog) -> None:
    body = (
        WAP
        + LOAD
        + """
    @task
    def skipped():
        from airflow.sdk.exceptions import AirflowSkipException
        raise AirflowSkipException
    skipped()
"""
    )
    with published(airflow_home, body) as runs:
        runs.create(id=1)
        states = runs.finish()
    assert (states["wap.audit"], states["wap.publish"]) == ("skipped", "skipped")
    assert ids(warehouse) == []


def test_a_group_that_is_cleared_whole_publishes_again(
    airflow_home: Path, warehouse: Catalog
) -> None:
    whole = [f"wap.{name}" for name in ("branch", "load", "audit", "publish", "clean_up")]
    with published(airflow_home) as runs:
        runs.create(id=1000)
        assert runs.finish()["wap.audit"] == "failed"
        runs.set_conf(id=1)
        for rows in (1, 2):
            runs.clear(*whole)
            assert set(runs.finish().values()) == {"success"}
            assert ids(warehouse) == [1] * rows
        runs.delete()
        runs.create(id=2)
        assert set(runs.finish().values()) == {"success"}
    assert ids(warehouse) == [1, 1, 2]


def test_the_branch_of_another_run_is_left_alone(airflow_home: Path, warehouse: Catalog) -> None:
    body = WAP.replace('group_id="wap"', 'group_id="wap", branch="trial"') + LOAD
    with published(airflow_home, body) as runs:
        runs.create("first", id=1000)
        assert runs.finish("first")["wap.audit"] == "failed"
        runs.create("second", id=1)
        assert runs.finish("second")["wap.branch"] == "failed"
        trial = warehouse.table("shop.orders", branch="trial")
        assert trial.read().to_arrow()["id"].to_pylist() == [1000]
        runs.clear("wap.branch", "wap.load", run_id="first")
        assert runs.finish("first")["wap.load"] == "success", "its own it makes anew"
    assert ids(warehouse) == []


def test_a_run_that_is_cleared_leaves_the_branch_that_another_has_made_since(
    airflow_home: Path, warehouse: Catalog
) -> None:
    body = WAP.replace('group_id="wap"', 'group_id="wap", branch="trial"') + LOAD
    with published(airflow_home, body) as runs:
        runs.create("first", id=1)
        assert set(runs.finish("first").values()) == {"success"}
        runs.create("second", id=1000)
        assert runs.finish("second")["wap.audit"] == "failed"
        runs.clear("wap.branch", "wap.load", run_id="first")
        assert runs.finish("first")["wap.branch"] == "failed"
        trial = warehouse.table("shop.orders", branch="trial")
        assert trial.read().to_arrow()["id"].to_pylist() == [1, 1000]
        runs.clear("wap.branch", "wap.load", run_id="second")
        assert runs.finish("second")["wap.branch"] == "success", "its own it makes anew"
    assert ids(warehouse) == [1]


@pytest.mark.parametrize("rule", ["all_done", "one_success", "none_skipped"])
def test_a_failure_reaches_the_audit_past_a_task_that_begins_all_the_same(
    airflow_home: Path, warehouse: Catalog, rule: str
) -> None:
    body = (
        WAP
        + f"""
    def write(name, sql, **more):
        return PaimonWriteOperator(task_id=name, table=wap.branch_table, engine="local", sql=sql, **more)
    a = write("a", "SELECT CAST(1 AS BIGINT) AS id")
    b = write("b", "SELECT nothing", retries=0)
    c = write("c", "SELECT CAST(3 AS BIGINT) AS id", trigger_rule={rule!r})
    [a, b] >> c
"""
    )
    with published(airflow_home, body) as runs:
        runs.create()
        states = runs.finish()
    assert (states["wap.b"], states["wap.c"]) == ("failed", "success")
    assert (states["wap.audit"], states["wap.publish"]) == ("upstream_failed", "upstream_failed")
    assert ids(warehouse) == []


def test_branches_of_a_group_that_are_joined_are_published(
    airflow_home: Path, warehouse: Catalog
) -> None:
    body = (
        WAP
        + """
    @task.branch
    def choose():
        return "wap.one"
    def write(name, id):
        return PaimonWriteOperator(task_id=name, table=wap.branch_table, engine="local",
            sql=f"SELECT CAST({id} AS BIGINT) AS id", trigger_rule="none_failed_min_one_success")
    choose() >> [write("one", 1), write("two", 2)] >> write("join", 3)
"""
    )
    with published(airflow_home, body) as runs:
        runs.create()
        states = runs.finish()
    assert (states["wap.two"], states["wap.publish"]) == ("skipped", "success")
    assert ids(warehouse) == [1, 3]


DYING_PUBLISH = """
import os
from paimon_provider.operators.branches import PaimonFastForwardOperator as Publish
done = Publish.finished
def finished(self, context, result):
    found = done(self, context, result)
    if os.path.exists(os.environ["DIE"]):
        raise RuntimeError("after it was published")
    return found
Publish.finished = finished
"""


def test_what_a_dead_attempt_has_published_is_announced_by_the_next(
    airflow_home: Path, warehouse: Catalog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where main was empty before, and has gone on since."""
    monkeypatch.setattr(PaimonFastForwardOperator, "finished", PaimonFastForwardOperator.finished)
    monkeypatch.setenv("DIE", str(tmp_path / "die"))
    (tmp_path / "die").touch()
    with published(airflow_home, DYING_PUBLISH + WAP + LOAD) as runs:
        runs.create(id=1)
        for _ in range(4):
            states = runs.step()
        assert states["wap.publish"] == "up_for_retry"
        assert ids(warehouse) == [1]
        write_rows(warehouse.table("shop.orders"), pa.table({"id": [2]}))
        (tmp_path / "die").unlink()
        assert set(runs.finish().values()) == {"success"}
        ((task, _, extra),) = runs.events()
    assert (task, extra["snapshot_id"], extra["rows"]["added"]) == ("wap.publish", 1, 1)
    assert ids(warehouse) == [1, 2]


@pytest.mark.parametrize("rows", [0, 1])
def test_a_table_without_rows_is_published(
    airflow_home: Path, warehouse: Catalog, rows: int
) -> None:
    """A day without rows, of a table that has none yet, breaks no rule: nothing is what is published."""
    body = WAP.replace(', "rows": [1, None]', "") + LOAD.replace(
        "AS id", "AS id WHERE {{ dag_run.conf['rows'] }} = 1"
    )
    with published(airflow_home, body) as runs:
        runs.create("none", id=7, rows=rows)
        assert set(runs.finish("none").values()) == {"success"}
        assert ids(warehouse) == [7] * rows
        assert warehouse.table("shop.orders").branches.list() == []


def test_a_column_that_came_without_rows_is_on_the_branch(
    airflow_home: Path, warehouse: Catalog
) -> None:
    """The table is altered and nobody writes to it but the group: its branch has the column."""
    load = """
    PaimonWriteOperator(task_id="load", table=wap.branch_table, engine="local",
        sql="SELECT CAST({{ dag_run.conf['id'] }} AS BIGINT) AS id{{ dag_run.conf['more'] }}")
"""
    with published(airflow_home, WAP + load) as runs:
        for run_id, id, more in (("one", 1, ""), ("two", 2, ", 'new' AS note")):
            if more:
                warehouse.alter_table("shop.orders", [tc.AddColumn("note", "STRING")])
            runs.create(run_id, id=id, more=more)
            assert set(runs.finish(run_id).values()) == {"success"}
    rows = warehouse.table("shop.orders").read().to_arrow().to_pylist()
    assert sorted((row["id"], row["note"]) for row in rows) == [(1, None), (2, "new")]


def test_a_change_of_the_schema_meanwhile_is_not_undone(
    airflow_home: Path, warehouse: Catalog
) -> None:
    alter = """
    load = PaimonWriteOperator(task_id="load", table=wap.branch_table, engine="local",
        sql="SELECT CAST(1 AS BIGINT) AS id")
    load >> PaimonAlterTableOperator(task_id="alter", table="shop.orders",
        changes=[{"change": "AddColumn", "name": "note", "type": "STRING"}])
"""
    with published(airflow_home, WAP + alter) as runs:
        runs.create()
        assert runs.finish()["wap.publish"] == "failed"
        assert warehouse.table("shop.orders").arrow_schema.names == ["id", "note"]
