"""Goal: each job has a section that shows how to do it, and each command that a page names can be typed.

Method: look for every action in the headings of ``docs/how-to``; take every ``table-core`` line of every page apart with
the command line's own parser.
"""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import typer.main
import yaml

from table_core.cli.main import app
from table_core.declaration.grammar import DECLARATION
from table_core.jobs.registry import ACTIONS

ROOT = Path(__file__).parents[2]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
ROOT_COMMAND: Any = typer.main.get_command(app)
BLOCK = re.compile(r"```(?:bash|shell|text)\n(.*?)```", re.DOTALL)
INLINE = re.compile(r"`(table-core [^`]+)`")


def commands(text: str) -> list[str]:
    """The lines that begin with the program, and those inside a sentence."""
    lines = [
        line for block in BLOCK.findall(text) for line in block.replace("\\\n", " ").splitlines()
    ]
    found = [line.strip() for line in lines if line.strip().startswith("table-core ")]
    return [*found, *INLINE.findall(BLOCK.sub("", text))]


TYPED = [
    pytest.param(command, id=f"{path.stem}: {command[:60]}")
    for path in DOCUMENTS
    for command in dict.fromkeys(commands(path.read_text()))
]


@pytest.mark.parametrize("command", TYPED)
def test_a_command_on_a_page_exists_with_its_options(command: str) -> None:
    words = shlex.split(command.partition("  ")[0].replace("…", ""))[1:]
    found = ROOT_COMMAND
    while words and not words[0].startswith("-") and hasattr(found, "commands"):
        assert words[0] in found.commands, f"{command}: no command {words[0]!r}"
        found = found.commands[words.pop(0)]
    known = {name for p in found.params for name in (*p.opts, *p.secondary_opts)} | {"--help"}
    known |= {"--install-completion", "--show-completion"} if found is ROOT_COMMAND else set()
    given = {word.partition("=")[0] for word in words if re.match(r"--?[a-zA-Z]", word)}
    assert given <= known, f"{command}: {given - known}"


def test_each_job_has_a_section_that_shows_it() -> None:
    pages = "\n".join(page.read_text() for page in (ROOT / "docs" / "how-to").glob("*.md"))
    shown = set(re.findall(r"^## .*\(`([a-z-]+)`\)$", pages, re.MULTILINE))
    assert shown == set(ACTIONS)


DECLARED = [
    pytest.param(block, id=f"{path.stem}: {block[:40]!r}")
    for path in DOCUMENTS
    for block in re.findall(r"```yaml\n(.*?)```", path.read_text(), re.DOTALL)
]


@pytest.mark.parametrize("block", DECLARED)
def test_a_part_of_a_declaration_on_a_page_has_members_that_exist(block: str) -> None:
    part = yaml.safe_load(block)
    assert set(part) <= set(DECLARATION.members), "what is no declaration gets another language"
