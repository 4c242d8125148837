"""Where a REST catalog keeps what.

Source: ``org.apache.paimon.rest.ResourcePaths`` of 2.0.0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final
from urllib.parse import quote_plus

__all__ = ["CONFIG", "Resources"]

_V1: Final = "/v1"
CONFIG: Final = f"{_V1}/config"
"""What a client is to know before anything else; it has no prefix yet."""


@dataclass(frozen=True, slots=True)
class Resources:
    """Paths of one warehouse on its server."""

    prefix: str | None
    """What the server calls the warehouse in paths."""

    def databases(self) -> str:
        """All databases."""
        return self._joined("databases")

    def database(self, name: str) -> str:
        """One database."""
        return self._joined("databases", name)

    def tables(self, database: str) -> str:
        """The tables of a database."""
        return self._joined("databases", database, "tables")

    def table(self, database: str, table: str, *below: str) -> str:
        """One table, whose name may say a branch: ``orders$branch_dev``; or what is ``below`` it.

        >>> Resources("wh").table("shop", "orders$branch_dev", "commit")
        '/v1/wh/databases/shop/tables/orders%24branch_dev/commit'
        """
        return self._joined("databases", database, "tables", table, *below)

    def rename(self) -> str:
        """Where a table gets another name."""
        return self._joined("tables", "rename")

    def _joined(self, *parts: str) -> str:
        named = parts if self.prefix is None else (self.prefix, *parts)
        return "/".join((_V1, *(quote_plus(part, safe="*") for part in named)))
