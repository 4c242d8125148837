"""What the provider adds to Airflow's web server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from airflow.plugins_manager import AirflowPlugin

from paimon_provider._compat import LISTENERS
from paimon_provider.freshness import TableUpdated

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, MutableMapping

__all__ = ["PaimonPlugin"]


class _PagesOnDemand:
    """The pages, loaded by the first request: plugins are loaded by workers too."""

    async def __call__(
        self,
        scope: MutableMapping[str, Any],
        receive: Callable[[], Awaitable[MutableMapping[str, Any]]],
        send: Callable[[MutableMapping[str, Any]], Awaitable[None]],
    ) -> None:
        from paimon_provider.pages.routes import app

        await app(scope, receive, send)


class PaimonPlugin(AirflowPlugin):
    """Change reports and the page of tables, behind Airflow's own log-in."""

    name = "paimon"
    react_apps = [  # noqa: RUF012 - typed so by Airflow
        {
            "name": "Paimon tables",
            # the browser resolves it below the path that Airflow is served under
            "bundle_url": "paimon/ui/tables.js",
            "destination": "nav",
            "category": "browse",
            "url_route": "paimon-tables",
        }
    ]
    fastapi_apps = [{"name": "paimon", "url_prefix": "/paimon", "app": _PagesOnDemand()}]  # noqa: RUF012 - typed so by Airflow
    listeners = LISTENERS
    deadline_references = [TableUpdated]  # noqa: RUF012 - typed so by Airflow
