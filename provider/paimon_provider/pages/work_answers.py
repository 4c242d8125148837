"""What was done to a table and checked of it: results that task runs left, and compactions in its history."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from paimon_provider.pages.answers import iso
from paimon_provider.pages.text import cell_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from paimon_provider.pages.answers import Asker

__all__ = ["collected_columns", "maintenance_answer", "quality_answer"]

_MAINTENANCE: Final = frozenset(
    {
        *("compact", "rescale", "rewrite-manifests", "expire-snapshots", "expire-partitions"),
        *("expire-changelogs", "expire-tags", "remove-orphan-files", "analyze", "rollback"),
        *("create-tag", "delete-tag", "create-branch", "delete-branch", "fast-forward"),
        *("drop-partitions", "mark-partitions-done"),
    }
)
"""Actions that keep a table in shape, as results call them."""
_NUMBERS: Final = ("files_before", "files_after", "bytes_before", "bytes_after", "rows_written")
_DETAILS: Final = ("snapshots_deleted", "snapshots")
_CHECKS_MAX: Final = 200
_TEXT_MAX: Final = 300


def _results(asker: Asker, uri: str) -> Iterator[tuple[int, dict[str, Any] | None, dict[str, Any]]]:
    """When, by whom, and the result document; newest first."""
    rows = asker.db.execute(
        "SELECT at, dag_id, task_id, run_id, map_index, document FROM run WHERE base = ? "
        "ORDER BY at DESC",
        (uri,),
    )
    for at, dag_id, task_id, run_id, map_index, document in rows:
        if dag_id in asker.dags:
            yield at, asker.run(dag_id, task_id, run_id, map_index), json.loads(document)


def maintenance_answer(asker: Asker, uri: str, limit: int) -> dict[str, Any]:
    """``GET /api/table/maintenance``: runs whose Dag may be read."""
    runs = []
    for at, by, result in _results(asker, uri):
        action = result.get("action")
        if not isinstance(action, str) or action not in _MAINTENANCE or result.get("dry_run"):
            continue
        runs.append(
            {
                "at": iso(at),
                "action": action,
                "by": by,
                "seconds": _number(result.get("seconds")),
                **{name: _number(result.get(name)) for name in _NUMBERS},
                "snapshots_deleted": _deleted(result.get("details")),
            }
        )
        if len(runs) == limit:
            break
    return {"runs": runs}


def _deleted(details: object) -> int | float | None:
    if not isinstance(details, dict):
        return None
    for name in _DETAILS:
        deleted = details.get(name)
        if isinstance(deleted, list):
            return len(deleted)
        if _number(deleted) is not None:
            return _number(deleted)
    return None


def quality_answer(asker: Asker, uri: str) -> list[dict[str, Any]]:
    """The newest result of each rule that was checked, where its Dag may be read."""
    by_rule: dict[str, dict[str, Any]] = {}
    for at, by, result in _results(asker, uri):
        details = result.get("details")
        checks = details.get("checks") if isinstance(details, dict) else None
        for check in checks[:_CHECKS_MAX] if isinstance(checks, list) else ():
            if isinstance(check, dict) and len(by_rule) < _CHECKS_MAX:
                name = cell_text(check.get("rule"), _TEXT_MAX)
                by_rule.setdefault(
                    name,
                    {
                        "name": name,
                        "passed": check.get("passed") is True,
                        "rows_failed": _number(check.get("failed_rows")),
                        "at": iso(at),
                        "by": by,
                    },
                )
    return list(by_rule.values())


def collected_columns(asker: Asker, uri: str) -> list[dict[str, Any]]:
    """Which columns the columns of a table were made from, as its last writer that told it said."""
    for _, _, result in _results(asker, uri):
        details = result.get("details")
        columns = details.get("columns_from") if isinstance(details, dict) else None
        if isinstance(columns, dict):
            return [
                {"to": cell_text(name, _TEXT_MAX), "from": _origins(origins)}
                for name, origins in list(columns.items())[:_CHECKS_MAX]
            ]
    return []


def _origins(stored: object) -> list[dict[str, str]]:
    if not isinstance(stored, list):
        return []
    return [
        {"uri": cell_text(one[0], _TEXT_MAX), "column": cell_text(one[1], _TEXT_MAX)}
        for one in stored[:_CHECKS_MAX]
        if isinstance(one, list) and len(one) == 2
    ]


def _number(stored: object) -> int | float | None:
    if isinstance(stored, bool) or not isinstance(stored, int | float):
        return None
    return stored if abs(stored) < 2**63 else None
