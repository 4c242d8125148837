"""A task run is one writer: whichever attempt works, and whatever is done to its neighbours."""

from __future__ import annotations

import random
import uuid
from argparse import Namespace
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pytest

from paimon_provider.hooks.paimon import PaimonHook
from paimon_provider.runs.identity import IDENTIFIERS_PER_VERB, RunIdentity
from paimon_provider.runs.landed import landed_ms, landed_ms_in
from table_core import CommitAs
from table_core.errors import OutcomeUnknownError
from table_core.jobs.job_spec import JobSpec
from table_core.jobs.run import run_embedded
from table_core.table.api.catalog import Catalog
from tests.provider.attempts import DYING, Runs, of_dag
from tests.tables import write_rows

pytestmark = [pytest.mark.airflow, pytest.mark.filterwarnings("default")]

BODY = """
create = PaimonCreateTableOperator(task_id="create", table="shop.orders",
    columns={"id": "BIGINT"}, options={"bucket": "-1"})
load = Dying(task_id="load", table="shop.orders", engine="local",
    sql="SELECT CAST(1 AS BIGINT) AS id")
other = PaimonCreateTagOperator(task_id="other", table="shop.orders", tag="t", trigger_rule="all_done")
create >> load >> other
"""


@pytest.fixture
def die(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "die"
    monkeypatch.setenv("DIE", str(path))
    return path


@pytest.fixture
def runs(airflow_home: Path, warehouse: Catalog, die: Path) -> Iterator[Runs]:
    with of_dag(airflow_home, BODY, head=DYING) as found:
        yield found


def count(warehouse: Catalog, table: str = "shop.orders") -> int:
    return int(warehouse.table(table).read().to_arrow().num_rows)


def test_a_retry_after_the_commit_writes_nothing(runs: Runs, warehouse: Catalog, die: Path) -> None:
    runs.create()
    die.touch()
    runs.step()
    assert runs.step()["load"] == "up_for_retry"
    die.unlink()
    assert runs.finish() == {"create": "success", "load": "success", "other": "success"}
    assert count(warehouse) == 1


def test_a_retry_whose_commit_may_be_expired_fails_and_writes_nothing(
    runs: Runs, warehouse: Catalog, die: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from table_core.ondisk import properties

    monkeypatch.setattr(properties, "_COMMITS_MAX", 2)
    runs.create()
    die.touch()
    runs.step()
    runs.step()
    table = warehouse.table("shop.orders")
    for number in range(3):
        write_rows(
            table, pa.table({"id": [0]}), commit=CommitAs(user=f"other {number}", identifier=0)
        )
    table.expire_snapshots(retain_max=1, retain_min=1)
    die.unlink()
    assert runs.finish()["load"] == "failed"
    assert count(warehouse) == 4
    runs.clear("load")
    assert runs.finish()["load"] == "success"
    assert count(warehouse) == 5


@pytest.mark.parametrize("reset_run", [True, False])
def test_clearing_a_task_does_it_again(runs: Runs, warehouse: Catalog, reset_run: bool) -> None:
    runs.create()
    runs.finish()
    for rows in (2, 3):
        runs.clear("load", reset_run=reset_run)
        assert runs.finish()["load"] == "success"
        assert count(warehouse) == rows


def test_clearing_a_task_that_waits_for_its_retry_does_it_again(
    runs: Runs, warehouse: Catalog, die: Path
) -> None:
    runs.create()
    die.touch()
    runs.step()
    runs.step()
    runs.clear("load")
    die.unlink()
    runs.finish()
    assert count(warehouse) == 2


def test_a_cleared_sibling_changes_nothing(runs: Runs, warehouse: Catalog, die: Path) -> None:
    runs.create()
    die.touch()
    runs.step()
    runs.step()
    runs.clear("create")
    die.unlink()
    assert runs.finish()["load"] == "success"
    assert count(warehouse) == 1


def test_a_run_that_was_deleted_and_made_again_writes(runs: Runs, warehouse: Catalog) -> None:
    for rows in (1, 2):
        runs.create()
        assert runs.finish()["load"] == "success"
        assert count(warehouse) == rows
        runs.delete()


EARLY = """
import os
class Early(PaimonWriteOperator):
    '''Dies before it has done anything while the file ``die`` is there, as a worker does that is taken away.'''
    def execute(self, context):
        if os.path.exists(os.environ['DIE']):
            raise RuntimeError('before anything')
        return super().execute(context)
"""


def test_a_run_that_was_made_again_writes_though_its_first_attempts_left_nothing(
    airflow_home: Path, warehouse: Catalog, die: Path
) -> None:
    with of_dag(airflow_home, BODY.replace("Dying", "Early"), head=EARLY) as runs:
        for rows in (1, 2):
            runs.create(at=datetime.now(UTC))
            die.touch()
            runs.step()
            assert runs.step()["load"] == "up_for_retry"
            die.unlink()
            assert runs.finish()["load"] == "success"
            assert count(warehouse) == rows
            runs.delete()


def test_an_expired_commit_may_be_of_either_run_of_an_id(warehouse: Catalog) -> None:
    warehouse.create_database("shop")
    schema = pa.schema([("id", pa.int64())])
    table = warehouse.create_table("shop.orders", schema, options={"bucket": "-1"})
    user, other = str(uuid.uuid4()), str(uuid.uuid4())
    for name in (user, other):
        write_rows(table, pa.table({"id": [1]}), commit=CommitAs(user=name, identifier=0))
    assert len(landed_ms(warehouse, ["shop.orders", "shop.none"], user)) == 1
    table.expire_snapshots(retain_max=1, retain_min=1)
    assert len(landed_ms_in(warehouse, "shop", other)) == 1
    assert landed_ms_in(warehouse, "none", other) == []
    with pytest.raises(OutcomeUnknownError, match="has landed and is expired"):
        landed_ms(warehouse, ["shop.orders"], user)


def test_a_task_cleared_under_fewer_retries_is_never_taken_for_a_retry(
    runs: Runs, warehouse: Catalog
) -> None:
    """Clearing sets ``max_tries`` to the attempts so far and the retries of the newest Dag: 1 again."""
    from airflow.models.taskinstance import TaskInstance
    from airflow.utils.session import create_session

    runs.create()
    runs.finish()
    runs.clear("load")
    runs.dag.get_task("load").retries = 0
    with create_session() as session:
        one = session.query(TaskInstance).filter_by(dag_id=runs.dag.dag_id, task_id="load").one()
        one.max_tries = one.try_number
    assert runs.finish()["load"] == "failed", "nobody can tell, so it does not say that it is done"
    assert count(warehouse) == 1
    runs.clear("load")
    assert runs.finish()["load"] == "success"
    assert count(warehouse) == 2


def test_what_is_tested_by_hand_is_done_each_time_and_is_no_attempt_of_the_run(
    runs: Runs, warehouse: Catalog, die: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """``airflow tasks test`` on a task of a run that is done, and on one that waits for its retry."""
    from airflow.cli.commands.task_command import task_test

    def by_hand(run_id: str) -> None:
        asked = {"logical_date_or_run_id": run_id, "dag_id": runs.dag.dag_id, "task_id": "load"}
        more = {"env_vars": None, "task_params": None, "map_index": -1, "post_mortem": False}
        with monkeypatch.context() as patch:
            patch.setenv("AIRFLOW_TEST_MODE", "True")  # so that it is taken back
            task_test(Namespace(subcommand="test", **asked, **more), dag=runs.dag)

    runs.create()
    die.touch()
    runs.step()
    runs.step()
    die.unlink()
    by_hand("daily")
    assert count(warehouse) == 2
    runs.finish()
    assert count(warehouse) == 2, "the retry finds what its own first attempt has done"
    for rows in (3, 4):
        by_hand("daily")
        assert count(warehouse) == rows


def test_mapped_indices_are_apart_and_each_keeps_its_name(
    airflow_home: Path, warehouse: Catalog, die: Path
) -> None:
    body = """
create = PaimonCreateTableOperator(task_id="create", table="shop.orders",
    columns={"id": "BIGINT"}, options={"bucket": "-1"})
create >> Dying.partial(task_id="load", table="shop.orders", engine="local").expand(
    sql=["SELECT CAST(1 AS BIGINT) AS id"] * 3)
"""
    with of_dag(airflow_home, body, head=DYING) as runs:
        runs.create()
        die.touch()
        runs.step()
        runs.step()
        assert count(warehouse) == 3
        die.unlink()
        assert set(runs.finish().values()) == {"success"}
        assert count(warehouse) == 3
        runs.clear("load")
        runs.finish()
        assert count(warehouse) == 6


def test_a_retry_finds_what_an_earlier_release_committed(
    runs: Runs, warehouse: Catalog, die: Path
) -> None:
    """They named a run by its ids, and kept nothing."""
    from airflow.models.task_state_store import TaskStateStoreModel
    from airflow.utils.session import create_session

    dag_id, rooms = runs.dag.dag_id, uuid.UUID("5f0d3c52-0c0e-5d0b-9a53-6a2f0c1b7e11")
    runs.create()
    runs.step()
    load = runs.dag.get_task("load")
    run_embedded(
        JobSpec(
            action="write",
            warehouse=PaimonHook().warehouse.uri,
            table="shop.orders",
            args=load.arguments(),
            commit_user=str(uuid.uuid5(rooms, f"{dag_id}/daily/load/-1/0")),
            commit_identifier=0,
        )
    )
    die.touch()
    runs.step()
    with create_session() as session:  # what the attempt of this release has left
        session.query(TaskStateStoreModel).filter_by(dag_id=dag_id).delete()
    before = count(warehouse)
    die.unlink()
    assert runs.finish()["load"] == "success"
    assert count(warehouse) == before


WALK = """
load = Dying(task_id="load", table="shop.orders", engine="local", retries=9,
    sql="SELECT CAST(1 AS BIGINT) AS id")
other = PaimonCreateTagOperator(task_id="other", table="shop.orders", tag="t{{ ti.try_number }}")
"""


@pytest.mark.parametrize("seed", range(3))
def test_whatever_people_do_each_task_run_writes_once(
    airflow_home: Path, warehouse: Catalog, die: Path, seed: int
) -> None:
    """The model: a row for each time that the task was made or cleared, and had an attempt since."""
    chance = random.Random(seed)
    warehouse.create_database("shop")
    schema = pa.schema([("id", pa.int64())])
    warehouse.create_table("shop.orders", schema, options={"bucket": "-1"})
    expected, is_waiting = 0, True
    with of_dag(airflow_home, WALK, head=DYING) as runs:
        runs.create()
        for _ in range(14):
            done = runs.states()["load"] == "success"
            match chance.choice(("attempt", "die", "die", "clear", "sibling", "delete")):
                case "attempt" | "die" as what if not done:
                    die.touch() if what == "die" else die.unlink(missing_ok=True)
                    runs.step()
                    expected, is_waiting = expected + is_waiting, False
                case "clear":
                    runs.clear("load", reset_run=chance.random() < 0.5)
                    is_waiting = True
                case "sibling":
                    runs.clear("other", reset_run=chance.random() < 0.5)
                case "delete":
                    runs.delete()
                    runs.create()
                    is_waiting = True
            assert count(warehouse) == expected


def test_each_verb_has_room_for_several_commits() -> None:
    identity = RunIdentity("u")
    assert [identity.next_identifier() for _ in range(3)] == [
        0,
        IDENTIFIERS_PER_VERB,
        2 * IDENTIFIERS_PER_VERB,
    ]
