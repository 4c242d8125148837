"""Dags whose one task writes rows that take a while each, on every backend.

By arithmetic: SQL of users neither calls Java nor reads files.
"""

from __future__ import annotations

__all__ = ["AWHILE", "LONG", "ROWS", "dag_file"]

ROWS = 16
AWHILE, LONG = 3, 20
"""Rounds of arithmetic for a row; LONG where all must still compute when the last has begun."""
DAG = """
from datetime import timedelta

from airflow.sdk import DAG
from paimon_provider.operators.write import PaimonWriteOperator

ROUNDS = {{"rounds": "{{{{ dag_run.conf['rounds'] }}}}"}}
SLOW = (
    "SELECT id, concat('x', aggregate(sequence(id, id + CAST($rounds AS BIGINT) - 1), id, (kept, _) ->"
    " aggregate(sequence(kept, kept + 999999L), kept, (a, x) -> (a + x * 31) % 1000003))) slow"
    " FROM range(0, {rows}, 1, 2)"
)
ALONE = (
    "SELECT i AS id, concat('x', max((i + j * 31) % 1000003)) AS slow"
    " FROM range({rows}) a(i), range(CAST($rounds AS BIGINT) * 5000000) b(j) GROUP BY i"
)

for name in {backends}:
    with DAG(name, schedule=None, catchup=False, max_active_runs=1):
        PaimonWriteOperator(
            task_id="write", table="d.{{{{ dag_run.conf['table'] }}}}", sources={{}},
            sql=ALONE if name == "embedded" else SLOW, engine="local" if name == "embedded" else "spark",
            parameters=ROUNDS, paimon_conn_id=name, deferrable=name == "deferred",
            retries=3, retry_delay=timedelta(seconds=1), max_retry_delay=timedelta(seconds=2),
        )
"""


def dag_file(backends: tuple[str, ...]) -> str:
    """The text of the file."""
    return DAG.format(rows=ROWS, backends=backends)
