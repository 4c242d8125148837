"""Goal: what the documents say is so.

Method: run their Python, each page in a fork of one interpreter, look for every file they link, every command and every package they name.
"""

from __future__ import annotations

import ast
import inspect
import os
import pkgutil
import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import table_core as tc
import table_core.spark as tcs
from tests.examples import DOCUMENTS, EXAMPLES, ROOT, named, printed
from tests.forking import ForkServer
from tests.lanes import sampled

if TYPE_CHECKING:
    from collections.abc import Iterator

LOADED = [
    module.name
    for module in pkgutil.walk_packages(tc.__path__, "table_core.")
    if not module.name.startswith(("table_core.spark", "table_core.testing"))
]
"""What the examples of tables import, or load when they need it."""
OPERATORS = [
    f"paimon_provider.{room}.{path.stem}"
    for room in ("operators", "sensors")
    for path in sorted((ROOT / "provider" / "paimon_provider" / room).glob("[!_]*.py"))
]
"""What the examples of Dags import."""
TARGETS = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
ON_SPARK = sorted({path for path, _, code in EXAMPLES if "tcs." in code})
"""Pages whose examples start a Spark session, which takes a quarter of a minute."""
OWNERS: dict[str, Any] = {"tc": tc, "tcs": tcs}
SMALL = sorted({path for path, _, _ in EXAMPLES} - set(ON_SPARK))


@pytest.fixture(scope="module")
def interpreter(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ForkServer]:
    environment = {
        "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'provider'}",
        "AIRFLOW_HOME": str(tmp_path_factory.mktemp("airflow")),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
    }
    with ForkServer(*LOADED, "airflow.sdk", *OPERATORS, environment=environment) as server:
        yield server


@pytest.mark.parametrize("path", [*SMALL, *sampled(ON_SPARK, len(ON_SPARK))], ids=named)
def test_the_examples_run_from_top_to_bottom(
    interpreter: ForkServer, path: Path, tmp_path: Path
) -> None:
    script = tmp_path / f"{path.stem}.py"
    script.write_text("\n".join(code for where, _, code in EXAMPLES if where == path))
    told = run(interpreter, tmp_path, str(script))
    assert [text for text in printed(path) if text not in told] == []


def test_the_commands_of_the_readme_work_on_the_table_of_its_example(
    interpreter: ForkServer, tmp_path: Path
) -> None:
    script = tmp_path / "example.py"
    script.write_text(EXAMPLES[0][2])
    run(interpreter, tmp_path, str(script))
    (block,) = re.findall(r"```bash\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    for line in block.splitlines():
        program, *words = shlex.split(line)
        assert program == "table-core"
        assert run(interpreter, tmp_path, "-m", "table_core.cli.main", *words)


def run(interpreter: ForkServer, folder: Path, *words: str) -> str:
    done = interpreter.run(*words, folder=folder)
    assert done.status == 0, done.stderr[-3000:]
    return done.stdout


def test_calls_in_the_text_name_what_there_is_and_what_it_takes() -> None:
    """Those between single backticks, which nothing runs."""
    wrong = []
    for path in DOCUMENTS:
        text = re.sub(r"```.*?```", "", path.read_text(), flags=re.DOTALL)
        for span in re.findall(r"`([^`\n]+\))`", text):
            try:
                tree = ast.parse(span.replace("…", "..."), mode="eval")
            except SyntaxError:
                continue
            wrong += [f"{named(path)}: {span}: {said}" for said in refused(tree)]
    assert not wrong


def refused(tree: ast.AST) -> Iterator[str]:
    """What is wrong with calls of ``tc.x`` and ``tcs.x``."""
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(id=owner))) if owner in OWNERS:
                function = getattr(OWNERS[owner], node.func.attr, None)
                places = [argument for argument in node.args if not is_left_out(argument)]
                names = {word.arg: None for word in node.keywords if word.arg}
                try:
                    inspect.signature(function).bind_partial(*places, **names)
                except TypeError as error:
                    yield str(error)


def is_left_out(argument: ast.expr) -> bool:
    return isinstance(argument, ast.Constant) and argument.value is ...


@pytest.mark.parametrize("path", DOCUMENTS, ids=named)
def test_links_lead_to_files_and_commands_exist(path: Path) -> None:
    text = path.read_text()
    for target in re.findall(r"\]\(([^)#]+)", text):
        if not target.startswith(("http:", "https:")):
            assert (path.parent / target).exists(), target
    for target in re.findall(r"(?:^|`)make ([a-z-]+)", text, re.MULTILINE):
        assert target in TARGETS, target


@pytest.mark.parametrize("path", DOCUMENTS, ids=named)
def test_links_into_a_page_lead_to_a_heading_of_it(path: Path) -> None:
    for target, place in re.findall(r"\]\(([^)#\s]*)#([^)]+)\)", path.read_text()):
        if not target.startswith(("http:", "https:")):
            page = path.parent / target if target else path
            assert place in places(page), f"{target}#{place}"


def places(page: Path) -> set[str]:
    """What its headings are called in a link, as GitHub and most site generators do."""
    text = re.sub(r"^ *```.*?^ *```", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)
    heads = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.lower()).strip().replace(" ", "-") for head in heads}


def test_the_architecture_names_every_package_and_no_other() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text()
    rows = re.findall(r"^\| (`[^|]+) \|", text, re.MULTILINE)
    told = {name for row in rows for name in re.findall(r"`(\w+)`", row)}
    found = {
        path.stem if path.is_file() else path.name
        for path in (ROOT / "table_core").iterdir()
        if path.suffix == ".py" or (path / "__init__.py").exists()
    }
    planned = {"sources"}
    assert told - planned == found - {"__init__"} - planned
