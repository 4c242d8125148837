"""The ``table-core`` command: tables for people, ``--json`` for programs.

Exit status: 0 done, 1 failed (kind and facts of the error on stderr), 2 misuse.
"""

from __future__ import annotations

import json
import os
import sys
from importlib.metadata import version
from typing import Annotated, Final

import typer
from rich.console import Console
from rich.markup import escape

from table_core.cli import (
    declare,
    differences,
    groups,
    json_schemas,
    looking,
    pipeline,
    reading,
    sql,
    sync,
    upkeep,
    writing,
)
from table_core.cli.action_commands import action_entries
from table_core.cli.commands import PROGRAM, add_all
from table_core.cli.doctor import command as doctor
from table_core.cli.misuse import Commands, status_for_programs
from table_core.errors import TableError, error_to_document
from table_core.jobs.action import Heading
from table_core.options.shown import shown
from table_core.storage.stores.os_errors import table_error

__all__ = ["COMMAND", "COMMANDS", "app", "main"]

app = typer.Typer(
    cls=Commands,
    no_args_is_help=True,
    help="Read, write and keep Apache Paimon tables.",
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)
_JSON: Final = "--json"
_INTERRUPTED: Final = 130
"""What the parser makes of an interrupt, as shells do."""


def _print_version(wanted: bool) -> None:
    if wanted:
        sys.stdout.write(f"{PROGRAM} {version('paimon-table-core')}\n")
        raise typer.Exit


@app.callback()
def _all(
    _: Annotated[
        bool,
        typer.Option(
            "--version", help="Print the version.", callback=_print_version, is_eager=True
        ),
    ] = False,
) -> None:
    """What stands before a command."""


COMMANDS: Final = add_all(
    app,
    groups.GROUPS,
    (
        *looking.ENTRIES,
        *reading.ENTRIES,
        *sql.ENTRIES,
        *differences.ENTRIES,
        *writing.ENTRIES,
        *action_entries(),
        *upkeep.ENTRIES,
        *groups.ENTRIES,
        *sync.ENTRIES,
        *pipeline.ENTRIES,
        *declare.ENTRIES,
        *doctor.ENTRIES,
        *json_schemas.ENTRIES,
    ),
)
"""All commands, in the order of the help."""
COMMAND: Final = typer.main.get_command(app)
"""What runs them."""


def _run() -> None:
    """The command, to its last byte: what it printed may meet a full disk when it is flushed.

    Raises:
        StorageUnavailableError, AccessDeniedError: what it prints cannot be written.
    """
    try:
        try:
            if _JSON in sys.argv:
                sys.exit(status_for_programs(COMMAND, PROGRAM))
            COMMAND(prog_name=PROGRAM)
        finally:
            sys.stdout.flush()
    except BrokenPipeError:  # who reads has seen enough
        _forget_output()
        raise SystemExit(1) from None
    except OSError as error:
        _forget_output()
        raise table_error(error, root="standard output", path="", action="write") from error


def _forget_output() -> None:
    """Let Python end without a second try at what cannot be written."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _say_interrupted() -> None:
    """What an interrupt leaves, of a command that may commit."""
    words = [word for word in sys.argv[1:] if not word.startswith("-")]
    entry = next((one for one in COMMANDS if list(one.path) == words[: len(one.path)]), None)
    if entry is not None and entry.heading not in {Heading.LOOK, Heading.HERE}:
        sys.stderr.write(
            "interrupted: a commit is there as a whole or not at all, and table-core snapshots shows it\n"
        )


def main() -> None:
    """Run the command line; the entry point of ``table-core``."""
    try:
        _run()
    except SystemExit as error:
        if error.code == _INTERRUPTED:
            _say_interrupted()
        raise
    except TableError as error:
        document = error_to_document(error)
        if notes := getattr(error, "__notes__", None):
            document["notes"] = notes
        if _JSON in sys.argv:
            sys.stderr.write(json.dumps(document, default=str) + "\n")
        else:
            console = Console(stderr=True, highlight=False, emoji=False)
            whole = not console.is_terminal  # a file gets each fact in one line
            console.print(
                f"[bold red]{error.kind}[/]: {escape(shown(str(error)))}", soft_wrap=whole
            )
            for key, value in error.facts.items():
                if value is not None:
                    console.print(shown(f"  {key}: {value}"), markup=False, soft_wrap=whole)
            for note in getattr(error, "__notes__", ()):
                console.print(shown(f"  {note}"), markup=False, soft_wrap=whole)
        sys.exit(1)


if __name__ == "__main__":
    main()
