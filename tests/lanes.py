"""What runs when: by day a part that a change most likely breaks, at night everything.

What is longer than its part of the day says so in one of four ways:

    @pytest.mark.parametrize("kind", sampled(kinds(), 3))       each third kind, at night each
    ROUNDS = budget("ROUNDS", ci=8, nightly=100)                or what the variable ROUNDS says
    SAMPLED["spark/test_spark_streams.py"] = 2                  each second test of a file
    NIGHT["spark/test_spark_cluster.py"] = (…)                  a whole file: at night, and when its paths change

Hypothesis' own variable decides between day and night: ``HYPOTHESIS_PROFILE``, ``ci`` or ``nightly``.  ``TEST_SEED`` decides
which cases the day takes, and which worlds the random series live in; each night takes another.

A file that is run alone (``pytest tests/unit/test_layout.py``) runs all of its cases.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from fnmatch import fnmatch
from typing import TYPE_CHECKING, Any, Literal

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = [
    "CORE",
    "DAY",
    "ELSEWHERE",
    "NIGHT",
    "ON_DISK",
    "PROFILE",
    "PROFILES",
    "SAMPLED",
    "SEED",
    "Lane",
    "budget",
    "due",
    "lane_of",
    "left_for_the_night",
    "sampled",
    "shard",
    "table_of_lanes",
]

PROFILES = {"ci": 30, "nightly": 1_000}
"""How many examples Hypothesis draws of each property, where the test does not count for itself."""
PROFILE = os.environ.get("HYPOTHESIS_PROFILE") or "ci"
SEED = int(os.environ.get("TEST_SEED") or 0)


@dataclass(frozen=True)
class Lane:
    """Folders of tests that run in one call of pytest."""

    name: str
    folders: tuple[str, ...]
    what: str
    """What a reader of ``CONTRIBUTING.md`` wants to know of it."""
    processes: Literal[1, 2] = 1
    together: Literal["test", "file"] = "file"
    """What one of two processes takes at a time: a file whose tests share what is slow to start, or a test."""
    beside: bool = False
    """Waits for other processes half of its time, and runs beside those that do not."""


DAY = (
    Lane(
        "light",
        (
            *("airflows", "catalogs", "cli", "docs", "durability", "fuzz", "golden"),
            *("property", "security", "simulation", "sql", "storage_contract", "unit", "upstream"),
        ),
        "the core in memory and on disk, kills, stores, the command line, the documents' examples, cases of Paimon's own suites",
        processes=2,
        together="test",
    ),
    Lane("provider", ("provider",), "operators, sensors and pages in a real Airflow", processes=2),
    Lane("spark", ("spark",), "a Spark session in each process", processes=2),
    Lane(
        "servers",
        ("cdc", "demo"),
        "MariaDB, PostgreSQL and Kafka; the parts of the demo",
        beside=True,
    ),
    Lane(
        "interop",
        ("interop",),
        "Apache Paimon in one JVM reads and writes the same tables",
        beside=True,
    ),
)
"""The lanes of ``make test``, in their order: two rows that run beside one another."""
CORE = ("unit", "property", "golden", "simulation")
"""What needs the core and nothing else: ``make test-core`` runs these without Airflow, Spark and Java."""
ON_DISK = ("wheel",)
"""Makes environments: files that an installer links on the disk of its cache, and would copy into memory."""
ELSEWHERE = {"live": "test-live", "cluster": "test-spark-cluster"}
"""Folders with a target of their own, which need more than an hour or a cluster."""

_SPARK = ("table_core/spark/*",)
_LAUNCHING = ("provider/paimon_provider/launchers/*", "table_core/spark/entrypoint.py")
_WATCHING = ("provider/paimon_provider/triggers/*", "provider/paimon_provider/watching*")
NIGHT: dict[str, tuple[str, ...]] = {
    "browser": ("provider/ui/*", "provider/paimon_provider/pages/*"),
    "wheel": ("*pyproject.toml", "hatch_build.py", "constraints*.txt", "Makefile"),
    "live": ("dags/*", "provider/paimon_provider/runs/*"),
    "cluster": (*_SPARK, *_LAUNCHING),
    "cdc/test_live_kafka_cluster.py": ("table_core/cdc/source/kafka/*",),
    "cdc/test_live_kafka_memory.py": (
        "table_core/cdc/source/kafka/*",
        "table_core/cdc/source/lines.py",
    ),
    "cdc/test_live_kafka_spark.py": ("table_core/cdc/source/kafka/*", "table_core/spark/*"),
    "cdc/test_live_large_transactions.py": ("table_core/cdc/source/postgres/*",),
    "cdc/test_live_mariadb_mutants.py": ("table_core/cdc/source/mysql/*", "tests/cdc/*lives.py"),
    "cdc/test_live_many_syncs.py": (
        "table_core/cdc/source/postgres/*",
        "table_core/cdc/source/log_reader.py",
        "table_core/cdc/apply/*",
    ),
    "cdc/test_live_postgres_mutants.py": (
        "table_core/cdc/source/postgres/*",
        "tests/cdc/*lives.py",
    ),
    "spark/test_class_archive.py": ("table_core/spark/class_archive.py",),
    "spark/test_spark_cluster.py": _LAUNCHING,
    "spark/test_spark_differential.py": _SPARK,
    "spark/test_spark_dynamic_allocation.py": _SPARK,
    "spark/test_spark_native_kills.py": ("table_core/spark/writing/*",),
    "spark/test_spark_three_doors.py": ("table_core/spark/reading/*", "table_core/table/read/*"),
    "simulation/test_reader_mutations.py": ("tests/simulation/*", "table_core/position/*"),
    "provider/test_cluster_jobs.py": _LAUNCHING,
    "provider/test_live_watch.py": _WATCHING,
    "provider/test_openlineage.py": ("provider/paimon_provider/lineage/*",),
    "provider/test_hive_connection.py": (
        "provider/paimon_provider/connections/*",
        "table_core/hive/*",
    ),
    "provider/test_rest_connection.py": (
        "provider/paimon_provider/connections/*",
        "table_core/rest/*",
    ),
    "provider/test_operators_live.py": ("provider/paimon_provider/operators/*",),
    "provider/test_streamhouse_run.py": ("dags/*",),
}
"""Folders and files that the day leaves out, each with the paths whose change brings it back (``make test-changed``)."""

SAMPLED = {
    "catalogs/test_half_done_verbs.py": 3,
    "catalogs/test_every_catalog.py": 4,
    "catalogs/test_hive_catalog.py": 4,
    "catalogs/test_jdbc_catalog.py": 3,
    "catalogs/test_rest_catalog.py": 4,
    "cdc/test_live_audit.py": 3,
    "cdc/test_live_audit_edges.py": 3,
    "cdc/test_live_diverged.py": 2,
    "cdc/test_live_hostile.py": 2,
    "cdc/test_live_kafka.py": 3,
    "cdc/test_live_mariadb_ways_out.py": 3,
    "cdc/test_live_outages.py": 3,
    "cdc/test_live_replaced.py": 2,
    "cdc/test_live_snapshots.py": 2,
    "cdc/test_live_types.py": 2,
    "cli/test_screens.py": 4,
    "cli/test_whole_output.py": 2,
    "docs/test_readability.py": 3,
    "durability/test_bad_days.py": 3,
    "durability/test_bounded_writes.py": 3,
    "durability/test_crashes.py": 3,
    "durability/test_processes.py": 2,
    "durability/test_upkeep_crashes.py": 4,
    "golden/test_cdc_avro.py": 3,
    "golden/test_cdc_recordings.py": 3,
    "golden/test_cdc_streams.py": 5,
    "interop/test_differential_reads.py": 2,
    "interop/test_file_indexes.py": 4,
    "interop/test_hive_catalogs.py": 2,
    "interop/test_rest_commits.py": 3,
    "interop/test_retracts.py": 2,
    "interop/test_scan_modes.py": 2,
    "interop/test_shared_commits.py": 2,
    "interop/test_spark_tables.py": 5,
    "interop/test_tables.py": 4,
    "interop/test_writers.py": 3,
    "property/test_damaged_tables.py": 6,
    "property/test_data_formats.py": 2,
    "property/test_files_that_come_back.py": 3,
    "property/test_filters_after_retyping.py": 4,
    "property/test_merge_engines.py": 2,
    "property/test_merge_statements.py": 2,
    "property/test_orc_timestamps.py": 3,
    "property/test_partial_update.py": 2,
    "property/test_statements_by_engine.py": 8,
    "provider/test_all_operators_run.py": 2,
    "provider/test_auto_engine.py": 5,
    "provider/test_declared_audits.py": 4,
    "provider/test_last_lines.py": 5,
    "provider/test_mapped_tables.py": 2,
    "provider/test_masters.py": 5,
    "provider/test_publish_rules.py": 4,
    "provider/test_publish_run.py": 2,
    "provider/test_results_as_arguments.py": 2,
    "provider/test_run_identity.py": 4,
    "provider/test_snapshot_trigger.py": 2,
    "provider/test_tables_page.py": 2,
    "provider/test_tour.py": 2,
    "provider/test_wrong_arguments.py": 5,
    "security/test_budgets.py": 5,
    "security/test_hostile_events.py": 3,
    "security/test_hostile_servers.py": 3,
    "security/test_hostile_streams.py": 5,
    "security/test_kept_state.py": 2,
    "security/test_links.py": 3,
    "security/test_neighbours.py": 3,
    "security/test_sql.py": 4,
    "security/test_terminal.py": 4,
    "security/test_tls.py": 2,
    "security/test_warehouse.py": 4,
    "simulation/test_bucket_mutations.py": 3,
    "simulation/test_bucket_races.py": 4,
    "simulation/test_commit_races.py": 2,
    "simulation/test_mutations.py": 4,
    "simulation/test_turns.py": 2,
    "simulation/test_two_writers.py": 4,
    "spark/test_spark_distributed_planning.py": 4,
    "spark/test_spark_entrypoint.py": 8,
    "spark/test_spark_hybrid.py": 3,
    "spark/test_spark_job_counts.py": 2,
    "spark/test_spark_jobs.py": 2,
    "spark/test_spark_meaning.py": 4,
    "spark/test_spark_merge_clauses.py": 6,
    "spark/test_spark_native_writes.py": 2,
    "spark/test_spark_odd_names.py": 2,
    "spark/test_spark_order.py": 3,
    "spark/test_spark_results.py": 2,
    "spark/test_spark_same_rows.py": 2,
    "spark/test_spark_skew.py": 3,
    "spark/test_spark_source.py": 3,
    "spark/test_spark_statements.py": 4,
    "spark/test_spark_stream_modes.py": 8,
    "spark/test_spark_streams.py": 7,
    "spark/test_spark_streams_at_once.py": 6,
    "spark/test_spark_tables.py": 2,
    "spark/test_spark_writing.py": 3,
    "storage_contract/test_foreign_names.py": 3,
    "storage_contract/test_requests.py": 4,
    "storage_contract/test_s3.py": 6,
    "unit/cdc/test_debezium.py": 2,
    "unit/cdc/test_files_that_grow.py": 2,
    "unit/cdc/test_statements_in_order.py": 2,
    "unit/cdc/test_sync_database.py": 2,
    "unit/cdc/test_truncate_of_one_source.py": 4,
    "unit/cdc/test_types_follow_events.py": 3,
    "unit/declaration/test_applies.py": 3,
    "unit/declaration/test_declaring.py": 2,
    "unit/declaration/test_model_of_applies.py": 5,
    "unit/honoured/test_honoured_options.py": 3,
    "unit/table/test_append_deletions.py": 3,
    "unit/table/test_clones_at_once.py": 2,
    "unit/table/test_collect_metadata.py": 2,
    "unit/table/test_cross_partition.py": 3,
    "unit/table/test_first_and_new_rows.py": 4,
    "unit/table/test_floor_of_a_new_table.py": 8,
    "unit/table/test_flow.py": 4,
    "unit/table/test_flow_positions.py": 3,
    "unit/table/test_flows_at_once.py": 2,
    "unit/table/test_idle_partitions.py": 2,
    "unit/table/test_keys_that_moved.py": 3,
    "unit/table/test_lookup_cache.py": 2,
    "unit/table/test_lost_updates.py": 3,
    "unit/table/test_many_runs.py": 3,
    "unit/table/test_nothing_is_destroyed_on_error.py": 3,
    "unit/table/test_older_rows_first.py": 3,
    "unit/table/test_one_partition.py": 6,
    "unit/table/test_opened_files.py": 2,
    "unit/table/test_option_classes.py": 6,
    "unit/table/test_option_values.py": 3,
    "unit/table/test_postponed_compaction.py": 2,
    "unit/table/test_read_memory.py": 3,
    "unit/table/test_reader_positions.py": 2,
    "unit/table/test_recover.py": 8,
    "unit/table/test_spilling.py": 3,
    "unit/table/test_stale_handles.py": 4,
    "unit/table/test_stream_plan.py": 4,
    "unit/table/test_time_goes_back.py": 2,
    "unit/table/test_who_commits.py": 3,
    "unit/table/test_whole_results.py": 6,
    "unit/table/test_wide_tables.py": 2,
    "unit/table/test_write_buffers.py": 4,
    "unit/test_actions.py": 2,
    "unit/test_batch_commit.py": 2,
    "unit/test_by_partition.py": 2,
    "unit/test_cli_rows.py": 2,
    "unit/test_cli_writing.py": 6,
    "unit/test_damaged_data_files.py": 2,
    "unit/test_doctor.py": 2,
    "unit/test_fast_forward.py": 2,
    "unit/test_nothing_is_ignored.py": 2,
    "unit/test_packages.py": 3,
    "unit/test_parquet_room.py": 2,
    "unit/test_probed_reads.py": 2,
    "unit/test_retracts_at_write.py": 2,
    "unit/test_touched.py": 2,
    "unit/test_upkeep_commands.py": 2,
    "unit/test_upkeep_races.py": 4,
    "unit/test_write_job.py": 2,
}
"""Files of which the day takes each so-many-th test, from number ``SEED`` on."""


def sampled(cases: Iterable[Any], each: int, *, first: int = 0) -> list[Any]:
    """Parameters of a test: of ``cases``, the day takes each ``each``-th, from number ``first + SEED`` on.

    A case that is a tuple gives several parameters.  None by day is an error: each test keeps a part in ``make test``.
    """
    found = list(cases)
    if len(found) <= first:
        raise ValueError(f"{len(found)} cases: none is left for make test")
    start = (first + SEED) % min(each, len(found))
    return [
        pytest.param(
            *(case if type(case) is tuple else (case,)),
            marks=() if number % each == start else (pytest.mark.nightly,),
        )
        for number, case in enumerate(found)
    ]


def left_for_the_night(file: str, count: int) -> list[int]:
    """Of the ``count`` tests of ``file``, a path below ``tests``, the numbers that the day leaves out."""
    each = SAMPLED.get(file, 1)
    return [number for number in range(count) if number % each != SEED % each]


def budget(variable: str, *, ci: int, nightly: int) -> int:
    """How many rounds, seeds or tables: what ``variable`` says, else what the profile allows."""
    return int(os.environ.get(variable) or {"ci": ci, "nightly": nightly}[PROFILE])


def due(changed: Iterable[str]) -> list[str]:
    """The entries of ``NIGHT`` that a change of these paths brings back, those of their own tests too."""
    paths = list(changed)
    return [
        entry
        for entry, patterns in NIGHT.items()
        if any(
            path.startswith(f"tests/{entry}") or any(fnmatch(path, one) for one in patterns)
            for path in paths
        )
    ]


def lane_of(file: str) -> Lane:
    """How ``file``, a path below ``tests``, is run: as its folder is by day, else in a process of its own."""
    folder = file.partition("/")[0]
    for lane in DAY:
        if folder in lane.folders:
            return lane
    return Lane(folder, (folder,), "")


def shard(seconds: dict[str, float], number: int, of: int) -> list[str]:
    """The files of shard ``number`` (1 to ``of``), each file in one: the longest first, to whom has least.

    >>> [shard({"a": 9, "b": 5, "c": 4, "d": 3}, n, 2) for n in (1, 2)]
    [['a', 'd'], ['b', 'c']]
    """
    loads = [0.0] * of
    taken: list[list[str]] = [[] for _ in range(of)]
    for file in sorted(seconds, key=lambda name: (-seconds[name], name)):
        least = min(range(of), key=loads.__getitem__)
        loads[least] += seconds[file]
        taken[least].append(file)
    return taken[number - 1]


def table_of_lanes(lanes: Sequence[Lane] = DAY) -> str:
    """The lanes as a table of Markdown, for ``CONTRIBUTING.md``."""
    lines = ["| lane of `make test` | folders | what it has | how |", "|---|---|---|---|"]
    for lane in lanes:
        folders = ", ".join(f"`{folder}`" for folder in lane.folders)
        how = "one process"
        if lane.processes == 2:
            how = f"two processes, {lane.together} by {lane.together}"
        lines.append(f"| {lane.name} | {folders} | {lane.what} | {how} |")
    lines += ["", "| the day takes a part of the tests of | |", "|---|---|"]
    lines += [f"| `{file}` | one of {each} |" for file, each in SAMPLED.items()]
    lines += ["", "| at night, and when these paths change | paths |", "|---|---|"]
    lines += [
        f"| `{entry}` | {', '.join(f'`{path}`' for path in patterns)} |"
        for entry, patterns in NIGHT.items()
    ]
    return "\n".join(lines)
