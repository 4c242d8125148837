"""Who may see rows of a table: who may read the Dag that wrote it last, as with reports."""

from __future__ import annotations

from typing import TYPE_CHECKING

import sqlalchemy as sa
from airflow.models.dag import DagModel

from table_core.errors import AccessDeniedError

if TYPE_CHECKING:
    from sqlalchemy.orm import Session

    from paimon_provider.pages.answers import Asker

__all__ = ["may_read_rows", "require_rows"]


def may_read_rows(session: Session, asker: Asker, uri: str) -> bool:
    """Whether rows of the table may be shown: of a table that no known Dag wrote, to who may read every Dag."""
    dag_id = _last_writer(asker, uri)
    if dag_id is not None:
        return dag_id in asker.dags
    every = session.scalars(sa.select(DagModel.dag_id))
    return all(one in asker.dags for one in every)


def require_rows(session: Session, asker: Asker, uri: str) -> None:
    """Refuse who may not see rows.

    Raises:
        AccessDeniedError: the right to read the Dag that wrote the table last is missing.
    """
    if not may_read_rows(session, asker, uri):
        raise AccessDeniedError(
            "the rows of this table are for who may read the Dag that wrote it last",
            path=uri,
            reason="no right to read the Dag",
        )


def _last_writer(asker: Asker, uri: str) -> str | None:
    """The Dag whose task committed the newest snapshot, or else the newest event or run."""
    db = asker.db
    for query in (
        "SELECT c.dag_id FROM line l JOIN commit_user c ON c.user = substr(l.line ->> '$.user', 1, 36) "
        "WHERE l.uri = ?",
        "SELECT dag_id FROM event WHERE base = ? AND dag_id IS NOT NULL ORDER BY id DESC LIMIT 1",
    ):
        row = db.execute(query, (uri,)).fetchone()
        if row is not None:
            return str(row[0])
    return None
