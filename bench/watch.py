"""Many watched tables on one triggerer: what ``make bench-watch`` prints.

    python -m bench.watch [--tables 1000] [--dags 20] [--seconds 60] [--rate 10] [--poll 3]

A live Airflow on PostgreSQL watches the tables while this process commits to them in turn.  Told are
the triggerer's memory without and with the watchers, how late its event loop woke up, looks at the
warehouse by minute, and the time from a commit to the start of the Dag run that it woke.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import psycopg
import pyarrow as pa

import table_core as tc
from demo.airflow_home import AirflowHome
from tests.servers import postgres

ROOT = Path(__file__).resolve().parent.parent
GOALS = {"lag_p99_ms": 100, "lag_worst_ms": 100, "to_run_p50_s": 5, "to_run_p95_s": 15}
READY_S = 600
DAGS = """
from airflow.providers.standard.operators.empty import EmptyOperator
from airflow.sdk import DAG, Asset, AssetAny, AssetWatcher
from bench.watch_probe import ProbedTrigger

def watched(n):
    uri = f"paimon://paimon_default/shop/t{{n}}?on=changes"
    trigger = ProbedTrigger(table=f"shop.t{{n}}", asset_uri=uri, poll_seconds={poll})
    return Asset(name=uri, uri=uri, watchers=[AssetWatcher(name="snapshots", trigger=trigger)])

for number in range({dags}):
    tables = range(number, {tables}, {dags})
    with DAG(f"woken_{{number}}", schedule=AssetAny(*map(watched, tables)), catchup=False) as dag:
        EmptyOperator(task_id="nothing")
    globals()[dag.dag_id] = dag
"""
STARTED = """
SELECT (e.extra->'payload'->>'committed_at_ms')::bigint / 1000.0,
       extract(epoch from e.timestamp), extract(epoch from min(r.start_date))
FROM asset_event e
LEFT JOIN dagrun_asset_event d ON d.event_id = e.id LEFT JOIN dag_run r ON r.id = d.dag_run_id
GROUP BY e.id
"""


def make_tables(catalog: tc.Catalog, count: int) -> list[tc.Table]:
    catalog.create_database("shop")
    schema = pa.schema([("n", pa.int64())])
    made = [
        catalog.create_table(f"shop.t{n}", schema, options={"bucket": "-1"}) for n in range(count)
    ]
    for table in made:
        commit(table)
    return made


def commit(table: tc.Table) -> None:
    with table.write() as writer:
        writer.write(pa.table({"n": [1]}))
        writer.commit()


def memory_mb(airflow: AirflowHome) -> float:
    """Of the triggerer and its children, what they share counted once."""
    leader, _ = json.loads(airflow.components.record.read_text())["triggerer"]
    ours = [psutil.Process(leader), *psutil.Process(leader).children(recursive=True)]
    return float(sum(p.memory_full_info().pss for p in ours) / 2**20)


def commit_for(tables: list[tc.Table], seconds: float, rate: float) -> int:
    """Commit to one table after another; how often."""
    begun, done = time.monotonic(), 0
    while (ahead := begun + done / rate - time.monotonic()) < seconds and done < seconds * rate:
        if ahead > 0:
            time.sleep(ahead)
        commit(tables[done % len(tables)])
        done += 1
    return done


def percentiles(values: list[float]) -> tuple[float, float]:
    return (float(np.percentile(values, 50)), float(np.percentile(values, 95)))


def measure(wish: argparse.Namespace, folder: Path) -> dict[str, Any]:
    warehouse, probe = f"file://{folder}/wh", folder / "probe.jsonl"
    dags = folder / "dags"
    dags.mkdir()
    tables = make_tables(tc.open_catalog(warehouse), wish.tables)
    with postgres() as server:
        airflow = AirflowHome(
            folder / "home", dags, json.dumps({"conn_type": "paimon", "host": warehouse})
        )
        airflow.environment.update(
            **server.for_airflow,
            PYTHONPATH=os.pathsep.join([str(ROOT), str(ROOT / "provider")]),
            WATCH_PROBE=str(probe),
        )
        airflow.start()
        try:
            empty_mb = memory_mb(airflow)
            (dags / "woken.py").write_text(
                DAGS.format(tables=wish.tables, dags=wish.dags, poll=wish.poll)
            )
            with psycopg.connect(server.address, autocommit=True) as database:

                def count(table: str) -> int:
                    (found,) = database.execute(f"SELECT count(*) FROM {table}").fetchone()  # type: ignore[misc,arg-type]
                    return int(found)

                airflow.wait(
                    "all watchers have looked",
                    lambda: count("asset_state_store") >= wish.tables,
                    READY_S,
                )
                begun = time.time()
                commits = commit_for(tables, wish.seconds, wish.rate)
                took = time.time() - begun
                full_mb = memory_mb(airflow)
                airflow.wait("every commit is told", lambda: count("asset_event") >= commits, 120)
                airflow.wait("every event has a run", lambda: not _waiting(database), 120)
                events = database.execute(STARTED).fetchall()
        finally:
            airflow.components.stop()
    probed = [json.loads(line) for line in probe.read_text().splitlines()]
    during = [p for p in probed if begun <= p["at"] <= begun + took]
    lags = [p["lag_ms"] for p in during]
    to_event = percentiles([float(event - at) for at, event, _ in events])
    to_run = percentiles([float(run - at) for at, _, run in events])
    looks = (during[-1]["looks"] - during[0]["looks"]) / (during[-1]["at"] - during[0]["at"])
    return {
        "tables": wish.tables,
        "commits": commits,
        "commits_per_s": round(commits / took, 1),
        "events": len(events),
        "triggerer_mb_empty": round(empty_mb),
        "triggerer_mb": round(full_mb),
        "lag_p50_ms": round(float(np.percentile(lags, 50)), 1),
        "lag_p99_ms": round(float(np.percentile(lags, 99)), 1),
        "lag_worst_ms": round(max(lags), 1),
        "looks_per_minute": round(looks * 60),
        "to_event_p50_s": round(to_event[0], 2),
        "to_event_p95_s": round(to_event[1], 2),
        "to_run_p50_s": round(to_run[0], 2),
        "to_run_p95_s": round(to_run[1], 2),
        "load": round(os.getloadavg()[0], 1),
    }


def _waiting(database: Any) -> bool:
    return any(run is None for _, _, run in database.execute(STARTED).fetchall())


def main(arguments: list[str]) -> int:
    about = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=about)
    parser.add_argument("--tables", type=int, default=1000)
    parser.add_argument("--dags", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--rate", type=float, default=10)
    parser.add_argument("--poll", type=float, default=3)
    with tempfile.TemporaryDirectory(prefix="watch") as folder:
        found = measure(parser.parse_args(arguments), Path(folder))
    for name, value in found.items():
        goal = f"   (goal: under {GOALS[name]})" if name in GOALS else ""
        print(f"{name:20} {value}{goal}")
    return 0 if found["events"] >= found["commits"] else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
