"""Who may see rows of a table (docs/adr/0027-rows-belong-to-who-created-the-table.md).

Airflow's configuration says it, or Airflow's record of who created the table.  What says who *wrote* it, a
snapshot, an event, an asset or the name of a commit, can be made by whoever writes: none of them is asked.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, Literal

import sqlalchemy as sa
from airflow.models.dag import DagModel

from paimon_provider._compat import conf
from paimon_provider.arguments.table_identity import TableIdentity
from table_core.errors import AccessDeniedError, ArgumentError

if TYPE_CHECKING:
    from collections.abc import Collection

    from sqlalchemy.orm import Session

    from paimon_provider.pages.answers import Asker

__all__ = ["RowsRight", "named_dags", "require_rows", "rows_right"]

_WHERE_FROM: Final = {
    "configuration": "[paimon] rows_of names who may see rows of this table",
    "creation": "rows of this table are for who may read the Dag that created it",
    "every": "no record says which Dag created this table, so its rows are for who may read every Dag",
    "several": "several Dags say that they created this table, so its rows are for who may read all of them",
}


@dataclass(frozen=True, slots=True)
class RowsRight:
    """Whether rows of a table may be shown, and why."""

    may: bool
    source: Literal["configuration", "creation", "several", "every"]
    dags: tuple[str, ...]
    """The Dags that the right comes from, as far as who asks may read them."""

    @property
    def reason(self) -> str:
        """Where the right comes from, in a sentence."""
        return _WHERE_FROM[self.source]

    def document(self) -> dict[str, Any]:
        """As the page is told."""
        return {"source": self.source, "reason": self.reason, "dags": [*self.dags]}


def rows_right(session: Session, asker: Asker, uri: str) -> RowsRight:
    """Whether who asks may see rows of the table ``uri``, and where the right comes from.

    Whoever may read every Dag may see every table.

    Raises:
        ArgumentError: ``[paimon] rows_of`` cannot be read: then nobody sees rows.
    """
    identity = TableIdentity.of_uri(uri)
    if identity is None or not identity.is_plain(uri):
        # Another spelling, a branch or a system table: its rows are those of a table with a right of its own.
        return _right(session, asker, False, "every", ())
    named = named_dags(uri)
    if named is not None:
        may = any(dag_id in asker.dags for dag_id in named)
        return _right(session, asker, may, "configuration", named)
    creators = _creators(asker, uri)
    if not creators:
        return _right(session, asker, False, "every", ())
    # A record is made by a task, so another Dag can make one too: it takes rights away, and gives none.
    may = all(dag_id in asker.dags for dag_id in creators)
    return _right(session, asker, may, "creation" if len(creators) == 1 else "several", creators)


def require_rows(session: Session, asker: Asker, uri: str) -> None:
    """Refuse who may not see rows.

    Raises:
        AccessDeniedError: says where the right would come from.
        ArgumentError: ``[paimon] rows_of`` cannot be read.
    """
    right = rows_right(session, asker, uri)
    if not right.may:
        raise AccessDeniedError(
            f"{right.reason}. You may not: ask an administrator for that right, or to name a Dag of "
            "yours in [paimon] rows_of",
            path=uri,
            reason="no right to read the Dag",
        )


def named_dags(uri: str) -> tuple[str, ...] | None:
    """The Dags that ``[paimon] rows_of`` names for a table; None if it names none.

    ``{"shop.salaries": "payroll", "shop.*": ["orders", "returns"], "paimon://eu/raw/*": []}``:
    the first that fits counts, and an empty list is for who may read every Dag.

    Raises:
        ArgumentError: the option is no such object.
    """
    identity = TableIdentity.of_uri(uri)
    for pattern, of_uris, dags in _rows_of(str(conf.get("paimon", "rows_of", fallback="") or "")):
        if identity and pattern.fullmatch(identity.uri if of_uris else identity.table):
            return dags
    return None


@lru_cache(maxsize=8)
def _rows_of(text: str) -> tuple[tuple[re.Pattern[str], bool, tuple[str, ...]], ...]:
    """Each rule: its pattern, whether that is one of URIs, and its Dags."""
    try:
        stored = json.loads(text) if text.strip() else {}
    except (ValueError, RecursionError) as error:
        raise _unread(f"it is no JSON: {error}") from error
    if not isinstance(stored, dict):
        raise _unread("it is no object")
    rules = []
    for name, dags in stored.items():
        listed = [dags] if isinstance(dags, str) else dags
        if not isinstance(listed, list) or not all(isinstance(one, str) for one in listed):
            raise _unread(f"{name!r} has no Dag and no list of Dags")
        if "://" not in name and name.count(".") != 1:
            raise _unread(f"{name!r} is neither database.table nor the URI of an asset")
        of_uris = "://" in name
        letters = "[^/]*" if of_uris else "[^/.]*"
        wanted = letters.join(re.escape(part) for part in name.split("*"))
        rules.append((re.compile(wanted, re.IGNORECASE), of_uris, tuple(listed)))
    return tuple(rules)


def _unread(why: str) -> ArgumentError:
    return ArgumentError(
        f"[paimon] rows_of cannot be read, so nobody sees rows: {why}. Write a JSON object such as "
        '{"shop.*": "orders_dag"}',
        argument="rows_of",
    )


def _right(
    session: Session,
    asker: Asker,
    may: bool,
    source: Literal["configuration", "creation", "several", "every"],
    dags: Collection[str],
) -> RowsRight:
    if not may:
        every = session.scalars(sa.select(DagModel.dag_id)).all()
        may = bool(asker.dags) and all(one in asker.dags for one in every)
    return RowsRight(may, source, tuple(one for one in dags if one in asker.dags))


def _creators(asker: Asker, uri: str) -> tuple[str, ...]:
    """The Dags of which Airflow has a record that they created the table."""
    rows = asker.db.execute("SELECT dag_id FROM creation WHERE base = ? ORDER BY dag_id", (uri,))
    return tuple(row[0] for row in rows)
