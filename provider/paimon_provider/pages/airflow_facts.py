"""Copies what Airflow knows of tables into the cache: assets, events, runs of our operators, who commits.

Each pass reads what is newer than the last one.  No warehouse is asked.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qs, urlsplit

import sqlalchemy as sa
from airflow.models.asset import AssetEvent, AssetModel
from airflow.models.taskinstance import TaskInstance
from airflow.models.xcom import XComModel

from paimon_provider._compat import Feature, has
from paimon_provider.arguments.table_identity import SCHEME, TableIdentity
from paimon_provider.links import CHECKS_KEY, TableLink
from paimon_provider.pages.cache import get_meta, set_meta
from paimon_provider.pages.xcom_values import XComValues, plain
from paimon_provider.runs.identity import RUN_KEY, commit_users, kept_user

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Mapping, Sequence

    from sqlalchemy.orm import Session

__all__ = ["bounded_event", "copy_airflow_facts", "millis", "split_uri", "table_of_link"]

_EVENTS_AT_ONCE: Final = 5_000
_EVENTS_KEPT: Final = 200
"""Of each table."""
_RUNS_KEPT: Final = 500
_FIRST_EVENTS: Final = 50_000
"""So many of the newest events are read when the cache is new; of a table whose events are all older, its last."""
_EXTRA_MAX: Final = 16_384
_LATE: Final = 100
"""So many events are looked at again: one that was committed late has a smaller id than others."""
_LATE_MS: Final = 10_000
_HOURS_KEPT: Final = 25
_TOLD_WITHIN_MS: Final = 3_600_000
"""A task tells that it made a table so soon: one that runs for days has not made all tables of these days."""


def copy_airflow_facts(session: Session, db: sqlite3.Connection, now_ms: int) -> set[str]:
    """One pass; the URIs of the tables of which something is new."""
    touched = _assets(session, db)
    touched |= _events(session, db)
    touched |= _runs(session, db)
    _commit_users(session, db)
    hour = now_ms // 3_600_000
    db.execute("DELETE FROM event_hour WHERE hour < ?", (hour - _HOURS_KEPT,))
    set_meta(db, "airflow_ms", now_ms)
    return touched


def millis(at: datetime) -> int:
    """Epoch milliseconds."""
    return int(at.timestamp() * 1000)


def split_uri(uri: str) -> tuple[str, str] | None:
    """The URI of the table that an asset is about, and what tells the asset from the table's own.

    ``paimon://a/b/c?on=changes`` is ``paimon://a/b/c`` and ``on=changes``; None: of no table.
    """
    plain, _, query = uri.partition("?")
    named = TableIdentity.of_uri(plain)
    if named is None:
        return None
    name, _, branch = named.name.partition("$")
    if not name:
        return None
    label = "&".join(part for part in (branch.replace("branch_", "branch ", 1), query) if part)
    return TableIdentity(named.catalog, named.database, name).uri, label


def _assets(session: Session, db: sqlite3.Connection) -> set[str]:
    """Assets that are new; all of them are few columns, and one that is gone is forgotten."""
    assets = {}
    rows = session.execute(
        sa.select(AssetModel.id, AssetModel.uri).where(AssetModel.uri.startswith(f"{SCHEME}://"))
    )
    for id, uri in rows:
        parts = split_uri(uri)
        if parts is not None:
            assets[id] = (uri, *parts)
    known = {row[0]: row[1:] for row in db.execute("SELECT id, uri, base, label FROM asset")}
    touched = set()
    for id in known.keys() - assets.keys():
        db.execute("DELETE FROM asset WHERE id = ?", (id,))
        touched.add(known[id][1])
    for id, (uri, base, label) in assets.items():
        if known.get(id) != (uri, base, label):
            db.execute(
                "INSERT OR REPLACE INTO asset (id, uri, base, label) VALUES (?, ?, ?, ?)",
                (id, uri, base, label),
            )
            touched.add(base)
    return touched


def _events(session: Session, db: sqlite3.Connection) -> set[str]:
    last = get_meta(db, "event_id")
    touched: set[str] = set()
    if last is None:
        newest = session.scalar(sa.select(sa.func.max(AssetEvent.id))) or 0
        last = max(0, newest - _FIRST_EVENTS)
        ids = sa.select(sa.func.max(AssetEvent.id)).group_by(AssetEvent.asset_id)
        older = AssetEvent.id.in_(ids) & (AssetEvent.id <= last)
        touched |= _kept_events(db, session.execute(_event_columns().where(older)).all())
    after = last - _LATE
    while True:
        rows: Sequence[Any] = session.execute(
            _event_columns()
            .where(AssetEvent.id > after)
            .order_by(AssetEvent.id)
            .limit(_EVENTS_AT_ONCE)
        ).all()
        touched |= _kept_events(db, rows)
        after = last = max(last, rows[-1].id) if rows else last
        if len(rows) < _EVENTS_AT_ONCE:
            break
    set_meta(db, "event_id", last)
    for base in touched:
        _bound(db, "event", base, _EVENTS_KEPT)
    return touched


def _event_columns() -> Any:
    return sa.select(
        AssetEvent.id,
        AssetEvent.asset_id,
        AssetEvent.timestamp,
        AssetEvent.source_dag_id,
        AssetEvent.source_task_id,
        AssetEvent.source_run_id,
        AssetEvent.source_map_index,
        AssetEvent.extra,
    )


def _kept_events(db: sqlite3.Connection, rows: Iterable[Any]) -> set[str]:
    touched = set()
    for row in rows:
        asset = db.execute("SELECT base FROM asset WHERE id = ?", (row.asset_id,)).fetchone()
        if asset is None:
            continue
        at, base = millis(row.timestamp), asset[0]
        known = db.execute(
            "INSERT OR IGNORE INTO event VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (
                *(row.id, base, at, row.source_dag_id, row.source_task_id, row.source_run_id),
                -1 if row.source_map_index is None else row.source_map_index,
                json.dumps(bounded_event(row.extra)),
            ),
        )
        if not known.rowcount:
            continue
        db.execute("UPDATE asset SET last_at = ? WHERE id = ?", (at, row.asset_id))
        db.execute(
            "INSERT INTO event_hour VALUES (?, ?, 1) ON CONFLICT DO UPDATE SET n = n + 1",
            (base, at // 3_600_000),
        )
        touched.add(base)
    return touched


def bounded_event(extra: object) -> dict[str, Any]:
    """The event document of an event, whoever made it; one that is too long is left out."""
    payload = extra.get("payload") if isinstance(extra, dict) else None
    document = payload if isinstance(payload, dict) else extra
    if not isinstance(document, dict):
        return {}
    try:
        small = len(json.dumps(document)) <= _EXTRA_MAX
    except (ValueError, TypeError, RecursionError):
        return {}
    return document if small else {}


def _bound(db: sqlite3.Connection, table: str, base: str, most: int) -> None:
    """Keep the ``most`` newest rows of a table of the cache."""
    order = {"event": "id", "run": "at"}[table]
    db.execute(
        f"DELETE FROM {table} WHERE base = ?1 AND {order} < (SELECT {order} FROM {table} "
        f"WHERE base = ?1 ORDER BY {order} DESC LIMIT 1 OFFSET ?2)",
        (base, most - 1),
    )


def _runs(session: Session, db: sqlite3.Connection) -> set[str]:
    """Runs of our operators: each leaves the address of its table's page, and its result or what failed it."""
    since = get_meta(db, "run_ms")
    link, results = TableLink().xcom_key, ("return_value", CHECKS_KEY)
    told, returned = sa.orm.aliased(XComModel), sa.orm.aliased(XComModel)
    same = [
        getattr(told, name) == getattr(returned, name)
        for name in ("dag_run_id", "task_id", "map_index")
    ]
    query = (
        sa.select(
            told.dag_id,
            told.run_id,
            told.task_id,
            told.map_index,
            told.value.label("link"),
            told.timestamp.label("began"),
            returned.key.label("result_key"),
            returned.value.label("result"),
            returned.timestamp.label("ended"),
        )
        .outerjoin(returned, sa.and_(*same, returned.key.in_(results)))
        .where(told.key == link)
    )
    if since is not None:
        after = datetime.fromtimestamp((since - _LATE_MS) / 1000, UTC)
        query = query.where(sa.or_(told.timestamp > after, returned.timestamp > after))
    touched, newest, values = set(), since or 0, XComValues()
    for row in session.execute(query):
        # Airflow stores buttons itself when a task ends, and asks no backend.
        base = table_of_link(plain(row.link)) or table_of_link(values.read(link, row.link))
        newest = max(newest, millis(row.began), millis(row.ended) if row.ended else 0)
        if base is None:
            continue
        document = values.read(row.result_key, row.result)
        told_result = document if isinstance(document, dict) else {}
        who = (row.dag_id, row.task_id, row.run_id, row.map_index)
        db.execute(
            "DELETE FROM run WHERE base = ? AND dag_id = ? AND task_id = ? AND run_id = ? AND map_index = ?",
            (base, *who),
        )
        db.execute(
            "INSERT OR REPLACE INTO run VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (
                *(base, millis(row.ended or row.began), *who),
                str(told_result.get("action") or "")[:100] or None,
                json.dumps(bounded_event(told_result)),
            ),
        )
        if _says_created(told_result):
            _keep_creation(session, db, base, row)
        touched.add(base)
    set_meta(db, "run_ms", newest)
    for base in touched:
        _bound(db, "run", base, _RUNS_KEPT)
    return touched


def _says_created(result: Mapping[str, Any]) -> bool:
    """Whether a task says that it made its table, and did not find it there.

    It stays known when the task is cleared, or its result deleted: the table is still that Dag's.
    """
    details = result.get("details")
    if result.get("dry_run") or not isinstance(details, dict):
        return False
    action = result.get("action")
    # A copy is refused where a table is.
    return action == "clone" or (action == "create-table" and details.get("created") is True)


def _keep_creation(session: Session, db: sqlite3.Connection, base: str, row: Any) -> None:
    """When the task that says so ran, as Airflow says: a table that is older or younger is not what it made."""
    who = (TaskInstance.dag_id, TaskInstance.task_id, TaskInstance.run_id, TaskInstance.map_index)
    times = sa.select(TaskInstance.start_date, TaskInstance.end_date).where(
        *(one == getattr(row, one.key) for one in who)
    )
    began, ended = session.execute(times).one_or_none() or (None, None)
    if began is None:  # cleared, and about to run again: what it left is of another run
        return
    until = min(millis(row.ended), millis(ended) if ended else millis(row.ended))
    since = max(millis(began), until - _TOLD_WITHIN_MS)
    db.execute(
        "INSERT OR REPLACE INTO creation VALUES (?, ?, ?, ?)", (base, row.dag_id, since, until)
    )


def table_of_link(link: object) -> str | None:
    """The URI of the table whose page ``link`` leads to; None if it is no such link."""
    if not isinstance(link, str):
        return None
    try:
        query = parse_qs(urlsplit(link).query)
    except ValueError:  # an address that is none
        return None
    uri = (query.get("table") or query.get("search") or [""])[0]
    parts = split_uri(uri)
    return None if parts is None else parts[0]


def _commit_users(session: Session, db: sqlite3.Connection) -> None:
    """Under which names task runs commit: what the operators keep of each in Airflow."""
    if not has(Feature.STATE_STORES):
        return  # Variables keep them, which are not asked for in bulk
    from airflow.models.task_state_store import TaskStateStoreModel

    since = get_meta(db, "user_ms")
    query = sa.select(
        TaskStateStoreModel.dag_id,
        TaskStateStoreModel.task_id,
        TaskStateStoreModel.run_id,
        TaskStateStoreModel.map_index,
        TaskStateStoreModel.value,
        TaskStateStoreModel.updated_at,
    ).where(TaskStateStoreModel.key == RUN_KEY)
    if since is not None:
        query = query.where(
            TaskStateStoreModel.updated_at > datetime.fromtimestamp((since - _LATE_MS) / 1000, UTC)
        )
    newest = since or 0
    for row in session.execute(query):
        newest = max(newest, millis(row.updated_at))
        user = kept_user(plain(row.value))
        if user is not None:
            who = (row.dag_id, row.task_id, row.run_id, row.map_index)
            for name in commit_users(user):
                db.execute(
                    "INSERT OR REPLACE INTO commit_user VALUES (?, ?, ?, ?, ?)", (name, *who)
                )
    set_meta(db, "user_ms", newest)
