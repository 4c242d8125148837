"""Name a snapshot, so that expiry keeps it, and forget the name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from paimon_provider.operators.base import PaimonTableOperator

if TYPE_CHECKING:
    from datetime import datetime

__all__ = ["PaimonCreateTagOperator", "PaimonDeleteTagOperator"]


class PaimonCreateTagOperator(PaimonTableOperator):
    """Tag a snapshot, so that it can be read by that name while the tag exists.

    :param tag: the name, e.g. ``"{{ ds }}"``.  (templated)
    :param snapshot: the snapshot; default: the newest. (templated)
    :param timestamp: tag the newest snapshot at or before this point in time instead: ISO 8601 with
        a zone. (templated)
    :param time_retained: how long the tag is kept, e.g. ``"30 d"``; default: for ever. (templated)
    :param if_not_exists: if the tag exists, leave it unchanged instead of failing. A retry finds
        the tag of the first attempt in this way.
    """

    action = "create-tag"

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
        self._take_arguments(locals())


class PaimonDeleteTagOperator(PaimonTableOperator):
    """Delete a tag. The next ``PaimonRemoveOrphanFilesOperator`` deletes files that only it kept.

    :param tag: the name.  (templated)
    :param if_exists: succeed if the tag does not exist.
    :param dry_run: only report whether it exists.
    """

    action = "delete-tag"

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
        self._take_arguments(locals())
