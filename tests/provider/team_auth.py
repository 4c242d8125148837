"""An auth manager with rights for each Dag: two teams, and people who have a role and no Dag."""

from __future__ import annotations

from typing import Any

from airflow.api_fastapi.auth.managers.simple.simple_auth_manager import SimpleAuthManager

from tests.provider.team_roles import DAGS_OF

__all__ = ["TeamAuthManager"]


class TeamAuthManager(SimpleAuthManager):
    """Airflow's simple one, where a Dag is for those whom ``DAGS_OF`` names."""

    def is_authorized_dag(self, *, user: Any, details: Any = None, **more: Any) -> bool:
        """The role's right, and the Dag's."""
        known = DAGS_OF.get(user.username)
        if known is not None and (details is None or details.id not in known):
            return False
        return super().is_authorized_dag(user=user, details=details, **more)

    def is_authorized_connection(self, *, user: Any, method: Any, **more: Any) -> bool:
        """``editor`` edits connections."""
        return user.username in {"editor", "ada"}
