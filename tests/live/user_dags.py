"""The Dags of the random user: quick tasks, each of which says in its rows who has written them.

A task of a run writes two rows, so what landed in part or twice is seen.  It waits a little before and
after it commits, so that what kills it comes before, between and behind; ``fails`` in the run's conf is how
many attempts die after the commit.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa

__all__ = ["DAGS", "MAPPED", "TABLES", "TASKS", "Names", "dag_file"]

MAPPED = 2
"""Indices of the mapped task."""
TASKS: Mapping[str, str] = {
    "plain": "u.rows",
    "mapped": "u.rows",
    "own": "u.rows",
    "bump": "u.counters",
}
"""Tasks of ``loads``, and the tables that they write to."""
ROW = pa.schema(
    [
        pa.field("who", pa.string(), nullable=False),
        pa.field("idx", pa.int32(), nullable=False),
        pa.field("n", pa.int32(), nullable=False),
    ]
)
APPENDED: dict[str, Any] = {"schema": ROW, "options": {"bucket": "-1"}}
TABLES: Mapping[str, dict[str, Any]] = {
    **{f"u.{name}": APPENDED for name in ("rows", "counted", "counted_too", "published")},
    "u.counters": {
        "schema": pa.schema(
            [pa.field("id", pa.int32(), nullable=False), pa.field("times", pa.int64())]
        ),
        "primary_key": ("id",),
        "options": {"bucket": "1", "changelog-producer": "lookup"},
    },
    "u.daily": {
        "schema": ROW.append(pa.field("times", pa.int64())),
        "primary_key": ("who", "idx", "n"),
        "options": {
            "bucket": "1",
            "merge-engine": "aggregation",
            "fields.times.aggregate-function": "sum",
        },
    },
}


@dataclass(frozen=True)
class Names:
    """How often each Dag that may be renamed was: Dag to number."""

    renamed: Mapping[str, int] = field(default_factory=dict)

    def of(self, dag: str) -> str:
        """Its name now."""
        number = self.renamed.get(dag, 0)
        return f"{dag}_{number}" if number else dag

    def with_another(self, dag: str) -> Names:
        return replace(self, renamed={**self.renamed, dag: self.renamed.get(dag, 0) + 1})


FILE = '''
import time
from datetime import datetime, timedelta

import pyarrow as pa

from airflow.providers.standard.operators.empty import EmptyOperator
from airflow.sdk import DAG
from paimon_provider.assets import watched_table
from paimon_provider.decorators import paimon_task
from paimon_provider.operators.compact import PaimonCompactOperator
from paimon_provider.operators.position import PaimonPositionOperator
from paimon_provider.operators.rollback import PaimonRollbackOperator
from paimon_provider.operators.statements import PaimonDeleteOperator, PaimonUpdateOperator
from paimon_provider.operators.write import PaimonWriteOperator
from paimon_provider.publish import PaimonWriteAuditPublish

WHERE = {"paimon_conn_id": "user", "catalog": "demo"}
TRIES = {"retries": 15, "retry_delay": timedelta(seconds=1), "max_retry_delay": timedelta(seconds=3)}
COMMON = {**WHERE, **TRIES, "engine": "local"}
SQL = "SELECT CAST($who AS VARCHAR) AS who, CAST($idx AS INTEGER) AS idx, CAST(i AS INTEGER) AS n FROM range(2) t(i)"


def die(context):
    """After the commit, in as many attempts as the run's conf says."""
    time.sleep(0.5)
    ti = context["ti"]
    # Attempts of a task that was cleared go on counting; max_tries says from where.
    attempt = ti.try_number - (ti.max_tries - ti.task.retries)
    if attempt <= (context["dag_run"].conf or {}).get("fails", 0):
        raise RuntimeError("died after the commit")


class Slow:
    """Waits before and after the commit, and dies as often as it should."""

    def execute(self, context):
        time.sleep(0.5)
        return super().execute(context)

    def finished(self, context, result):
        found = super().finished(context, result)
        die(context)
        return found


class Write(Slow, PaimonWriteOperator):
    pass


class Update(Slow, PaimonUpdateOperator):
    pass


with DAG("@loads@", schedule=None, default_args=COMMON, max_active_runs=3):
    Write(task_id="plain", table="u.rows", sql=SQL, parameters={"who": "plain {{ run_id }}", "idx": -1})
    Write.partial(task_id="mapped", table="u.rows", sql=SQL).expand(
        parameters=[{"who": "mapped {{ run_id }}", "idx": i} for i in range(@mapped@)])
    Update(task_id="bump", table="u.counters", values={"times": "times + 1"}, where="id = 1")

    @paimon_task(writes=["u.rows"], **WHERE, **TRIES)
    def own(paimon, run_id, ti, dag_run):
        time.sleep(0.5)
        rows = {"who": ["own " + run_id] * 2, "idx": [-1, -1], "n": [0, 1]}
        types = pa.schema([("who", pa.string()), ("idx", pa.int32()), ("n", pa.int32())])
        with paimon.table("u.rows").write() as writer:
            writer.write(pa.table(rows, schema=types))
            writer.commit()
        die({"ti": ti, "dag_run": dag_run})

    own()

FLOW = {"sources": {"rows": {"table": "u.rows", "mode": "changes"}}, "sql": "SELECT who, idx, n FROM rows"}
with DAG("@flows@", schedule=None, default_args=COMMON, max_active_runs=2):
    Write(task_id="named", table="u.counted", flow_name="counted", **FLOW)
    Write(task_id="unnamed", table="u.counted_too", **FLOW)

with DAG("wap", schedule=None, default_args=COMMON, max_active_runs=1):
    with PaimonWriteAuditPublish(group_id="g", table="u.published", rules={"range": {"n": [0, None]}},
                                 where=WHERE) as group:
        Write.partial(task_id="load", table=group.branch_table,
            sql=SQL + " UNION ALL SELECT 'bad', -1, -1 WHERE CAST($bad AS BOOLEAN) AND CAST($idx AS INTEGER) = 1").expand(
            parameters=[{"who": "load {{ run_id }}", "idx": i, "bad": "{{ dag_run.conf['bad'] }}"} for i in range(2)])

with DAG("daily", schedule="@daily", start_date=datetime(2026, 1, 1), end_date=datetime(2026, 1, 31),
         catchup=False, default_args=COMMON, max_active_runs=3):
    Write(task_id="day", table="u.daily", parameters={"who": "day {{ run_id }}", "idx": -1},
          sql=SQL.replace(" FROM", ", CAST(1 AS BIGINT) AS times FROM"))

with DAG("woken", schedule=[watched_table("u.rows", on="any", events="snapshot", poll_seconds=1, **WHERE)],
         catchup=False):
    EmptyOperator(task_id="nothing")

with DAG("back", schedule=None, default_args=COMMON):
    PaimonRollbackOperator(task_id="back", table="{{ dag_run.conf['table'] }}",
                           snapshot="{{ dag_run.conf['snapshot'] }}")

with DAG("tidy", schedule=None, default_args=COMMON):
    PaimonCompactOperator(task_id="tidy", table="{{ dag_run.conf['table'] }}")

with DAG("again", schedule=None, default_args=COMMON):
    for name in ("counted", "counted_too"):
        empty = PaimonDeleteOperator(task_id="empty_" + name, table="u." + name, where="TRUE")
        empty >> PaimonPositionOperator(task_id="reset_" + name, table="u." + name,
                                        position="{{ dag_run.conf['" + name + "'] }}")
'''
DAGS = 8


def dag_file(names: Names) -> str:
    """The text of the file, with the Dags as they are called now."""
    text = FILE.replace("@mapped@", str(MAPPED))
    for dag in ("loads", "flows"):
        text = text.replace(f"@{dag}@", names.of(dag))
    return text
