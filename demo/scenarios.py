"""What ``make demo DEMO=NAME`` can show: each scenario by its name.

    python3 -m demo.scenarios [NAME]        ends with 2 and the list if there is no such scenario

Any Python 3.9 runs this file, before there is a virtual environment.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass

__all__ = ["SCENARIOS", "Scenario", "UnknownScenarioError", "plan", "scenario_of"]


class UnknownScenarioError(Exception):
    """There is no scenario of that name; the message has the list."""


@dataclass(frozen=True)
class Scenario:
    """One way to run the streamhouse.

    Args:
        name: the value of ``DEMO``.
        shows: one line: what is special about it.
        minutes: how long it takes on two free cores, after packages.
        engine: on which the tasks run that compute rows.
        source: from where customers come: ``files``, ``mariadb`` or ``kafka``.
        server: the server that the demo starts besides Airflow, if any.
        steps: what it does before and while the pipeline runs, in order.
    """

    name: str
    shows: str
    minutes: int
    engine: str = "spark"
    source: str = "files"
    server: str = ""
    steps: tuple[str, ...] = ()


_SAMPLE = "generates 200,000 orders, and the changes of 24,000 customers"
_AIRFLOW = "starts an Airflow on free ports, below .demo"
_RUNS = "runs the pipeline twice; each new snapshot of country_sales starts the report"
_CHECK = (
    "compares the totals with an independent computation, and looks for tasks that are not green"
)
_AUTO = "lets each task choose its engine by size; here all work is small, and runs in the worker"
_SPARK = "starts Spark on a free port; it computes sales by country"

SCENARIOS = {
    scenario.name: scenario
    for scenario in (
        Scenario(
            "spark",
            "Spark computes all rows",
            minutes=4,
            server="spark",
            steps=(_SAMPLE, _SPARK, _AIRFLOW, _RUNS, _CHECK),
        ),
        Scenario(
            "auto",
            "small work runs in the worker, and here all work is small",
            minutes=3,
            engine="auto",
            steps=(
                _SAMPLE,
                _AIRFLOW,
                _RUNS,
                _AUTO,
                _CHECK,
            ),
        ),
        Scenario(
            "mariadb",
            "customers live in a MariaDB; its binary log is followed",
            minutes=3,
            engine="auto",
            source="mariadb",
            server="mariadb",
            steps=(
                _SAMPLE,
                "starts a MariaDB on a free port, and changes customers there by SQL",
                _AIRFLOW,
                _RUNS,
                "reads the whole table once; from then on, its binary log",
                _AUTO,
                _CHECK,
            ),
        ),
        Scenario(
            "kafka",
            "changes of customers come from a Kafka topic, as Debezium writes them",
            minutes=3,
            engine="auto",
            source="kafka",
            server="kafka",
            steps=(
                _SAMPLE,
                "starts a Kafka broker on a free port, and sends the events to a topic",
                _AIRFLOW,
                _RUNS,
                "applies each event of the topic once",
                _AUTO,
                _CHECK,
            ),
        ),
        Scenario(
            "s3",
            "the warehouse lies on an S3 server",
            minutes=3,
            engine="auto",
            server="s3",
            steps=(
                _SAMPLE,
                "starts an S3 server on a free port: MinIO if it is here, else moto",
                _AIRFLOW,
                _RUNS,
                "writes, commits and expires on S3",
                _AUTO,
                _CHECK,
            ),
        ),
    )
}


def scenario_of(name: str) -> Scenario:
    """The scenario of that name; ``spark`` for an empty one.

    Raises:
        UnknownScenarioError: there is none.
    """
    found = SCENARIOS.get(name or "spark")
    if found is None:
        known = "\n".join(f"  DEMO={s.name:8} {s.shows}" for s in SCENARIOS.values())
        raise UnknownScenarioError(f"there is no DEMO={name}; these are there:\n{known}")
    return found


def plan(scenario: Scenario) -> str:
    """What the demo is about to do and how long that takes, as lines."""
    lines = [f"DEMO={scenario.name}: {scenario.shows}. The demo"]
    lines += [f"  {number}. {step}" for number, step in enumerate(scenario.steps, 1)]
    lines.append(f"It takes about {scenario.minutes} minutes on two free cores.")
    return "\n".join(lines)


def main(arguments: list[str]) -> int:
    """Say nothing if the scenario is known."""
    try:
        scenario_of(arguments[0] if arguments else "")
    except UnknownScenarioError as error:
        print(f"demo: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
