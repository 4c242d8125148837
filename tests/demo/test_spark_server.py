"""Goal: the Spark that the demo starts answers whoever has its token, and nobody else.

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
from table_core.spark.session.create import open_session
session = open_session({}, sys.argv[1])
print(session.sql("SELECT sum(id) AS n FROM range(10)").collect()[0].n)
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
        assert right.stdout.split() == ["45"], right.stderr[-2000:]
        wrong = asked("another")
        assert wrong.returncode != 0
        assert "UNAUTHENTICATED" in wrong.stderr
    finally:
        components.stop()
