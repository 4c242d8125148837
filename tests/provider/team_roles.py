"""People of the tests of rights: their roles, and the Dags that they may read; ``ada`` may read all."""

from __future__ import annotations

__all__ = ["DAGS_OF", "ROLES"]

ROLES = {
    "ada": "admin",
    "viewer": "viewer",
    "user": "user",
    "op": "op",
    "editor": "op",
    "ann": "user",
    "ben": "user",
    "both": "user",
}
"""``ann`` and ``ben`` are authors of two teams; ``user`` and ``op`` may start what the page offers."""
DAGS_OF = {
    "viewer": {"notes"},
    "user": {"paimon_table_actions"},
    "op": {"paimon_table_actions", "notes"},
    "editor": set[str](),
    "ann": {"payroll"},
    "ben": {"of_ben"},
    "both": {"payroll", "of_ben"},
}
