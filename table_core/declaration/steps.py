"""Steps, typed by their verbs: what each reads and writes, and what its operator gets.

A step is made of the members that a file has, or that a compiled manifest has kept: ``members`` gives them back.
Whoever asks what a step does asks here; nobody looks into the members again.
"""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Final, Self

from table_core.declaration.verbs import ACTIONS, VERBS

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [
    "DeclaredView",
    "FilesStep",
    "MergeStep",
    "PendingRows",
    "QueryStep",
    "RunStep",
    "Step",
    "SyncStep",
    "step_from_document",
    "step_of",
]

_LISTS: Final = ("after", "computed", "tags")
"""Members of every step that JSON has as lists."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclaredView:
    """What SQL sees by a name: a state of a table, or its changes."""

    table: str
    mode: str | None = None
    position: str | None = None
    """The property that records how far the changes were read."""

    @classmethod
    def of(cls, declared: Any) -> Self:
        """A view from ``shop.orders``, or from ``{table, mode, position}``."""
        return cls(**declared) if isinstance(declared, Mapping) else cls(table=str(declared))

    @property
    def is_of_changes(self) -> bool:
        """Whether it shows what is new since the last run."""
        return self.mode == "changes"

    def members(self) -> dict[str, str]:
        """What was said, as an operator takes it."""
        said = {"table": self.table, "mode": self.mode, "position": self.position}
        return {name: text for name, text in said.items() if text is not None}


Views = Mapping[str, DeclaredView]


def _views(declared: Mapping[str, Any] | None) -> Views:
    return {view: DeclaredView.of(one) for view, one in (declared or {}).items()}


def _members(views: Views) -> dict[str, dict[str, str]]:
    return {view: one.members() for view, one in views.items()}


def _reading(views: Views, named: Callable[[str], str]) -> Views:
    return {view: replace(one, table=named(one.table)) for view, one in views.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingRows:
    """Rows that cannot be used yet: a query gives them, and a table keeps them."""

    table: str
    sql: str
    view: str | None = None

    @property
    def shown_as(self) -> str:
        """The view by which SQL sees the rows that wait."""
        return self.view or self.table.partition(".")[2]

    def members(self) -> dict[str, str]:
        """What was said, as an operator takes it."""
        view = {} if self.view is None else {"view": self.view}
        return {"table": self.table, "sql": self.sql, **view}


@dataclass(frozen=True, slots=True, kw_only=True)
class Step(ABC):
    """A source or a flow: one verb on one table; each verb has a subclass."""

    verb: ClassVar[str]
    """One of ``verbs.VERBS``."""
    name: str
    table: str
    with_arguments: Mapping[str, Any] = field(default_factory=dict)
    """What stands under ``with``."""
    after: tuple[str, ...] = ()
    """The steps that must be done first."""
    engine: str | None = None
    events: str = "changes"
    computed: tuple[str, ...] = ()
    """The computed columns of its table, if it writes rows that have none."""
    spark_conf: Mapping[str, str] | None = None
    tags: tuple[str, ...] = ()

    @property
    def views(self) -> Views:
        """The views that its SQL sees."""
        return {}

    @property
    def pending(self) -> PendingRows | None:
        """The rows that it keeps for later; None where it keeps none."""
        return None

    @property
    def overwrite(self) -> str | Mapping[str, str] | None:
        """What its rows replace; None: nothing."""
        return None

    @property
    def tables_read(self) -> set[str]:
        """The tables that it reads rows of, but for those that it writes too."""
        return {view.table for view in self.views.values()} - self.tables_written

    @property
    def tables_written(self) -> set[str]:
        """Its table, and the one that keeps what waits."""
        return {self.table} if self.pending is None else {self.table, self.pending.table}

    @property
    def operator(self) -> str:
        """Module and class below ``paimon_provider.operators``."""
        return VERBS[self.verb].operator

    @property
    def changes_rows(self) -> bool:
        """Whether it makes, changes or takes away rows of its table."""
        return True

    def reading(self, named: Callable[[str], str]) -> Self:
        """The step with other names for the tables that it reads."""
        del named
        return self

    def renamed(self, named: Callable[[str], str]) -> Self:
        """The step with other names for all tables that it reads and writes."""
        return replace(self.reading(named), table=named(self.table))

    @abstractmethod
    def members(self) -> dict[str, Any]:
        """Those of its verb and ``with``, as a file has them."""

    def operator_arguments(self) -> dict[str, Any]:
        """What its operator gets of the verb and of ``with``; lengths of time are texts still."""
        own = {
            "computed_columns": [*self.computed, *self.with_arguments.get("computed_columns", ())]
        }
        return {**self._of_verb(), **self.with_arguments, **(own if self.computed else {})}

    def _of_verb(self) -> dict[str, Any]:
        """What its operator gets of the verb: nothing, where the step itself names its arguments."""
        return {}

    def to_document(self) -> dict[str, Any]:
        """JSON-safe members, for the compiled manifest."""
        common = {f.name: getattr(self, f.name) for f in dataclasses.fields(Step)}
        del common["with_arguments"]
        return {**common, "members": self.members()}

    def _with(self) -> dict[str, Any]:
        return {"with": self.with_arguments} if self.with_arguments else {}


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncStep(Step):
    """Follows a source of change events."""

    verb = "sync"
    source: Mapping[str, Any]
    """Kind and members, as ``sync_table`` takes them."""
    source_connection: str | None = None

    @property
    def dead_letter(self) -> str | None:
        """The table of the events that cannot be applied; None where there is none."""
        name = (self.with_arguments.get("settings") or {}).get("dead_letter")
        return name if isinstance(name, str) and name else None

    def renamed(self, named: Callable[[str], str]) -> Self:
        """The table of dead letters too."""
        with_arguments = self.with_arguments
        if self.dead_letter is not None:
            letters = {**with_arguments["settings"], "dead_letter": named(self.dead_letter)}
            with_arguments = {**with_arguments, "settings": letters}
        return replace(self, table=named(self.table), with_arguments=with_arguments)

    def members(self) -> dict[str, Any]:
        """``sync`` and ``source_connection``."""
        connection = self.source_connection
        more = {} if connection is None else {"source_connection": connection}
        return {"sync": self.source, **more, **self._with()}

    def _of_verb(self) -> dict[str, Any]:
        return {"source": self.source, "source_conn_id": self.source_connection}


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryStep(Step):
    """Writes the rows of a query."""

    verb = "sql"
    sql: str
    views: Views = field(default_factory=dict)
    pending: PendingRows | None = None
    overwrite: str | Mapping[str, str] | None = None

    def reading(self, named: Callable[[str], str]) -> Self:
        """The views keep their names."""
        return replace(self, views=_reading(self.views, named))

    def renamed(self, named: Callable[[str], str]) -> Self:
        """The view of the rows that wait keeps its name, which is that of the table before."""
        pending = self.pending
        if pending is not None:
            pending = replace(pending, table=named(pending.table), view=pending.shown_as)
        return replace(self.reading(named), table=named(self.table), pending=pending)

    def members(self) -> dict[str, Any]:
        """``sql``, ``reads``, ``pending`` and ``overwrite``."""
        return {**self._own("reads"), **self._with()}

    def _own(self, views: str) -> dict[str, Any]:
        said = {
            "sql": self.sql,
            views: _members(self.views),
            "pending": None if self.pending is None else self.pending.members(),
            "overwrite": self.overwrite,
        }
        return {name: value for name, value in said.items() if value not in (None, {})}

    def _of_verb(self) -> dict[str, Any]:
        return self._own("sources")


@dataclass(frozen=True, slots=True, kw_only=True)
class FilesStep(Step):
    """Appends files."""

    verb = "rows_uri"
    rows_uri: str
    rows_position: str | None = None
    rows_format: str | None = None
    rows_options: Mapping[str, Any] | None = None
    overwrite: str | Mapping[str, str] | None = None

    def members(self) -> dict[str, Any]:
        """Those of the files, and ``overwrite``."""
        return {**self._of_verb(), **self._with()}

    def _of_verb(self) -> dict[str, Any]:
        names = ("rows_uri", "rows_position", "rows_format", "rows_options", "overwrite")
        said = {name: getattr(self, name) for name in names}
        return {name: value for name, value in said.items() if value is not None}


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeStep(Step):
    """Merges the rows of a table, of a path or of a query."""

    verb = "merge"
    on: tuple[str, ...]
    when: tuple[Mapping[str, Any], ...]
    """The clauses: ``{action, values, condition}``."""
    source_table: str | None = None
    source_path: str | None = None
    sql: str | None = None
    views: Views = field(default_factory=dict)

    @property
    def tables_read(self) -> set[str]:
        """Those of the views, or the one that is merged."""
        merged = [] if self.source_table is None else [self.source_table]
        return {*merged, *(view.table for view in self.views.values())} - {self.table}

    def reading(self, named: Callable[[str], str]) -> Self:
        """The source's table too."""
        merged = None if self.source_table is None else named(self.source_table)
        return replace(self, source_table=merged, views=_reading(self.views, named))

    def members(self) -> dict[str, Any]:
        """``merge``, with its source, ``on`` and ``when``."""
        return {"merge": self._own("reads"), **self._with()}

    def _own(self, views: str) -> dict[str, Any]:
        said = {
            "table": self.source_table,
            "path": self.source_path,
            "sql": self.sql,
            views: _members(self.views),
        }
        source = {name: value for name, value in said.items() if value not in (None, {})}
        return {"source": source, "on": [*self.on], "when": [*self.when]}

    def _of_verb(self) -> dict[str, Any]:
        return self._own("sources")


@dataclass(frozen=True, slots=True, kw_only=True)
class RunStep(Step):
    """Runs an action, whose arguments stand under ``with``."""

    verb = "run"
    action: str

    @property
    def operator(self) -> str:
        """As the action says."""
        return ACTIONS[self.action].operator

    @property
    def changes_rows(self) -> bool:
        """As the action says."""
        return ACTIONS[self.action].changes_rows

    def members(self) -> dict[str, Any]:
        """``run``."""
        return {"run": self.action, **self._with()}

    def operator_arguments(self) -> dict[str, Any]:
        """What stands under ``with``."""
        return dict(self.with_arguments)


def step_of(members: Mapping[str, Any], **common: Any) -> Step:
    """The step of ``members``, which the grammar has taken; ``common`` are fields that every step has."""
    common["with_arguments"] = members.get("with") or {}
    if "sync" in members:
        connection = members.get("source_connection")
        return SyncStep(source=members["sync"], source_connection=connection, **common)
    if "sql" in members:
        pending = members.get("pending")
        return QueryStep(
            sql=members["sql"],
            views=_views(members.get("reads")),
            pending=None if pending is None else PendingRows(**pending),
            overwrite=members.get("overwrite"),
            **common,
        )
    if "rows_uri" in members:
        return FilesStep(
            rows_uri=members["rows_uri"],
            rows_position=members.get("rows_position"),
            rows_format=members.get("rows_format"),
            rows_options=members.get("rows_options"),
            overwrite=members.get("overwrite"),
            **common,
        )
    if "merge" in members:
        merge = members["merge"]
        source = merge["source"]
        return MergeStep(
            on=tuple(merge["on"]),
            when=tuple(merge["when"]),
            source_table=source.get("table"),
            source_path=source.get("path"),
            sql=source.get("sql"),
            views=_views(source.get("reads") or source.get("sources")),
            **common,
        )
    return RunStep(action=members["run"], **common)


def step_from_document(document: Mapping[str, Any]) -> Step:
    """The step that ``to_document`` has written."""
    common = {name: value for name, value in document.items() if name != "members"}
    lists = {name: tuple(common[name]) for name in _LISTS}
    return step_of(document["members"], **{**common, **lists})
