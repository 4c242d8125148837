"""Goal: the Spark that the demo starts answers whoever has its token, and nobody else; a session there has what verbs need.

Method: the server as ``demo.wiring`` starts it; clients in processes of their own, as jobs are.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from demo.components import Components
from demo.scenarios import scenario_of
from demo.servers import spark
from demo.wiring import wire

CLIENT = """
import sys
from table_core.spark.session.create import SQL_DEFAULTS, open_session
session = open_session({"spark.sql.shuffle.partitions": "3", "spark.ui.enabled": "true"}, sys.argv[1])
print(session.sql("SELECT sum(id) AS n FROM range(10)").collect()[0].n)
print(*(session.conf.get(key) == value for key, value in SQL_DEFAULTS.items()))
session.conf.set("spark.sql.session.timeZone", "Asia/Kathmandu")
joined = open_session({"spark.sql.shuffle.partitions": "4"}, sys.argv[1])
print(*(joined.conf.get(f"spark.sql.{key}") for key in ("session.timeZone", "shuffle.partitions")))
"""


@pytest.mark.timeout(900)
def test_only_who_has_the_token_is_answered(tmp_path: Path) -> None:
    components = Components(tmp_path / "airflow")
    components.home.mkdir()
    try:
        wiring = wire(scenario_of("spark"), tmp_path, components)
        wiring.await_ready()
        assert wiring.spark_backend == "connect"

        def asked(token: str) -> subprocess.CompletedProcess[str]:
            return subprocess.run(
                [sys.executable, "-c", CLIENT, wiring.spark_master],
                env={**os.environ, spark.TOKEN: token},
                capture_output=True,
                text=True,
                check=False,
            )

        right = asked(wiring.secrets["spark.connect.authenticate.token"])
        told = ["45", "True", "True", "True", "Asia/Kathmandu", "4"]
        assert right.stdout.split() == told, right.stderr[-2000:]
        wrong = asked("another")
        assert wrong.returncode != 0
        assert "UNAUTHENTICATED" in wrong.stderr
    finally:
        components.stop()
