"""Goal: the values for Airflow's Helm chart set what the chart has, and fit the role and the page beside them.

Method: the members of chart 1.22.0 that we use and their types, copied by hand from its published schema.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[2]
VALUES = ROOT / "deploy" / "helm" / "values.yaml"
CHART = "1.22.0"
MEMBERS: dict[str, type] = {
    "executor": str,
    "airflowVersion": str,
    "images.airflow.repository": str,
    "images.airflow.tag": str,
    "secret": list,
    "extraEnv": str,
    "fernetKeySecretName": str,
    "apiSecretKeySecretName": str,
    "jwtSecretName": str,
    "postgresql.enabled": bool,
    "data.metadataSecretName": str,
    "dags.gitSync.enabled": bool,
    "dags.gitSync.repo": str,
    "dags.gitSync.branch": str,
    "dags.gitSync.subPath": str,
    "workers.kubernetes.resources": dict,
    "workers.kubernetes.serviceAccount.create": bool,
    "workers.kubernetes.serviceAccount.name": str,
    "triggerer.replicas": int,
    "logs.persistence.enabled": bool,
}


def values() -> dict[str, Any]:
    return dict(yaml.safe_load(VALUES.read_text()))


def leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """The members that the values set, by their path; what the chart takes whole is one."""
    for name, part in value.items():
        where = f"{path}.{name}" if path else name
        if isinstance(part, dict) and where not in MEMBERS:
            yield from leaves(part, where)
        else:
            yield where, part


def test_every_value_is_a_member_of_the_chart_with_its_type() -> None:
    found = dict(leaves(values()))
    assert {path: type(value) for path, value in found.items()} == MEMBERS
    for secret in found["secret"]:
        assert set(secret) == {"envName", "secretName", "secretKey"}


def test_the_versions_are_the_installed_ones() -> None:
    found = dict(leaves(values()))
    assert found["airflowVersion"] == version("apache-airflow")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert found["images.airflow.tag"] == project["version"]
    for text in (VALUES.read_text(), (ROOT / "docs" / "kubernetes.md").read_text()):
        assert set(re.findall(r"--version (\S+)", text)) == {CHART}


def test_a_driver_gets_the_variables_that_the_connection_of_the_page_names() -> None:
    given = {v["name"]: v for v in yaml.safe_load(values()["extraEnv"])}
    page = (ROOT / "docs" / "kubernetes.md").read_text()
    named = set(re.findall(r"\$\{env:(\w+)\}", page)) | {"SPARK_LOCAL_HOSTNAME"}
    assert set(given) == named
    assert {v["valueFrom"]["fieldRef"]["fieldPath"] for v in given.values()} == {
        "status.podIP",
        "metadata.name",
    }
    image = values()["images"]["airflow"]
    assert json.dumps(f"{image['repository']}:{image['tag']}") in page


def test_the_role_is_that_of_the_task_pods() -> None:
    text = (ROOT / "deploy" / "kubernetes" / "spark-role.yaml").read_text()
    role, binding = yaml.safe_load_all(text)
    (subject,) = binding["subjects"]
    account = values()["workers"]["kubernetes"]["serviceAccount"]["name"]
    assert (subject["name"], binding["roleRef"]["name"]) == (account, role["metadata"]["name"])
    assert {"pods", "configmaps"} <= set(role["rules"][0]["resources"])
