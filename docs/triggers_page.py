"""Writes triggers.md from the docstrings: ``python docs/triggers_page.py``."""

from __future__ import annotations

import importlib
import inspect
from pathlib import Path

from generated import foot
from operators_page import described

from paimon_provider.get_provider_info import get_provider_info

PAGE = Path(__file__).with_name("triggers.md")
HEAD = """\
# Triggers

You rarely create a trigger yourself:
[`watched_table`](airflow-events.md) creates the one of an asset, and [sensors](sensors.md) and deferrable [operators](operators.md) create
the others. All parameters are keywords.
"""


def triggers() -> list[type]:
    """Each trigger that Airflow is told of, in the order of their modules."""
    found = []
    for named in get_provider_info()["triggers"]:
        for name in named["python-modules"]:
            module = importlib.import_module(name)
            members = [getattr(module, one) for one in module.__all__]
            found += [m for m in members if inspect.isclass(m) and m.__module__ == name]
    return found


def page() -> str:
    return (
        "\n".join([HEAD, *map(described, triggers())]).rstrip()
        + "\n"
        + foot("triggers_page.py", "the docstrings")
    )


if __name__ == "__main__":
    PAGE.write_text(page())
