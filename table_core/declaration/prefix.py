"""The same tables in databases of other names: ``prefix: dev_`` makes ``dev_shop.orders`` of ``shop.orders``."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from table_core.declaration.model import Declaration

__all__ = ["prefixed"]


def prefixed(declaration: Declaration) -> Declaration:
    """``declaration`` with its prefix before the databases of its own tables, wherever they are named.

    Tables of others keep their names, and so do the views of SQL.
    """
    if not declaration.prefix:
        return declaration
    ours = {*declaration.tables, *declaration.moved, *declaration.also_written}

    def named(name: str) -> str:
        plain, dollar, rest = name.partition("$")
        return f"{declaration.prefix}{plain}{dollar}{rest}" if plain in ours else name

    return replace(
        declaration,
        prefix=None,
        tables={named(name): table for name, table in declaration.tables.items()},
        policies={named(name): policy for name, policy in declaration.policies.items()},
        moved={named(old): named(new) for old, new in declaration.moved.items()},
        audited=tuple(named(name) for name in declaration.audited),
        pipeline=_pipeline(declaration.pipeline, named),
        steps=tuple(step.renamed(named) for step in declaration.steps),
        checks=tuple(
            replace(
                check,
                table=named(check.table),
                against=None if check.against is None else named(check.against),
            )
            for check in declaration.checks
        ),
        triggers=tuple(replace(one, table=named(one.table)) for one in declaration.triggers),
    )


def _pipeline(pipeline: Mapping[str, Any], named: Callable[[str], str]) -> dict[str, Any]:
    schedule = pipeline.get("schedule")
    if not isinstance(schedule, dict):
        return dict(pipeline)
    return {**pipeline, "schedule": {"changes": [named(table) for table in schedule["changes"]]}}
