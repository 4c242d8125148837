"""Ask what a table needs, and run only that."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from paimon_provider._compat import XCOM_RETURN_KEY, BranchMixIn
from paimon_provider.operators.base import PaimonTableOperator
from table_core.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from paimon_provider._compat import Context

__all__ = ["PaimonHealthOperator"]

_LEVELS: Final = {"due": ("due", "urgent"), "urgent": ("urgent",)}


class PaimonHealthOperator(PaimonTableOperator, BranchMixIn):
    """Judge a table by its metadata, and run the tasks that it needs.

    This is a branch operator. It skips the downstream tasks that ``follow`` names for an action
    that is not needed. Returns the health document: verdicts with reasons, and the numbers::

        PaimonHealthOperator(
            task_id="health",
            table="shop.orders",
            follow={"compact": "compact", "expire-snapshots": "expire"},
        ) >> [compact, expire]

    :param follow: maps an action to the task or task group (or several) to run when it is needed.
        Actions are ``compact``, ``expire-snapshots``, ``expire-partitions``, ``expire-tags`` and
        any others that the document lists. Without ``follow`` nothing is skipped.
    :param otherwise: the task or task group to run when nothing is needed.
    :param level: ``due`` runs the tasks of actions that are due or urgent, ``urgent`` only those of
        urgent ones.
    :param thresholds: when an action becomes due, e.g. ``{"sorted_runs_due": 10}``. (templated)
    """

    inherits_from_skipmixin = True
    action = "health"
    announces = False

    def __init__(
        self,
        *,
        follow: Mapping[str, str | Sequence[str]] | None = None,
        otherwise: str | None = None,
        level: str = "due",
        thresholds: Mapping[str, float] | None = None,
        engine: str = "local",
        **kwargs: Any,
    ) -> None:
        super().__init__(engine=engine, **kwargs)
        self.follow = follow
        self.otherwise = otherwise
        self.level = level
        self.thresholds = thresholds

    def finished(self, context: Context, result: dict[str, Any]) -> dict[str, Any]:
        """Tell what was found, and skip what is not needed."""
        document = super().finished(context, result)
        for action, verdict in document["actions"].items():
            reasons = "; ".join(verdict["reasons"])
            self.log.info("%s: %s %s", action, verdict["verdict"], reasons)
        if self.follow is not None:
            # Airflow leaves the task by an exception when it skips, and drops the result.
            context["ti"].xcom_push(key=XCOM_RETURN_KEY, value=document)
            self.do_branch(context, self.chosen(document) or None)
        return document

    def chosen(self, document: Mapping[str, Any]) -> list[str]:
        """The tasks to follow, after what ``document`` says.

        Raises:
            ArgumentError: ``follow`` names an action that there is no verdict on.
        """
        task_ids: list[str] = []
        for action, tasks in (self.follow or {}).items():
            if action not in document["actions"]:
                known = ", ".join(document["actions"])
                raise ArgumentError(
                    f"follow: no verdict on {action!r}; there are {known}",
                    argument="follow",
                    value=action,
                )
            if document["actions"][action]["verdict"] in _LEVELS[self.level]:
                task_ids += [tasks] if isinstance(tasks, str) else list(tasks)
        if not task_ids and self.otherwise is not None:
            task_ids = [self.otherwise]
        return list(dict.fromkeys(task_ids))
