"""A declaration, as the provider and the command line use it."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

from table_core.declaration.steps import Step, SyncStep

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "CheckDeclaration",
    "Declaration",
    "Step",
    "TableDeclaration",
    "TriggerDeclaration",
    "UpkeepDeclaration",
    "newest_name",
    "older_names",
]


class _Document:
    """To and from JSON-safe members, for the compiled manifest."""

    __slots__ = ()

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> Self:
        lists = [f.name for f in dataclasses.fields(cls) if str(f.type).startswith("tuple")]  # type: ignore[arg-type]  # all are dataclasses
        return cls(**{**document, **{name: tuple(document[name]) for name in lists}})

    def to_document(self) -> dict[str, Any]:
        return {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}  # type: ignore[arg-type]  # all are dataclasses


@dataclass(frozen=True, slots=True, kw_only=True)
class TableDeclaration(_Document):
    """What a table shall look like."""

    columns: Mapping[str, str]
    primary_key: tuple[str, ...] = ()
    partition_by: tuple[str, ...] = ()
    options: Mapping[str, str] = field(default_factory=dict)
    comment: str | None = None
    column_comments: Mapping[str, str] = field(default_factory=dict)
    column_defaults: Mapping[str, str] = field(default_factory=dict)
    computed: Mapping[str, str] = field(default_factory=dict)
    """Columns that are made from others, each with its ``function(column, literal …)``."""
    moved: Mapping[str, str] = field(default_factory=dict)
    """Columns that were renamed: old name to new one."""
    allow: tuple[str, ...] = ()
    """Words of ``difference.WORDS`` for this table."""
    audit: bool = False
    """Whether what flows write is seen when the checks of the table have passed, and not before."""
    tags: tuple[str, ...] = ()

    @property
    def computed_columns(self) -> tuple[str, ...]:
        """The computed columns, as jobs take them."""
        return tuple(f"{name}={text}" for name, text in self.computed.items())


@dataclass(frozen=True, slots=True, kw_only=True)
class UpkeepDeclaration(_Document):
    """How tables are kept in shape."""

    schedule: str | None = None
    max_concurrent_jobs: int | None = None
    engine: str | None = None
    tags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckDeclaration(_Document):
    """What must hold for the rows of a table."""

    name: str
    table: str
    rules: Mapping[str, Any]
    severity: str = "error"
    """``warn``: what is wrong is told, and nothing fails."""
    gate: bool = False
    """Whether flows that read the table wait for the check."""
    against: str | None = None
    """The table that ``change`` compares with."""
    tags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TriggerDeclaration(_Document):
    """What runs when a table changes."""

    name: str
    table: str
    watch: Mapping[str, Any]
    """Arguments of ``watched_table``."""
    report: Mapping[str, str] | None = None
    flows: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Declaration:
    """One warehouse."""

    name: str
    connection: str = "paimon_default"
    catalog: str | None = None
    warehouse: str | None = None
    pool: Mapping[str, Any] | None = None
    """Airflow's pool for the tasks that work on tables: ``name`` and ``slots``."""
    pipeline: Mapping[str, Any] = field(default_factory=dict)
    steps: tuple[Step, ...] = ()
    """Sources and flows, in an order in which they can run."""
    checks: tuple[CheckDeclaration, ...] = ()
    triggers: tuple[TriggerDeclaration, ...] = ()
    upkeep: UpkeepDeclaration | None = None
    tables: Mapping[str, TableDeclaration] = field(default_factory=dict)
    policies: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """For each table the upkeep actions and their settings, as inherited."""
    prefix: str | None = None
    """What is to stand before the databases; None where it stands there already."""
    include: tuple[str, ...] = ()
    """The files that belong to it, as they are named."""
    moved: Mapping[str, str] = field(default_factory=dict)
    """Tables that were renamed: old name to new one."""
    external: Mapping[str, TableDeclaration | None] = field(default_factory=dict)
    """Tables that others maintain, with the columns that they need. None if no columns are listed."""
    allow: tuple[str, ...] = ()
    """Words of ``difference.WORDS`` for all tables."""
    audited: tuple[str, ...] = ()
    """The tables that say ``audit``."""

    @property
    def synced(self) -> frozenset[str]:
        """The tables that sources of changes fill, and so add to and widen."""
        return frozenset(step.table for step in self._syncs())

    @property
    def also_written(self) -> frozenset[str]:
        """Tables that steps write without declaring them, such as those of dead letters."""
        return frozenset(filter(None, (step.dead_letter for step in self._syncs())))

    def _syncs(self) -> list[SyncStep]:
        return [step for step in self.steps if isinstance(step, SyncStep)]


def newest_name(moves: Mapping[str, str], name: str) -> str:
    """What ``name`` is called after all ``moves``, each from a name to the next."""
    seen = {name}
    while (name := moves.get(name, name)) not in seen:
        seen.add(name)
    return name


def older_names(moves: Mapping[str, str], name: str) -> list[str]:
    """What ``name`` was called before, the last name first."""
    before = {new: old for old, new in moves.items()}
    older: list[str] = []
    while (old := before.get(older[-1] if older else name)) is not None and old not in older:
        older.append(old)
    return older
