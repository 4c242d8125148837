"""What is said to who asks for a command that is not there, misuses one, or interrupts it."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any, Final

import typer
from typer.core import TyperGroup

from table_core.errors import ArgumentError, error_to_document

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["INSTEAD", "Commands", "status_for_programs"]

_USAGE: Final[type[Exception]] = typer.BadParameter.__bases__[0]
"""How the parser says that a command is misused; typer has no name of its own for it."""


def _by_sql(statement: str) -> str:
    return f'run table-core sql "{statement}"'


INSTEAD: Final = {
    "alter": _by_sql("ALTER TABLE shop.orders ADD COLUMN note STRING"),
    "rename": _by_sql("ALTER TABLE shop.orders RENAME TO shop.purchases"),
    "drop": _by_sql("DROP TABLE shop.orders"),
    "count": _by_sql("SELECT count(*) FROM shop.orders"),
    "select": _by_sql("SELECT * FROM shop.orders"),
    "query": _by_sql("SELECT * FROM shop.orders"),
    "insert": _by_sql("INSERT INTO shop.orders VALUES (1)") + ", or table-core write for files",
    "create-database": _by_sql("CREATE DATABASE shop"),
    "drop-database": _by_sql("DROP DATABASE shop"),
    "import": "run table-core write shop.orders FILE",
    "load": "run table-core write shop.orders FILE",
    "export": "run table-core read shop.orders -o orders.parquet",
    "show": "run table-core tables, or table-core describe shop.orders",
    "ls": "run table-core tables",
    "history": "run table-core snapshots shop.orders",
    "schema": "run table-core describe shop.orders",
    "optimize": "run table-core compact shop.orders",
    "vacuum": "run table-core expire-snapshots shop.orders",
    "version": "run table-core --version",
}
"""What people look for by the words of other tools, and what does it here."""


class Commands(TyperGroup):
    """All commands, and what does the work of one that is not there."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command that ``args`` begin with."""
        try:
            return super().resolve_command(ctx, args)
        except _USAGE as error:
            if args and args[0] in INSTEAD:
                error.message = f"No such command {args[0]!r}: {INSTEAD[args[0]]}."  # type: ignore[attr-defined]  # of every click
            raise


def status_for_programs(command: Callable[..., Any], name: str) -> int:
    """The exit status of ``command``; misuse is one JSON document on standard error, as every error is."""
    try:
        status = command(prog_name=name, standalone_mode=False)
    except _USAGE as error:
        wrong: Any = error
        document = error_to_document(ArgumentError(wrong.format_message()))
        sys.stderr.write(json.dumps(document) + "\n")
        return int(wrong.exit_code)
    return status if isinstance(status, int) else 0
