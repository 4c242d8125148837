"""Goal: two drivers that change one table at the same time end as if one had come after the other.

Method: two jobs as an operator sends them, drivers of their own on one cluster, begun together, each sent again as long
as it ends in a conflict.  The embedded engine does the same on a twin, in the order in which the two have committed.
"""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import table_core as tc
from table_core.jobs.job_spec import JobSpec
from table_core.jobs.run import run_embedded
from tests.cluster.exact_jobs import COUNT, LAYOUTS, S_ROWS, exact, loaded, unknown_files
from tests.cluster.sent_jobs import SENT_MOST, Round
from tests.lanes import budget
from tests.spark_servers import Standalone
from tests.tables import write_rows

pytestmark = [pytest.mark.spark, pytest.mark.heavy, pytest.mark.timeout(1200)]

ROUNDS = budget("TWO_DRIVERS", ci=1, nightly=3)
HALF = {"spark.cores.max": "2", "spark.executor.cores": "2"}
"""Of the cluster, one executor: the two jobs have theirs at the same time."""


def write(word: str, where: str) -> tuple[str, dict[str, Any]]:
    sql = f"SELECT id, part, concat(v, '{word}') v FROM s WHERE {where}"
    return "write", {"sql": sql, "sources": S_ROWS, "task": word}


def merge(word: str, each: int) -> tuple[str, dict[str, Any]]:
    """Each row that is there keeps what others have put behind it: an update that is lost is seen."""
    values = {"v": f"concat(target.v, '{word}')"}
    when = [
        {"action": "matched-upsert", "values": values, "condition": None},
        {"action": "not-matched-insert", "values": None, "condition": None},
    ]
    sql = f"SELECT id, part, v FROM s WHERE id % {each} = 0"
    source = {"sql": sql, "sources": S_ROWS}
    return "merge-into", {"source": source, "on": ["id"], "when": when}


MERGES = {"a": ("a", 2), "b": ("b", 3)}
"""By job: the word that is put behind a row, and the ids whose rows get it."""
PAIRS = {
    "write beside write": (write("a", "true"), write("b", "id % 2 = 0")),
    "write beside compact": (write("a", "id % 3 > 0"), ("compact", {"strategy": "full"})),
    "merge beside merge": (merge(*MERGES["a"]), merge(*MERGES["b"])),
}


def merged(twin: tc.Table, word: str, each: int) -> None:
    """What ``merge`` does, by a handle: its SQL joins no texts."""
    rows = twin.read().to_arrow()
    ids = rows["id"].to_numpy()
    hit = pa.array((ids % each == 0) & (ids < COUNT))
    longer = pc.binary_join_element_wise(rows["v"], word, "")
    rows = rows.set_column(2, rows.schema.field(2), pc.if_else(hit, longer, rows["v"]))
    write_rows(twin, rows, overwrite="table")


def done_to(twin: tc.Table, spec: JobSpec) -> None:
    """The same as the job has done to its table."""
    if spec.action == "merge-into":
        merged(twin, *MERGES[str(spec.commit_user)])
    else:
        run_embedded(replace(spec, table=twin.name))


def sent_at_once(cluster: Standalone, jobs: list[Round]) -> bool:
    """Begin them together; whether both had a session before one of them ended."""
    for job in jobs:
        job.send(cluster)
    while all(job.processes[-1].poll() is None for job in jobs):
        if all(job.has_session() for job in jobs):
            return True
        time.sleep(0.05)
    return False


def until_done(cluster: Standalone, job: Round) -> int:
    """How often it had to be sent."""
    for sent in range(1, SENT_MOST + 1):
        said = job.ended()
        assert said is not None, job.told()
        if said.error is None:
            return sent
        assert said.error.kind == "conflict", job.told()
        print(said.error)
        job.send(cluster)
    raise AssertionError(job.told())


@pytest.mark.parametrize("layout", ["key", "append by partition"])
@pytest.mark.parametrize("pair", PAIRS)
def test_two_drivers_end_as_if_one_came_after_the_other(
    cluster: Standalone,
    catalog: tc.Catalog,
    tmp_path: Path,
    request: pytest.FixtureRequest,
    pair: str,
    layout: str,
) -> None:
    loaded(catalog, "d.s", 1, **LAYOUTS["append by bucket"])
    beside = 0
    for turn in range(ROUNDS):
        table, twin = (loaded(catalog, f"d.{n}{turn}", **LAYOUTS[layout]) for n in ("t", "twin"))
        jobs = []
        for user, (action, args) in zip("ab", PAIRS[pair], strict=True):
            spec = JobSpec(
                action=action,
                warehouse=catalog.warehouse,
                table=f"d.t{turn}",
                args=args,
                commit_user=user,
                commit_identifier=0,
            )
            folder = tmp_path / f"{user}{turn}"
            folder.mkdir()
            jobs.append(Round(folder, spec, HALF))
            request.addfinalizer(jobs[-1].end)
        beside += sent_at_once(cluster, jobs)
        sent = [until_done(cluster, job) for job in jobs]
        print(pair, layout, "sent", sent)
        assert sent == [1, 1] or "write" not in pair, "rows that are added are in nobody's way"
        users = [s.commit_user for s in table.snapshots() if s.commit_user in ("a", "b")]
        for user in dict.fromkeys(users):
            done_to(twin, jobs["ab".index(user)].spec)
        assert set(users) == {"a", "b"}
        exact(table, twin.read().to_arrow())
        assert unknown_files(table) == []
    assert beside, "one job had ended before the other one began"
