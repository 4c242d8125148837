"""The hook opens what the connection names."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest

import table_core as tc
from paimon_provider.hooks.paimon import PaimonHook
from paimon_provider.runs.identity import RunIdentity
from paimon_provider.watching.conditions import NewSnapshots, Seen, UnseenSnapshots, counts
from tests.tables import write_rows


@pytest.fixture
def hook(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> PaimonHook:
    connection = {"conn_type": "paimon", "host": f"file://{tmp_path}/wh"}
    monkeypatch.setenv("AIRFLOW_CONN_PAIMON_DEFAULT", json.dumps(connection))
    return PaimonHook(identity=RunIdentity("me"))


def test_a_connection_can_be_tried(hook: PaimonHook, tmp_path: Path) -> None:
    works, why = hook.test_connection()
    assert works
    assert why.startswith(
        f"file://{tmp_path}/wh: no database yet, as in any place that is mistyped"
    )
    hook.catalog().create_database("shop")
    assert hook.test_connection() == (True, f"file://{tmp_path}/wh: shop")


def test_a_test_says_that_it_has_not_tried_spark(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    extra = {"spark_backend": "connect", "spark_master": "sc://nobody:15002"}
    document = {"conn_type": "paimon", "host": f"file://{tmp_path}/wh", "extra": extra}
    monkeypatch.setenv("AIRFLOW_CONN_PAIMON_DEFAULT", json.dumps(document))
    works, why = PaimonHook().test_connection()
    assert works
    assert why.endswith("and not Spark at sc://nobody:15002")


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"host": "memory://tried"}, (True, "memory://tried: no database yet")),
        ({"host": "sftp://x/wh"}, (False, "[unsupported] sftp:// has no atomic")),
        (
            {"extra": {"metastore": "jdbc", "metastore_uri": "jdbc:sqlite:{folder}/names.db"}},
            (True, "file://{folder}/wh: no database yet"),
        ),
        (
            {
                "login": "ada",
                "password": "hush-hush",
                "extra": {"metastore": "jdbc", "metastore_uri": "jdbc:postgresql://127.0.0.1:1/x"},
            },
            (False, "[unavailable] cannot open jdbc:postgresql://127.0.0.1:1/x"),
        ),
        (
            {
                "host": "s3://bucket/wh",
                "password": '{"key": "planted-1", "secret": "planted-2"}',
                "extra": {
                    "storage_options": {
                        "client_kwargs": {"endpoint_url": "http://127.0.0.1:1"},
                        "config_kwargs": {"retries": {"max_attempts": 0}},
                        "use_ssl": False,
                    }
                },
            },
            (False, "[unavailable] cannot list s3://bucket/wh"),
        ),
    ],
)
def test_every_kind_of_store_and_catalog_can_be_tried(
    given: dict[str, object],
    told: tuple[bool, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    document = json.dumps({"conn_type": "paimon", "host": f"file://{tmp_path}/wh", **given})
    monkeypatch.setenv("AIRFLOW_CONN_PAIMON_DEFAULT", document.replace("{folder}", str(tmp_path)))
    works, why = PaimonHook().test_connection()
    assert works is told[0], why
    assert why.startswith(told[1].replace("{folder}", str(tmp_path)))
    assert "hush" not in why
    assert "planted" not in why


def test_a_warehouse_that_cannot_be_opened_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AIRFLOW_CONN_PAIMON_DEFAULT", json.dumps({"conn_type": "paimon"}))
    works, why = PaimonHook().test_connection()
    assert not works
    assert why.startswith("[invalid] connection 'paimon_default' names no warehouse")


def test_each_verb_of_a_task_run_commits_under_a_number_of_its_own(hook: PaimonHook) -> None:
    catalog = hook.catalog()
    catalog.create_database("a")
    schema = pa.schema([("x", pa.int64())])
    table = catalog.create_table("a.b", schema, options={"bucket": "-1"})
    assert hook.head("a.b") is None
    for _ in range(2):  # the second one is another verb, not a retry of the first
        with table.write(commit=hook.commit_as()) as writer:
            writer.write(pa.table({"x": [1]}))
            assert not writer.commit().replayed
    snapshots, producer = hook.snapshots("a.b")
    assert [(s.user, s.id) for s in snapshots] == [("me", 1), ("me", 2)]
    assert producer == "none"
    found = hook.new_snapshots("a.b", NewSnapshots(after=1))
    assert found == ([snapshots[1]], "none")
    assert hook.new_snapshots("a.b", NewSnapshots(after=2)) is None
    assert hook.head("a.missing") is None


def test_news_go_back_as_far_as_somebody_has_not_seen(hook: PaimonHook) -> None:
    catalog = hook.catalog()
    nothing = UnseenSnapshots(catalog="paimon_default")
    assert hook.unseen_snapshots("a.b", None) == nothing
    catalog.create_database("a")
    schema = pa.schema([("x", pa.int64())])
    assert hook.unseen_snapshots("a.b", None) == nothing

    def commit(times: int) -> None:
        for _ in range(times):
            write_rows(catalog.table("a.b"), pa.table({"x": [1]}))

    def ids(since: Seen | None) -> list[int]:
        return [s.id for s in hook.unseen_snapshots("a.b", since).snapshots]

    catalog.create_table("a.b", schema, options={"bucket": "-1"})
    assert ids(None) == []
    commit(5)
    assert ids(None) == [5]
    third = Seen.up_to(hook.snapshots("a.b")[0][2])
    assert ids(third) == [3, 4, 5]
    assert ids(Seen()) == [1, 2, 3, 4, 5]
    head = hook.unseen_snapshots("a.b", None).head
    assert ids(head) == [5]
    catalog.table("a.b").rollback_to(snapshot=2)
    commit(1)
    assert ids(head)[-1] == 3, "numbers started over: what is younger is there"
    catalog.drop_table("a.b")
    assert ids(head) == []
    catalog.create_table("a.b", schema, options={"bucket": "-1", "write-only": "true"})
    commit(1)
    assert ids(head)[-1] == 1


def test_a_connection_may_refer_to_another_and_says_so_if_that_is_not_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    extra = {"storage_options": {"anything": "{{ conn.keys.password }}"}}
    document = {"conn_type": "paimon", "host": tmp_path.as_uri(), "extra": extra}
    monkeypatch.setenv("AIRFLOW_CONN_REFERRING", json.dumps(document))
    good, told = PaimonHook("referring").test_connection()
    assert (good, "refers to 'keys', which is not there" in told) == (False, True)
    monkeypatch.setenv("AIRFLOW_CONN_KEYS", json.dumps({"conn_type": "generic", "password": "k3y"}))
    assert PaimonHook("referring").warehouse.storage_options == {"anything": "k3y"}


def test_a_retry_finds_the_position_that_its_handle_has_set(hook: PaimonHook) -> None:
    catalog = hook.catalog()
    catalog.create_database("shop")
    for name in ("shop.source", "shop.counted"):
        catalog.create_table(name, pa.schema([("id", pa.int64())]), options={"bucket": "-1"})
    for id in (1, 2):
        write_rows(catalog.table("shop.source"), pa.table({"id": [id]}))
    source = catalog.table("shop.source")

    def attempt(attempted: PaimonHook) -> list[object]:
        positions = attempted.table("shop.counted").positions
        done = [
            positions.set("tc.flow.a", snapshot=1, source=source, dry_run=True),
            positions.set("tc.flow.a", snapshot=1, source=source),
            positions.reset("tc.flow.a"),
        ]
        return [one.details.get("replayed") for one in done]

    assert attempt(hook) == [None, False, False]
    catalog.table("shop.counted").positions.set("tc.flow.a", snapshot=2, source=source)
    assert attempt(PaimonHook(identity=RunIdentity("me"))) == [None, True, True]
    assert hook.table("shop.counted").positions.list()[0]["place"] == "snapshot 2"


def test_a_commit_counts_by_the_producer_that_it_was_made_under(hook: PaimonHook) -> None:
    hook.catalog().create_database("d")
    schema = pa.schema([pa.field("id", pa.int64(), nullable=False)])
    table = hook.catalog().create_table("d.t", schema, primary_key=["id"], options={"bucket": "1"})
    write_rows(table, pa.table({"id": [1]}, schema=schema))
    hook.catalog().alter_table("d.t", [tc.SetOption("changelog-producer", "lookup")])
    assert hook.new_snapshots("d.t", NewSnapshots()) is not None
    unseen = hook.unseen_snapshots("d.t", Seen())
    assert [counts(s, unseen.producer, "changes") for s in unseen.snapshots] == [True]
