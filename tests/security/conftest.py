"""Airflow is only imported here: its home is a folder of this process."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile

if "AIRFLOW_HOME" not in os.environ:
    HOME = tempfile.mkdtemp(prefix="paimon-security-")
    atexit.register(shutil.rmtree, HOME, ignore_errors=True)
    os.environ.update(AIRFLOW_HOME=HOME, AIRFLOW__CORE__LOAD_EXAMPLES="False")
