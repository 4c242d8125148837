"""Makes a warehouse as declared, through the catalog that the caller hands in."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, Protocol

from table_core.datatypes.arrow import from_arrow
from table_core.datatypes.text import type_text
from table_core.datatypes.widths import holds_all
from table_core.declaration.compare import Action, CurrentTable, TablePlan, plan_of
from table_core.declaration.difference import Difference, Safety
from table_core.declaration.model import older_names
from table_core.declaration.table_schema import fields_of
from table_core.errors import (
    AlreadyExistsError,
    CommitConflictError,
    GaveUpError,
    NotFoundError,
    OptionError,
    SchemaError,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from table_core.declaration.model import Declaration

__all__ = ["Tables", "apply", "only_there", "plan", "require_possible"]

_ATTEMPTS_MAX: Final = 5


class Tables(Protocol):
    """What is asked of a catalog; ``table_core.Catalog`` is one."""

    def databases(self) -> list[str]:
        """Names of the databases."""
        ...

    def tables(self, database: str) -> list[str]:
        """Names of the tables of a database."""
        ...

    def table(self, name: str) -> Any:
        """The handle on a table; ``NotFoundError`` where there is none."""
        ...

    def create_database(self, name: str, if_not_exists: bool = False) -> None:
        """Make a database."""
        ...

    def create_table(self, name: str, schema: Any, **more: Any) -> Any:
        """Make a table."""
        ...

    def alter_table(self, name: str, changes: Any, **more: Any) -> Any:
        """Change a table."""
        ...

    def rename_table(self, name: str, to: str) -> None:
        """Give a table another name."""
        ...


def plan(
    declaration: Declaration, catalog: Tables, *, allow: Iterable[str] = ()
) -> list[TablePlan]:
    """Compare with what is there now; ``allow`` are words of ``difference.WORDS``."""
    words = frozenset(allow) | frozenset(declaration.allow)
    names = _names(catalog, {name.partition(".")[0] for name in declaration.tables})
    plans = []
    for name, wanted in declaration.tables.items():
        synced = name in declaration.synced
        older = older_names(declaration.moved, name)
        plans.append(_plan(name, wanted, catalog, names, older, words, synced))
    contracts = ((name, one) for name, one in declaration.external.items() if one is not None)
    return [*plans, *(_contract(name, wanted, catalog) for name, wanted in contracts)]


def _contract(name: str, wanted: Any, catalog: Tables) -> TablePlan:
    """Whether a table that others keep has what is said of it; it is never changed."""
    try:
        there = catalog.table(name).arrow_schema
    except NotFoundError as error:
        return _refused(name, wanted, f"external: {error}")
    types = {field.name: from_arrow(field.type, nullable=field.nullable) for field in there}
    refused = []
    for column in fields_of(wanted):
        has = types.get(column.name)
        if has is None:
            refused.append(f"external: there is no column {column.name!r}")
        elif not holds_all(has, column.type):
            difference = (
                f"{column.name} is {type_text(has)}, and {type_text(column.type)} was agreed on"
            )
            refused.append(f"external: {difference}")
    if refused:
        return replace(_refused(name, wanted, refused[0]), refused=tuple(refused))
    return TablePlan(table=name, action=Action.NONE, wanted=wanted)


def only_there(declaration: Declaration, catalog: Tables) -> list[str]:
    """Tables in the declared databases that are not declared, nor filled by a declared source."""
    databases = {name.partition(".")[0] for name in declaration.tables}
    ours = (*declaration.tables, *declaration.also_written, *declaration.external)
    known = {name.casefold() for name in ours}
    known |= {name.casefold() for name in declaration.moved}
    existing = _names(catalog, databases)
    return sorted(name for folded, name in existing.items() if folded not in known)


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


def apply(plans: Sequence[TablePlan], catalog: Tables, *, exactly: bool = False) -> list[TablePlan]:
    """Create and alter what the plans say; those that did something.

    Done again after a crash it does the rest.  What somebody else does at the same time is found
    done, or compared anew; ``exactly`` does what was planned and nothing else.

    Raises:
        SchemaError: a part of the plans cannot be done; then nothing is.
        CommitConflictError: a table changed meanwhile, and ``exactly`` is on.
        GaveUpError: a table kept changing, or became one that cannot be made as declared.
    """
    require_possible(plans)
    done = (_done(one, catalog, exactly=exactly) for one in plans if _is_work(one))
    return [one for one in done if one is not None]


def _is_work(one: TablePlan) -> bool:
    return one.action in {Action.CREATE, Action.ALTER}


def _done(plan: TablePlan, catalog: Tables, *, exactly: bool) -> TablePlan | None:
    """The plan that was carried out in the end; None if somebody else did all of it."""
    for _ in range(_ATTEMPTS_MAX):
        try:
            _do(plan, catalog)
        except (AlreadyExistsError, CommitConflictError, SchemaError, OptionError) as error:
            now = _again(plan, catalog)
            if now == plan:
                raise
            if exactly:
                raise CommitConflictError(
                    f"{plan.table} is not as it was when this was planned: plan again",
                    table=plan.table,
                    head_id=now.schema,
                    conflicts=[str(error)],
                ) from error
            if now.refused:
                raise GaveUpError(
                    f"{plan.table} changed meanwhile, and cannot become as declared: "
                    f"{'; '.join(now.refused)}",
                    user=None,
                    attempts=1,
                ) from error
            if not _is_work(now):
                return None
            plan = now
        else:
            return plan
    raise GaveUpError(
        f"{plan.table} changed {_ATTEMPTS_MAX} times meanwhile; try again",
        user=None,
        attempts=_ATTEMPTS_MAX,
    )


def _do(plan: TablePlan, catalog: Tables) -> None:
    catalog.create_database(plan.table.partition(".")[0], if_not_exists=True)
    if plan.action is Action.CREATE:
        catalog.create_table(
            plan.table,
            fields_of(plan.wanted),
            primary_key=plan.wanted.primary_key,
            partition_by=plan.wanted.partition_by,
            options=plan.wanted.options,
            comment=plan.wanted.comment,
        )
        return
    if plan.renamed_from is not None:
        catalog.rename_table(plan.renamed_from, plan.table)
    if plan.changes:
        allow = {"narrow"} & (plan.allow | frozenset(plan.wanted.allow))
        catalog.alter_table(plan.table, plan.changes, expect=plan.schema, allow=allow)


def _again(plan: TablePlan, catalog: Tables) -> TablePlan:
    names = _names(catalog, {plan.table.partition(".")[0]})
    older = [] if plan.renamed_from is None else [plan.renamed_from]
    return _plan(plan.table, plan.wanted, catalog, names, older, plan.allow, plan.synced)


def _plan(
    name: str,
    wanted: Any,
    catalog: Tables,
    names: Mapping[str, str],
    older: Sequence[str],
    allow: frozenset[str],
    synced: bool,
) -> TablePlan:
    states = {one: state for one in (name, *older) if (state := _current(catalog, one)) is not None}
    if len(states) > 1:
        twins = " and ".join(reversed(states))
        return _refused(name, wanted, f"moved: {twins} are both there: drop one of them")
    current = states.get(name)
    old_name = next((one for one in states if one != name), None)
    old = None if old_name is None else states[old_name]
    other = names.get(name.casefold())
    if current is None and other not in {None, name, *older}:
        description = f"the warehouse has {other!r}, which differs in case alone: write it so"
        return _refused(name, wanted, description)
    plan = plan_of(name, wanted, current or old, allow=allow, synced=synced)
    if old is None:
        return plan
    description = f"~ rename table {old_name} to {name}"
    moved = Difference(safety=Safety.SAFE, description=description)
    return replace(
        plan,
        action=Action.REFUSED if plan.refused else Action.ALTER,
        told=(description, *plan.told),
        differences=(moved, *plan.differences),
        renamed_from=old_name,
    )


def _refused(name: str, wanted: Any, description: str) -> TablePlan:
    one = Difference(safety=Safety.REFUSED, description=description)
    return TablePlan(
        table=name, action=Action.REFUSED, wanted=wanted, refused=(description,), differences=(one,)
    )


def _current(catalog: Tables, name: str) -> CurrentTable | None:
    try:
        handle = catalog.table(name)
    except NotFoundError:
        return None
    return CurrentTable(
        schema=handle.definition, has_snapshots=handle.latest_snapshot() is not None
    )


def _names(catalog: Tables, databases: Iterable[str]) -> dict[str, str]:
    """Tables that are there, by their names without case."""
    wanted = {database.casefold() for database in databases}
    names = {}
    for database in catalog.databases():
        if database.casefold() in wanted:
            for table in catalog.tables(database):
                names[f"{database}.{table}".casefold()] = f"{database}.{table}"
    return names
