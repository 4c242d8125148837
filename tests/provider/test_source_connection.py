"""A source's address and credentials come from an Airflow connection, not from templated fields."""

from __future__ import annotations

import json

import pytest
from airflow.sdk import Connection

from paimon_provider.connections.source import with_connection
from paimon_provider.connections.warehouse import looking_secret
from paimon_provider.operators.pipeline import PaimonPipelineOperator
from paimon_provider.operators.sync import PaimonSyncTableOperator


def test_each_kind_gets_what_it_wants() -> None:
    parts = {"host": "h", "login": "ada", "password": "hush", "schema": "shop", "port": 1}
    connection = Connection(conn_id="c", conn_type="x", **parts)
    user = {"host": "h", "port": 1, "user": "ada", "password": "hush"}
    assert with_connection({"kind": "mysql", "tables": "t"}, connection) == {
        "kind": "mysql",
        "tables": "t",
        **user,
    }
    assert with_connection({"kind": "postgres", "port": 2}, connection) == {
        **user,
        "kind": "postgres",
        "port": 2,
        "database": "shop",
    }
    kafka = Connection(
        conn_id="k", conn_type="kafka", host="a, b:9", port=1, login="u", password="p"
    )
    options = {"sasl.username": "u", "sasl.password": "p", "group.id": "g"}
    assert with_connection(
        {"kind": "kafka", "topics": "t", "options": {"group.id": "g"}}, kafka
    ) == {
        "kind": "kafka",
        "topics": "t",
        "servers": "a:1,b:9",
        "options": options,
    }
    assert with_connection({"kind": "files", "uri": "x"}, connection) == {
        "kind": "files",
        "uri": "x",
    }


def test_secrets_of_a_source_are_found_wherever_they_are() -> None:
    args = {
        "source": {"host": "h", "password": "hush-hush", "options": {"sasl.password": "hush-too"}},
        "until": "now",
    }
    assert looking_secret(args) == ["hush-hush", "hush-too"]


def test_the_operator_holds_no_password(monkeypatch: pytest.MonkeyPatch) -> None:
    document = {"conn_type": "mysql", "host": "h", "login": "ada", "password": "hush-hush"}
    monkeypatch.setenv("AIRFLOW_CONN_SHOP_DB", json.dumps(document))
    operator = PaimonSyncTableOperator(
        task_id="t", table="a.b", source={"kind": "mysql", "tables": "t"}, source_conn_id="shop_db"
    )
    assert operator.arguments()["source"]["password"] == "hush-hush"
    assert "hush" not in repr({name: getattr(operator, name) for name in operator.template_fields})


def test_the_operator_of_a_pipeline_holds_no_password_either(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    document = {"conn_type": "mysql", "host": "h", "login": "ada", "password": "hush-hush"}
    monkeypatch.setenv("AIRFLOW_CONN_SHOP_DB", json.dumps(document))
    source = {"kind": "mysql", "databases": "shop"}
    sync = {"source": source, "source_conn_id": "shop_db"}
    flow = {"sql": "SELECT 1", "sources": {"t": {"table": "a.t", "mode": "changes"}}}
    operator = PaimonPipelineOperator(
        task_id="t",
        database="a",
        pipeline_name="p",
        hops=[
            {"name": "shop", "action": "sync-database", "target": "a", "args": sync},
            {"name": "flow", "action": "write", "target": "a.b", "args": flow},
        ],
    )
    args = operator.arguments()
    assert args["hops"][0]["args"]["source"]["password"] == "hush-hush"
    assert "source_conn_id" not in args["hops"][0]["args"]
    assert args["hops"][1]["args"] == flow
    assert looking_secret(args) == ["hush-hush"]
    assert "hush" not in repr({name: getattr(operator, name) for name in operator.template_fields})
