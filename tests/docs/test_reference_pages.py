"""Goal: the pages that list errors and options list those that there are.

Method: the page of errors against the classes; the page of options against what would be written.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from table_core import errors

DOCS = Path(__file__).parents[2] / "docs"
ROW = re.compile(r"^\| `([^`]+)` \| (.+?) \|", re.MULTILINE)


def test_each_error_stands_on_its_page_with_its_kind_and_what_to_do() -> None:
    page, _, _ = (DOCS / "errors.md").read_text().partition("\n## ")
    kinds, classes = page.split("| class |")
    told = {name: kind.strip("`") for name, kind in ROW.findall(classes)}
    ours = [c for c in errors.TableError.__subclasses__() if c.__module__ == errors.__name__]
    assert told == {cls.__name__: cls.kind.value for cls in ours}
    assert list(told) == sorted(told)
    assert {name for name, _ in ROW.findall(kinds)} == {kind.value for kind in errors.ErrorKind}
    assert all(row.count(" | ") == 3 for row in classes.splitlines()[2:] if row)


def test_the_page_of_options_is_what_the_options_give() -> None:
    sys.path.insert(0, str(DOCS))
    try:
        import options_page
    finally:
        sys.path.remove(str(DOCS))
    assert options_page.PAGE.read_text() == options_page.page(), "run python docs/options_page.py"


def test_the_reference_of_declarations_is_what_the_records_give() -> None:
    sys.path.insert(0, str(DOCS))
    try:
        import declaration_page
    finally:
        sys.path.remove(str(DOCS))
    page = declaration_page.page()
    assert declaration_page.PAGE.read_text() == page, "run python docs/declaration_page.py"


def test_the_page_of_jobs_is_what_the_registry_gives() -> None:
    sys.path.insert(0, str(DOCS))
    try:
        import jobs_page
    finally:
        sys.path.remove(str(DOCS))
    assert jobs_page.PAGE.read_text() == jobs_page.page(), "run python docs/jobs_page.py"


def test_the_page_of_operators_is_what_their_docstrings_give(tmp_path: Path) -> None:
    environment = {**os.environ, "AIRFLOW_HOME": str(tmp_path)}
    environment["PYTHONPATH"] = os.pathsep.join(
        str(DOCS.parent / part) for part in ("", "provider")
    )
    command = [sys.executable, str(DOCS / "operators_page.py"), "--check"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
