"""Run the streamhouse once on the cluster, and compare its totals: Compose's profile ``smoke``.

    python -m demo.cluster.smoke AIRFLOW FOLDER [--kill WORKER]

The shop changes in FOLDER's rounds; MariaDB and Kafka hand the changes on.  With ``--kill`` a Spark
worker of this machine is killed with -9 while it computes in the second delivery.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from rich.console import Console

from demo import generate, show
from demo.airflow_home import AirflowHome, DemoError
from demo.cluster import lake, shop
from demo.cluster.definition import SPARK_PAGE, WORKERS
from demo.cluster.healthy import page_at
from demo.components import ComponentDiedError
from demo.environment import DAGS, PAGE, USER
from demo.watch import Watch

if TYPE_CHECKING:
    from collections.abc import Sequence

    import table_core as tc

__all__ = ["main"]

PIPELINE, REPORT, _, METADATA = DAGS
DELIVERIES = (range(1, 6), range(6, 11))
SECONDS = 1800
"""Of one run of a Dag: long enough for a machine that does much else."""


def main(arguments: Sequence[str]) -> int:
    """Run it; 0 when every table holds what it must."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("airflow", help="address of Airflow's API server")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--kill", choices=WORKERS)
    wish = parser.parse_args(arguments)
    console = Console(highlight=False)
    airflow = AirflowHome(Path(os.environ["AIRFLOW_HOME"]), Path(), "", address=wish.airflow)
    try:
        run(airflow, wish.folder, wish.kill, console)
    except (DemoError, ComponentDiedError) as error:
        console.print("\nThe streamhouse failed:", style="bold red")
        console.print(str(error), markup=False, soft_wrap=True)
        return 1
    return 0


def run(airflow: AirflowHome, folder: Path, victim: str | None, console: Console) -> None:
    """Two deliveries, each a run of the pipeline; then the totals.

    Raises:
        DemoError: a run failed, or a total is wrong.
    """
    watch = Watch(airflow, console)
    source, inbox = folder / "source", folder / "inbox"
    generate.generate(source)
    airflow.wait(f"Dag {PIPELINE} read", lambda: airflow.has_dags(PIPELINE, REPORT, METADATA), 180)
    watch.say(f"Airflow is up at {airflow.url}")
    report = ""
    for part in DELIVERIES:
        number = generate.deliver(source, inbox, part)
        changes = shop.change_customers(generate.events_of(inbox, number))
        orders = shop.send_orders(inbox / "orders" / f"round-{number:02d}")
        watch.say(f"the shop made {changes:,} changes in MariaDB and sent {orders:,} to Kafka")
        known = [run["dag_run_id"] for run in airflow.runs(REPORT)]
        started = airflow.trigger(PIPELINE, {"round": number})
        if victim and part is DELIVERIES[-1]:
            _kill(airflow, victim, watch)
        watch.run(PIPELINE, started, f"rounds {part[0]}-{part[-1]}", SECONDS)
        report = watch.woken(REPORT, known, SECONDS)
        watch.run(REPORT, report, "report", SECONDS)
    watch.run(METADATA, airflow.trigger(METADATA, {}), "metadata", SECONDS)
    _totals(lake.catalog(), inbox, watch, console)
    console.print()
    console.print(f"[bold]Airflow[/bold]   {airflow.url}   login {USER} / {airflow.password}")
    console.print(f"[bold]Spark[/bold]     http://localhost:{SPARK_PAGE}")
    console.print(f"[bold]Page[/bold]      {airflow.url}{PAGE}", soft_wrap=True)


def _totals(catalog: tc.Catalog, inbox: Path, watch: Watch, console: Console) -> None:
    want = show.check(catalog, inbox)
    waiting = catalog.table("default.waiting_orders").read().to_arrow().num_rows
    if waiting != want.waiting:
        raise DemoError(f"{waiting} orders wait for their customer, expected {want.waiting}")
    watch.say("country_sales equals an independent computation over the raw input")
    console.print()
    show.tables(catalog, console)


def _kill(airflow: AirflowHome, worker: str, watch: Watch) -> None:
    """Kill a worker and its executors with -9 as soon as an executor of the pipeline runs on it."""
    page = SPARK_PAGE + 1 + WORKERS.index(worker)

    def computing() -> bool:
        found = next(w for w in _workers() if w["webuiaddress"].endswith(f":{page}"))
        return bool(found["coresused"])

    airflow.wait(f"{worker} computes", computing, SECONDS, every=0.2)
    airflow.components.kill(worker)
    watch.say(f"[red]killed with -9[/red]  {worker}, which computed")


def _workers() -> list[dict[str, Any]]:
    host = urlsplit(lake.connection()["extra"]["spark_master"]).hostname
    return list(page_at(f"http://{host}:{SPARK_PAGE}/json/")["workers"])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
