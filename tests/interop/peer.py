"""Talk to ``pypaimon_peer.py``, which runs in the environment that the benchmarks make."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from judge import Rows

from bench.run import pypaimon_python

SCRIPT = Path(__file__).with_name("pypaimon_peer.py")


class PeerError(Exception):
    """pypaimon raised; the message begins with the class of its exception."""


class Peer:
    """A process with pypaimon."""

    def __init__(self, log: Path) -> None:
        self.log = log
        with log.open("wb") as errors:
            self.process = subprocess.Popen(
                [str(pypaimon_python()), "-W", "ignore", str(SCRIPT)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                env={k: v for k, v in os.environ.items() if k != "PYTHONPATH"},
            )

    def read(
        self,
        warehouse: Path,
        table: str,
        columns: Sequence[str] | None = None,
        where: Mapping[str, Any] | None = None,
        **options: str,
    ) -> Rows:
        """As ``JudgedTable.read``."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        named = {k.replace("__", ".").replace("_", "-"): v for k, v in options.items()}
        question = {
            "warehouse": str(warehouse),
            "table": table,
            "columns": columns,
            "where": where,
            "options": named,
        }
        self.process.stdin.write(json.dumps(question) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise PeerError(f"the process is gone:\n{self.log.read_text()[-2000:]}")
        answer = json.loads(line)
        if "error" in answer:
            raise PeerError(f"{answer['error']}: {answer['message']}")
        return list(answer["ok"])

    def close(self) -> None:
        self.process.kill()
        self.process.communicate()
