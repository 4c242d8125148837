"""Makes a warehouse as declared, through the catalog that the caller hands in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from table_core.datatypes.kinds import Field
from table_core.datatypes.text import parse_type
from table_core.declaration.compare import Action, TablePlan, compare
from table_core.errors import NotFoundError, SchemaError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from table_core.declaration.model import Declaration

__all__ = ["Tables", "apply", "plan", "require_possible"]


class Tables(Protocol):
    """What is asked of a catalog; ``table_core.Catalog`` is one."""

    def table(self, name: str) -> Any:
        """The handle on a table; ``NotFoundError`` where there is none."""
        ...

    def create_database(self, name: str, if_not_exists: bool = False) -> None:
        """Make a database."""
        ...

    def create_table(self, name: str, schema: Any, **more: Any) -> Any:
        """Make a table."""
        ...

    def alter_table(self, name: str, changes: Any) -> Any:
        """Change a table."""
        ...


def plan(declaration: Declaration, catalog: Tables) -> list[TablePlan]:
    """Compare with what is there now."""
    current = {}
    for name in declaration.tables:
        try:
            current[name] = catalog.table(name).definition
        except NotFoundError:
            current[name] = None
    return compare(declaration, current)


def require_possible(plans: Sequence[TablePlan]) -> None:
    """Refuse plans of which a part cannot be done.

    Raises:
        SchemaError: all that is refused, table by table.
    """
    problems = [f"{one.table}: {why}" for one in plans for why in one.refused]
    if problems:
        raise SchemaError(
            "not as declared, and cannot be:\n" + "\n".join(problems), problems=problems
        )


def apply(plans: Sequence[TablePlan], catalog: Tables) -> list[TablePlan]:
    """Create and alter what the plans say; those that did something.

    Done again after a crash it does the rest.

    Raises:
        SchemaError: a part of the plans cannot be done; then nothing is.
    """
    require_possible(plans)
    done = []
    for one in plans:
        if one.action is Action.CREATE:
            catalog.create_database(one.table.partition(".")[0], if_not_exists=True)
            catalog.create_table(
                one.table,
                [Field(0, name, parse_type(kind)) for name, kind in one.wanted.columns.items()],
                primary_key=one.wanted.primary_key,
                partition_by=one.wanted.partition_by,
                options=one.wanted.options,
                comment=one.wanted.comment,
                if_not_exists=True,
            )
            done.append(one)
        elif one.action is Action.ALTER:
            catalog.alter_table(one.table, one.changes)
            done.append(one)
    return done
