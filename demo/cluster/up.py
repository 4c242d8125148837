"""Start the cluster as processes, run the streamhouse on it, and leave it up: ``make cluster-demo``.

    python -m demo.cluster.up [--home .cluster-demo] [--s3 minio|moto]

Commands, environment and ports are those of ``docker-compose.yaml``.  ``make cluster-demo-down`` stops
everything.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import time
from pathlib import Path

from rich.console import Console

from demo.airflow_home import DemoError
from demo.cluster.definition import WORKERS
from demo.cluster.processes import PROJECT, Processes
from demo.components import ComponentDiedError

__all__ = ["main"]

PLAN = """\
Starts PostgreSQL, MariaDB, Kafka, an S3 store, a Spark master with two workers and the four parts of Airflow.
Then the shop changes customers in MariaDB and sends 200,000 orders to Kafka, in two deliveries. Airflow brings
both into tables on S3, and Spark adds up the sales. A Spark worker is killed with -9 in the second delivery.
It ends with exact totals and the address of the tables page. On two cores that takes some minutes, on a busy machine
much longer: four jobs of Spark run one after the other."""


def main(arguments: list[str]) -> int:
    """Run the demo on a cluster; 0 when every table holds what it must."""
    about = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=about)
    parser.add_argument("--home", type=Path, default=PROJECT / ".cluster-demo")
    parser.add_argument("--s3", choices=("minio", "moto"), default="minio")
    wish = parser.parse_args(arguments)
    console = Console(highlight=False)
    cluster = Processes(wish.home.resolve(), moto=wish.s3 == "moto")
    console.print(PLAN, soft_wrap=True)
    started = time.monotonic()
    try:
        cluster.components.stop()
        shutil.rmtree(cluster.home, ignore_errors=True)
        cluster.check_machine()
        cluster.home.mkdir(parents=True)
        with console.status("starting the servers"):
            cluster.start()
        console.print(f"All servers are healthy after {time.monotonic() - started:.0f} s")
    except (DemoError, ComponentDiedError) as error:
        console.print("\nThe cluster did not start:", style="bold red")
        console.print(str(error), markup=False, soft_wrap=True)
        cluster.components.stop()
        return 1
    smoke = cluster.services["smoke"]
    command = [*cluster.command(smoke), "--kill", WORKERS[-1]]
    code = subprocess.run(command, env=cluster.environment(smoke), check=False).returncode
    if not code:
        cluster.launch(WORKERS[-1])
    console.print(f"{time.monotonic() - started:.0f} s in all")
    console.print(f"Logs: {cluster.home}/airflow/logs; stop with make cluster-demo-down")
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
