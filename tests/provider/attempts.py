"""Dag runs taken step by step: one attempt at a time, and between them what people do to a run.

Everything is Airflow's own: its metadata database, its execution API, its clearing and deleting.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from airflow.dag_processing.dagbag import DagBag

from tests.provider.dag_runs import HEAD

__all__ = ["DYING", "Runs", "of_dag", "of_file"]

DYING = """
import os
class Dying(PaimonWriteOperator):
    '''Commits, and then dies while the file ``die`` is there.'''
    def finished(self, context, result):
        found = super().finished(context, result)
        if os.path.exists(os.environ['DIE']):
            raise RuntimeError('after the commit')
        return found
"""
WHEN = datetime(2026, 1, 1, tzinfo=UTC)


class Runs:
    """The runs of one Dag."""

    def __init__(self, dag: Any) -> None:
        from airflow.serialization.serialized_objects import DagSerialization

        self.dag = dag
        self.scheduled = DagSerialization.deserialize_dag(DagSerialization.serialize_dag(dag))

    def create(self, run_id: str = "daily", at: datetime | None = None, **conf: Any) -> None:
        """A run, as a trigger or a schedule makes it."""
        from airflow.models.dagrun import DagRun
        from airflow.utils.session import create_session
        from airflow.utils.state import DagRunState
        from airflow.utils.types import DagRunTriggeredByType, DagRunType

        with create_session() as session:
            when = at or WHEN + timedelta(days=session.query(DagRun).count())
            self.scheduled.create_dagrun(
                run_id=run_id,
                logical_date=when,
                data_interval=(when, when),
                run_after=when,
                run_type=DagRunType.MANUAL,
                conf=conf,
                triggered_by=DagRunTriggeredByType.TEST,
                state=DagRunState.RUNNING,
                start_date=when,
                session=session,
            )
            assert session.query(DagRun).filter_by(run_id=run_id).count()

    def step(self, run_id: str = "daily") -> dict[str, str]:
        """Let each task that can begin now have one attempt; how the tasks stand after it."""
        from airflow.sdk.definitions.dag import _run_task
        from airflow.utils.session import create_session
        from airflow.utils.state import DagRunState, TaskInstanceState

        with create_session() as session:
            run = self._run(session, run_id)
            run.state = DagRunState.RUNNING
            run.dag = self.scheduled
            ready, _ = run.update_state(session=session)
            for ti in ready:
                ti.try_number += 1
                ti.state = TaskInstanceState.SCHEDULED
            session.commit()
            for ti in ready:
                _run_task(ti=ti, task=self.dag.task_dict[ti.task_id], run_triggerer=True)
        return self.states(run_id)

    def finish(self, run_id: str = "daily") -> dict[str, str]:
        """Step until nothing can begin any more."""
        before: dict[str, str] = {}
        while (now := self.step(run_id)) != before:
            before = now
        return now

    def states(self, run_id: str = "daily") -> dict[str, str]:
        from airflow.utils.session import create_session

        with create_session() as session:
            found = self._run(session, run_id).get_task_instances(session=session)
            return {
                ti.task_id + (f"[{ti.map_index}]" if ti.map_index >= 0 else ""): str(ti.state)
                for ti in found
            }

    def ids(self) -> list[str]:
        """Those of the runs that there are."""
        from airflow.models.dagrun import DagRun
        from airflow.utils.session import create_session

        with create_session() as session:
            found = session.query(DagRun).filter_by(dag_id=self.dag.dag_id)
            return [run.run_id for run in found]

    def tries(self, task_id: str, run_id: str = "daily") -> int:
        """How many attempts a task has had."""
        from airflow.utils.session import create_session

        with create_session() as session:
            found = self._run(session, run_id).get_task_instance(task_id, session=session)
            return int(found.try_number)

    def clear(self, *tasks: str, run_id: str = "daily", reset_run: bool = True) -> None:
        """What the UI, the API and the command line do."""
        from airflow.models.taskinstance import clear_task_instances
        from airflow.utils.session import create_session
        from airflow.utils.state import DagRunState

        with create_session() as session:
            found = self._run(session, run_id).get_task_instances(session=session)
            chosen = [ti for ti in found if ti.task_id in tasks]
            assert chosen
            clear_task_instances(
                chosen, session, dag_run_state=DagRunState.QUEUED if reset_run else False
            )

    def set_conf(self, run_id: str = "daily", **conf: Any) -> None:
        from airflow.utils.session import create_session

        with create_session() as session:
            self._run(session, run_id).conf = conf

    def delete(self, run_id: str = "daily") -> None:
        from airflow.utils.session import create_session

        with create_session() as session:
            session.delete(self._run(session, run_id))

    def xcom(self, task_id: str, run_id: str = "daily", map_index: int = -1) -> Any:
        from airflow.models.xcom import XComModel
        from airflow.utils.session import create_session

        with create_session() as session:
            row = session.query(XComModel).filter_by(
                dag_id=self.dag.dag_id,
                run_id=run_id,
                task_id=task_id,
                map_index=map_index,
                key="return_value",
            )
            return XComModel.deserialize_value(row.one())

    def events(self, run_id: str = "daily") -> list[tuple[str, str, dict[str, Any]]]:
        """Task, asset URI and extra of each event of the run, oldest first."""
        from airflow.models.asset import AssetEvent
        from airflow.utils.session import create_session

        with create_session() as session:
            found = session.query(AssetEvent).filter_by(
                source_dag_id=self.dag.dag_id, source_run_id=run_id
            )
            return [(e.source_task_id, e.asset.uri, e.extra) for e in found.order_by(AssetEvent.id)]

    def _run(self, session: Any, run_id: str) -> Any:
        from airflow.models.dagrun import DagRun

        return session.query(DagRun).filter_by(dag_id=self.dag.dag_id, run_id=run_id).one()


@contextmanager
def of_dag(home: Path, body: str, *, head: str = "") -> Iterator[Runs]:
    """Write ``body`` into a Dag file and tell Airflow's database of it."""
    dag_id = f"dag_{uuid.uuid4().hex[:8]}"
    inner = "\n".join(f"    {line}" for line in body.strip().splitlines())
    defaults = "dict(retries=1, retry_delay=timedelta(0))"
    text = f"{HEAD}{head}\nwith DAG({dag_id!r}, schedule=None, default_args={defaults}) as dag:\n{inner}\n"
    with of_file(home, text, dag_id) as runs:
        yield runs


@contextmanager
def of_file(home: Path, text: str, dag_id: str) -> Iterator[Runs]:
    """Write ``text`` as a Dag file and tell Airflow's database of it; one of its Dags."""
    from airflow.dag_processing.bundles.manager import DagBundlesManager
    from airflow.dag_processing.dagbag import sync_bag_to_db

    path = home / "dags" / f"file_{uuid.uuid4().hex[:8]}.py"
    path.write_text(text)
    try:
        bag = DagBag(str(path))
        assert not bag.import_errors, bag.import_errors
        DagBundlesManager().sync_bundles_to_db()
        sync_bag_to_db(bag, "dags-folder", None)
        yield Runs(bag.dags[dag_id])
    finally:
        os.unlink(path)
