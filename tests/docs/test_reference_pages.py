"""Goal: each generated page says what the code says now, and misses nothing that a user can name.

Method: compare every page with what its generator gives, in a process with an Airflow home of its own; then look for
every public class, action, option and error.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from table_core import errors
from table_core.jobs.registry import ACTIONS
from table_core.options.table import OPTIONS

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
GENERATORS = sorted(DOCS.glob("*_page.py"))
COMPARE = """
import importlib, sys
for name in sys.argv[1:]:
    module = importlib.import_module(name)
    pages = module.pages() if hasattr(module, "pages") else {module.PAGE: module.page()}
    for page, text in pages.items():
        if page.read_text() != text:
            sys.exit(f"run `make pages`: {page.name} is not what {name}.py gives")
"""


def test_every_generated_page_is_what_the_code_gives(tmp_path: Path) -> None:
    paths = [str(DOCS), str(ROOT), str(ROOT / "provider")]
    environment = {
        **os.environ,
        "AIRFLOW_HOME": str(tmp_path),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "PYTHONPATH": os.pathsep.join(paths),
    }
    names = [path.stem for path in GENERATORS]
    done = subprocess.run(
        [sys.executable, "-c", COMPARE, *names],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]


@pytest.mark.parametrize("generator", GENERATORS, ids=lambda path: path.stem)
def test_a_generated_page_says_that_it_is(generator: Path) -> None:
    names = re.findall(r"^(?:PAGE = .*|    )\"([\w-]+\.md)\"", generator.read_text(), re.MULTILINE)
    assert names
    for name in names:
        assert f"docs/{generator.name}` generates this page" in (DOCS / name).read_text()


@pytest.mark.parametrize(
    ("folder", "kind", "page"),
    [
        ("operators", "Operator", "operators.md"),
        ("sensors", "Sensor", "sensors.md"),
        ("triggers", "Trigger", "triggers.md"),
    ],
)
def test_no_class_of_the_provider_is_missing(folder: str, kind: str, page: str) -> None:
    told = set(re.findall(rf"^## (Paimon\w+{kind})$", (DOCS / page).read_text(), re.MULTILINE))
    files = (ROOT / "provider/paimon_provider" / folder).glob("*.py")
    found = {
        name
        for path in files
        if path.name != "base.py"
        for name in re.findall(rf"^class (Paimon\w+{kind})\b", path.read_text(), re.MULTILINE)
    }
    assert found - told == set()
    assert len(found) >= 5


def test_no_error_no_kind_no_action_and_no_option_is_missing() -> None:
    page = (DOCS / "errors.md").read_text()
    told = dict(re.findall(r"^\| `(\w+Error)` \| `([a-z-]+)` \|", page, re.MULTILINE))
    tree = [c for c in vars(errors).values() if isinstance(c, type)]
    ours = [c for c in tree if issubclass(c, errors.TableError) and c is not errors.TableError]
    assert told == {cls.__name__: cls.kind.value for cls in ours}
    kinds = set(re.findall(r"^\| `([a-z-]+)` \| [^|]+ \|$", page, re.MULTILINE))
    assert kinds == {kind.value for kind in errors.ErrorKind}
    jobs = (DOCS / "jobs.md").read_text()
    assert [name for name in ACTIONS if f"\n## {name}\n" not in jobs] == []
    options = (DOCS / "options.md").read_text()
    assert [key for key in OPTIONS if f"| `{key}`" not in options] == []
