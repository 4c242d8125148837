"""Airflow refuses to start on bad provider metadata, so it is checked like a file format."""

from __future__ import annotations

import importlib
import importlib.resources
import json
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import jsonschema
import pytest

from paimon_provider import get_provider_info as provider_info
from paimon_provider.get_provider_info import get_provider_info

COMMON_SQL = "airflow.providers.common.sql.hooks.sql"
MODULES_MAX = 180
"""So many modules are loaded with all that users import; 165 on the day this was written."""
MODULES = [
    "approval",
    "assets",
    "lineage.columns",
    "watching.conditions",
    "declaration",
    "decorators",
    "failures",
    "freshness",
    "launchers.base",
    "lineage.openlineage",
    "links",
    "message_queue",
    *(f"operators.{name}" for name in provider_info.OPERATORS),
    *(f"sensors.{name}" for name in provider_info.SENSORS),
    "notifier",
    "plugin",
    "publish",
    "runs.identity",
    "triggers.snapshot",
    "triggers.spark_job",
    "triggers.wait",
    "connections.warehouse",
]


def class_paths(info: dict[str, Any]) -> Iterator[str]:
    yield from info["extra-links"]
    yield from info["notifications"]
    yield from info["queues"]
    for entry in info["task-decorators"]:
        yield entry["class-name"]
    for entry in info["connection-types"]:
        yield entry["hook-class-name"]
    for entry in info["asset-uris"]:
        yield entry["handler"]
        yield entry["factory"]
        yield entry["to_openlineage_converter"]


@pytest.mark.parametrize("schema", ["provider_info.schema.json", "provider.yaml.schema.json"])
def test_it_fits_airflows_schema(schema: str) -> None:
    text = importlib.resources.files("airflow").joinpath(schema).read_text()
    document = json.loads(text)
    if schema == "provider_info.schema.json":
        jsonschema.validate(get_provider_info(), document)
        return
    connection_types = document["properties"]["connection-types"]
    jsonschema.validate(get_provider_info()["connection-types"], connection_types)


def test_every_name_in_it_can_be_imported() -> None:
    info = get_provider_info()
    for path in class_paths(info):
        module, _, name = path.rpartition(".")
        assert hasattr(importlib.import_module(module), name), path
    for key in ("operators", "sensors", "hooks", "triggers"):
        for entry in info[key]:
            for module in entry["python-modules"]:
                assert importlib.import_module(module).__doc__


def test_the_connection_type_is_the_hooks() -> None:
    from paimon_provider.hooks.paimon import PaimonHook

    (entry,) = get_provider_info()["connection-types"]
    assert entry["connection-type"] == PaimonHook.conn_type
    for name in ("storage_options", "spark_conf", "env", "sql_limits", "auto_limits"):
        assert entry["conn-fields"][name]["schema"] == {"type": ["object", "null"]}, (
            "as docs write it"
        )
    assert entry["hook-name"] == PaimonHook.hook_name


def test_public_modules_load_no_engine_and_few_modules() -> None:
    """A Dag processor imports them for every file: what they bring along is counted, since seconds depend on the machine."""
    count, heavy = brought_along(MODULES)
    assert not heavy
    assert count < MODULES_MAX


def test_a_hook_loads_no_engine_and_what_airflows_sql_hooks_load() -> None:
    """A Dag file that names the hook loads ``common.sql``, as with the hook of any other database; no operator does."""
    _, heavy = brought_along(["hooks.paimon"])
    assert heavy == [COMMON_SQL]


def brought_along(modules: list[str]) -> tuple[int, list[str]]:
    """How many modules come along with ``modules`` of the provider, and the heavy ones."""
    code = f"""
import sys, airflow.sdk, airflow.triggers.base, airflow.plugins_manager
import paimon_provider._compat  # all that we take from Airflow, and nothing else
before = set(sys.modules)
for name in {modules!r}:
    __import__("paimon_provider." + name)
brought = set(sys.modules) - before
heavy = {{"pyspark", "pyarrow", "pandas", "numpy", "fastapi", "kubernetes", "fastavro", {COMMON_SQL!r}}}
print(len(brought), *sorted(heavy & brought))
"""
    out = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    count, *heavy = out.stdout.split()
    return int(count), heavy


def test_the_package_itself_imports_no_airflow() -> None:
    code = "import sys, paimon_provider.get_provider_info as p; p.get_provider_info(); print(*sys.modules)"
    out = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert not {"airflow", "table_core"} & set(out.stdout.split())
