"""One JVM with Apache Paimon for the whole session."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

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
