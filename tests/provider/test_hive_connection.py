"""A connection to a Hive catalog: tried, and used by a Dag.

A real metastore keeps the names.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from paimon_provider.hooks.paimon import PaimonHook
from table_core.errors import UnsupportedFeatureError
from tests.catalogs.hive.server import HiveServer, hive_metastore
from tests.provider.dag_runs import states

pytestmark = [pytest.mark.airflow, pytest.mark.filterwarnings("default")]


@pytest.fixture(scope="module")
def server() -> Iterator[HiveServer]:
    with hive_metastore() as server:
        yield server


@pytest.fixture
def connected(
    server: HiveServer, warehouse: object, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., PaimonHook]:
    """The default connection leads to the metastore; more of it can be given."""

    def connect(**more: object) -> PaimonHook:
        extra = {
            "warehouse": str(server.warehouse),
            "metastore": "hive",
            "metastore_uri": server.uri,
            "lock_enabled": "true",
        }
        document = {"conn_type": "paimon", "extra": {**extra, **more}}
        monkeypatch.setenv("AIRFLOW_CONN_PAIMON_DEFAULT", json.dumps(document))
        return PaimonHook()

    connect()
    return connect


def test_a_hive_catalog_can_be_tried(
    connected: Callable[..., PaimonHook], server: HiveServer
) -> None:
    works, what = connected().test_connection()
    assert works, what
    assert "default" in what
    for more, kind in (
        ({"metastore_uri": "thrift://127.0.0.1:9"}, "[unavailable] "),
        ({"metastore_uri": "127.0.0.1:9083"}, "[invalid] "),
        ({"storage_options": {"hive.metastore.sasl.enabled": "true"}}, "[unsupported] "),
    ):
        works, why = connected(**more).test_connection()
        assert not works
        assert why.startswith(kind), why


def test_a_dag_works_on_it_in_the_worker(
    run: Callable[..., Any], connected: Callable[..., PaimonHook]
) -> None:
    hook = connected()
    hook.catalog().create_database("shop", if_not_exists=True)
    done = run("""
create = PaimonCreateTableOperator(task_id="create", table="shop.orders", engine="local",
    columns={"id": "BIGINT"}, options={"bucket": "-1"})
write = PaimonWriteOperator(task_id="write", table="shop.orders", engine="auto", sql="SELECT 7 AS id")
compact = PaimonCompactOperator(task_id="compact", table="shop.orders", engine="local")
create >> write >> compact
""")
    assert states(done) == dict.fromkeys(("create", "write", "compact"), "success")
    assert hook.table("shop.orders").read().to_arrow()["id"].to_pylist() == [7]
    with pytest.raises(UnsupportedFeatureError, match="Hive catalog"):
        hook.run("write", "shop.orders", {"sql": "SELECT 1 AS id"}, engine="spark")
