"""One JVM with Apache Paimon for the whole session."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.quick_spark import QUICK, quick_workers

sys.path.insert(0, str(Path(__file__).parent))

pytest.register_assert_rewrite("judge")

from judge import Judge  # noqa: E402 - the folder is no package


@pytest.fixture(scope="session")
def paimon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Judge]:
    """Apache Paimon.  Fails, never skips, when Java is here but its jars are not."""
    if shutil.which("java") is None:
        pytest.skip("needs Java: demo/java.sh build")
    judge = Judge(tmp_path_factory.mktemp("judge") / "stderr.log")
    yield judge
    judge.close()


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    from table_core.spark.session.create import open_session

    naive = {"spark.sql.timestampType": "TIMESTAMP_NTZ"}  # what Arrow's times without zone become
    with quick_workers():
        session = open_session({"spark.master": "local[2]", **QUICK, **naive})
        session.sparkContext.setLogLevel("OFF")
        yield session
        session.stop()
