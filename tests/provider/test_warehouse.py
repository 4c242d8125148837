"""A connection is read by the names of its settings."""

from __future__ import annotations

import json

import pytest
from airflow.sdk import Connection

from paimon_provider.connections.warehouse import Warehouse
from table_core.errors import ArgumentError


def warehouse(extra: dict[str, object] | None = None, **more: object) -> Warehouse:
    return Warehouse.of(
        Connection(conn_id="Wh", conn_type="paimon", extra=json.dumps(extra or {}), **more)
    )


def test_the_host_is_the_warehouse_and_the_id_the_catalog() -> None:
    read = warehouse(host="file:///data/wh/")
    assert (read.uri, read.catalog_name) == ("file:///data/wh", "wh")
    assert (read.spark.backend, read.spark.master) == ("local", "local[*]")


def test_everything_is_read_by_its_name() -> None:
    read = warehouse(
        {
            "warehouse": "s3://b/wh",
            "catalog_name": "Retail",
            "storage_options": '{"endpoint_url": "http://m:9000", "anon": false}',
            "spark_backend": "spark-submit",
            "spark_master": "spark://m:7077",
            "spark_conf": {"spark.executor.memory": "2g"},
        },
        host="ignored",
        password='{"secret": "hush"}',
    )
    assert (read.uri, read.catalog_name) == ("s3://b/wh", "retail")
    assert read.job_options() == {
        "storage.endpoint_url": "http://m:9000",
        "storage.anon": "false",
        "storage.secret": "hush",
    }
    assert read.secrets == ("hush",)
    assert (read.spark.backend, read.spark.master) == ("spark-submit", "spark://m:7077")
    more = read.spark.with_conf({"spark.executor.memory": "4g"})
    assert more.conf == {"spark.executor.memory": "4g"}


def test_a_catalog_in_a_database_has_fields_of_its_own() -> None:
    read = warehouse(
        {
            "metastore": "jdbc",
            "metastore_uri": "jdbc:postgresql://db:5432/names",
            "catalog_key": "retail",
            "lock_enabled": True,
        },
        host="s3://b/wh",
        login="ada",
        password="hush-hush",
    )
    assert read.storage_options == {
        "metastore": "jdbc",
        "uri": "jdbc:postgresql://db:5432/names",
        "catalog-key": "retail",
        "lock.enabled": "true",
        "jdbc.user": "ada",
        "jdbc.password": "hush-hush",
    }
    assert read.secrets == ("hush-hush",)
    both = warehouse(
        {"metastore": "jdbc"}, host="s3://b", password='{"jdbc.password": "p", "secret": "s"}'
    )
    assert both.storage_options["jdbc.password"] == "p"
    assert both.storage_options["secret"] == "s"


def test_a_rest_catalog_has_a_name_a_server_and_a_token() -> None:
    read = warehouse(
        {"metastore": "rest", "metastore_uri": "https://catalog:8080/"},
        host="lake",
        password="hush-hush",
    )
    assert read.storage_options == {
        "metastore": "rest",
        "uri": "https://catalog:8080/",
        "token.provider": "bear",
        "token": "hush-hush",
    }
    assert (read.uri, read.place, read.secrets) == (
        "lake",
        "https://catalog:8080/lake",
        ("hush-hush",),
    )


def test_only_what_is_secret_of_a_rest_catalog_is_masked() -> None:
    """To mask ``bear`` or ``true`` would spoil every log."""
    harmless = {"token.provider": "dlf", "data-token.enabled": "true", "dlf.token-path": "/run/t"}
    secret = {"dlf.access-key-id": "planted-1", "dlf.access-key-secret": "planted-2"}
    header = {"header.Authorization": "planted-3", "header.Cookie": "planted-4"}
    extra = {"warehouse": "lake", "metastore": "rest", "metastore_uri": "https://c"}
    typed = warehouse({**extra, "storage_options": {**harmless, **secret, **header}})
    assert set(typed.secrets) == {*secret.values(), *header.values()}
    hidden = warehouse(extra, password=json.dumps({**harmless, **secret}))
    assert set(hidden.secrets) == set(secret.values())


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"login": "ada", "password": "t"}, "has a login, and a REST catalog takes none"),
        ({}, "names no warehouse"),
    ],
)
def test_a_rest_catalog_that_is_half_named(more: dict[str, str], message: str) -> None:
    extra = {"metastore": "rest", "metastore_uri": "https://c"}
    with pytest.raises(ArgumentError, match=message):
        warehouse(extra, **({"host": "lake", **more} if more else {}))


def test_a_token_is_not_the_password_of_signatures() -> None:
    extra = {
        "metastore": "rest",
        "metastore_uri": "https://c",
        "storage_options": {"token.provider": "dlf"},
    }
    with pytest.raises(ArgumentError, match="password of connection 'Wh' is not a JSON object"):
        warehouse(extra, host="lake", password="hush")


def test_a_connection_is_the_same_as_form_as_json_and_as_uri() -> None:
    extra = {
        "warehouse": "s3://b/wh",
        "storage_options": '{"client_kwargs": {"region_name": "eu"}}',
        "metastore": "jdbc",
        "metastore_uri": "jdbc:sqlite:/names.db",
    }
    form = Connection(
        conn_id="wh", conn_type="paimon", login="ada", password="p/w", extra=json.dumps(extra)
    )
    as_json = Connection.from_json(form.as_json(), "wh")
    by_uri = Connection.from_uri(form.get_uri(), "wh")
    assert Warehouse.of(form) == Warehouse.of(as_json) == Warehouse.of(by_uri)


def test_secrets_are_not_shown() -> None:
    assert "hush" not in repr(warehouse(host="s3://b", password='{"secret": "hush"}'))


@pytest.mark.parametrize(
    ("extra", "message"),
    [
        ({}, "names no warehouse"),
        (
            {"wharehouse": "x"},
            "unknown extras wharehouse \\(did you mean 'warehouse'\\?\\); known: warehouse",
        ),
        ({"warehouse": "x", "spark_conf": "[1]"}, "spark_conf of connection 'Wh' is not a JSON"),
        (
            {"warehouse": "x", "spark_backend": "livy"},
            "'livy' is none of local, spark-submit, standalone, connect",
        ),
        (
            {"warehouse": "x", "metastore": "glue"},
            "metastore='glue' is none of filesystem, jdbc, rest, hive",
        ),
        ({"warehouse": "x", "spark_rest_port": "x"}, "spark_rest_port='x' is no number"),
    ],
)
def test_mistakes_are_named(extra: dict[str, object], message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        warehouse(extra)


def test_a_password_that_is_no_json_is_not_repeated() -> None:
    with pytest.raises(ArgumentError, match="password of connection") as caught:
        warehouse(host="s3://b", password="hush")
    assert "hush" not in f"{caught.value}{caught.value.facts}"


def test_a_connection_of_another_type_is_refused_by_name() -> None:
    """Else its password would be called no JSON."""
    other = Connection(conn_id="db", conn_type="postgres", host="h", password="hush")
    with pytest.raises(
        ArgumentError, match="'db' is of type 'postgres': name one of type 'paimon'"
    ):
        Warehouse.of(other)


MINIO = Connection(
    conn_id="minio",
    conn_type="aws",
    login="AKIA",
    password='a "quoted" key',
    extra='{"session": "tok"}',
)


def referring(extra: dict[str, object], **more: object) -> Warehouse:
    connection = Connection(
        conn_id="wh", conn_type="paimon", host="s3://b/wh", extra=json.dumps(extra), **more
    )
    return Warehouse.of(connection, {"minio": MINIO}.__getitem__)


def test_what_stands_in_another_connection_is_taken_from_there_and_kept_secret() -> None:
    read = referring(
        {
            "storage_options": {"key": "{{ conn.minio.login }}", "client": {"k": ["{{conn.minio.password}}"]}},
            "spark_conf": {"spark.hadoop.fs.s3a.session": "x-{{ conn.minio.extra_dejson.session }}"},
        },
        password='{"secret": "{{ conn.minio.password }}"}',
    )  # fmt: skip
    assert read.storage_options["key"] == "AKIA"
    assert json.loads(read.storage_options["client"]) == {"k": ['a "quoted" key']}
    assert read.storage_options["secret"] == 'a "quoted" key'
    assert read.spark.conf["spark.hadoop.fs.s3a.session"] == "x-tok"
    assert {'a "quoted" key', "tok"} <= set(read.secrets)
    assert "quoted" not in repr(read)


@pytest.mark.parametrize(
    ("member", "what"),
    [("port", "has no port"), ("pass", "is none of login"), ("extra_dejson.x", "has no extra")],
)
def test_a_reference_that_leads_nowhere_is_named(member: str, what: str) -> None:
    with pytest.raises(ArgumentError, match=what):
        referring({"storage_options": {"key": f"{{{{ conn.minio.{member} }}}}"}})
