"""Paimon's REST catalog: its own server judges what our client sends.

Goal: a commit lands once, whatever becomes of its answer; what is not done is refused by name; no secret is told.
"""

from __future__ import annotations

import json
import logging
import pickle
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from typer.testing import CliRunner

import table_core as tc
from table_core.cli.main import app
from table_core.errors import (
    AccessDeniedError,
    CommitConflictError,
    NotFoundError,
    OptionError,
    OutcomeUnknownError,
    SchemaError,
    StorageUnavailableError,
    TableError,
    UnsupportedFeatureError,
)
from table_core.jobs.job_spec import JobSpec
from table_core.jobs.run import run_embedded
from table_core.rest.schema_changes import is_same_schema
from table_core.storage.stores.locate import open_storage
from table_core.table.metadata.served_storage import ServedLine
from tests.catalogs.rest.server import WAREHOUSE, RestCatalogServer, rest_catalog
from tests.storage_contract.proxy import Plan, Proxy
from tests.tables import rows_of, write_rows

SCHEMA = pa.schema([pa.field("k", pa.int32(), nullable=False), ("v", pa.int64())])
PARTS = pa.schema([("dt", pa.string()), ("v", pa.int64())])


@pytest.fixture(scope="module")
def server() -> Iterator[RestCatalogServer]:
    with rest_catalog() as server:
        yield server


@pytest.fixture
def proxy(server: RestCatalogServer) -> Iterator[Proxy]:
    with Proxy(server.uri) as proxy:
        yield proxy


@pytest.fixture
def catalog(server: RestCatalogServer, proxy: Proxy) -> Iterator[tc.Catalog]:
    """Behind ``proxy``, with the database ``d``, in which tables come and go."""
    catalog = tc.open_catalog(WAREHOUSE, server.options(proxy.endpoint))
    catalog.create_database("d", if_not_exists=True)
    yield catalog
    proxy.plan = None
    for table in catalog.tables("d"):
        catalog.drop_table(f"d.{table}")


def add(table: tc.Table, key: int) -> tc.Commit:
    return write_rows(table, pa.table({"k": [key], "v": [key]}, schema=SCHEMA))


def is_commit(method: str, path: str) -> bool:
    return method == "POST" and path.endswith("/commit")


def asked(server: RestCatalogServer, path: str, change: object = None) -> dict[str, object]:
    """What the server itself says, or what it says to a ``change``."""
    request = urllib.request.Request(
        f"{server.uri}/v1/paimon/databases/{path}",
        data=None if change is None else json.dumps(change).encode(),
        headers={
            "Authorization": f"Bearer {server.login['token']}",
            "Content-Type": "application/json",
        },
    )
    with urllib.request.urlopen(request, timeout=10) as answer:
        return dict(json.loads(answer.read() or b"{}"))


def test_a_commit_that_is_done_and_answered_with_an_error_is_recognized(
    catalog: tc.Catalog, server: RestCatalogServer
) -> None:
    table = catalog.create_table("d.t", SCHEMA)
    add(table, 0)
    server.lose_next_answer()
    assert add(table, 1).snapshot_ids == (2,)
    assert add(table, 2).snapshot_ids == (3,)
    assert rows_of(catalog.table("d.t")) == [(0, 0), (1, 1), (2, 2)]


@pytest.mark.parametrize("done", [True, False], ids=["answer-lost", "request-lost"])
def test_a_commit_that_nobody_answers_lands_once(
    catalog: tc.Catalog, proxy: Proxy, *, done: bool
) -> None:
    table = catalog.create_table("d.t", SCHEMA)
    for key in range(3):
        lost = Plan(is_commit, lose_answer=done, status=0 if done else 502)
        proxy.plan = lost
        assert add(table, key).snapshot_ids == (key + 1,)
        assert lost.seen
    assert rows_of(catalog.table("d.t")) == [(0, 0), (1, 1), (2, 2)]


def test_a_server_that_has_too_much_to_do_is_asked_again(catalog: tc.Catalog, proxy: Proxy) -> None:
    table = catalog.create_table("d.t", SCHEMA)
    proxy.plan = Plan(lambda *_: True, status=429, times=2)
    add(table, 1)
    proxy.plan = Plan(lambda method, _: method == "GET", status=503, times=2)
    assert rows_of(catalog.table("d.t")) == [(1, 1)]
    assert proxy.plan.seen


def test_of_a_drop_whose_answer_is_lost_nobody_says_that_it_was_done(
    catalog: tc.Catalog, proxy: Proxy
) -> None:
    catalog.create_table("d.t", SCHEMA)
    proxy.plan = Plan(lambda method, _: method == "DELETE", lose_answer=True)
    with pytest.raises(OutcomeUnknownError, match="Look whether it was done"):
        catalog.drop_table("d.t")
    assert catalog.tables("d") == []


def test_a_server_that_is_not_there_is_unavailable(server: RestCatalogServer) -> None:
    options = {**server.options("http://127.0.0.1:9"), "request.attempts": "1"}
    with pytest.raises(StorageUnavailableError):
        tc.open_catalog(WAREHOUSE, options)


def test_a_listing_comes_page_by_page(catalog: tc.Catalog) -> None:
    names = [f"t{n:03}" for n in range(120)]
    for name in names:
        catalog.create_table(f"d.{name}", SCHEMA)
    assert catalog.tables("d") == names


def test_the_server_knows_what_a_commit_did_to_each_partition(
    catalog: tc.Catalog, server: RestCatalogServer
) -> None:
    table = catalog.create_table("d.t", PARTS, partition_by=("dt",))
    write_rows(table, pa.table({"dt": ["a", "a", "b", None], "v": [1, 2, 3, 4]}, schema=PARTS))
    table.delete("dt = 'b'")
    newest = asked(server, "d/tables/t/snapshot")["snapshot"]
    files = table.system("files").to_arrow()
    assert isinstance(newest, dict)
    assert newest["recordCount"] == sum(files["record_count"].to_pylist()) == 3
    assert newest["fileSizeInBytes"] == sum(files["file_size_in_bytes"].to_pylist())
    shown = {"action": "setOption", "key": "metastore.partitioned-table", "value": "true"}
    asked(server, "d/tables/t", {"changes": [shown]})  # else it does not list them
    partitions = asked(server, "d/tables/t/partitions")["partitions"]
    assert isinstance(partitions, list)
    counted = {p["spec"]["dt"]: (p["recordCount"], p["fileCount"]) for p in partitions}
    assert counted == {"a": (2, 1), "__DEFAULT_PARTITION__": (1, 1)}


def test_tables_of_blanks_and_other_letters_have_a_path(catalog: tc.Catalog) -> None:
    for name in ("a b", "größe", "a+b", "50%"):
        table = catalog.create_table(f"d.{name}", SCHEMA)
        add(table, 1)
        assert rows_of(catalog.table(f"d.{name}")) == [(1, 1)]


@pytest.mark.parametrize(
    ("what", "verb"),
    [
        (
            "name",
            lambda c: c.alter_table(
                "d.t", [tc.AddColumn("n", "STRING")], tc.CommitAs(user="u", identifier=1)
            ),
        ),
        ("creation", lambda c: c.table("d.t").branches.create("side")),
        ("copy", lambda c: c.clone_table("d.t", "d.copy")),
    ],
)
def test_what_only_the_server_may_do_is_refused_and_changes_nothing(
    catalog: tc.Catalog, server: RestCatalogServer, what: str, verb
) -> None:
    table = catalog.create_table("d.t", SCHEMA)
    add(table, 1), add(table, 2)
    files = sorted(p for p in server.data.rglob("*") if p.is_file())
    with pytest.raises(UnsupportedFeatureError, match=what.split()[0]):
        verb(catalog)
    assert sorted(p for p in server.data.rglob("*") if p.is_file()) == files
    assert rows_of(table) == [(1, 1), (2, 2)]


def test_schemas_change_as_the_server_changes_them(catalog: tc.Catalog) -> None:
    table = catalog.create_table("d.t", SCHEMA, options={"bucket": "-1", "write-only": "true"})
    add(table, 1)
    changed = catalog.alter_table(
        "d.t",
        [
            tc.AddColumn("note", "STRING", comment="what was said", after="k"),
            tc.AddColumn("first", "INT", first=True),
            tc.RenameColumn("v", "amount"),
            tc.UpdateColumnType("k", "BIGINT"),
            tc.UpdateColumnNullability("k", nullable=True),
            tc.UpdateColumnComment("k", "the key"),
            tc.SetOption("snapshot.num-retained.min", "3"),
            tc.RemoveOption("write-only"),
            tc.UpdateComment("orders"),
        ],
    )
    assert is_same_schema(changed.definition, catalog.table("d.t").definition)
    assert changed.arrow_schema.names == ["first", "k", "note", "amount"]
    rows = pa.table(
        {"first": [9], "k": [2], "note": ["x"], "amount": [2]}, schema=changed.arrow_schema
    )
    write_rows(changed, rows)
    assert rows_of(catalog.table("d.t")) == [(None, 1, None, 1), (9, 2, "x", 2)]
    catalog.alter_table("d.t", [tc.DropColumn("note"), tc.AddColumn("note", "INT")])
    assert rows_of(catalog.table("d.t")) == [(None, 1, 1, None), (9, 2, 2, None)]
    with pytest.raises(SchemaError):
        catalog.alter_table("d.t", [tc.DropColumn("note2")])


def test_a_change_of_a_schema_whose_answer_is_lost_is_recognized(
    catalog: tc.Catalog, proxy: Proxy
) -> None:
    catalog.create_table("d.t", SCHEMA)
    proxy.plan = Plan(lambda method, path: (method, path[-2:]) == ("POST", "/t"), lose_answer=True)
    altered = catalog.alter_table("d.t", [tc.AddColumn("n", "INT")])
    assert proxy.plan.seen
    assert altered.arrow_schema.names == ["k", "v", "n"]
    assert catalog.table("d.t").definition.id == 1


def test_upkeep_works_on_files_as_in_paimons_own_client(catalog: tc.Catalog) -> None:
    table = catalog.create_table(
        "d.t", SCHEMA, primary_key=("k",), options={"bucket": "1", "write-only": "true"}
    )
    for key in range(4):
        add(table, key)
    table.tags.create("kept", snapshot=2)
    table.compact(strategy="full")
    table.expire_snapshots(retain_max=1, retain_min=1, older_than=10**15)
    table.remove_orphan_files(older_than=0, dry_run=False)
    assert len(table.snapshots()) == 1
    assert rows_of(catalog.table("d.t")) == [(k, k) for k in range(4)]
    assert rows_of(table, tag="kept") == [(0, 0), (1, 1)]
    table.delete("k = 3")
    assert len(rows_of(table)) == 3


def is_rollback(method: str, path: str) -> bool:
    return method == "POST" and path.endswith("/rollback")


def newest(server: RestCatalogServer) -> object:
    document = asked(server, "d/tables/t/snapshot")["snapshot"]
    assert isinstance(document, dict)
    return document["snapshot"]["id"]


def test_the_server_rolls_back_and_the_table_goes_on_from_there(
    catalog: tc.Catalog, server: RestCatalogServer
) -> None:
    table = catalog.create_table("d.t", SCHEMA)
    for key in range(5):
        add(table, key)
    table.tags.create("late", snapshot=4)
    table.tags.create("early", snapshot=1)
    planned = table.rollback_to(snapshot=2, dry_run=True)
    assert newest(server) == 5
    by = tc.CommitAs(user="ada", identifier=1)
    done = table.rollback_to(snapshot=2, commit=by)
    assert done.details["snapshots_removed"] == [3, 4, 5]
    assert done.details["tags_removed"] == ["late"]
    assert planned.details == done.details
    assert newest(server) == 2
    assert add(table, 7).snapshot_ids == (3,)
    assert rows_of(catalog.table("d.t")) == [(0, 0), (1, 1), (7, 7)]
    assert list(table.tags) == ["early"]
    again = table.rollback_to(snapshot=2, commit=by)
    assert again.details["replayed"]
    assert rows_of(table) == [(0, 0), (1, 1), (7, 7)]


def test_a_rollback_to_a_tag_whose_snapshot_has_expired(
    catalog: tc.Catalog, server: RestCatalogServer
) -> None:
    table = catalog.create_table("d.t", SCHEMA)
    for key in range(4):
        add(table, key)
    table.tags.create("kept", snapshot=2)
    table.expire_snapshots(retain_max=1, retain_min=1, older_than=10**15)
    assert [s.id for s in table.snapshots()] == [4]
    table.rollback_to(tag="kept")
    assert newest(server) == 2
    assert rows_of(catalog.table("d.t")) == [(0, 0), (1, 1)]
    add(table, 9)
    assert rows_of(catalog.table("d.t")) == [(0, 0), (1, 1), (9, 9)]


def test_a_rollback_whose_answer_is_lost_is_recognized(catalog: tc.Catalog, proxy: Proxy) -> None:
    table = catalog.create_table("d.t", SCHEMA)
    for key in range(3):
        add(table, key)
    proxy.plan = Plan(is_rollback, lose_answer=True)
    assert table.rollback_to(snapshot=1).details["snapshots_removed"] == [2, 3]
    assert proxy.plan.seen
    assert rows_of(catalog.table("d.t")) == [(0, 0)]


def test_of_a_rollback_that_never_arrived_nobody_says_that_it_was_done(
    catalog: tc.Catalog, proxy: Proxy
) -> None:
    table = catalog.create_table("d.t", SCHEMA)
    for key in range(3):
        add(table, key)
    by = tc.CommitAs(user="ada", identifier=1)
    proxy.plan = Plan(is_rollback, status=502)
    with pytest.raises(OutcomeUnknownError):
        table.rollback_to(snapshot=1, commit=by)
    assert rows_of(catalog.table("d.t")) == [(0, 0), (1, 1), (2, 2)]
    assert not table.rollback_to(snapshot=1, commit=by).details["replayed"]
    assert rows_of(catalog.table("d.t")) == [(0, 0)]


def test_a_rollback_takes_nothing_back_that_it_has_not_seen(
    catalog: tc.Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = catalog.create_table("d.t", SCHEMA)
    for key in range(3):
        add(table, key)
    ask = ServedLine.rollback

    def late(line: ServedLine, *args: object) -> None:
        monkeypatch.undo()
        add(catalog.table("d.t"), 3)
        ask(line, *args)

    monkeypatch.setattr(ServedLine, "rollback", late)
    by = tc.CommitAs(user="ada", identifier=1)
    with pytest.raises(CommitConflictError, match="snapshot 4"):
        table.rollback_to(snapshot=1, commit=by)
    assert rows_of(catalog.table("d.t")) == [(k, k) for k in range(4)]
    assert table.rollback_to(snapshot=1, commit=by).details["snapshots_removed"] == [2, 3, 4]
    assert rows_of(catalog.table("d.t")) == [(0, 0)]


def test_an_append_that_began_before_a_rollback_lands_on_what_is_left(catalog: tc.Catalog) -> None:
    table = catalog.create_table("d.t", SCHEMA)
    for key in range(3):
        add(table, key)
    slow = catalog.table("d.t")
    with slow.write() as writer:
        writer.write(pa.table({"k": [9], "v": [9]}, schema=SCHEMA))
        table.rollback_to(snapshot=1)
        writer.commit()
    assert rows_of(catalog.table("d.t")) == [(0, 0), (9, 9)]


def test_a_table_of_a_server_cannot_be_opened_by_its_path(
    catalog: tc.Catalog, server: RestCatalogServer
) -> None:
    uri = catalog.create_table("d.t", SCHEMA).uri
    with pytest.raises(UnsupportedFeatureError, match="open_catalog"):
        tc.open_table(uri, storage_options=server.options())


def job(server: RestCatalogServer, action: str, **args: object) -> dict[str, object]:
    options = {f"storage.{key}": value for key, value in server.options().items()}
    return run_embedded(
        JobSpec(action=action, warehouse=WAREHOUSE, table="d.t", args=args, options=options)
    )


def test_jobs_work_on_its_tables(
    catalog: tc.Catalog, server: RestCatalogServer, tmp_path: Path
) -> None:
    table = catalog.create_table("d.t", SCHEMA, primary_key=("k",), options={"bucket": "1"})
    files = tmp_path / "rows.csv"
    files.write_text("k,v\n1,1\n2,2\n")
    assert job(server, "write", rows_uri=str(files))["rows_written"] == 2
    job(server, "write", sql="SELECT CAST(3 AS INT) AS k, CAST(3 AS BIGINT) AS v")
    job(server, "delete", where="k = 2")
    job(server, "compact", strategy="full")
    assert rows_of(table) == [(1, 1), (3, 3)]


def test_what_a_catalog_is_told_does_not_go_to_the_store_of_other_files(
    catalog: tc.Catalog, server: RestCatalogServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A store may take ``token`` too: it would be sent to somebody else."""
    catalog.create_table("d.t", SCHEMA)
    given: list[dict[str, object]] = []

    def opened(uri: str, options: dict[str, object], **more: object) -> object:
        given.append(dict(options))
        return open_storage(uri, options, **more)

    monkeypatch.setattr("table_core.table.api.file_rows.open_storage", opened)
    with pytest.raises(NotFoundError):
        job(server, "write", rows_uri="memory://elsewhere/*.csv")
    assert given == [{}]


def test_commands_take_it_from_a_file(
    catalog: tc.Catalog,
    server: RestCatalogServer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    path = tmp_path / "catalog.json"
    path.write_text(json.dumps(server.options()))
    monkeypatch.setenv("TABLE_CORE_CATALOG_FILE", str(path))
    monkeypatch.setenv("TABLE_CORE_WAREHOUSE", WAREHOUSE)

    def command(*words: str) -> str:
        done = CliRunner().invoke(app, [*words], catch_exceptions=False)
        assert done.exit_code == 0, done.output
        assert server.login["token"] not in done.output
        return str(done.stdout)

    command("create", "d.t", "--column", "k INT")
    (tmp_path / "rows.csv").write_text("k\n3\n")
    command("write", "d.t", str(tmp_path / "rows.csv"))
    assert json.loads(command("read", "d.t", "--json")) == {"k": 3}
    declared = tmp_path / "d.yaml"
    declared.write_text("version: 1\nname: d\ntables:\n  d.u: {columns: {id: BIGINT}}\n")
    command("apply", str(declared), "-w", WAREHOUSE)
    assert catalog.tables("d") == ["t", "u"]
    assert f"{server.uri}/{WAREHOUSE}" in command("doctor")


def test_secrets_are_told_nowhere(
    catalog: tc.Catalog, server: RestCatalogServer, proxy: Proxy, caplog: pytest.LogCaptureFixture
) -> None:
    token = server.login["token"]
    table = catalog.create_table("d.t", SCHEMA)
    with caplog.at_level(logging.DEBUG):
        proxy.plan = Plan(lambda *_: True, status=503, times=1)
        texts = [repr(catalog), repr(table), repr(table.access), str(catalog.warehouse)]
        rows_of(catalog.table("d.t"))
        with pytest.raises(AccessDeniedError) as wrong:
            tc.open_catalog(WAREHOUSE, {**server.options(), "token": "wrong-secret"})
        with pytest.raises(OptionError) as none:
            tc.open_catalog(WAREHOUSE, {**server.options(), "uri": f"https://u:{token}@h"})
    texts += [str(e.value) + repr(e.value.facts) for e in (wrong, none)]
    texts += [record.getMessage() for record in caplog.records]
    assert all(token not in text and "wrong-secret" not in text for text in texts)
    assert pickle.loads(pickle.dumps(wrong.value)).kind == wrong.value.kind


def test_requests_are_signed_as_the_server_wants_it(tmp_path: Path) -> None:
    with rest_catalog("dlf") as server:
        catalog = tc.open_catalog(WAREHOUSE, server.options())
        catalog.create_database("d")
        add(catalog.create_table("d.t", SCHEMA), 1)
        assert catalog.tables("d") == ["t"]

        login = server.login
        document = {
            "AccessKeyId": login["dlf.access-key-id"],
            "AccessKeySecret": login["dlf.access-key-secret"],
            "SecurityToken": "for-a-while",
            "Expiration": "2030-01-01T00:00:00Z",
        }
        path = tmp_path / "token.json"
        path.write_text(json.dumps({**document, "Expiration": "2020-01-01T00:00:00Z"}))
        by_file = {
            "metastore": "rest",
            "uri": server.uri,
            "token.provider": "dlf",
            "dlf.region": "cn-hangzhou",
            "dlf.token-path": str(path),
            "local-tables.enabled": "true",
        }
        theirs = tc.open_catalog(WAREHOUSE, by_file)
        assert rows_of(theirs.table("d.t")) == [(1, 1)]
        path.write_text(json.dumps({**document, "AccessKeySecret": "another-secret"}))
        with pytest.raises(AccessDeniedError) as wrong:  # the first one has expired
            theirs.databases()
        assert "another-secret" not in str(wrong.value)


@pytest.mark.parametrize(
    ("more", "error", "says"),
    [
        ({"token.provider": "ldap"}, OptionError, "bear or dlf"),
        ({"uri": "jdbc:sqlite:x"}, OptionError, "uri"),
        ({"lock.type": "file", "lock.path": "/tmp"}, OptionError, "no lock"),
        ({"data-token.enabled": "true"}, UnsupportedFeatureError, "data-token.enabled"),
        ({"dlf.token-loader": "ecs"}, UnsupportedFeatureError, "dlf.token-loader"),
    ],
)
def test_options_that_are_wrong_or_not_for_this_release(
    server: RestCatalogServer, more: dict[str, str], error: type[Exception], says: str
) -> None:
    with pytest.raises(error, match=says):
        tc.open_catalog(WAREHOUSE, {**server.options(), **more})


def test_a_server_may_not_choose_a_folder_of_this_machine(
    catalog: tc.Catalog, server: RestCatalogServer
) -> None:
    """Unless it is meant, which the option says."""
    add(catalog.create_table("d.t", SCHEMA), 1)
    options = server.options()
    del options["local-tables.enabled"]
    careful = tc.open_catalog(WAREHOUSE, options)
    assert careful.tables("d") == ["t"]
    for act in (lambda: careful.table("d.t"), lambda: careful.create_table("d.u", SCHEMA)):
        with pytest.raises(AccessDeniedError, match=r"local-tables\.enabled=true") as caught:
            act()
        assert str(server.data) in caught.value.facts["path"]
    assert rows_of(catalog.table("d.t")) == [(1, 1)]


def test_a_server_elsewhere_without_tls_is_warned_of(
    server: RestCatalogServer, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, "table_core.storage.stores.rest_server"):
        tc.open_catalog(WAREHOUSE, server.options())
        assert caplog.text == "", "nobody sees what goes over the loopback"
        with pytest.raises(StorageUnavailableError):
            tc.open_catalog(WAREHOUSE, server.options("http://catalog.invalid:9"))
    assert "http://catalog.invalid:9 has no TLS" in caplog.text
    assert server.login["token"] not in caplog.text


def test_another_warehouse_is_not_the_servers(server: RestCatalogServer) -> None:
    with pytest.raises(TableError):
        tc.open_catalog("another", server.options())
