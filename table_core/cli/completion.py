"""What a shell completes: names of the warehouse that the line has so far, and options of tables."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import typer  # noqa: TC002 - typer reads the annotations

from table_core.cli.catalog_file import open_warehouse
from table_core.errors import TableError

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["WAREHOUSE", "complete_database", "complete_option", "complete_table"]

WAREHOUSE = "TABLE_CORE_WAREHOUSE"
"""The variable that stands for ``--warehouse``."""


def complete_database(ctx: typer.Context, incomplete: str) -> list[str]:
    """Databases that begin so."""
    try:
        databases = _catalog(ctx).databases()
    except TableError:
        return []  # a shell shows no error while somebody types
    return [name for name in databases if name.startswith(incomplete)]


def complete_table(ctx: typer.Context, incomplete: str) -> list[str]:
    """Tables that begin so; before the dot also databases, each with its dot."""
    database, dot, _ = incomplete.partition(".")
    try:
        catalog = _catalog(ctx)
        if dot:
            return list(_tables(catalog, database, incomplete))
        named = [name for name in catalog.databases() if name.startswith(incomplete)]
        return [full for name in named for full in _tables(catalog, name, incomplete)]
    except TableError:
        return []


def complete_option(ctx: typer.Context, incomplete: str) -> list[tuple[str, str]]:
    """Options of tables that begin so, each with what it means."""
    from table_core.options.table import OPTIONS

    del ctx
    return [
        (f"{key}=", option.meaning)
        for key, option in sorted(OPTIONS.items())
        if key.startswith(incomplete)
    ]


def _tables(catalog: Any, database: str, incomplete: str) -> Iterator[str]:
    for name in catalog.tables(database):
        if (full := f"{database}.{name}").startswith(incomplete):
            yield full


def _catalog(ctx: typer.Context) -> Any:
    return open_warehouse(ctx.params.get("warehouse") or os.environ.get(WAREHOUSE) or "")
