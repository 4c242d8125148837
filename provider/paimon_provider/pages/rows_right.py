"""Who may see rows of a table (docs/adr/0027-rows-belong-to-who-created-the-table.md).

Airflow's configuration says it, or Airflow's record of who created the table.  What says who *wrote* it, a
snapshot, an event, an asset or the name of a commit, can be made by whoever writes: none of them is asked.

A record is what a task has said, and any task may say that it created a table.  So it counts only for a table
that came into being while that task ran: Airflow says when it ran, and the table when it was made.
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

__all__ = ["RowsRight", "named_dags", "rows_right"]

_WHERE_FROM: Final = {
    "configuration": "[paimon] rows_of names who may see rows of this table",
    "creation": "rows of this table are for who may read the Dag that created it",
    "every": "no record says which Dag created this table when it was made, so its rows are for who may read every Dag",
    "several": "several Dags say that they created this table, so its rows are for who may read all of them",
}
_CLOCKS_MS: Final = 10_000
"""So far may the clocks of who makes a table and of Airflow be apart."""
_MOMENT_MAX_MS: Final = 2**52


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

    @property
    def rests_on_creation(self) -> bool:
        """Whether it is another one by when the table was made, for who asks."""
        return self.source in {"creation", "several"} and bool(self.dags)

    def require(self, uri: str) -> None:
        """Refuse who may not see rows of the table ``uri``.

        Raises:
            AccessDeniedError: says where the right would come from.
        """
        if not self.may:
            raise AccessDeniedError(
                f"{self.reason}. You may not: ask an administrator for that right, or to name a Dag of "
                "yours in [paimon] rows_of",
                path=uri,
                reason="no right to read the Dag",
            )

    def document(self) -> dict[str, Any]:
        """As the page is told."""
        return {"source": self.source, "reason": self.reason, "dags": [*self.dags]}


def rows_right(session: Session, asker: Asker, uri: str, made_ms: int | None) -> RowsRight:
    """Whether who asks may see rows of the table ``uri``, and where the right comes from.

    Whoever may read every Dag may see every table.

    Args:
        session: Airflow's database.
        asker: who asks.
        uri: the table's asset.
        made_ms: when the table that is there now was made; None where that is not known: to foretell the
            answer, and never to show rows by it.

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
    creators = _creators(asker, uri, made_ms)
    if not creators:
        return _right(session, asker, False, "every", ())
    # Tasks of two Dags ran at that time and say the same: a second one takes rights away, and gives none.
    may = all(dag_id in asker.dags for dag_id in creators)
    return _right(session, asker, may, "creation" if len(creators) == 1 else "several", creators)


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


def _creators(asker: Asker, uri: str, made_ms: int | None) -> tuple[str, ...]:
    """The Dags of which Airflow has a record that they created the table, in a task that ran when it was made."""
    query = "SELECT DISTINCT dag_id FROM creation WHERE base = ?"
    values: list[Any] = [uri]
    if made_ms is not None:
        if not 0 <= made_ms <= _MOMENT_MAX_MS:  # no task ran then
            return ()
        query += " AND since <= ? AND until >= ?"
        values += [made_ms + _CLOCKS_MS, made_ms - _CLOCKS_MS]
    rows = asker.db.execute(f"{query} ORDER BY dag_id", values)
    return tuple(row[0] for row in rows)
