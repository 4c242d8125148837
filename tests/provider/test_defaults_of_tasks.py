"""What every task of ours has by default, mapped or not: retries, outlets, names of assets."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from airflow.sdk import DAG, Asset, TaskGroup

from paimon_provider._compat import BaseOperator
from paimon_provider.assets import TableIdentity, require_named_so, watched_table
from paimon_provider.decorators import paimon_task
from paimon_provider.failures import TableRetryPolicy
from paimon_provider.hooks.paimon import PaimonHook
from paimon_provider.message_queue import PaimonMessageQueue
from paimon_provider.operators.check import PaimonCheckOperator
from paimon_provider.operators.declared import PaimonApplyOperator, PaimonUpkeepOperator
from paimon_provider.operators.relay import PaimonRelayPartitionsOperator
from paimon_provider.operators.report import PaimonChangeReportOperator
from paimon_provider.operators.write import PaimonWriteOperator
from table_core.errors import ArgumentError
from table_core.table.api.catalog import Catalog
from tests.provider.attempts import of_dag

pytestmark = [pytest.mark.airflow, pytest.mark.filterwarnings("default")]
OWN = "paimon://paimon_default/shop/orders"


def unmapped(mapped: Any) -> BaseOperator:
    return mapped.unmap({"sql": "SELECT 1"})


def uris(task: Any) -> list[str]:
    return [outlet.uri for outlet in task.outlets]


def test_mapped_tasks_have_the_retry_policy_and_the_outlet() -> None:
    mine = {"retries": 3}
    with DAG("d", default_args=mine):
        some = PaimonWriteOperator.partial(task_id="w", table="shop.orders").expand(sql=["a", "b"])
        other = PaimonWriteOperator.partial(
            task_id="o", table="shop.orders", outlets=[], retry_policy=None
        ).expand(sql=["a"])
        upkeep = PaimonUpkeepOperator.partial(task_id="u").expand_kwargs(
            [{"table": "shop.orders", "policy": {}}]
        )
        check = PaimonCheckOperator.partial(task_id="c", table="shop.orders").expand(rules=[{}])
        apply = PaimonApplyOperator.partial(task_id="a").expand(file=["x"])
        template = PaimonWriteOperator.partial(task_id="t", table="shop.{{ ds }}").expand(sql=["a"])
    for task in (some, unmapped(some)):
        assert isinstance(task.retry_policy, TableRetryPolicy)
        assert uris(task) == [OWN]
    for task in (other, unmapped(other)):
        assert (task.retry_policy, uris(task)) == (None, [])
    for mapped in (upkeep, check, apply, template):
        assert isinstance(mapped.retry_policy, TableRetryPolicy)
        assert uris(mapped) == []
    done = upkeep.unmap({"table": "shop.orders", "policy": {}})
    assert isinstance(done.retry_policy, TableRetryPolicy)


def test_default_args_name_the_assets_of_mapped_and_of_own_tasks() -> None:
    mine = {"paimon_conn_id": "lake", "catalog": "demo"}
    with DAG("d", default_args=mine):
        some = PaimonWriteOperator.partial(task_id="w", table="shop.orders").expand(sql=["a", "b"])
        named = PaimonWriteOperator.partial(task_id="n", table="shop.orders", catalog="own").expand(
            sql=["a"]
        )
        relay = PaimonRelayPartitionsOperator.partial(task_id="r").expand(table=["shop.orders"])
        report = PaimonChangeReportOperator.partial(
            task_id="p", label_column="a", value_column="b"
        ).expand(table=["shop.orders"])
        with TaskGroup("g", default_args={"catalog": "group"}):
            inside = PaimonWriteOperator.partial(task_id="w", table="shop.orders").expand(sql=["a"])

        @paimon_task(writes=["shop.orders"])
        def own() -> None:
            """Nothing."""

        task = own().operator
    for found in (some, unmapped(some), relay, task):
        assert uris(found) == ["paimon://demo/shop/orders"]
    assert [inlet.uri for inlet in report.inlets] == ["paimon://demo/shop/orders"]
    for found in (named, unmapped(named)):
        assert uris(found) == ["paimon://own/shop/orders"]
    for found in (inside, unmapped(inside)):
        assert uris(found) == ["paimon://group/shop/orders"]


def test_default_args_come_before_our_defaults() -> None:
    with DAG("d", default_args={"retry_policy": None, "outlets": [Asset("x")]}):
        plain = PaimonWriteOperator(task_id="p", table="shop.orders", sql="x")
        mapped = PaimonWriteOperator.partial(task_id="w", table="shop.orders").expand(sql=["a"])
    for task in (plain, mapped):
        assert task.retry_policy is None
        assert [outlet.name for outlet in task.outlets] == ["x"]


def test_a_decorated_task_shows_what_it_writes_when_it_is_mapped() -> None:
    @paimon_task(writes=["shop.orders"])
    def put(n: int) -> None: ...

    with DAG("d") as dag:
        put.expand(n=[1, 2])
    (task,) = dag.tasks
    assert uris(task) == [OWN]
    assert isinstance(task.retry_policy, TableRetryPolicy)


def create(catalog: Catalog, name: str = "shop.orders") -> None:
    import pyarrow as pa

    catalog.create_database(name.partition(".")[0], if_not_exists=True)
    catalog.create_table(name, pa.schema([("id", pa.int64())]), options={"bucket": "-1"})


MAPPED = """
PaimonWriteOperator.partial(task_id="load", table="shop.orders", engine="local").expand(
    sql=["SELECT CAST(1 AS BIGINT) AS id", "SELECT CAST(2 AS BIGINT) AS id"])
PaimonCompactOperator(task_id="look", table="shop.orders", dry_run=True, engine="local",
    outlets=[__import__("airflow.sdk").sdk.Asset("paimon://paimon_default/shop/orders")])
"""


def test_mapped_tasks_announce_what_they_commit(airflow_home: Path, warehouse: Catalog) -> None:
    create(warehouse)
    with of_dag(airflow_home, MAPPED) as runs:
        runs.create()
        assert set(runs.finish().values()) == {"success"}
        told = runs.events()
    assert [(task, uri) for task, uri, _ in told] == [("load", OWN)] * 2
    assert {extra["snapshot_id"] for _, _, extra in told} == {1, 2}


def test_tables_are_announced_under_the_catalog_of_the_connection(
    airflow_home: Path, warehouse: Catalog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    create(warehouse)
    declared = tmp_path / "declared.yaml"
    declared.write_text(
        "version: 1\nname: x\ncatalog: paimon_default\ntables:\n"
        "  shop.new: {columns: {id: BIGINT}, options: {bucket: '-1'}}\n"
    )
    connection = json.loads(os.environ["AIRFLOW_CONN_PAIMON_DEFAULT"])
    connection["extra"]["catalog_name"] = "demo"
    monkeypatch.setenv("AIRFLOW_CONN_PAIMON_DEFAULT", json.dumps(connection))
    body = (
        MAPPED
        + """
from paimon_provider.decorators import paimon_task
@paimon_task(writes=["shop.orders"])
def put(): ...
put()
PaimonRelayPartitionsOperator(task_id="relay", table="shop.orders")
PaimonSnapshotSensor(task_id="sense", table="shop.orders", poke_interval=0.1,
    outlets=[__import__("airflow.sdk").sdk.Asset("paimon://paimon_default/shop/orders")])
PaimonApplyOperator(task_id="apply", file="FILE")
PaimonWriteOperator(task_id="right", table="shop.orders", catalog="demo", engine="local",
    sql="SELECT CAST(1 AS BIGINT) AS id")
"""
    )
    with of_dag(airflow_home, body.replace("FILE", str(declared))) as runs:
        runs.create()
        states = runs.finish()
        told = runs.events()
    assert warehouse.tables("shop") == ["orders"]
    assert states.pop("right") == "success"
    assert set(states.values()) == {"failed"}
    assert [uri for _, uri, _ in told] == ["paimon://demo/shop/orders"]
    assert warehouse.table("shop.orders").read().to_arrow().num_rows == 1


HANDLES = """
from paimon_provider.decorators import paimon_task
@paimon_task(tables={"orders": "shop.orders"})
def put(orders, paimon, ti=None):
    import pyarrow as pa
    import table_core as tc
    rows = pa.table({"id": pa.array([1, 2])})
    with orders.write() as writer:
        writer.write(rows)
        writer.commit()
    with paimon.table("shop.orders").write(tc.CommitAs(properties={"x.y": "z"})) as writer:
        writer.write(rows)
        writer.commit()
    with orders.write(commit=paimon.commit_as()) as writer:
        writer.write(rows)
        writer.commit()
    orders.delete("id = 2")
    if ti.try_number == 1:
        raise RuntimeError("after the commits")
put()
"""


def test_what_handles_commit_is_found_by_a_retry(airflow_home: Path, warehouse: Catalog) -> None:
    create(warehouse)
    with of_dag(airflow_home, HANDLES) as runs:
        runs.create()
        assert runs.finish() == {"put": "success"}
        table = warehouse.table("shop.orders")
        assert table.read().to_arrow()["id"].to_pylist() == [1, 1, 1]
        assert len(table.snapshots()) == 4
        assert (table.snapshot(2).properties or {})["x.y"] == "z"
        runs.clear("put")
        runs.finish()
    assert warehouse.table("shop.orders").read().to_arrow().num_rows == 6


@pytest.mark.parametrize("name", ["é", "Ärger und_Ö", "日本", "a b%20c", "x+y"])
def test_a_name_has_one_spelling(name: str) -> None:
    identity = TableIdentity.of(f"shop.{name}", catalog="Lager ü")
    asset = identity.to_asset()
    assert asset.uri == asset.name == identity.uri
    assert TableIdentity.of_uri(asset.uri) == identity
    watched = watched_table(f"shop.{name}", catalog="Lager ü")
    assert watched.uri == watched.name == f"{identity.uri}?on=changes"
    lower = asset.uri.replace("%C3", "%c3").replace("%20", " ")
    assert Asset(lower).uri == asset.uri


def test_an_event_comes_for_a_table_whose_name_is_not_ascii(
    airflow_home: Path, warehouse: Catalog
) -> None:
    create(warehouse, "shop.käufe")
    with of_dag(
        airflow_home, MAPPED.partition("PaimonCompact")[0].replace("orders", "käufe")
    ) as runs:
        runs.create()
        assert set(runs.finish().values()) == {"success"}
        told = runs.events()
    assert [uri for _, uri, _ in told] == ["paimon://paimon_default/shop/k%C3%A4ufe"] * 2


def test_a_queue_keeps_its_filters() -> None:
    queue = PaimonMessageQueue()
    given = queue.trigger_kwargs(
        "paimon://lake/shop/orders?partitions=dt%3D2026-01-01&on=any&min_rows=3"
    )
    assert given == {
        "table": "shop.orders",
        "paimon_conn_id": "lake",
        "asset_uri": "paimon://lake/shop/orders?min_rows=3&on=any&partitions=dt%3D2026-01-01",
        "on": "any",
        "min_rows": 3,
        "partitions": [{"dt": "2026-01-01"}],
    }
    more = queue.trigger_kwargs("paimon://lake/shop/orders", on="append")
    assert more["asset_uri"] == "paimon://lake/shop/orders?on=append"
    assert "on" not in more
    for bad in ("paimon://lake/shop/orders?on=any&of=x", "paimon://lake/orders"):
        with pytest.raises(ValueError, match="expected paimon://"):
            queue.trigger_kwargs(bad)


@pytest.mark.parametrize(
    ("uri", "found"),
    [
        ("paimon://s3://lake/wh", "s3://lake/wh"),
        ("paimon://hdfs://nn:8020/wh/sub", "hdfs://nn:8020/wh/sub"),
        ("paimon://?warehouse=s3%3A%2F%2Flake%2Fwh", "s3://lake/wh"),
        ("paimon://%2Fdata%2Fwh", "/data/wh"),
        ("paimon://lake/wh", None),
        ("paimon://lake", None),
        ("paimon:///data/wh", None),
        ("paimon://file:///data/wh", None),
        ("paimon://s3://lake/?warehouse=wh", None),
        ("paimon://x:1/y?warehouse=%2Fwh", None),
    ],
)
def test_a_connection_names_one_warehouse(
    uri: str, found: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AIRFLOW_CONN_LAKE", uri)
    hook = PaimonHook("lake")
    if found is None:
        with pytest.raises(ArgumentError, match="connection 'lake'"):
            _ = hook.warehouse
    else:
        assert hook.warehouse.uri == found


def test_another_catalog_is_refused_only_for_the_same_table() -> None:
    require_named_so(["paimon://x/shop/others", "s3://b/c", ""], "shop.orders", catalog="lake")
    require_named_so(["paimon://lake/shop/orders"], "Shop.Orders", catalog="LAKE")
    for uri in ("paimon://x/shop/orders", "paimon://x/shop/orders?on=any"):
        with pytest.raises(ArgumentError, match="catalog='lake'"):
            require_named_so([uri], "shop.orders", catalog="lake")
