"""Goal: every command reads well on a narrow and on a wide terminal, and a pipe gets what a program can read.

Method: pexpect runs the example of every command in a real terminal of 80 and of 160 columns, and without one;
what stays on the screen is compared with a golden file.  ``make screens`` writes the files anew: look at the
difference before you keep it.
"""

from __future__ import annotations

import json
import os
import shlex
from pathlib import Path

import jsonschema
import pytest

from table_core.cli.commands import PROGRAM, Entry
from table_core.cli.json_schemas import ROWS, SCHEMAS
from table_core.cli.main import COMMANDS
from tests.cli.screens import FAULTS, FOLDER, MACHINE, Golden, examples, same_every_time, screens_of
from tests.cli.terminal import Shown, Terminal
from tests.lanes import sampled

WRITES = os.environ.get("SCREENS") == "write"
WARNINGS = {
    ("expire-partitions",): "no partition can expire by day (DATE)",
    ("pipeline",): "tried-again: cities no table",
}
"""What an example says beside its result."""
SEPARATOR = "\n" + "=" * 30 + " {} " + "=" * 30 + "\n"


def compare(golden: Golden) -> None:
    if WRITES:
        golden.store()
    assert golden.text == golden.stored(), f"{golden.path}: look at it, then run make screens"


def takes_json(entry: Entry) -> bool:
    """Whether a command has ``--json``."""
    return " ".join(entry.path) in SCHEMAS or entry.path in ROWS


def named(entry: Entry) -> str:
    return "-".join(entry.path)


@pytest.mark.parametrize("entry", sampled(COMMANDS, 5), ids=named)
def test_its_example_looks_as_it_did(terminal: Terminal, shop: Path, entry: Entry) -> None:
    found = dict(screens_of(terminal, shop, entry, as_json=takes_json(entry)))
    narrow, wide = found["terminal of 80 columns"], found["terminal of 160 columns"]
    assert max(map(len, narrow.screen.splitlines()), default=0) <= 80
    assert max(map(len, wide.screen.splitlines()), default=0) <= 160
    assert len({one.status for one in found.values()}) == 1
    if entry.path not in MACHINE:
        assert narrow.status == 0, narrow.screen
    for name, shown in found.items():
        if name.startswith("no terminal"):
            assert shown.screen == "", "what has no terminal writes to none"
            assert "\x1b" not in shown.stdout + shown.stderr
            warning = WARNINGS.get(entry.path, "")
            assert warning in shown.stderr if warning else not shown.stderr or shown.status
    if "no terminal, --json" in found:
        judge(entry, found["no terminal, --json"])
    if entry.path in MACHINE:
        return
    text = f"$ {entry.line}\n"
    for name, shown in found.items():
        text += SEPARATOR.format(name) + same_every_time(shown.screen + shown.stdout)
    compare(Golden(named(entry), text))


def judge(entry: Entry, shown: Shown) -> None:
    """What a program gets is as its schema says."""
    words = " ".join(entry.path)
    if "--what" in entry.example:
        words += " --what " + entry.example.partition("--what ")[2].split()[0]
    if words not in SCHEMAS:
        rows = [json.loads(line) for line in shown.stdout.splitlines()]
        assert all(isinstance(row, dict) for row in rows)
        assert rows
        return
    schema = SCHEMAS[words]
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(json.loads(shown.stdout), schema, format_checker=jsonschema.FormatChecker())


def test_every_command_has_a_golden_file_and_no_other_is_there() -> None:
    found = {path.stem for path in FOLDER.glob("*.txt")}
    assert found == {named(e) for e in COMMANDS if e.path not in MACHINE} | {"help", "faults"}


def test_every_schema_is_of_a_command_with_json() -> None:
    known = {" ".join(entry.path) for entry in COMMANDS}
    assert {words.partition(" --")[0] for words in SCHEMAS} <= known


def test_the_help_of_every_command_fits_and_has_its_example(terminal: Terminal, shop: Path) -> None:
    text = ""
    for columns in (80, 160):
        shown = terminal.run("--help", folder=shop, columns=columns)
        text += SEPARATOR.format(f"{columns} columns") + shown.screen
    for entry in COMMANDS:
        shown = terminal.run(*entry.path, "--help", folder=shop, columns=80)
        assert shown.status == 0
        assert max(map(len, shown.screen.splitlines())) <= 80
        flat = " ".join(shown.screen.split())
        assert f"Example: {entry.line}" in flat or named(entry) == "position-set", flat
        text += SEPARATOR.format(f"{PROGRAM} {' '.join(entry.path)}") + shown.screen
    compare(Golden("help", text))


def test_errors_say_what_to_do(terminal: Terminal, shop: Path) -> None:
    text = ""
    for title, line in FAULTS.items():
        shown = examples(terminal, shop, shlex.split(line), columns=80)
        assert shown.status == (2 if "missing" in title else 1), shown.screen
        assert "Traceback" not in shown.screen
        text += SEPARATOR.format(title) + f"$ {PROGRAM} {line}\n" + same_every_time(shown.screen)
        piped = examples(terminal, shop, shlex.split(line), terminal=False)
        assert (piped.screen, piped.stdout) == ("", "")
    compare(Golden("faults", text))


def test_bars_are_for_people_alone(terminal: Terminal, shop: Path) -> None:
    """A long write shows how far it is, how fast, and how long it takes; a pipe and --json get nothing of it."""
    (shop / "many.csv").write_text(
        "day,id,city,amount\n"
        + "".join(f"2025-03-0{n % 9 + 1},{n},x,1.00\n" for n in range(600_000))
    )
    seen = examples(terminal, shop, ["write", "shop.orders", "many.csv"], columns=100)
    assert seen.status == 0, seen.screen
    raw = terminal.process.before
    assert "reading" in raw
    assert "/s" in raw
    assert " of " in raw
    assert "reading" not in seen.screen, "bars go when the work is done"
    for words in (["--json"], []):
        piped = examples(
            terminal, shop, ["write", "shop.orders", "many.csv", *words], terminal=False
        )
        assert (piped.status, piped.stderr, piped.screen) == (0, "", "")
    quiet = examples(terminal, shop, ["write", "shop.orders", "many.csv", "--json"], columns=100)
    assert "reading" not in terminal.process.before
    assert json.loads(quiet.screen.replace("\n", ""))["rows_written"] == 600_000
    (shop / "many.csv").unlink()


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("table-core read shop.o", ["shop.orders"]),
        ("table-core tables s", ["shop"]),
        ("table-core describe ", ["shop.cities", "shop.orders"]),
        ("table-core create d.t -O snapshot.num-ret", ["snapshot.num-retained.max=", "snapshot.num-retained.min="]),
        ("table-core comp", ["compact", "compact-database"]),
        ("table-core tag re", ["rename", "replace"]),
        ("table-core read --warehouse nowhere shop.o", []),
    ],
)  # fmt: skip
def test_a_shell_completes(terminal: Terminal, shop: Path, line: str, found: list[str]) -> None:
    words = line.split(" ")
    shown = terminal.run(
        folder=shop,
        terminal=False,
        TABLE_CORE_WAREHOUSE="warehouse",
        _TABLE_CORE_COMPLETE="complete_bash",
        COMP_WORDS=line,
        COMP_CWORD=str(len(words) - 1),
    )
    assert sorted(one.split("\t")[0] for one in shown.stdout.split()) == found
