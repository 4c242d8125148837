"""A connection to a REST catalog: tried, used by a Dag, and its token turns up nowhere.

Paimon's own server keeps the catalog.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from paimon_provider.hooks.paimon import PaimonHook
from paimon_provider.launchers.process import write_job
from table_core.errors import UnsupportedFeatureError
from tests.catalogs.rest.server import WAREHOUSE, RestCatalogServer, rest_catalog
from tests.provider.dag_runs import events_of, looked_up, states

pytestmark = [pytest.mark.airflow, pytest.mark.filterwarnings("default")]


@pytest.fixture(scope="module")
def server() -> Iterator[RestCatalogServer]:
    with rest_catalog() as server:
        yield server


@pytest.fixture
def served(
    server: RestCatalogServer, warehouse: object, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., PaimonHook]:
    """The default connection leads to the server; more of it can be given."""

    def connect(**more: object) -> PaimonHook:
        extra = {
            "metastore": "rest",
            "metastore_uri": server.uri,
            "spark_master": "local[1]",
            "storage_options": {"local-tables.enabled": "true"},
        }
        document = {
            "conn_type": "paimon",
            "host": WAREHOUSE,
            "password": server.login["token"],
            "extra": extra,
            **more,
        }
        monkeypatch.setenv("AIRFLOW_CONN_PAIMON_DEFAULT", json.dumps(document))
        return PaimonHook()

    connect()
    return connect


def test_a_rest_catalog_can_be_tried(
    served: Callable[..., PaimonHook], server: RestCatalogServer
) -> None:
    assert served().test_connection() == (True, f"{server.uri}/{WAREHOUSE}: no database yet")
    for more, kind in (
        ({"password": "planted"}, "[invalid] warehouse "),
        ({"host": "elsewhere"}, "["),
        ({"password": None}, "[invalid] "),
    ):
        works, why = served(**more).test_connection()
        assert not works
        assert why.startswith(kind), why
        assert "planted" not in why
        assert server.login["token"] not in why


def test_the_token_is_in_no_spec_and_on_no_command_line(
    served: Callable[..., PaimonHook], server: RestCatalogServer, tmp_path: Path
) -> None:
    spec = served().job_spec("compact", "d.t", {})
    words = write_job(tmp_path, spec)
    token = server.login["token"]
    assert token not in repr(spec) + " ".join(words) + (tmp_path / "spec.json").read_text()
    assert token in (tmp_path / "private.json").read_text(), "which the job deletes"


def test_engine_auto_is_the_worker_and_spark_is_refused_by_name(
    served: Callable[..., PaimonHook],
) -> None:
    hook = served()
    hook.catalog().create_database("auto", if_not_exists=True)
    hook.run("create-table", "auto.t", {"columns": {"k": "INT"}}, engine="local")
    write = {"sql": "SELECT 1 AS k"}
    assert hook.engine_for("write", "auto.t", write).engine == "local"
    hook.run("write", "auto.t", write, engine="auto")
    with pytest.raises(UnsupportedFeatureError, match="REST catalog") as refused:
        hook.run("write", "auto.t", write, engine="spark")
    assert "local" in str(refused.value)
    assert hook.table("auto.t").read().to_arrow()["k"].to_pylist() == [1]


def test_a_dag_works_on_it_and_tells_no_token(
    run: Callable[..., Any],
    served: Callable[..., PaimonHook],
    server: RestCatalogServer,
    capfd: pytest.CaptureFixture[str],
) -> None:
    served().catalog().create_database("shop", if_not_exists=True)
    done = run("""
create = PaimonCreateTableOperator(task_id="create", table="shop.orders", engine="spark",
    columns={"id": "BIGINT"}, options={"bucket": "-1"})
write = PaimonWriteOperator(task_id="write", table="shop.orders", engine="local", sql="SELECT 7 AS id")
compact = PaimonCompactOperator(task_id="compact", table="shop.orders", engine="local")
tag = PaimonCreateTagOperator(task_id="tag", table="shop.orders", tag="kept")
health = PaimonHealthOperator(task_id="health", table="shop.orders")
wrong = PaimonCompactOperator(task_id="wrong", table="shop.missing", engine="local")
create >> write >> compact >> tag >> health >> wrong
""")
    names = ("create", "write", "compact", "tag", "health")
    assert states(done) == dict.fromkeys(names, "success") | {"wrong": "failed"}
    assert served().table("shop.orders").read(tag="kept").to_arrow()["id"].to_pylist() == [7]
    xcoms = looked_up("SELECT value FROM xcom WHERE run_id = :run", run=done.run_id)
    fields = looked_up("SELECT rendered_fields FROM rendered_task_instance_fields")
    told = "".join(capfd.readouterr()) + repr([xcoms, events_of(done), fields])
    assert server.login["token"] not in told
