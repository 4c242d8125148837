"""A user of Airflow's own log-in."""

from __future__ import annotations

from typing import Any


def token(client: Any, user: str) -> dict[str, str]:
    login = {"username": user, "password": f"{user}-1815"}
    answer = client.post("/auth/token", json=login).json()
    return {"Authorization": f"Bearer {answer['access_token']}"}
