"""Jobs as an operator sends them: a driver of its own each time, until the job is done."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from table_core.jobs.job_spec import JobResult, JobSpec
from tests.spark.submitted import MODULE, QUICK, environment
from tests.spark_servers import SMALL, Standalone

__all__ = ["SENT_MOST", "Round"]

SENT_MOST = 6


@dataclass
class Round:
    """One job, sent until it is done."""

    folder: Path
    spec: JobSpec
    settings: Mapping[str, str] = field(default_factory=dict)
    """Of Spark, beside those of each job here."""
    processes: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def send(self, cluster: Standalone) -> None:
        """Start the job on ``cluster``."""
        self.start(self.command(cluster))

    def command(self, cluster: Standalone) -> list[str]:
        """How its driver is called."""
        number = len(self.processes)
        spec_file, conf = self.folder / f"spec{number}.json", self.folder / "conf"
        options = {**SMALL, "spark.master": cluster.master, "spark.driver.host": "127.0.0.1"}
        options |= {"spark.sql.shuffle.partitions": "8", "spark.default.parallelism": "8"}
        options |= {"spark.speculation": "true", "spark.speculation.minTaskRuntime": "0ms"}
        options["spark.executor.extraJavaOptions"] = QUICK.strip().partition("=")[2]
        options |= self.settings
        spec_file.write_text(replace(self.spec, options=options).to_json())
        conf.write_text(QUICK)
        files = ("--spec", spec_file, "--result", self._result, "--conf", conf)
        self._result.unlink(missing_ok=True)
        return [*MODULE, *map(str, files)]

    def start(self, command: list[str]) -> None:
        """Start a driver, with a log of its own."""
        number = len(self.processes)
        with (self.folder / f"log{number}").open("wb") as log:
            self.processes.append(
                subprocess.Popen(
                    command,
                    env=environment(),
                    stdout=log,
                    stderr=subprocess.STDOUT,
                    cwd=self.folder,
                )
            )

    def has_session(self) -> bool:
        """Whether the driver that was sent last has told that Spark is there."""
        log = self.folder / f"log{len(self.processes) - 1}"
        return b'"stage": "spark"' in log.read_bytes()

    def ended(self) -> JobResult | None:
        """What the job left when its process has ended; None if it was killed before it could tell."""
        self.processes[-1].wait(600)
        with suppress(FileNotFoundError, json.JSONDecodeError):
            return JobResult.from_json(self._result.read_text())
        return None

    def left(self, patience_s: float) -> int:
        """The exit code of a driver; one that waits for a master that is gone is ended, as its user would."""
        try:
            return self.processes[-1].wait(patience_s)
        except subprocess.TimeoutExpired:
            self.processes[-1].kill()
            return self.processes[-1].wait()

    def end(self) -> None:
        """Leave no driver behind, whatever came of the round."""
        for process in self.processes:
            process.kill()

    def told(self) -> str:
        """The end of each log, for a round that failed."""
        texts = [
            (self.folder / f"log{number}").read_text(errors="replace")[-2000:]
            for number in range(len(self.processes))
        ]
        return "\n---\n".join(texts)

    @property
    def _result(self) -> Path:
        return self.folder / "result.json"
