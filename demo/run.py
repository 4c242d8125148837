"""Run the streamhouse from an empty folder to the last table: what ``make demo`` does.

    python -m demo.run [spark|auto|mariadb|kafka|s3] [--home .demo] [--deliveries 5,5] [--seconds 1800]

``demo.scenarios`` says what each name shows.

Every delivery hands over that many rounds of the sample input and is one run of Dag ``streamhouse``.
Afterwards Airflow stays up to look around; ``make demo-down`` stops it.

``--attach URL`` uses an Airflow that runs already, as Compose's service ``pipeline`` does: its home
is ``AIRFLOW_HOME``, and it sees ``--home`` under the same path.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

import table_core as tc
from demo import generate, show
from demo.airflow_home import AirflowHome, DemoError
from demo.components import ComponentDiedError, Components
from demo.environment import DAGS, SPARK, paimon_connection
from demo.scenarios import UnknownScenarioError, plan, scenario_of
from demo.verdict import await_end, look
from demo.watch import Watch
from demo.wiring import WAREHOUSE, Wiring, wire

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["main"]

PROJECT = Path(__file__).resolve().parent.parent
PIPELINE, REPORT, _, METADATA = DAGS


def deliveries(sizes: str) -> Iterator[range]:
    """``5,5`` as rounds 1 to 5 and 6 to 10."""
    first = 1
    for size in sizes.split(","):
        yield range(first, first + int(size))
        first += int(size)


def main(arguments: list[str]) -> int:
    """Run the demo; 0 when every table holds what it must."""
    about = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=about)
    parser.add_argument("scenario", nargs="?", default="")
    parser.add_argument("--home", type=Path, default=PROJECT / ".demo")
    parser.add_argument("--dags", type=Path, default=PROJECT / "dags")
    parser.add_argument("--deliveries", default="5,5")
    parser.add_argument("--seconds", type=float, default=1800, help="give up after this long")
    parser.add_argument("--attach", default="", metavar="URL")
    wish = parser.parse_args(arguments)
    console = Console(highlight=False)
    home = wish.home.resolve()
    parts = list(deliveries(wish.deliveries))
    try:
        scenario = scenario_of(wish.scenario)
        console.print(plan(scenario), markup=False, soft_wrap=True)
        wiring = Wiring((home / WAREHOUSE).as_uri())
        if wish.attach:
            airflow = AirflowHome(
                Path(os.environ["AIRFLOW_HOME"]), wish.dags, "", address=wish.attach
            )
        else:
            _clean(home)
            with console.status(f"starting {scenario.server}" if scenario.server else ""):
                wiring = wire(scenario, home, Components(home / "airflow"))
            airflow = AirflowHome(
                home / "airflow",
                wish.dags.resolve(),
                _connection(wiring),
                more=wiring.environment,
            )
        _run(home, airflow, wiring, parts, wish.seconds, console)
    except UnknownScenarioError as error:
        console.print(f"demo: {error}", markup=False, soft_wrap=True)
        return 2
    except (DemoError, ComponentDiedError) as error:
        console.print("\nThe demo failed:", style="bold red")
        console.print(str(error), markup=False, soft_wrap=True)
        if not wish.attach:
            console.print(f"Logs: {home}/airflow/logs; stop with make demo-down", soft_wrap=True)
        return 1
    return 0


def _connection(wiring: Wiring) -> str:
    return paimon_connection(
        warehouse=wiring.warehouse,
        spark_backend=wiring.spark_backend,
        spark_master=wiring.spark_master,
        spark_conf=SPARK,
        storage_options=wiring.storage,
        secrets=wiring.secrets,
    )


def _clean(home: Path) -> None:
    """Stop what an earlier demo left running, and begin anew."""
    Components(home / "airflow").stop()
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir(parents=True)


def _run(
    home: Path,
    airflow: AirflowHome,
    wiring: Wiring,
    parts: list[range],
    seconds: float,
    console: Console,
) -> None:
    inbox = home / "input"
    watch = Watch(airflow, console)
    left = _countdown(seconds)
    generate.generate(home / "source")
    watch.say("sample input generated: 200,000 orders of ten days, customers and their changes")
    with console.status("starting Airflow"):
        if airflow.address:
            airflow.wait_healthy(left())
        else:
            airflow.start(left())
        airflow.wait(f"Dag {PIPELINE} read", lambda: airflow.has_dags(PIPELINE, REPORT), left())
        wiring.await_ready()
    watch.say(f"Airflow is up at {airflow.url}")
    report = ""
    for part in parts:
        number = generate.deliver(home / "source", inbox, part)
        wiring.take(generate.events_of(inbox, number))
        known = [run["dag_run_id"] for run in airflow.runs(REPORT)]
        run = airflow.trigger(PIPELINE, {"input": str(inbox), "round": number})
        watch.run(PIPELINE, run, f"rounds {part[0]}-{part[-1]}", left())
        report = watch.woken(REPORT, known, left())
        watch.run(REPORT, report, "report", left())
    watch.run(METADATA, airflow.trigger(METADATA, {}), "metadata", left())  # of what is there now
    catalog = tc.open_catalog(wiring.warehouse, wiring.options)
    want = show.check(catalog, inbox)
    watch.say("country_sales equals an independent computation over the raw input")
    _judge(airflow, watch, left)
    console.print()
    show.tables(catalog, console)
    console.print(f"{want.waiting} orders wait for their customer")
    show.clicks(airflow, wiring, report, console)


def _judge(airflow: AirflowHome, watch: Watch, left: Callable[[], float]) -> None:
    """Tell the states of all tasks.

    Raises:
        DemoError: one is red, or was skipped.
    """
    await_end(airflow, left())
    found = look(airflow)
    watch.say(found.text)
    for line in found.again:
        watch.say(line)
    if found.wrong:
        raise DemoError("not all tasks are green:\n" + "\n".join(found.wrong))


def _countdown(seconds: float) -> Callable[[], float]:
    end = time.monotonic() + seconds

    def left() -> float:
        return max(1.0, end - time.monotonic())

    return left


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
