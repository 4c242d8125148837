"""Name a snapshot, so that expiry keeps it, and forget the name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from paimon_provider.arguments.checks import with_checks
from paimon_provider.arguments.values import name_of_file
from paimon_provider.operators.base import PaimonTableOperator

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

__all__ = ["PaimonCreateTagOperator", "PaimonDeleteTagOperator"]


class PaimonCreateTagOperator(PaimonTableOperator):
    """Tag a snapshot: it can be read by that name for as long as the tag lives.

    :param tag: the name, e.g. ``"{{ ds }}"``.  (templated)
    :param snapshot: the snapshot; default is the newest one.  (templated)
    :param timestamp: instead: the newest snapshot at or before this point in time, ISO 8601 with
        a zone.  (templated)
    :param time_retained: how long the tag lives, e.g. ``"30 d"``; default: for ever.  (templated)
    :param if_not_exists: leave a tag of that name as it is, instead of failing.  What a retry of
        this task made is found that way.
    """

    template_fields: Sequence[str] = (
        *PaimonTableOperator.template_fields,
        *("tag", "snapshot", "timestamp", "time_retained"),
    )
    action = "create-tag"
    checks = with_checks(tag=name_of_file)

    def __init__(
        self,
        *,
        tag: str,
        snapshot: int | str | None = None,
        timestamp: str | int | datetime | None = None,
        time_retained: str | None = None,
        if_not_exists: bool = True,
        engine: str = "local",
        **kwargs: Any,
    ) -> None:
        super().__init__(engine=engine, **kwargs)
        self.tag = tag
        self.snapshot = snapshot
        self.timestamp = timestamp
        self.time_retained = time_retained
        self.if_not_exists = if_not_exists


class PaimonDeleteTagOperator(PaimonTableOperator):
    """Forget a tag.  Files that only it kept go with the next ``PaimonRemoveOrphanFilesOperator``.

    :param tag: the name.  (templated)
    :param if_exists: succeed where there is no such tag.
    :param dry_run: only report whether it is there.
    """

    template_fields: Sequence[str] = (*PaimonTableOperator.template_fields, "tag")
    action = "delete-tag"
    checks = with_checks(tag=name_of_file)

    def __init__(
        self,
        *,
        tag: str,
        if_exists: bool = True,
        dry_run: bool = False,
        engine: str = "local",
        **kwargs: Any,
    ) -> None:
        super().__init__(engine=engine, **kwargs)
        self.tag = tag
        self.if_exists = if_exists
        self.dry_run_only = dry_run
