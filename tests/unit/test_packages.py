"""What is not installed, or not as it should be, is said in one line, at once and with its cure."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from table_core.errors import ErrorKind, TableError
from table_core.spark import _compat
from table_core.table.commit_io.committer import WRITER_VERSION

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2]
CORE = ROOT / "table_core"
ASKED = {
    "s3": "import table_core as tc; tc.open_catalog('s3://b/w')",
    "gcs": "import table_core as tc; tc.open_catalog('gs://b/w')",
    "azure": "import table_core as tc; tc.open_catalog('abfs://b@a.dfs.core.windows.net/w')",
    "postgres": "from table_core.cdc.source.postgres.source import _driver; _driver()",
    "mysql": "from table_core.cdc.source.mysql.source import _driver; _driver()",
    "kafka": "import table_core as tc; tc.KafkaSource('localhost:1', ['t'], 'debezium-json').open()",
    "duckdb": "from table_core.jobs.embedded import EmbeddedEngine; EmbeddedEngine().query('SELECT 1', {})",
    "spark": "import table_core.spark; table_core.spark.read",
    "frames": "from table_core.table.api.frames import Frames; Frames().to_polars()",
}
PACKAGES = {
    "s3": "s3fs",
    "gcs": "gcsfs",
    "azure": "adlfs",
    "postgres": "psycopg",
    "mysql": "pymysql",
    "kafka": "confluent_kafka",
    "duckdb": "duckdb",
    "spark": "pyspark",
    "frames": "polars",
}
DISTRIBUTIONS = {"yaml": "pyyaml", "py4j": "pyspark"}
"""Which distribution a package is from, where their names differ."""
ROOMS = {
    "cli": "cli",
    "spark": "spark",
    "testing": "testing",
    "storage/stores/s3_client.py": "s3",
}
"""Folders and files of the core that need an extra to be imported at all."""


@pytest.mark.parametrize("extra", ASKED)
def test_a_missing_package_names_the_extra_that_brings_it(extra: str) -> None:
    program = f"""
import sys
sys.modules[{PACKAGES[extra]!r}] = None
from table_core.errors import TableError
try:
    {ASKED[extra]}
except TableError as error:
    print(error.kind, error)
"""
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert said.stdout.startswith("invalid "), said
    assert f'pip install "paimon-table-core[{extra}]"' in said.stdout
    assert said.stdout.count("\n") == 1


def test_two_versions_of_pyspark_in_one_folder_are_refused_before_anything_runs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    _compat.require_equal_versions()
    found = {"pyspark": "4.2.1", "pyspark-client": "4.2.0"}
    monkeypatch.setattr(_compat, "version", found.__getitem__)
    with pytest.raises(TableError, match=r"pyspark 4\.2\.1 and pyspark-client 4\.2\.0") as caught:
        _compat.require_equal_versions()
    assert caught.value.kind is ErrorKind.INVALID
    assert "pip install" in str(caught.value)


def test_the_command_without_its_extra_says_what_to_install() -> None:
    program = (
        "import sys; sys.modules['typer'] = None; from table_core.cli.start import main; main()"
    )
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert said.returncode == 1
    (line,) = said.stderr.splitlines()
    assert line.startswith("invalid: ")
    assert 'pip install "paimon-table-core[cli]"' in line


def test_the_declared_dependencies_cannot_choose_two_versions_of_pyspark() -> None:
    (whole,) = project(CORE)["optional-dependencies"]["spark"]
    (client,) = (line for line in project(ROOT)["dependencies"] if line.startswith("pyspark"))
    assert whole.partition("==")[::2] == ("pyspark", client.removeprefix("pyspark-client=="))
    assert {whole, client} <= set((ROOT / "constraints.txt").read_text().splitlines())


def test_the_provider_needs_the_core_of_its_own_version_and_no_other() -> None:
    provider, core = project(ROOT), project(CORE)
    assert provider["version"] == core["version"]
    assert WRITER_VERSION.endswith(f"-{core['version']}"), "what snapshots are signed with"
    assert f"paimon-table-core[cli,duckdb,spark]=={core['version']}" in provider["dependencies"]
    own = set(core["optional-dependencies"]) - {"cli", "duckdb", "spark", "test", "testing"}
    for extra in own:
        assert f"paimon-table-core[{extra}]" in provider["optional-dependencies"][extra]


def test_the_core_asks_for_no_airflow_and_for_spark_only_as_an_extra() -> None:
    core = project(CORE)
    wanted = {
        extra: {name(line) for line in lines}
        for extra, lines in {"": core["dependencies"], **core["optional-dependencies"]}.items()
    }
    assert not [line for names in wanted.values() for line in names if "airflow" in line]
    assert [extra for extra, names in wanted.items() if names & {"pyspark", "pyspark-client"}] == [
        "spark"
    ]


def test_each_package_that_the_core_imports_is_one_that_it_declares() -> None:
    """At module level its own dependencies, or the extra of its room; within functions any extra."""
    core = project(CORE)
    always = {name(line) for line in core["dependencies"]}
    extras = {
        extra: {name(line) for line in lines}
        for extra, lines in core["optional-dependencies"].items()
    }
    wrong = []
    seen: set[str] = set()
    for path in sorted(CORE.rglob("*.py")):
        where = path.relative_to(CORE)
        room = ROOMS.get(where.parts[0]) or ROOMS.get(where.as_posix())
        at_once = always | extras.get(room or "", set())
        for package, lazily in imports(path):
            found = DISTRIBUTIONS.get(package, package.replace("_", "-"))
            seen.add(found)
            if found not in (always.union(*extras.values()) if lazily else at_once):
                wrong.append(f"{where}: {package}")
    assert not wrong
    assert always <= seen, "what nothing imports is no dependency"
    assert {"duckdb", "pyspark", "typer", "rich", "pymysql", "psycopg", "confluent-kafka"} <= seen


def project(folder: Path) -> dict[str, Any]:
    """What a distribution says of itself."""
    return dict(tomllib.loads((folder / "pyproject.toml").read_text())["project"])


def name(requirement: str) -> str:
    """The distribution that a requirement asks for."""
    return re.split(r"[\[<>=!~ ;]", requirement, maxsplit=1)[0].lower()


def imports(path: Path) -> Iterator[tuple[str, bool]]:
    """Packages of others that a file imports at run time, and whether only once a function is called."""
    left: list[tuple[ast.AST, bool]] = [(ast.parse(path.read_text()), False)]
    while left:
        node, lazily = left.pop()
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            continue
        modules: list[str | None] = []
        match node:
            case ast.Import(names=names):
                modules = [alias.name for alias in names]
            case ast.ImportFrom(module=module):
                modules = [module]
            case ast.Call(func=func, args=[ast.Constant(value=str(module)), *_]) if ast.unparse(
                func
            ).endswith(("import_module", "driver_of")):
                modules = [module]
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.Lambda():
                lazily = True
        for module in modules:
            package = (module or "").partition(".")[0]
            if package not in {*sys.stdlib_module_names, "table_core"}:
                yield package, lazily
        left += [(child, lazily) for child in ast.iter_child_nodes(node)]
