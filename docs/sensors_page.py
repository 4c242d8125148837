"""Writes sensors.md from the docstrings: ``python docs/sensors_page.py``."""

from __future__ import annotations

from pathlib import Path

from generated import foot
from operators_page import classes, described

from paimon_provider import get_provider_info as info
from paimon_provider.sensors.base import PaimonSensor

PAGE = Path(__file__).with_name("sensors.md")
HEAD = """\
# Sensors

A sensor holds a task until something is true of a table. With `deferrable=True` it waits in the triggerer, without a worker. To start a Dag on a commit,
[watch the table](airflow-events.md) instead. All parameters are keywords. Those of the base class belong to every sensor. **T** marks a templated
parameter.
"""


def page() -> str:
    parts = [HEAD, described(PaimonSensor)]
    parts += [described(c) for name in info.SENSORS for c in classes(f"sensors.{name}")]
    return "\n".join(parts).rstrip() + "\n" + foot("sensors_page.py", "the docstrings")


if __name__ == "__main__":
    PAGE.write_text(page())
