"""What the provider adds to Airflow's web server."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final

from airflow.plugins_manager import AirflowPlugin

from paimon_provider._compat import LISTENERS, Feature, conf, has, script_address
from paimon_provider.freshness import TableUpdated

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, MutableMapping

    from fastapi import FastAPI

__all__ = ["PaimonPlugin"]


class _PagesOnDemand:
    """The pages, loaded by the first request: plugins are loaded by workers too.

    They are loaded beside the event loop, for that takes seconds on a busy machine, and all of Airflow's
    pages would wait.
    """

    def __init__(self) -> None:
        self._app: FastAPI | None = None

    async def __call__(
        self,
        scope: MutableMapping[str, Any],
        receive: Callable[[], Awaitable[MutableMapping[str, Any]]],
        send: Callable[[MutableMapping[str, Any]], Awaitable[None]],
    ) -> None:
        if self._app is None:
            self._app = await asyncio.to_thread(_load_pages)
        await self._app(scope, receive, send)


def _load_pages() -> FastAPI:
    from paimon_provider.pages.routes import app

    return app


_SCRIPT: Final = {
    "name": "Paimon tables",
    "bundle_url": script_address("paimon/ui/tables.js"),
}
_TABS: Final = ("dag", "dag_run", "task", "task_instance")
"""Where the tables of that Dag, run or task are a tab."""
_ASSET: Final = {
    **_SCRIPT,
    "name": "Paimon asset",
    "destination": "base",
    "url_route": "paimon-asset",
}
"""Airflow has no place for plugins on the page of an asset: this part is on every page, and seen on that one."""


def _has_asset_links() -> bool:
    wanted = conf.getboolean("paimon", "asset_links", fallback=True)
    return wanted and has(Feature.PARTS_OF_EVERY_PAGE)


class PaimonPlugin(AirflowPlugin):
    """Change reports and the page of tables, behind Airflow's own log-in."""

    name = "paimon"
    react_apps = [  # noqa: RUF012 - typed so by Airflow
        {**_SCRIPT, "destination": "nav", "category": "browse", "url_route": "paimon-tables"},
        *({**_SCRIPT, "destination": tab, "url_route": f"paimon-tables-{tab}"} for tab in _TABS),
        *([_ASSET] if _has_asset_links() else []),
    ]
    fastapi_apps = [{"name": "paimon", "url_prefix": "/paimon", "app": _PagesOnDemand()}]  # noqa: RUF012 - typed so by Airflow
    listeners = LISTENERS
    deadline_references = [TableUpdated]  # noqa: RUF012 - typed so by Airflow
