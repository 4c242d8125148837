"""An Airflow home of its own for every test process, before anything imports Airflow."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]

if "PAIMON_TEST_HOME" not in os.environ:
    home = Path(tempfile.mkdtemp(prefix="paimon-airflow-"))
    (home / "dags").mkdir()
    os.environ.update(
        PAIMON_TEST_HOME=str(home),
        AIRFLOW_HOME=str(home),
        AIRFLOW__CORE__LOAD_EXAMPLES="False",
        AIRFLOW__CORE__UNIT_TEST_MODE="False",
        AIRFLOW__LOGGING__LOGGING_LEVEL="WARNING",
        PYTHONPATH=os.pathsep.join(
            [str(ROOT), str(ROOT / "provider"), os.environ.get("PYTHONPATH", "")]
        ).rstrip(os.pathsep),
    )
