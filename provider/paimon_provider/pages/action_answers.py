"""The actions that the page offers, and the Dag that does them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import sqlalchemy as sa
from airflow.models.dag import DagModel

from paimon_provider._compat import conf
from paimon_provider.arguments.table_actions import ACTIONS

if TYPE_CHECKING:
    from sqlalchemy.orm import Session

    from paimon_provider.pages.answers import Asker

__all__ = ["actions_answer"]


def actions_answer(session: Session, asker: Asker) -> dict[str, Any]:
    """``GET /api/table/actions``; ``dag_id`` is null where there is no such Dag, or it may not be read."""
    dag_id = str(conf.get("paimon", "actions_dag_id", fallback="") or "paimon_table_actions")
    is_there = session.scalar(
        sa.select(DagModel.dag_id).where(DagModel.dag_id == dag_id, DagModel.is_stale.is_(False))
    )
    return {
        "dag_id": dag_id if is_there and dag_id in asker.dags else None,
        "task_id": "act",
        "actions": [
            {
                "action": action.name,
                "title": action.title,
                "parameters": [
                    {
                        "name": one.name,
                        "type": one.type,
                        "required": one.required,
                        "choices": list(one.choices),
                        "does": one.does,
                    }
                    for one in action.parameters
                ],
            }
            for action in ACTIONS.values()
        ],
    }
