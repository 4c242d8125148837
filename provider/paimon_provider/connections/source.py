"""Where a source of change events is and who may read it, from an Airflow connection."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from paimon_provider._compat import BaseHook, mask_secret

if TYPE_CHECKING:
    from collections.abc import Mapping

    from paimon_provider._compat import Connection

__all__ = ["source_with", "with_connection"]

_MEMBERS: Final[Mapping[str, Mapping[str, str]]] = {
    "mysql": {"host": "host", "port": "port", "user": "login", "password": "password"},
    "postgres": {
        "host": "host",
        "port": "port",
        "user": "login",
        "password": "password",
        "database": "schema",
    },
}
"""Members of a source's description, and the part of a connection that each comes from."""


def source_with(source: Mapping[str, Any], source_conn_id: str | None) -> dict[str, Any]:
    """``source`` completed by the connection ``source_conn_id``; what ``source`` says itself wins.

    The password is there only now, when the job is made: no template has it.
    """
    if source_conn_id is None:
        return dict(source)
    connection = BaseHook.get_connection(source_conn_id)
    if connection.password:
        mask_secret(connection.password)
    return with_connection(source, connection)


def with_connection(source: Mapping[str, Any], connection: Connection) -> dict[str, Any]:
    """``source`` completed by ``connection``, as its kind wants it."""
    kind = str(source.get("kind") or "")
    if kind == "kafka":
        servers = ",".join(_with_port(host, connection.port) for host in _hosts(connection))
        options = {**connection.extra_dejson, **_credentials(connection)}
        completed = {"servers": servers, "options": {**options, **(source.get("options") or {})}}
        return {**completed, **{k: v for k, v in source.items() if k != "options"}}
    parts = {
        name: getattr(connection, part)
        for name, part in _MEMBERS.get(kind, {}).items()
        if getattr(connection, part) not in {None, ""}
    }
    return {**parts, **source}


def _hosts(connection: Connection) -> list[str]:
    return [host.strip() for host in (connection.host or "").split(",") if host.strip()]


def _with_port(host: str, port: int | None) -> str:
    return host if ":" in host or port is None else f"{host}:{port}"


def _credentials(connection: Connection) -> dict[str, str]:
    if not connection.login:
        return {}
    return {"sasl.username": connection.login, "sasl.password": connection.password or ""}
