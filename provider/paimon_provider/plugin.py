"""What the provider adds to Airflow's web server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from airflow.plugins_manager import AirflowPlugin

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
        from paimon_provider.pages import app

        await app(scope, receive, send)


class PaimonPlugin(AirflowPlugin):
    """Change reports, behind Airflow's own log-in."""

    name = "paimon"
    fastapi_apps = [{"name": "paimon", "url_prefix": "/paimon", "app": _PagesOnDemand()}]  # noqa: RUF012 - typed so by Airflow
