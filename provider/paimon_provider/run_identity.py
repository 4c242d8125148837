"""Who commits: the task run, so that every attempt of it is the same writer."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["IDENTIFIERS_PER_VERB", "RunIdentity", "commit_user"]

# Never change these: a retry that spans an upgrade must compute the same names.
_NAMESPACE: Final = uuid.UUID("5f0d3c52-0c0e-5d0b-9a53-6a2f0c1b7e11")
IDENTIFIERS_PER_VERB: Final = 1_000_000
"""A verb may make several commits, numbered from its own identifier on."""


class RunIdentity:
    """The commit user of one task run, and an identifier for each verb that it calls.

    Verbs are counted in the order of the calls, which is the same in every attempt.
    """

    def __init__(self, user: str) -> None:
        self.user = user
        self._verbs = 0

    def next_identifier(self) -> int:
        """The first identifier of the next verb: 0, then a million, then two."""
        identifier = self._verbs * IDENTIFIERS_PER_VERB
        self._verbs += 1
        return identifier


def commit_user(context: Mapping[str, Any] | Any) -> str:
    """Name this task run: the same on a retry, different after somebody clears it.

    A UUID because Paimon puts the commit user into the data file names of postpone-bucket tables.
    """
    ti, run = context["ti"], context["dag_run"]
    map_index = -1 if ti.map_index is None else ti.map_index
    name = f"{ti.dag_id}/{ti.run_id}/{ti.task_id}/{map_index}/{run.clear_number or 0}"
    return str(uuid.uuid5(_NAMESPACE, name))
