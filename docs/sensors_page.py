"""Writes sensors.md from the docstrings: ``python docs/sensors_page.py``."""

from __future__ import annotations

from pathlib import Path

from operators_page import classes, described

from paimon_provider import get_provider_info as info
from paimon_provider.sensors.base import PaimonSensor

PAGE = Path(__file__).with_name("sensors.md")
HEAD = """\
# Sensors

`docs/sensors_page.py` generates this page from the docstrings. All parameters are keywords. The page starts with the base class, and its
parameters belong to every sensor. **T** marks a templated parameter. A sensor with `deferrable=True` waits in the triggerer, without a
worker. To start a Dag on a commit, [watch the table](airflow-events.md) instead.
"""


def page() -> str:
    parts = [HEAD, described(PaimonSensor)]
    parts += [described(c) for name in info.SENSORS for c in classes(f"sensors.{name}")]
    return "\n".join(parts).rstrip() + "\n"


if __name__ == "__main__":
    PAGE.write_text(page())
