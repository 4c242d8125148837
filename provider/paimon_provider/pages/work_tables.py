"""The tables behind a Dag, a task or a run of them, and the table behind an asset: the ways from Airflow to the page."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from paimon_provider.pages.answers import CollectedAt, collected_at, iso, line_answer
from paimon_provider.pages.neighbours import tables_of_tasks, tables_that_start
from table_core.errors import NotFoundError

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Mapping

    from sqlalchemy.orm import Session

    from paimon_provider.pages.answers import Asker

__all__ = ["Work", "asset_answer", "asset_id_of", "work_answer"]

_TABLES_MAX: Final = 200
_DONE_MAX: Final = 100
_ROLES: Final = ("writes", "reads", "starts")


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """A Dag, or less of it: a task, a run, a task of a run."""

    dag_id: str
    task_id: str | None = None
    run_id: str | None = None
    map_index: int | None = None

    def where(self) -> tuple[str, list[Any]]:
        """The condition on rows that say who did it, and its values."""
        told = {name: getattr(self, name) for name in ("dag_id", "task_id", "run_id", "map_index")}
        asked = {name: value for name, value in told.items() if value is not None}
        return " AND ".join(f"{name} = ?" for name in asked), list(asked.values())


@dataclass(slots=True)
class _Ties:
    """What a table is to the work."""

    roles: set[str] = field(default_factory=set)
    tasks: set[str] = field(default_factory=set)


def work_answer(session: Session, asker: Asker, work: Work) -> dict[str, Any]:
    """``GET /api/work``: its tables, and what it did to them, newest first.

    Raises:
        NotFoundError: no such Dag, or none that who asks may read.
    """
    if work.dag_id not in asker.dags:
        raise NotFoundError(
            f"no Dag {work.dag_id} that you may read: ask an administrator for the right to read it",
            name=work.dag_id,
        )
    done = [*_done(asker, work)]
    ties = _ties(session, work, done)
    shown = sorted(ties)[:_TABLES_MAX]
    collected = collected_at(asker)
    return {
        "total": len(ties),
        "tables": [
            {
                "uri": uri,
                "line": _line(asker, uri, collected),
                "roles": [role for role in _ROLES if role in ties[uri].roles],
                "tasks": sorted(ties[uri].tasks),
            }
            for uri in shown
        ],
        "done": done,
    }


def _ties(session: Session, work: Work, done: Iterable[Mapping[str, Any]]) -> dict[str, _Ties]:
    """As the Dag declares its assets, and as its tasks have really done."""
    ties: dict[str, _Ties] = {}
    for role, by_task in zip(_ROLES, tables_of_tasks(session, [work.dag_id]), strict=False):
        for (_, task_id), uris in by_task.items():
            for uri in uris if work.task_id in {None, task_id} else ():
                tie = ties.setdefault(uri, _Ties())
                tie.roles.add(role)
                tie.tasks.add(task_id)
    if work.task_id is None:
        for uri in tables_that_start(session, [work.dag_id]).get(work.dag_id, ()):
            ties.setdefault(uri, _Ties()).roles.add("starts")
    for one in done:
        tie = ties.setdefault(one["uri"], _Ties())
        tie.tasks.add(one["by"]["task_id"])
        if one["snapshot_id"] is not None:
            tie.roles.add("writes")
    return ties


def _done(asker: Asker, work: Work) -> Iterable[dict[str, Any]]:
    """Results of our operators; events of other tasks, which leave no result."""
    where, values = work.where()
    rows = asker.db.execute(
        f"SELECT base, at, dag_id, task_id, run_id, map_index, document FROM run WHERE {where} "
        f"UNION ALL SELECT base, at, dag_id, task_id, run_id, map_index, document FROM event e "
        f"WHERE {where} AND NOT EXISTS (SELECT 1 FROM run r WHERE r.base = e.base AND r.dag_id = e.dag_id "
        "AND r.run_id = e.run_id AND r.task_id = e.task_id AND r.map_index = e.map_index) "
        "ORDER BY at DESC LIMIT ?",
        (*values, *values, _DONE_MAX),
    )
    for base, at, dag_id, task_id, run_id, map_index, text in rows:
        by = asker.run(dag_id, task_id, run_id, map_index)
        if by is not None:
            yield {"uri": base, "at": iso(at), "by": by, **_deed(json.loads(text))}


def _deed(document: Mapping[str, Any]) -> dict[str, Any]:
    """What a result or an event says was done; None where it does not say."""
    action = document.get("action")
    snapshot = document.get("snapshot_after", document.get("snapshot_id"))
    before = document.get("snapshot_before")
    rows = document.get("rows_written")
    made = _whole(snapshot) is not None and snapshot != before
    return {
        "action": action[:100] if isinstance(action, str) else None,
        "snapshot_id": snapshot if made and not document.get("dry_run") else None,
        "rows_written": _whole(rows),
    }


def asset_answer(asker: Asker, asset_id: int) -> dict[str, Any]:
    """``GET /api/asset``: the table of an asset, and the snapshots of its last events.

    Raises:
        NotFoundError: no asset of a table.
    """
    row = asker.db.execute("SELECT base, label FROM asset WHERE id = ?", (asset_id,)).fetchone()
    if row is None:
        raise NotFoundError(f"asset {asset_id} is no table's", name=str(asset_id))
    events = asker.db.execute(
        "SELECT at, dag_id, task_id, run_id, map_index, document FROM event WHERE base = ? "
        "ORDER BY id DESC LIMIT 5",
        (row["base"],),
    )
    return {
        "uri": row["base"],
        "label": row["label"],
        "line": _line(asker, row["base"], collected_at(asker)),
        "events": [
            {"at": iso(at), "by": asker.run(*who), "snapshot_id": _snapshot_of(text)}
            for at, *who, text in events
        ],
    }


def asset_id_of(asker: Asker, uri: str) -> int | None:
    """Airflow's number of the table's own asset; None if no Dag names it."""
    row = asker.db.execute("SELECT id FROM asset WHERE base = ? AND label = ''", (uri,)).fetchone()
    return None if row is None else row[0]


def _snapshot_of(text: str) -> int | None:
    return _whole(json.loads(text).get("snapshot_id"))


def _line(asker: Asker, uri: str, collected: CollectedAt) -> dict[str, Any] | None:
    """The line of a table; None of one that the next pass brings."""
    row: sqlite3.Row | None = asker.db.execute(
        "SELECT line, events_24h FROM line WHERE uri = ?", (uri,)
    ).fetchone()
    return None if row is None else line_answer(asker, json.loads(row[0]), row[1], collected)


def _whole(value: object) -> int | None:
    whole = isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**63
    return value if whole else None  # type: ignore[return-value]  # mypy does not follow the name
