"""Write-audit-publish, ``@task.paimon``, the notifier and checks, run by Airflow on a real warehouse."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from paimon_provider.decorators import PaimonDecoratedOperator
from paimon_provider.lineage import openlineage
from paimon_provider.notifier import PaimonNotifier
from paimon_provider.operators.compact import PaimonCompactOperator
from paimon_provider.publish import PaimonWriteAuditPublish
from table_core.table.api.catalog import Catalog
from tests.provider.dag_runs import events_of, states, xcom

pytestmark = [pytest.mark.airflow, pytest.mark.filterwarnings("default")]

GROUP = """
from paimon_provider.publish import PaimonWriteAuditPublish
from paimon_provider.notifier import PaimonNotifier
create = PaimonCreateTableOperator(task_id="create", table="shop.orders", primary_key=["id"],
    columns={"id": "BIGINT NOT NULL", "n": "BIGINT"}, options={"bucket": "1"})
with PaimonWriteAuditPublish(group_id="wap", table="shop.orders",
        rules={"not_null": ["n"], "range": {"n": [0, 100]}, "unique": ["id"], "rows": [1, None],
               "change": [0.5, None], "sql": "SELECT * FROM rows WHERE id = 13"}) as wap:
    load = PaimonWriteOperator(task_id="load", table=wap.branch_table, engine="local",
        sql="SELECT CAST({{ dag_run.conf['id'] }} AS BIGINT) AS id, CAST({{ dag_run.conf['n'] }} AS BIGINT) AS n",
        on_success_callback=PaimonNotifier(table="ops.runs", message="loaded"))
create >> wap
"""


def rows(warehouse: Catalog) -> list[tuple[Any, ...]]:
    found = warehouse.table("shop.orders").read().to_arrow().to_pylist()
    return sorted(tuple(row.values()) for row in found)


def test_rows_are_published_when_they_have_passed(
    run: Callable[..., Any],
    warehouse: Catalog,
    airflow_home: Path,
    capfd: pytest.CaptureFixture[str],
) -> None:
    done = run(GROUP, id=1, n=10)
    assert set(states(done).values()) == {"success"}, states(done)
    assert rows(warehouse) == [(1, 10)]
    assert [task for task, _, _ in events_of(done)] == ["wap.publish"]
    table = warehouse.table("shop.orders")
    assert (table.branches.list(), table.tags.list()) == ([], [])
    (kept,) = warehouse.table("ops.runs").read().to_arrow().to_pylist()
    assert (kept["task_id"], kept["message"]) == ("wap.load", "loaded")

    for bad, why in (
        ({"id": 2, "n": 1000}, "range n: 1 rows"),
        ({"id": 13, "n": 1}, "sql: 1 rows"),
    ):
        failed = run(GROUP, **bad)
        assert states(failed)["wap.audit"] == "failed"
        assert states(failed)["wap.publish"] == "upstream_failed"
        assert why in "".join(capfd.readouterr())
        assert rows(warehouse) == [(1, 10)]
    assert len(warehouse.table("shop.orders").branches.list()) == 2, "left for a look"

    again = run(GROUP, id=3, n=30)
    assert set(states(again).values()) == {"success"}
    assert rows(warehouse) == [(1, 10), (3, 30)]


def test_a_function_gets_tables_and_commits_once(
    run: Callable[..., Any], warehouse: Catalog, airflow_home: Path
) -> None:
    body = """
create = PaimonCreateTableOperator(task_id="create", table="shop.orders",
    columns={"id": "BIGINT"}, options={"bucket": "-1"})

from paimon_provider.decorators import paimon_task  # what @task.paimon is in an installed provider
@paimon_task(tables={"orders": "shop.{{ 'orders' }}"}, writes=["shop.orders"], retries=1, retry_delay=timedelta(0))
def double(orders, paimon, times, ti=None):
    import pyarrow as pa
    with orders.write(commit=paimon.commit_as()) as writer:
        writer.write(pa.table({"id": pa.array([1] * times)}))
        writer.commit()
    if ti.try_number == 1:
        raise RuntimeError("after the commit")
    return orders.read().to_arrow().num_rows

create >> double(times=3)
"""
    done = run(body)
    assert set(states(done).values()) == {"success"}, states(done)
    assert xcom(done, "double") == 3
    ((task, _, extra),) = events_of(done)
    assert task == "double"
    assert (extra["snapshot_id"], extra["rows"]["added"]) == (1, 3)


def test_lineage_leads_from_what_a_function_reads_to_what_it_has_written(
    run: Callable[..., Any], warehouse: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where nobody has said with ``writes`` which of them it writes."""
    told: list[tuple[list[str], list[str]]] = []

    def noted(_: Any, reads: list[str], writes: list[str]) -> None:
        told.append((sorted(reads), sorted(writes)))

    monkeypatch.setattr(openlineage, "operator_lineage", noted)
    done = run(
        """
from paimon_provider.decorators import paimon_task
def told(context):
    context["task"].get_openlineage_facets_on_complete(context["ti"])
tables = [PaimonCreateTableOperator(task_id=name, table=f"shop.{name}", columns={"id": "BIGINT"}, options={"bucket": "-1"})
    for name in ("orders", "sums", "rest")]
@paimon_task(tables={name: f"shop.{name}" for name in ("orders", "sums")}, writes=["shop.rest"], on_success_callback=told)
def add(orders, sums, paimon):
    import pyarrow as pa
    for handle in (sums, paimon.table("shop.rest")):
        with handle.write() as writer:
            writer.write(pa.table({"id": [orders.count()]}))
            writer.commit()
tables >> add()
"""
    )
    assert set(states(done).values()) == {"success"}, states(done)
    assert told == [(["shop.orders"], ["shop.rest", "shop.sums"])]
    ((_, uri, extra),) = events_of(done)
    assert (uri.rpartition("/")[2], extra["rows"]["added"]) == ("rest", 1)


def test_what_is_inside_comes_between_the_branch_and_the_audit() -> None:
    from airflow.sdk import DAG

    group = {"group_id": "g", "table": "a.b", "rules": {"rows": [1, None]}}
    with DAG("wap") as dag, PaimonWriteAuditPublish(**group) as wap:
        one = PaimonCompactOperator(task_id="one", table=wap.branch_table)
        two = PaimonCompactOperator(task_id="two", table=wap.branch_table)
        one >> two
    assert wap.branch_table == f"a.b$branch_{wap.branch}"
    upstream = {task.task_id: task.upstream_task_ids for task in dag.tasks}
    assert upstream["g.one"] == {"g.branch"}
    assert upstream["g.audit"] == {"g.two", "g.branch"}
    assert upstream["g.publish"] == {"g.audit"}
    assert PaimonDecoratedOperator.custom_operator_name == "@task.paimon"
    assert set(PaimonNotifier.template_fields) == {"table", "message"}


def test_somebody_is_asked_before_files_go() -> None:
    from airflow.sdk import DAG

    from paimon_provider.approval import approval
    from paimon_provider.operators.expire import PaimonRemoveOrphanFilesOperator

    with DAG("ask") as dag:
        look = PaimonRemoveOrphanFilesOperator(task_id="look", table="a.b", dry_run=True)
        gone = PaimonRemoveOrphanFilesOperator(task_id="gone", table="a.b")
        ask = approval(look)
        ask >> gone
    assert ask.upstream_task_ids == {"look"}
    assert ask.downstream_task_ids == {"gone"}
    env = dag.get_template_env()
    result = {"action": "remove-orphan-files", "table": "a.b", "files_deleted": 7, "details": {}}
    result |= {"bytes_deleted": 1, "files_before": 9, "snapshot_before": 3}

    class Task:
        def xcom_pull(self, task_ids: str) -> Any:
            return {"look": result}[task_ids]

    assert env.from_string(ask.subject).render(ti=Task()) == "remove-orphan-files on a.b?"
    assert "| files to delete | 7 |" in env.from_string(ask.body).render(ti=Task())
