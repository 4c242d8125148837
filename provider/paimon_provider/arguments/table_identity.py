"""Which table an asset stands for, and how its URI is spelled."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote, unquote, urlsplit

from paimon_provider._compat import Asset, ResolveMixin
from table_core.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["SCHEME", "TableIdentity", "is_template", "quoted", "require_named_so", "spelled"]

SCHEME: Final = "paimon"
_TEMPLATE_MARKS: Final = ("{{", "{%")


@dataclass(frozen=True, slots=True)
class TableIdentity:
    """Which table an asset stands for.  Lower case, never a template."""

    catalog: str
    database: str
    name: str

    @classmethod
    def of(cls, table: str, *, catalog: str) -> TableIdentity:
        """The identity of ``database.table`` in ``catalog``.

        Raises:
            ArgumentError: a part is missing, or is a template: what a Dag announces must be known
                when it is parsed.
        """
        if is_template(table) or is_template(catalog):
            raise ArgumentError(
                f"an asset needs a fixed name, not the template {table!r} in {catalog!r}: "
                "give the operator outlets=[] or name the table",
                argument="table",
                value=table,
            )
        database, dot, name = table.lower().partition(".")
        if not (catalog and database and dot and name) or "/" in table:
            raise ArgumentError(
                f"expected database.table, got {table!r} (catalog {catalog!r})",
                argument="table",
                value=table,
            )
        return cls(catalog.lower(), database, name)

    @classmethod
    def of_uri(cls, uri: str) -> TableIdentity | None:
        """The identity that ``uri`` stands for; None if it is no plain URI of a table."""
        try:
            parts = urlsplit(uri)
        except ValueError:  # e.g. a bracket that is not closed
            return None
        path = [unquote(part) for part in parts.path.removeprefix("/").split("/")]
        if parts.scheme != SCHEME or parts.query or len(path) != 2 or not all(path):
            return None
        return cls(unquote(parts.netloc).lower(), path[0].lower(), path[1].lower())

    @property
    def table(self) -> str:
        """``database.table``."""
        return f"{self.database}.{self.name}"

    @property
    def uri(self) -> str:
        """The asset's URI, which is its name too."""
        parts = map(quoted, (self.catalog, self.database, self.name))
        return f"{SCHEME}://{'/'.join(parts)}"

    def is_plain(self, uri: str) -> bool:
        """Whether ``uri`` is the one spelling of a table itself, and no branch or system table of one."""
        return uri == self.uri and "$" not in self.name and "$" not in self.database

    def to_asset(self, name: str | None = None, **more: Any) -> Asset:
        """The asset; ``more`` are further arguments of ``Asset``, e.g. ``watchers``."""
        return Asset(name=name or self.uri, uri=self.uri, **more)


def require_named_so(
    uris: Sequence[str], table: str, *, catalog: str, who: str = "the task"
) -> None:
    """Refuse to announce ``table`` of the connection's ``catalog`` under the name of another catalog.

    Raises:
        ArgumentError: one of ``uris`` is this table in another catalog.
    """
    own = TableIdentity.of(table, catalog=catalog)
    for uri in uris:
        named = TableIdentity.of_uri(uri.partition("?")[0])
        if named is not None and named.table == own.table and named.catalog != own.catalog:
            raise ArgumentError(
                f"{who} announces {named.uri} but would touch {own.uri}: give catalog={catalog!r}, "
                "the connection's catalog_name, where the asset is named; or outlets=[]",
                argument="catalog",
                value=named.catalog,
            )


def is_template(text: object) -> bool:
    """Whether ``text`` is known only when the task runs: a template, another task's result, a mapped value."""
    if isinstance(text, ResolveMixin):
        return True
    return isinstance(text, str) and any(mark in text for mark in _TEMPLATE_MARKS)


def spelled(text: str) -> str:
    """``text``, maybe a part of a name, as the URIs of tables have it."""
    return quote(text.lower(), safe="-_.~$:/?=&")


def quoted(part: str) -> str:
    """The one spelling of a name in a URI: percent codes in capitals."""
    return quote(part, safe="-_.~$")
