"""A job on a real Spark cluster, waited for by the triggerer, which is killed meanwhile.

One cell of the matrix in ``tests/live/test_backends_live.py``.  While the job runs, everything that shows
of it is searched for secrets, Spark's own pages too; what it has left is searched at the end.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.live.backends import KILLS, PLANTED, house

pytestmark = [pytest.mark.airflow, pytest.mark.heavy, pytest.mark.timeout(600)]


def test_a_deferred_job_survives_the_triggerer_and_shows_no_secret(tmp_path: Path) -> None:
    with house(tmp_path / "house", ("deferred",)) as everything:
        write = everything.begin("deferred", "triggerer")
        shown = everything.shown()
        assert '"action": "write"' in shown["job specs"]
        assert "spark.hadoop.a.secret.key" in shown["environment page"]
        KILLS["triggerer"](write)
        searched = {**shown, **everything.kept()}
        assert any(path.endswith("airflow.db") for path in searched)
        assert [where for where, text in searched.items() if any(s in text for s in PLANTED)] == []
