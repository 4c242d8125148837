"""Forty Dags, each with a table of its own: every way to change rows, on every kind of table, as users write it.

A row says by ``u`` who it is, for as long as it lives, and gets another ``v`` or ``n`` whenever it is changed.  So
what a commit has done can be seen by the rows before and after it.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

import pyarrow as pa

from table_core.table.api.catalog import Catalog
from tests.tables import write_rows

__all__ = ["CASES", "DAYS", "LATER", "TABLES", "WATCHED", "Case", "dag_file", "make_tables"]

DAYS = tuple(f"2026-01-{day:02}" for day in range(5, 5 + int(os.environ.get("DAYS") or 7)))
IDS = 10
"""Rows of a day that each table has at the beginning."""
ROW = pa.schema(
    [
        pa.field("dt", pa.string(), nullable=False),
        pa.field("id", pa.int64(), nullable=False),
        pa.field("u", pa.string()),
        pa.field("v", pa.string()),
        pa.field("n", pa.int64()),
    ]
)
KEPT = {"snapshot.num-retained.min": "100000", "snapshot.num-retained.max": "200000"}
"""What has been announced is looked up at the end."""
KEYED: dict[str, Any] = {"primary_key": ("dt", "id"), "partition_by": ("dt",)}
KINDS: Mapping[str, dict[str, Any]] = {
    "append": {"partition_by": ("dt",), "options": {"bucket": "-1"}},
    "whole": {"options": {"bucket": "-1"}},
    "fixed": {"partition_by": ("dt",), "options": {"bucket": "2", "bucket-key": "id"}},
    "marked": {
        "partition_by": ("dt",),
        "options": {"bucket": "-1", "deletion-vectors.enabled": "true"},
    },
    "key": {**KEYED, "options": {"bucket": "1"}},
    "dynamic": {**KEYED, "options": {"bucket": "-1"}},
    "vectors": {**KEYED, "options": {"bucket": "1", "deletion-vectors.enabled": "true"}},
    "input": {**KEYED, "options": {"bucket": "1", "changelog-producer": "input"}},
    "lookup": {**KEYED, "options": {"bucket": "1", "changelog-producer": "lookup"}},
    "full": {
        **KEYED,
        "options": {
            "bucket": "1",
            "changelog-producer": "full-compaction",
            "full-compaction.delta-commits": "1",
        },
    },
    "sum": {
        **KEYED,
        "options": {
            "bucket": "1",
            "merge-engine": "aggregation",
            "fields.n.aggregate-function": "sum",
            "fields.u.aggregate-function": "first_value",
        },
    },
    "partial": {**KEYED, "options": {"bucket": "1", "merge-engine": "partial-update"}},
    "first": {
        **KEYED,
        "options": {"bucket": "1", "merge-engine": "first-row", "changelog-producer": "lookup"},
    },
}
LATER = ("lookup", "full", "first")
"""Kinds whose changes are known, and announced, when a compaction has found them out."""


class Case(NamedTuple):
    """A Dag, the kind of its table, and what is written in it, where ``T`` is the table's name."""

    name: str
    kind: str
    tasks: str


CASES = (
    # rows that come
    Case("append_write", "append", "Write(task_id='do', table=T, **rows(20, 25))"),
    Case("fixed_write", "fixed", "Write(task_id='do', table=T, **rows(20, 25))"),
    Case("key_write", "key", "Write(task_id='do', table=T, **rows(5, 15))"),
    Case("dynamic_write", "dynamic", "Write(task_id='do', table=T, **rows(5, 15))"),
    Case("vectors_write", "vectors", "Write(task_id='do', table=T, **rows(5, 15))"),
    Case("input_write", "input", "Write(task_id='do', table=T, **rows(5, 15))"),
    Case("lookup_write", "lookup", "Write(task_id='do', table=T, **rows(5, 15))"),
    Case("full_write", "full", "Write(task_id='do', table=T, **rows(5, 15))"),
    Case("sum_write", "sum", "Write(task_id='do', table=T, **rows(5, 15))"),
    Case("partial_write", "partial", "Write(task_id='do', table=T, **rows(5, 15))"),
    Case("first_write", "first", "Write(task_id='do', table=T, **rows(5, 15))"),
    # arguments that are known late
    Case(
        "append_mapped",
        "append",
        "Write.partial(task_id='do', table=T, sql=SQL).expand(parameters=[given(i, i + 2) for i in (20, 30, 40)])",
    ),
    Case(
        "key_mapped_late",
        "key",
        "Write.partial(task_id='do', table=T, sql=SQL).expand(parameters=parts('{{ ds }}'))",
    ),
    Case(
        "key_pulled",
        "key",
        "Write(task_id='do', table=T, sql=SQL, parameters=one_part('{{ ds }}'))",
    ),
    Case(
        "append_templated",
        "append",
        "Write(task_id='do', table='{{ params.table }}', params={'table': T}, outlets=[table_asset(T, catalog='demo')], **rows(20, 22))",
    ),
    Case(
        "append_grouped",
        "append",
        """@task_group
    def each(part):
        Write(task_id='do', table=T, sql=SQL, parameters=part)
    each.expand(part=parts('{{ ds }}'))""",
    ),
    Case(
        "key_decorated",
        "key",
        """@paimon_task(writes=[T], tables={'table': T})
    def do(table, ds):
        ids = list(range(5, 15))
        rows = {"dt": [ds] * 10, "id": ids, "u": fresh(10), "v": fresh(10), "n": ids}
        with table.write() as writer:
            writer.write(pa.table(rows))
            writer.commit()
    do()""",
    ),
    # rows in the place of others
    Case(
        "whole_overwrite", "whole", "Write(task_id='do', table=T, overwrite='table', **rows(0, 8))"
    ),
    Case(
        "append_fewer",
        "append",
        "Write(task_id='do', table=T, overwrite='partitions', **rows(0, 2))",
    ),
    Case(
        "append_static",
        "append",
        "Write(task_id='do', table=T, overwrite={'dt': '{{ ds }}'}, **rows(0, 12))",
    ),
    Case(
        "key_overwrite", "key", "Write(task_id='do', table=T, overwrite='partitions', **rows(3, 9))"
    ),
    Case("key_whole", "key", "Write(task_id='do', table=T, overwrite='table', **rows(0, 4))"),
    Case(
        "vectors_overwrite",
        "vectors",
        "Write(task_id='first', table=T, **rows(8, 12)) >> Write(task_id='do', table=T, overwrite={'dt': '{{ ds }}'}, **rows(0, 3))",
    ),
    Case(
        "lookup_overwrite",
        "lookup",
        "Write(task_id='do', table=T, overwrite='partitions', **rows(3, 9))",
    ),
    # rows that go
    Case(
        "append_delete",
        "append",
        "Delete(task_id='do', table=T, where='dt = $dt AND id < 4', parameters={'dt': '{{ ds }}'})",
    ),
    Case(
        "marked_delete",
        "marked",
        "Delete(task_id='do', table=T, where=\"dt = '{{ ds }}' AND id < 4\")",
    ),
    Case(
        "key_delete", "key", "Delete(task_id='do', table=T, where=\"dt = '{{ ds }}' AND id < 4\")"
    ),
    Case(
        "vectors_delete",
        "vectors",
        "Delete(task_id='do', table=T, where=\"dt = '{{ ds }}' AND id < 4\")",
    ),
    Case(
        "lookup_delete",
        "lookup",
        "Delete(task_id='do', table=T, where=\"dt = '{{ ds }}' AND id < 4\")",
    ),
    Case("append_drop", "append", "Drop(task_id='do', table=T, partitions=[{'dt': '{{ ds }}'}])"),
    Case("key_drop", "key", "Drop(task_id='do', table=T, partitions=[{'dt': '{{ ds }}'}])"),
    # rows that change
    Case(
        "append_update",
        "append",
        "Update(task_id='do', table=T, values={'n': 'n + $more'}, where='dt = $dt', parameters={'dt': '{{ ds }}', 'more': 1})",
    ),
    Case(
        "marked_update",
        "marked",
        "Update(task_id='do', table=T, values={'n': 'n + 1'}, where=\"dt = '{{ ds }}' AND id < 4\")",
    ),
    Case(
        "key_update",
        "key",
        "Update(task_id='do', table=T, values={'n': 'n + 1'}, where=\"dt = '{{ ds }}' AND id < 4\")",
    ),
    Case(
        "lookup_update",
        "lookup",
        "Update(task_id='do', table=T, values={'n': 'n + 1'}, where=\"dt = '{{ ds }}' AND id < 4\")",
    ),
    # all of it at once
    Case("append_merge", "append", "Merge(task_id='do', table=T, **MERGED)"),
    Case("key_merge", "key", "Merge(task_id='do', table=T, **MERGED)"),
    Case("marked_merge", "marked", "Merge(task_id='do', table=T, **MERGED)"),
    Case(
        "key_flow",
        "key",
        """Write(task_id='first', table='f.append_write', **rows(50, 53)) >> Write(
        task_id='do', table=T, flow_name='flow', sources={'s': {'table': 'f.append_write', 'mode': 'changes'}},
        sql="SELECT dt, id, uuid()::VARCHAR AS u, uuid()::VARCHAR AS v, n FROM s")""",
    ),
    Case(
        "key_compact",
        "key",
        "Write(task_id='first', table=T, **rows(5, 15)) >> Compact(task_id='do', table=T, strategy='full')",
    ),
)
TABLES = {case.name: case.kind for case in CASES}
WATCHED = ("append_write", "key_write", "lookup_write", "append_fewer")
"""Tables whose snapshots are told by a watcher, too, one by one."""

HEAD = f'''
import uuid
from datetime import datetime, timedelta

import pyarrow as pa

from airflow.providers.standard.operators.empty import EmptyOperator
from airflow.sdk import DAG, task, task_group
from paimon_provider.assets import table_asset, watched_table
from paimon_provider.decorators import paimon_task
from paimon_provider.operators.compact import PaimonCompactOperator as Compact
from paimon_provider.operators.partitions import PaimonDropPartitionOperator as Drop
from paimon_provider.operators.statements import PaimonDeleteOperator as Delete, PaimonUpdateOperator as Update
from paimon_provider.operators.write import PaimonMergeIntoOperator as Merge, PaimonWriteOperator as Write

TRIES = {{"retries": 15, "retry_delay": timedelta(seconds=1), "max_retry_delay": timedelta(seconds=3)}}
COMMON = {{"catalog": "demo", "engine": "local", **TRIES}}
DAILY = {{"schedule": "@daily", "start_date": datetime(2026, 1, 1), "end_date": datetime(2026, 1, 31), "catchup": False}}
SQL = """SELECT CAST($dt AS VARCHAR) AS dt, CAST(i AS BIGINT) AS id, uuid()::VARCHAR AS u, uuid()::VARCHAR AS v,
CAST(1 AS BIGINT) AS n FROM range(CAST($first AS INTEGER), CAST($to AS INTEGER)) t(i)"""


def given(first, to):
    return {{"dt": "{{{{ ds }}}}", "first": first, "to": to}}


def rows(first, to):
    return {{"sql": SQL, "parameters": given(first, to)}}


def fresh(number):
    return [uuid.uuid4().hex for _ in range(number)]


@task
def parts(day):
    return [{{"dt": day, "first": first, "to": first + 3}} for first in (5, 12)]


@task
def one_part(day):
    return {{"dt": day, "first": 5, "to": 15}}


MERGED = {{
    "source": {{"sql": SQL}},
    "parameters": given(5, 15),
    "on": ["dt", "id"],
    "when": [
        {{"action": "matched-delete", "condition": "target.id = 5"}},
        {{"action": "matched-upsert", "values": {{"n": "target.n + 1"}}}},
        {{"action": "not-matched-insert"}},
    ],
}}

for watched in {WATCHED}:
    watch = watched_table("f." + watched, catalog="demo", on="any", events="snapshot", poll_seconds=1)
    with DAG("woken_" + watched, schedule=[watch], catchup=False):
        EmptyOperator(task_id="nothing")
'''


def dag_file(cases: Sequence[Case] = CASES) -> str:
    """The text of the Dags' file."""
    return "\n".join([HEAD, *map(_dag, cases)])


def _dag(case: Case) -> str:
    events = "changes" if case.kind in LATER else "any"
    given = f"**DAILY, default_args={{**COMMON, 'events': {events!r}}}"
    return f"T = 'f.{case.name}'\nwith DAG({case.name!r}, {given}):\n    {case.tasks}\n"


def make_tables(catalog: Catalog, names: Collection[str] = TABLES) -> dict[str, int]:
    """The tables, each with some rows of every day; and its newest snapshot."""
    catalog.create_database("f")
    number = IDS * len(DAYS)
    text = [f"{n:05}" for n in range(number)]
    days = [day for day in DAYS for _ in range(IDS)]
    filled = {"dt": days, "id": [*range(IDS)] * len(DAYS), "u": text, "v": text, "n": [0] * number}
    for name in names:
        kind = KINDS[TABLES[name]]
        made = {**kind, "options": {**kind["options"], **KEPT}}
        table = catalog.create_table(f"f.{name}", ROW, **made)
        write_rows(table, pa.table(filled, schema=ROW))
    return {name: len(catalog.table(f"f.{name}").snapshots()) for name in names}
