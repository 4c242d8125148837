"""How a command is added: under which heading of ``--help``, with which example.

Each command that there is has an entry in ``COMMANDS``; from it come the groups of the help, the line
with an example below each command's own help, and the reference page.
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from table_core.jobs.action import Heading

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    import typer

__all__ = ["PROGRAM", "Entry", "add_all"]

PROGRAM: Final = "table-core"


@dataclass(frozen=True, slots=True)
class Entry:
    """One command before it is added."""

    path: tuple[str, ...]
    """A group and a name, or a name."""
    heading: Heading
    command: Callable[..., Any]
    example: str
    """What may stand behind the command, about the tables of the reference page."""
    about: str = ""
    """Other than the first lines of its docstring."""

    @property
    def line(self) -> str:
        """The example as it is typed."""
        return " ".join((PROGRAM, *self.path, self.example)).strip()


def add_all(
    app: typer.Typer, groups: Mapping[str, tuple[Heading, typer.Typer]], entries: Iterable[Entry]
) -> list[Entry]:
    """Give ``app`` and its ``groups`` the commands; all of them, in the order in which the help shows them."""
    order = list(Heading)
    in_order = sorted(entries, key=lambda entry: order.index(_heading(entry, groups)))
    for entry in in_order:
        *group, name = entry.path
        home = groups[group[0]][1] if group else app
        if group and not home.registered_commands:
            app.add_typer(home, name=group[0], rich_help_panel=groups[group[0]][0].value)
        home.command(
            name,
            help=_reflowed(entry.about or entry.command.__doc__ or ""),
            epilog=f"Example: {_harmless(entry.line)}",
            rich_help_panel=None if group else entry.heading.value,
        )(entry.command)
    return in_order


def _heading(entry: Entry, groups: Mapping[str, tuple[Heading, typer.Typer]]) -> Heading:
    return groups[entry.path[0]][0] if len(entry.path) > 1 else entry.heading


def _reflowed(text: str) -> str:
    """Paragraphs without the line breaks of the source: the terminal breaks lines."""
    return "\n\n".join(" ".join(part.split()) for part in inspect.cleandoc(text).split("\n\n"))


def _harmless(text: str) -> str:
    """Brackets are markup in a help text."""
    return text.replace("[", r"\[")
