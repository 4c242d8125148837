"""Goal: one release has one version, and its changelog is written before it is tagged.

Method: read the version where it stands; with ``TAG=v1.2.3`` (``make release-check``) compare the tag too.
"""

from __future__ import annotations

import os
import re
import tomllib

import pytest
import yaml

from table_core.table.commit_io.committer import WRITER_VERSION
from tests.wheel.conftest import ROOT

WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
TARGETS = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))


def version() -> str:
    return str(tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"])


def test_both_distributions_and_the_code_have_one_version() -> None:
    provider = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    core = tomllib.loads((ROOT / "table_core" / "pyproject.toml").read_text())["project"]
    (needed,) = [one for one in provider["dependencies"] if one.startswith("paimon-table-core")]
    assert core["version"] == version()
    assert needed.endswith(f"=={version()}")
    assert WRITER_VERSION.endswith(version())


@pytest.mark.skipif(not os.environ.get("TAG"), reason="make release-check TAG=v1.2.3")
def test_the_tag_is_the_version_and_the_changelog_has_it() -> None:
    assert os.environ["TAG"] == f"v{version()}"
    assert f"\n## {version()}" in (ROOT / "CHANGELOG.md").read_text()
    waiting = [p.name for p in (ROOT / "changelog.d").glob("*.md") if p.name != "README.md"]
    assert waiting == [], "towncrier build --version ... moves them into the changelog"


@pytest.mark.parametrize("path", sorted((ROOT / "changelog.d").glob("*.md")), ids=lambda p: p.name)
def test_an_entry_is_of_a_kind_that_the_changelog_knows(path) -> None:
    types = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["towncrier"]["type"]
    assert re.fullmatch(
        rf"[a-z0-9-]+\.(?:{'|'.join(t['directory'] for t in types)})\.md", path.name
    )
    assert path.read_text().strip().endswith(".")


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_a_workflow_runs_make_targets_and_nothing_of_its_own(path) -> None:
    jobs = yaml.safe_load(path.read_text())["jobs"]
    runs = [
        step["run"].replace("${{ matrix.target }}", target)
        for job in jobs.values()
        for target in job.get("strategy", {}).get("matrix", {}).get("target", [""])
        for step in job["steps"]
        if "run" in step
    ]
    for command in runs:
        words = command.split()
        assert command == ".ci/run" or (words[0] == "make" and words[1] in TARGETS), command
    assert runs
