"""Every operator and sensor once, on tables of its own: each of these Dags can be run by itself, and again.

All of it computes in the worker (``engine="local"``), so no JVM is needed.  ``tour_rows`` changes rows,
``tour_history`` goes back and forth in a table's history, ``tour_copies`` feeds and copies tables,
``tour_upkeep`` keeps them in shape and asks before it deletes, ``tour_relay`` tells Airflow which
partitions are new.
"""

from __future__ import annotations

from datetime import timedelta

from airflow.sdk import DAG, Param, PartitionedAssetTimetable

from paimon_provider.approval import approval
from paimon_provider.assets import table_asset, watched_table
from paimon_provider.operators.analyze import PaimonAnalyzeOperator
from paimon_provider.operators.branches import (
    PaimonCreateBranchOperator,
    PaimonDeleteBranchOperator,
    PaimonFastForwardOperator,
)
from paimon_provider.operators.check import PaimonCheckOperator
from paimon_provider.operators.clone import PaimonCloneOperator
from paimon_provider.operators.collect import PaimonCollectMetadataOperator
from paimon_provider.operators.compact import (
    PaimonCompactDatabaseOperator,
    PaimonCompactOperator,
    PaimonRescaleOperator,
    PaimonRewriteManifestsOperator,
)
from paimon_provider.operators.expire import (
    PaimonExpireChangelogsOperator,
    PaimonExpirePartitionsOperator,
    PaimonExpireSnapshotsOperator,
    PaimonExpireTagsOperator,
    PaimonRemoveOrphanFilesOperator,
)
from paimon_provider.operators.health import PaimonHealthOperator
from paimon_provider.operators.partitions import (
    PaimonDropPartitionOperator,
    PaimonMarkPartitionDoneOperator,
)
from paimon_provider.operators.pipeline import PaimonPipelineOperator
from paimon_provider.operators.recover import PaimonRecoverOperator
from paimon_provider.operators.relay import PaimonRelayPartitionsOperator
from paimon_provider.operators.report import PaimonChangeReportOperator
from paimon_provider.operators.rollback import PaimonRollbackOperator
from paimon_provider.operators.statements import PaimonDeleteOperator, PaimonUpdateOperator
from paimon_provider.operators.sync import PaimonSyncDatabaseOperator, PaimonSyncTableOperator
from paimon_provider.operators.table import PaimonAlterTableOperator, PaimonCreateTableOperator
from paimon_provider.operators.tags import PaimonCreateTagOperator, PaimonDeleteTagOperator
from paimon_provider.operators.write import PaimonMergeIntoOperator, PaimonWriteOperator
from paimon_provider.sensors.freshness import PaimonFreshnessSensor
from paimon_provider.sensors.partition import PaimonPartitionSensor
from paimon_provider.sensors.snapshot import PaimonSnapshotSensor
from paimon_provider.sensors.tag import PaimonTagSensor
from paimon_provider.sensors.watermark import PaimonWatermarkSensor

COMMON = {"catalog": "demo", "engine": "local", "retries": 2, "retry_delay": 5}
PATIENCE = timedelta(hours=12)
"""How long to wait for somebody; then nothing is deleted."""
COLUMNS = {"dt": "STRING NOT NULL", "id": "BIGINT NOT NULL", "n": "BIGINT"}
ROWS = """SELECT dt, id, 1 AS n
FROM (VALUES ('a', 1), ('a', 2), ('b', 1), ('c', 1)) AS t(dt, id)"""
MORE = "SELECT 'd' AS dt, CAST(1 AS BIGINT) AS id, CAST(7 AS BIGINT) AS n"


def filled(table: str) -> PaimonWriteOperator:
    """The tasks that make and fill a table; the last of them."""
    create = PaimonCreateTableOperator(
        task_id="create",
        table=table,
        columns=COLUMNS,
        primary_key=["dt", "id"],
        partition_by=["dt"],
        options={"bucket": "1"},
    )
    fill = PaimonWriteOperator(task_id="fill", table=table, sql=ROWS, overwrite="table")
    create >> fill
    return fill


with DAG("tour_rows", default_args=COMMON, doc_md=__doc__, tags=["paimon"]):
    table = "tour.rows"
    alter = PaimonAlterTableOperator(
        task_id="alter",
        table=table,
        changes=[{"change": "UpdateComment", "comment": "what the tour has changed"}],
    )
    update = PaimonUpdateOperator(
        task_id="update", table=table, values={"n": "n + 41"}, where="dt = 'a'"
    )
    delete = PaimonDeleteOperator(task_id="delete", table=table, where="id = 2")
    merge = PaimonMergeIntoOperator(
        task_id="merge",
        table=table,
        source={"sql": MORE},
        on=["dt", "id"],
        when=[{"action": "matched-upsert"}, {"action": "not-matched-insert"}],
    )
    away = {"table": table, "partitions": [{"dt": "c"}]}
    would = PaimonDropPartitionOperator(task_id="would", dry_run=True, **away)
    drop = PaimonDropPartitionOperator(task_id="drop", **away)
    done = PaimonMarkPartitionDoneOperator(task_id="done", table=table, partitions=[{"dt": "b"}])
    check = PaimonCheckOperator(
        task_id="check", table=table, rules={"unique": ["dt", "id"], "rows": [1, None]}
    )
    analyze = PaimonAnalyzeOperator(task_id="analyze", table=table, columns=["n"], events="any")
    changed = PaimonSnapshotSensor(task_id="changed", table=table, on="changes", deferrable=True)
    partition = PaimonPartitionSensor(
        task_id="partition", table=table, partition={"dt": "b"}, done=True
    )
    fresh = PaimonFreshnessSensor(task_id="fresh", table=table, within="1 h")
    report = PaimonChangeReportOperator(
        task_id="report", table=table, label_column="dt", value_column="n"
    )
    filled(table) >> alter >> update >> delete >> merge >> would >> drop >> done >> check >> analyze
    analyze >> [changed, partition, fresh] >> report

with DAG("tour_history", default_args=COMMON, tags=["paimon"]):
    table, branch = "tour.history", "try"
    tag = PaimonCreateTagOperator(task_id="tag", table=table, tag="first", time_retained="1 ms")
    wait = PaimonTagSensor(task_id="wait", table=table, tag="first")
    begin = PaimonCreateBranchOperator(
        task_id="branch", table=table, branch=branch, from_head=True, replace=True
    )
    more = PaimonWriteOperator(
        task_id="more", table=f"{table}$branch_{branch}", sql=MORE, events="none"
    )
    look = PaimonFastForwardOperator(task_id="look", table=table, branch=branch, dry_run=True)
    forward = PaimonFastForwardOperator(task_id="forward", table=table, branch=branch)
    again = PaimonFastForwardOperator(task_id="again", table=table, branch=branch, events="none")
    forget = PaimonDeleteBranchOperator(task_id="drop", table=table, branch=branch)
    lose = PaimonRollbackOperator(task_id="lose", table=table, tag="first", dry_run=True)
    back = PaimonRollbackOperator(task_id="back", table=table, tag="first")
    expire = PaimonExpireTagsOperator(task_id="expire", table=table)
    untag = PaimonDeleteTagOperator(task_id="gone", table=table, tag="first")
    filled(table) >> tag >> wait >> begin >> more >> look >> forward >> again >> forget
    forget >> lose >> back >> expire >> untag

with DAG(
    "tour_copies",
    default_args=COMMON,
    params={"folder": Param(type="string", description="of Debezium events, *.jsonl")},
    tags=["paimon"],
):
    events = {"kind": "files", "uri": "{{ params.folder }}/*.jsonl", "format": "debezium-json"}
    keyed = {"primary_key": ["id"], "options": {"bucket": "1"}}
    database = PaimonSyncDatabaseOperator(
        task_id="sync", database="tour_raw", source=events, settings=keyed
    )
    one = PaimonSyncTableOperator(
        task_id="sync_table",
        table="tour_raw.synced",
        source={**events, "uri": "{{ params.folder }}/x.jsonl"},
        primary_key=["id"],
    )
    compact_all = PaimonCompactDatabaseOperator(
        task_id="compact", database="tour_raw", strategy="full"
    )
    merged = {
        "source": {"table": "tour_raw.synced"},
        "on": ["id"],
        "when": [{"action": "matched-upsert"}, {"action": "not-matched-insert"}],
    }
    synced = {"source": {**events, "uri": "{{ params.folder }}/x.jsonl"}, "primary_key": ["id"]}
    pipeline = PaimonPipelineOperator(
        task_id="pipeline",
        database="tour_raw",
        pipeline_name="tour",
        hops=[
            {"name": "x", "action": "sync-table", "target": "tour_raw.synced", "args": synced},
            {"name": "copy", "action": "merge-into", "target": "tour_raw.x", "args": merged},
        ],
        max_lifetime="5 s",
    )
    clone = PaimonCloneOperator(
        task_id="clone", source="tour_raw.x", table="tour.copy_{{ dag_run.run_after | ts_nodash }}"
    )
    rescale = PaimonRescaleOperator(task_id="rescale", table="tour_raw.synced", buckets=2)
    manifests = PaimonRewriteManifestsOperator(task_id="manifests", table="tour_raw.synced")
    collect = PaimonCollectMetadataOperator(
        task_id="collect", database="tour_raw", to="tour_raw.table_metadata"
    )
    database >> one >> pipeline >> compact_all >> clone >> rescale >> manifests >> collect

with DAG("tour_upkeep", default_args=COMMON, tags=["paimon"]):
    table = "tour.upkeep"
    low = {"small_files_due": 1, "sorted_runs_due": 1}
    health = PaimonHealthOperator(
        task_id="health",
        table=table,
        thresholds=low,
        follow={"compact": "compact", "expire-tags": "tags"},
        otherwise="analyze",
    )
    compact = PaimonCompactOperator(task_id="compact", table=table, strategy="full")
    tags = PaimonExpireTagsOperator(task_id="tags", table=table)
    well = PaimonAnalyzeOperator(task_id="analyze", table=table)
    snapshots = PaimonExpireSnapshotsOperator(
        task_id="snapshots",
        table=table,
        retain_max=1,
        retain_min=1,
        trigger_rule="none_failed_min_one_success",
    )
    changelogs = PaimonExpireChangelogsOperator(task_id="changelogs", table=table)
    partitions = PaimonExpirePartitionsOperator(
        task_id="partitions", table=table, expiration_time="10000 d", dry_run=True
    )
    broken = PaimonRecoverOperator(task_id="broken", table=table)
    orphans = PaimonRemoveOrphanFilesOperator(task_id="look", table=table, dry_run=True)
    remove = PaimonRemoveOrphanFilesOperator(task_id="remove", table=table)
    filled(table) >> health >> [compact, tags, well] >> snapshots
    snapshots >> changelogs >> partitions >> broken >> orphans
    approval(orphans, defaults="Reject", response_timeout=PATIENCE) >> remove

with DAG(
    "tour_relay",
    schedule=[watched_table("tour.rows", catalog="demo")],
    catchup=False,
    max_active_runs=1,
    default_args=COMMON,
    tags=["paimon"],
):
    PaimonRelayPartitionsOperator(task_id="relay", table="tour.rows")

with DAG(
    "tour_partition",
    schedule=PartitionedAssetTimetable(assets=table_asset("tour.rows", catalog="demo")),
    catchup=False,
    default_args=COMMON,
    tags=["paimon"],
):
    PaimonWatermarkSensor(
        task_id="complete",
        table="tour.rows",
        at="2026-01-01T00:00:00+00:00",
        timeout=3600,
        deferrable=True,
        start_from_trigger=True,
    )
