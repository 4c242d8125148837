"""Whatever is done to a task while its rows are computed: one commit, and nothing left running.

Every kill on every backend, each a test of its own.  Process table, Spark master, Spark Connect server
and job files are searched after each.  Secrets of the connection are searched for where anybody can look
while a job runs, Spark's own pages too, and in all that is left at the end.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.live.backends import BACKENDS, KILLS, PLANTED, House, house

pytestmark = [pytest.mark.airflow, pytest.mark.heavy, pytest.mark.timeout(900)]

CELLS = [
    (kill, backend)
    for kill in KILLS
    for backend in BACKENDS
    if (kill, backend) != ("worker", "deferred")  # nobody is there to be killed
]


@pytest.fixture(scope="module")
def everything(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    with house(tmp_path_factory.mktemp("backends") / "house") as found:
        yield found


@pytest.mark.parametrize(("kill", "backend"), CELLS)
def test_one_commit_and_nothing_left(everything: House, kill: str, backend: str) -> None:
    KILLS[kill](everything.begin(backend, kill))


@pytest.mark.parametrize("backend", ["local", "submit", "deferred"])
def test_a_running_job_shows_no_secret(everything: House, backend: str) -> None:
    write = everything.begin(backend, "shown")
    shown = everything.shown()
    assert '"action": "write"' in shown["job specs"]
    assert "spark.hadoop.a.secret.key" in shown["environment page"]
    write.ends("success")
    searched = {**shown, **everything.kept()}
    assert any(path.endswith("airflow.db") for path in searched)
    assert [where for where, text in searched.items() if any(s in text for s in PLANTED)] == []
