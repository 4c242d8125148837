"""Goal: each procedure of Paimon on Spark is done as its verb does it, or refused by name."""

from __future__ import annotations

import pytest

import table_core as tc
from table_core.sql.call import PROCEDURES
from table_core.table.api.sql.procedures import PERFORMED
from tests.tables import new_catalog

CALLS = [
    ("compact('d.t')", "compact"),
    ("compact(table => 'd.t', compact_strategy => 'minor', partitions => 'dt=a;dt=b')", "compact"),
    ("compact(table => 'd.t', where => 'dt = ''a''', options => 'target-file-size=8 mb')", "compact"),
    ("compact(table => 'd.u', order_strategy => 'zorder', order_by => 'id,n')", "compact"),
    ("compact_database(including_databases => 'd', excluding_tables => 'd\\\\.u')", "compact-database"),
    ("rescale(table => 'd.t', bucket_num => 2)", "rescale"),
    ("expire_snapshots(table => 'd.t', retain_max => 1, retain_min => 1)", "expire-snapshots"),
    ("expire_snapshots(table => 'd.t', older_than => '2020-01-01 00:00:00', max_deletes => 5)", "expire-snapshots"),
    ("expire_partitions(table => 'd.t', expiration_time => '9 d', timestamp_formatter => 'yyyy-MM-dd', max_expires => 3)", "expire-partitions"),
    ("expire_tags(table => 'd.t', older_than => '2020-01-01')", "expire-tags"),
    ("remove_orphan_files(table => 'd.t', dry_run => true)", "remove-orphan-files"),
    ("compact_manifest(table => 'd.t')", "rewrite-manifests"),
    ("create_tag(table => 'd.t', tag => 'v2', snapshot => 1, time_retained => '1 d')", "create-tag"),
    ("create_tag_from_timestamp(table => 'd.t', tag => 'v3', timestamp => 4102444800000)", "create-tag"),
    ("replace_tag(table => 'd.t', tag => 'v1', snapshot => 2)", "replace-tag"),
    ("rename_tag(table => 'd.t', tag => 'v1', target_tag => 'v9')", "rename-tag"),
    ("delete_tag(table => 'd.t', tag => 'v1')", "delete-tags"),
    ("create_branch('d.t', 'dev', 'v1')", "create-branch"),
    ("create_branch(table => 'd.t', branch => 'old', ignoreIfExists => true)", "create-branch"),
    ("rename_branch(table => 'd.t', from_branch => 'old', to_branch => 'new')", "rename-branch"),
    ("delete_branch(table => 'd.t', branch => 'old')", "delete-branch"),
    ("fast_forward(table => 'd.t', branch => 'old')", "fast-forward"),
    ("mark_partition_done(table => 'd.t', partitions => 'dt=a')", "mark-done"),
    ("reset_consumer(table => 'd.t', consumerId => 'c', nextSnapshotId => 1)", "reset-consumer"),
    ("reset_consumer(table => 'd.t', consumerId => 'c')", "delete-consumer"),
    ("clear_consumers(table => 'd.t', includingConsumers => 'c.*')", "clear-consumers"),
    ("rollback(table => 'd.t', version => 'v1')", "rollback"),
    ("rollback(table => 'd.t', snapshot => 1)", "rollback"),
    ("rollback_to_timestamp(table => 'd.t', timestamp => 4102444800000)", "rollback"),
]  # fmt: skip


@pytest.fixture
def shop() -> tc.Catalog:
    catalog = new_catalog()
    for statement in (
        "CREATE TABLE d.t (id INT, dt STRING, n INT) PARTITIONED BY (dt) "
        "TBLPROPERTIES ('primary-key' = 'id,dt', 'bucket' = '1', 'write-only' = 'true')",
        "CREATE TABLE d.u (id INT, n INT)",
        *(f"INSERT INTO d.t VALUES ({n}, 'a', 1), (1, 'b', {n})" for n in range(2)),
        "INSERT INTO d.u VALUES (1, 2), (2, 1)",
        "CALL sys.create_tag(table => 'd.t', tag => 'v1', snapshot => 1)",
        "CALL sys.create_branch(table => 'd.t', branch => 'old', tag => 'v1')",
        "CALL sys.reset_consumer(table => 'd.t', consumerId => 'c', nextSnapshotId => 1)",
    ):
        catalog.sql(statement)
    return catalog


@pytest.mark.parametrize(("call", "action"), CALLS, ids=lambda x: x[:40])
def test_a_procedure_is_done_by_its_verb(shop: tc.Catalog, call: str, action: str) -> None:
    done = shop.sql(f"CALL sys.{call}")
    assert isinstance(done, tc.ResultDocument)
    assert done.action == action
    assert not done.table or done.table.startswith("d")


def test_every_procedure_is_done_or_refused() -> None:
    assert {name for name, one in PROCEDURES.items() if not one.refusal} == set(PERFORMED)
    assert len(PROCEDURES) == 42
    called = {call.partition("(")[0] for call, _ in CALLS}
    assert called == set(PERFORMED)


WRONG = [
    ("rollback(table => 'd.t')", "one of version"),
    ("rollback(table => 'd.t', version => '1', tag => 'v1')", "one of version"),
    ("compact(table => 'd.t', order_by => 'id')", "belong together"),
    ("compact(table => 'd.t', options => 'x')", "key=value"),
    ("expire_snapshots(table => 'd.t', older_than => 'now')", "write a time"),
    ("compact_database()", "one at a time"),
    ("delete_branch(table => 'd.t', branch => 'a,b')", "one branch"),
]


@pytest.mark.parametrize(("call", "message"), WRONG)
def test_a_wrong_argument_is_named(shop: tc.Catalog, call: str, message: str) -> None:
    shop.create_database("e")
    with pytest.raises(tc.errors.ArgumentError, match=message):
        shop.sql(f"CALL sys.{call}")
