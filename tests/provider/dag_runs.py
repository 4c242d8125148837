"""Runs a Dag that a test wrote, by Airflow itself, and reads what came of it."""

from __future__ import annotations

import json
import os
import uuid
from pathlib import Path
from typing import Any

from airflow.dag_processing.dagbag import DagBag
from airflow.utils.session import create_session
from sqlalchemy import text

from paimon_provider import get_provider_info as info

__all__ = ["HEAD", "events_of", "looked_up", "run_body", "run_text", "states", "xcom"]

HEAD = (
    "from datetime import timedelta\nfrom airflow.sdk import DAG, task, task_group, TaskGroup\n"
    + "".join(
        f"from paimon_provider.{kind}.{name} import *\n"
        for kind, names in (("operators", info.OPERATORS), ("sensors", info.SENSORS))
        for name in names
    )
)
"""Every operator and sensor, by its own name."""


def run_body(home: Path, body: str, **conf: Any) -> Any:
    """Write ``body`` into a Dag file, load it, run it; the Dag run."""
    dag_id = f"dag_{uuid.uuid4().hex[:8]}"
    inner = "\n".join(f"    {line}" for line in body.strip().splitlines())
    source = f"{HEAD}with DAG({dag_id!r}, default_args=dict(retries=0)) as dag:\n{inner}\n"
    return run_text(home, source, dag_id, **conf)


def run_text(home: Path, source: str, dag_id: str, **conf: Any) -> Any:
    """Write ``source`` as a Dag file, run one of its Dags; the Dag run."""
    path = home / "dags" / f"file_{uuid.uuid4().hex[:8]}.py"
    path.write_text(source)
    try:
        bag = DagBag(str(path))
        assert not bag.import_errors, bag.import_errors
        return bag.dags[dag_id].test(run_conf=conf)
    finally:
        os.unlink(path)


def states(dag_run: Any) -> dict[str, str]:
    return {ti.task_id: str(ti.state) for ti in dag_run.get_task_instances()}


def xcom(dag_run: Any, task_id: str) -> Any:
    ti = dag_run.get_task_instance(task_id)
    return ti.xcom_pull(task_ids=task_id)


def events_of(dag_run: Any) -> list[tuple[str, str, dict[str, Any]]]:
    """Task, asset URI and extra of each event of the run."""
    found = looked_up(
        "SELECT source_task_id, uri, e.extra FROM asset_event e JOIN asset a ON a.id = asset_id"
        " WHERE source_run_id = :run AND source_dag_id = :dag ORDER BY e.id",
        run=dag_run.run_id,
        dag=dag_run.dag_id,
    )
    return [(task, uri, json.loads(extra)) for task, uri, extra in found]


def looked_up(query: str, **parameters: Any) -> list[Any]:
    """Rows of Airflow's database, by its own session: SQLite's file must not be opened beside it."""
    with create_session() as session:
        return list(session.execute(text(query), parameters))
