"""The examples of the pages on Spark, which ``tests/docs`` runs in a classic session, run on Spark Connect too."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.examples import EXAMPLES, named
from tests.spark.submitted import environment
from tests.spark_servers import connect

pytestmark = [pytest.mark.spark, pytest.mark.heavy, pytest.mark.timeout(900)]

SESSION = re.compile(r'open_session\(\{"spark\.master": "local\[2\]", (.*?)\}\)')


PAGES = sorted({path for path, _, code in EXAMPLES if "open_session(" in code})


@pytest.mark.parametrize("path", PAGES, ids=named)
def test_the_examples_run_over_connect(path: Path, tmp_path: Path) -> None:
    script = tmp_path / "page.py"
    code = "\n".join(code for where, _, code in EXAMPLES if where == path)
    with connect() as server:
        remote, count = SESSION.subn(rf'open_session({{\1}}, "{server.url}")', code)
        assert count == code.count("open_session(") > 0
        script.write_text(remote)
        done = subprocess.run(
            [sys.executable, str(script)],
            env=environment(),
            capture_output=True,
            text=True,
            cwd=tmp_path,
        )
    assert done.returncode == 0, done.stderr[-4000:]
