"""Who a flow is, and what its views are called."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from table_core.errors import ArgumentError
from table_core.options.nearest import meant
from table_core.position.reader import Reader, ReaderKind, digest_of, require_position_name

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "PREFIX",
    "FlowName",
    "refuse_one_name",
    "require_source",
    "require_state",
    "view_of_pending",
]

PREFIX: Final = "tc.flow."
"""How the properties begin that hold the positions of flows."""
_SOURCE: Final = ("table", "mode", "position")


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowName:
    """Who a flow is."""

    name: str = ""
    """Given; '' if nobody did."""
    task: str = ""
    """Of the task that runs it."""
    definition: str = ""
    """What it does."""

    @classmethod
    def of(cls, args: Mapping[str, Any]) -> FlowName:
        """Read it off the arguments of a flow.

        Raises:
            ArgumentError: a name that no property can have.
        """
        name, task = str(args.get("name") or ""), str(args.get("task") or "")
        if name:
            require_position_name("name", PREFIX + name)
        sources = {v: [s["table"], s.get("mode")] for v, s in (args.get("sources") or {}).items()}
        pending = args.get("pending") or {}
        parts = (args.get("sql"), pending.get("sql"), sources, args.get("parameters"))
        return cls(name=name, task=task, definition=digest_of(*map(repr, parts)))

    @property
    def reader(self) -> Reader:
        """The reader of its changes."""
        if self.name:
            return Reader(ReaderKind.FLOW, self.name, self.definition, explicit=True)
        return Reader(ReaderKind.FLOW, self.task, self.definition)

    def state_reader(self, view: str) -> Reader:
        """The reader of the newest state of ``view``."""
        return Reader(ReaderKind.QUERY, f"{self.name or self.task}/{view}")

    def key(self, view: str) -> str:
        """The property that holds its position in ``view``."""
        return PREFIX + (self.name or self.task or view)


def view_of_pending(pending: Mapping[str, Any]) -> str:
    """The name under which SQL sees the rows that wait."""
    return str(pending.get("view") or str(pending["table"]).rpartition(".")[2])


def refuse_one_name(views: list[str]) -> None:
    """SQL does not tell ``Src`` from ``src``."""
    for n, view in enumerate(views):
        for other in views[:n]:
            if view.casefold() == other.casefold():
                raise ArgumentError(
                    f"two views are called {other!r} and {view!r}, and SQL cannot distinguish "
                    "them: rename one (pending={'table': …, 'view': …} for rows that wait)",
                    argument="sources",
                    value=view,
                )


def require_source(view: str, source: Mapping[str, Any]) -> None:
    """Refuse a source with a member that is none, as a slip of ``mode`` would be: it reads something else.

    Raises:
        ArgumentError: names the member.
    """
    for member in source:
        if member not in _SOURCE:
            raise ArgumentError(
                f"source {view!r}: {member!r} is none of {', '.join(_SOURCE)}{meant(member, _SOURCE)}",
                argument="sources",
                value=member,
            )


def require_state(view: str, source: Mapping[str, Any]) -> None:
    """Refuse a source of a plain query that asks for more than the newest state of a table.

    Raises:
        ArgumentError: it has a position, or is to give changes.
    """
    require_source(view, source)
    if (source.get("mode") or "snapshot") != "snapshot" or source.get("position"):
        raise ArgumentError(
            f"source {view!r}: mode and position are for writes, which keep a position; a merge reads the "
            "newest snapshot of each table",
            argument="sources",
            value=dict(source),
        )
