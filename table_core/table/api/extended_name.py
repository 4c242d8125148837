"""``table$branch_<name>$<system table>``: what the parts of a name behind ``$`` ask for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from table_core.errors import ArgumentError
from table_core.options.argument_kinds import require_name

if TYPE_CHECKING:
    from table_core.table.api.table import Table

__all__ = ["ExtendedName"]

_BRANCH: Final = "branch_"


@dataclass(frozen=True, slots=True)
class ExtendedName:
    """A name or the path of a table, told apart from what follows its ``$``."""

    plain: str
    branch: str | None
    system: str
    """Empty for the table itself."""

    @classmethod
    def of(cls, name: str) -> ExtendedName:
        """The parts of ``name``; only its last folder is looked at where it is a path.

        Raises:
            ArgumentError: nothing follows a ``$``, or ``branch_``.  Where a template had no value, main
                would be meant instead of a branch.
        """
        require_name("name", name, "database.table")
        folders, slash, last = name.rpartition("/")
        plain, _, rest = last.partition("$")
        if last.endswith("$") or rest == _BRANCH or rest.startswith(f"{_BRANCH}$"):
            raise ArgumentError(
                f"{name!r} names no branch or system table behind '$': write 'table$branch_name', "
                "'table$files', or the table alone",
                argument="name",
                value=name,
            )
        branch = None
        if rest.startswith(_BRANCH):
            branch, _, rest = rest.removeprefix(_BRANCH).partition("$")
        return cls(f"{folders}{slash}{plain}", branch or None, rest)

    def branch_with(self, branch: str | None) -> str | None:
        """The branch that is meant, where ``branch`` is said beside the name.

        Raises:
            ArgumentError: the name says another one.
        """
        if branch and self.branch and branch != self.branch:
            raise ArgumentError(
                f"the name says branch {self.branch!r}, and beside it branch {branch!r} is asked for: say one",
                argument="branch",
                value=branch,
            )
        return branch or self.branch

    def shown(self, table: Table) -> Table:
        """``table`` itself, or the system table of it that the name asks for.

        Raises:
            NotFoundError: there is no such system table.
        """
        if not self.system:
            return table
        from table_core.table.api.system_table import SystemTable

        return SystemTable.of(table.access, self.system)
