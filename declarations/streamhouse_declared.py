"""The streamhouse from the declaration beside this file; an alternative to ``dags/streamhouse*.py``.

Airflow parses only files that have the words "airflow" and "dag" in them, as this one has.
"""

from __future__ import annotations

from paimon_provider.declaration import load_dags

load_dags("streamhouse.yaml")
