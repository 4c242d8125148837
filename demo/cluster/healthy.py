"""End with 0 if a server answers: ``python -m demo.cluster.healthy URL [PART]``.

With PART the answer is that of Airflow's health page, and that part of it must say ``healthy``.
Without Airflow's own imports, so that asking every few seconds costs little.
"""

from __future__ import annotations

import json
import sys
import urllib.request
from typing import Any

__all__ = ["healthy", "page_at"]

PARTS = {
    "api-server": "metadatabase",
    "scheduler": "scheduler",
    "dag-processor": "dag_processor",
    "triggerer": "triggerer",
}
"""Component to its name on Airflow's health page; the page itself is the API server's."""
LOCAL = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def page_at(url: str) -> dict[str, Any]:
    """The JSON that a server answers."""
    with LOCAL.open(url, timeout=20) as answer:
        return dict(json.load(answer))


def healthy(url: str, component: str | None = None) -> bool:
    """Whether ``url`` answers, and the component is well."""
    try:
        page = page_at(url)
    except (OSError, ValueError):
        return False
    return component is None or page[PARTS[component]]["status"] == "healthy"


if __name__ == "__main__":
    sys.exit(0 if healthy(*sys.argv[1:]) else 1)
