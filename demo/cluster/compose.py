"""Write ``docker-compose.yaml`` from the definition: ``python -m demo.cluster.compose``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from demo.cluster.definition import (
    CONTAINERS,
    IMAGE_FOLDERS,
    PROJECT_IMAGE,
    Service,
    services,
)

__all__ = ["FILE", "document", "text"]

FILE = Path(__file__).resolve().parents[2] / "docker-compose.yaml"
HEADER = """\
# The streamhouse on a cluster: Airflow on PostgreSQL, Spark standalone with two workers, MariaDB, Kafka, an S3 store.
# Written by demo/cluster/compose.py from demo/cluster/definition.py. Change that, then: make compose
#
#   docker compose up --build --detach          then http://localhost:8080, login admin / admin
#   docker compose run --rm smoke               run the streamhouse once, and compare its totals
#   docker compose down --volumes               everything away
"""
CONDITIONS = {"healthy": "service_healthy", "done": "service_completed_successfully"}
HEALTH = {"interval": "5s", "timeout": "20s", "retries": 40, "start_period": "10s"}


def document() -> dict[str, Any]:
    """The Compose file as data."""
    stated = services(CONTAINERS)
    return {
        "name": "streamhouse",
        "services": {service.name: _service(service) for service in stated},
        "volumes": {_volume(s): {} for s in stated if s.folder},
    }


def text() -> str:
    """The Compose file."""
    return HEADER + yaml.safe_dump(document(), sort_keys=False, width=1_000)


def _service(service: Service) -> dict[str, Any]:
    own = service.image == PROJECT_IMAGE
    members: dict[str, Any] = {
        "image": service.image,
        "build": "." if own else None,
        "profiles": [service.profile] if service.profile else None,
        "hostname": service.name,
        "command": list(service.command),
        "environment": dict(service.environment),
        "expose": [str(port) for port in service.ports],
        "ports": [f"127.0.0.1:{port}:{port}" for port in service.published],
        "volumes": _mounts(service),
        "depends_on": {
            name: {"condition": CONDITIONS[state]} for name, state in service.needs.items()
        },
        "healthcheck": {"test": ["CMD", *service.health], **HEALTH} if service.health else None,
        "restart": "unless-stopped" if service.health else "no",
    }
    return {name: value for name, value in members.items() if value}


def _mounts(service: Service) -> list[str]:
    files = [f"./{path}:{CONTAINERS.project}/{path}:ro" for path in service.mounts]
    return [*files, *([f"{_volume(service)}:{service.folder}"] if service.folder else [])]


def _volume(service: Service) -> str:
    """The name of a service's folder."""
    return next(name for name, path in IMAGE_FOLDERS.items() if path == service.folder)


if __name__ == "__main__":
    FILE.write_text(text())
