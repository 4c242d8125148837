"""Values of XComs, as tasks read them: a backend of the user's own keeps only a reference in Airflow's database."""

from __future__ import annotations

import json
import logging
from dataclasses import dataclass
from typing import Final
from urllib.parse import unquote

from paimon_provider._compat import BaseXCom

__all__ = ["XComValues", "plain"]

_log: Final = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Stored:
    """What a backend is asked for: it reads the members."""

    key: str
    value: object


class XComValues:
    """Reads values; one that cannot be read is none, and the log says why, once for each reason."""

    def __init__(self) -> None:
        from airflow.sdk.execution_time import xcom

        self._backend: type[BaseXCom] = xcom.XCom
        self._reasons: set[str] = set()

    def read(self, key: str, stored: object) -> object:
        """The value that a task has pushed under ``key``, of what Airflow's database holds for it."""
        if stored is None or self._backend is BaseXCom:
            return plain(stored)
        try:
            return plain(self._backend.deserialize_value(_Stored(key, stored)))
        except Exception as error:  # noqa: BLE001 - the backend is the user's: others can be read
            reason = f"{type(error).__name__}: {error}"
            if reason not in self._reasons:
                self._reasons.add(reason)
                _log.warning(
                    "The tables page cannot read a task's result: the XCom backend %s says %s. Give the API server "
                    "what workers have to reach it",
                    self._backend.__name__,
                    reason,
                )
            return None


def plain(value: object) -> object:
    """JSON inside JSON as what it says; any other text as it is."""
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return unquote(value)
