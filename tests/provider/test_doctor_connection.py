"""Goal: `doctor` says whether a connection of Airflow leads to a warehouse.

Method: connections in variables of the environment, and the function that the provider's entry point names.
"""

from __future__ import annotations

import json
import tomllib
from importlib import import_module
from pathlib import Path

import pytest

from paimon_provider.doctor import findings

ROOT = Path(__file__).parents[2]


def connection(monkeypatch: pytest.MonkeyPatch, id: str, **extra: object) -> None:
    told = {"conn_type": "paimon", "extra": extra}
    monkeypatch.setenv(f"AIRFLOW_CONN_{id.upper()}", json.dumps(told))


def test_the_entry_point_is_the_function() -> None:
    points = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]
    module, _, name = points["table_core.doctor"]["connection"].partition(":")
    assert getattr(import_module(module), name) is findings


def test_a_connection_that_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "shop.db").mkdir()
    connection(monkeypatch, "sound", warehouse=tmp_path.as_uri())
    (found,) = findings("sound")
    assert (found["state"], "shop" in found["found"], found["remedy"]) == ("ok", True, "")


def test_a_connection_that_is_wrong(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    connection(monkeypatch, "misspelt", warehouse=tmp_path.as_uri(), spark_bakend="local")
    (found,) = findings("misspelt")
    assert (found["state"], "spark_backend" in found["found"]) == ("fault", True)
    assert found["remedy"].endswith("airflow connections get misspelt")
    connection(monkeypatch, "nowhere", warehouse="s4://bucket/wh")
    (found,) = findings("nowhere")
    assert (found["state"], bool(found["remedy"])) == ("fault", True)


def test_a_connection_that_is_not_there() -> None:
    (found,) = findings("absent")
    assert (found["state"], "airflow connections add absent" in found["remedy"]) == ("fault", True)
    (found,) = findings(None)
    assert found["state"] == "skipped"
