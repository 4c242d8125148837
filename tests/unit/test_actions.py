"""Goal: a verb is written once, and every door knows it.

Method: a verb that is thrown away is put into one file; the command line, a job, its runner and the entrypoint are
asked for it in processes of their own.  Arguments that no action has are tried on all of them.
"""

from __future__ import annotations

import inspect
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import table_core as tc
from table_core.cdc.apply.options import DatabaseSyncOptions, SyncOptions
from table_core.errors import ArgumentError, UnsupportedFeatureError
from table_core.jobs.action import COMMON, Action, Job, RunBy
from table_core.jobs.job_spec import JobSpec
from table_core.jobs.registry import ACTIONS, action_of
from table_core.jobs.run import run_embedded
from table_core.shapes.shape import Shape

ROOT = Path(__file__).parents[2]
VERB = '''
"""How many rows a table has, and what was said to it."""

from table_core.jobs.action import Action, Parameter, RunBy
from table_core.jobs.common_parameters import DRY_RUN, PARTITIONS
from table_core.shapes import kinds
from table_core.table.metadata.describing import unchanged


def _greet(job):
    return unchanged(job.table.access, "greet", {"args": dict(job.args), "by": type(job.engine).__name__})


ACTIONS = (
    Action(
        name="greet",
        about="Say something to a table.",
        run=_greet,
        run_by=RunBy.PROCESS,
        parameters=(
            Parameter(name="words", shape=kinds.NAMES, about="What to say.", required=True),
            Parameter(name="times", shape=kinds.COUNT, about="How often.", default=2),
            PARTITIONS,
            DRY_RUN,
        ),
    ),
)
'''
WITH_VERB = """
import sys
import table_core.jobs.actions as actions
actions.__path__.append(sys.argv.pop(1))
"""


def python(folder: Path, code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """``code`` in a process that has one file more in the folder of actions."""
    return subprocess.run(
        [sys.executable, "-c", WITH_VERB + code, str(folder), *arguments],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "COLUMNS": "160", "TERM": "dumb"},
    )


@pytest.fixture
def greeting(tmp_path: Path) -> Path:
    folder = tmp_path / "verbs"
    folder.mkdir()
    (folder / "greet.py").write_text(VERB)
    catalog = tc.open_catalog((tmp_path / "wh").as_uri())
    catalog.create_database("d")
    catalog.create_table("d.t", pa.schema([("id", pa.int64())]))
    return tmp_path


CLI = "from table_core.cli.main import main\nmain()\n"
ENTRYPOINT = "from table_core.spark.entrypoint import main\nsys.exit(main(sys.argv[1:]))\n"


def test_a_verb_of_one_file_is_known_to_every_door(greeting: Path) -> None:
    folder, warehouse = greeting / "verbs", (greeting / "wh").as_uri()
    about = python(folder, CLI, "greet", "--help")
    for told in ("Say something to a table", "--words", "What to say", "--times", "--dry-run"):
        assert told in about.stdout, about.stderr
    given = ("-w", warehouse, "d.t", "--words", "a, b", "--partition", "dt=1,h=2", "--json")
    said = python(folder, CLI, "greet", *given)
    assert json.loads(said.stdout)["details"]["args"] == {
        "words": ["a", "b"],
        "times": 2,
        "partitions": [{"dt": "1", "h": "2"}],
        "dry_run": False,
    }, said.stderr
    assert python(folder, CLI, "greet", "-w", warehouse, "d.t").returncode == 2

    spec = JobSpec(action="greet", warehouse=warehouse, table="d.t", args={"words": ["x"]})
    (greeting / "spec").write_text(spec.to_json())
    files = ("--spec", str(greeting / "spec"), "--result", str(greeting / "result"))
    done = python(folder, ENTRYPOINT, *files)
    result = json.loads((greeting / "result").read_text())
    assert done.returncode == 0, result
    assert result["result"]["details"] == {
        "args": {"words": ["x"], "times": 2, "dry_run": False},
        "by": "EmbeddedEngine",
    }
    wrong = JobSpec(action="greet", warehouse=warehouse, table="d.t", args={"word": ["x"]})
    (greeting / "spec").write_text(wrong.to_json())
    assert python(folder, ENTRYPOINT, *files).returncode == 12
    error = json.loads((greeting / "result").read_text())["error"]
    assert "has no argument 'word' (did you mean 'words'?)" in json.dumps(error)


def test_the_registry_loads_neither_arrow_nor_spark_nor_airflow() -> None:
    code = "import sys, table_core.jobs.job_spec; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    heavy = {"pyarrow", "numpy", "pyspark", "airflow", "duckdb", "sqlglot", "typer"}
    assert not heavy & set(done.stdout.split())


def value_of(shape: Shape) -> Any:
    """Something that fits."""
    tries = (
        *(True, 7, "x", "d.t", ["x"], {"x": 1.0}, {"x": "1"}, [{"x": "1"}]),
        *({"table": "d.t"}, {"kind": "mysql"}, {"kind": "kafka"}, [{"action": "matched-delete"}]),
        [{"name": "x", "action": "write", "target": "d.t"}],
    )
    return next(value for value in tries if shape.fits(value))


def needed(action: Action) -> dict[str, Any]:
    ways = action.exactly_one[:1]
    return {p.name: value_of(p.shape) for p in action.parameters if p.required or p.name in ways}


@pytest.mark.parametrize("action", ACTIONS.values(), ids=lambda action: action.name)
class TestEach:
    def test_takes_what_it_needs_and_what_every_commit_takes(self, action: Action) -> None:
        given = {**needed(action), "properties": {"a": "b"}, "expect": {"a": "b"}, "watermark": 3}
        found = action.checked(given)
        assert given.items() <= found.items()
        assert all(
            found[p.name] == p.default for p in action.parameters if p.name in found.keys() - given
        )

    def test_refuses_an_argument_that_it_does_not_have_by_its_name(self, action: Action) -> None:
        for parameter in (*action.parameters, *COMMON):
            wrong = f"{parameter.name}z"
            with pytest.raises(ArgumentError, match=f"no argument '{wrong}'") as caught:
                action.checked({**needed(action), wrong: None})
            assert caught.value.facts["argument"] == wrong
            if parameter.job:
                assert f"did you mean '{parameter.name}'?" in str(caught.value)

    def test_refuses_to_begin_without_what_it_needs(self, action: Action) -> None:
        for name in needed(action):
            for given in ({}, {name: None}):
                with pytest.raises(ArgumentError, match=f"needs the argument '{name}'|give one of"):
                    action.checked({**needed(action), name: None, **given})

    def test_refuses_a_value_of_another_kind(self, action: Action) -> None:
        for parameter in action.parameters:
            if parameter.job:
                with pytest.raises(ArgumentError, match=f"{parameter.name}: expected "):
                    action.checked({**needed(action), parameter.name: {1, 2}})

    def test_leaves_out_what_is_none(self, action: Action) -> None:
        nothing = {p.name: None for p in action.parameters if p.job and not p.required}
        defaults = {p.name for p in action.parameters if p.job and p.default is not None}
        assert set(action.checked({**nothing, **needed(action)})) == set(needed(action)) | defaults

    def test_says_what_it_is_in_a_sentence(self, action: Action) -> None:
        for about in (action.about, *(p.about for p in action.parameters)):
            assert about.endswith(".")


@pytest.mark.parametrize(
    ("name", "method"),
    [
        *(
            (name, getattr(tc.Table, name.replace("-", "_")))
            for name in (
                *("compact", "rescale", "rewrite-manifests", "analyze", "delete", "update"),
                *("expire-snapshots", "expire-changelogs", "expire-partitions", "expire-tags"),
                *("remove-orphan-files", "mark-done", "drop-partitions"),
            )
        ),
        ("rollback", tc.Table.rollback_to),
        ("compact-database", tc.Catalog.compact_database),
        ("clone", tc.Catalog.clone_table),
    ],
)
def test_parameters_and_defaults_are_those_of_the_handle(name: str, method: Any) -> None:
    not_in_jobs = {"self", "commit", "database", "name", "to_name", "to"}
    theirs = {
        p.name: p.default
        for p in inspect.signature(method).parameters.values()
        if p.name not in not_in_jobs
    }
    ours = {p.name: p for p in ACTIONS[name].parameters if p.job and p.name != "source"}
    assert set(theirs) == set(ours)
    for parameter, default in theirs.items():
        if default is inspect.Parameter.empty:
            assert ours[parameter].required, parameter
        else:
            assert ours[parameter].default == default, parameter


def test_a_sync_takes_every_keyword_that_json_can_say() -> None:
    by_engine = {"progress", "map_pieces", "records_by", "stops"}
    for name, options, verb in (
        ("sync-table", SyncOptions, tc.sync_table),
        ("sync-database", DatabaseSyncOptions, tc.sync_database),
    ):
        own = set(inspect.signature(verb).parameters) - {
            "catalog",
            "name",
            "database",
            "commit",
            "more",
        }
        known = {p.name for p in ACTIONS[name].parameters}
        assert known == (own | set(options.__annotations__)) - by_engine


def test_an_unknown_action_is_refused_with_the_nearest_spelling() -> None:
    with pytest.raises(UnsupportedFeatureError, match="did you mean 'compact'"):
        action_of("comapct")


def test_what_is_wrong_is_refused_before_the_warehouse_is_touched(tmp_path: Path) -> None:
    spec = JobSpec(
        action="compact",
        warehouse=(tmp_path / "none").as_uri(),
        table="d.t",
        args={"stratgy": "full"},
    )
    with pytest.raises(ArgumentError, match="did you mean 'strategy'"):
        run_embedded(JobSpec.from_json(spec.to_json()))
    assert not (tmp_path / "none").exists()


def test_only_verbs_of_table_core_spark_are_said_to_be_run_by_its_own_operators() -> None:
    from table_core import spark

    by_spark = {name for name, action in ACTIONS.items() if action.run_by is RunBy.SPARK}
    assert {name.replace("-", "_") for name in by_spark} <= set(spark.__all__)


def test_what_a_job_shows_of_itself_has_no_secret() -> None:
    secret: Any = {"storage.secret": "hunter2"}
    source = {"source": {"kind": "mysql", "password": "hunter2"}}
    spec = JobSpec(
        action="sync-table", warehouse="file:///wh", table="d.t", args=source, options=secret
    )
    nothing: Any = None
    job = Job(
        action="sync-table",
        catalog=nothing,
        target="d.t",
        args=source,
        commit=tc.CommitAs(),
        engine=nothing,
        options=secret,
        storage_options=secret,
    )
    for shown in (repr(spec), str(spec), repr(job)):
        assert "hunter2" not in shown
        assert "d.t" in shown
