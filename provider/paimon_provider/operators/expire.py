"""Delete what is too old to be needed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from paimon_provider.operators.base import PaimonTableOperator

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

__all__ = [
    "PaimonExpireChangelogsOperator",
    "PaimonExpirePartitionsOperator",
    "PaimonExpireSnapshotsOperator",
    "PaimonExpireTagsOperator",
    "PaimonRemoveOrphanFilesOperator",
]


class PaimonExpireSnapshotsOperator(PaimonTableOperator):
    """Delete old snapshots and the files that only they name.

    What is not given comes from the table's options.  Tags, consumers and the newest snapshots
    are kept in any case.

    :param retain_max: keep at most so many snapshots.
    :param retain_min: keep at least so many.
    :param older_than: of the rest, delete those from before this point in time: ISO 8601 with a
        zone, an aware datetime, or epoch milliseconds.  (templated)
    :param max_deletes: delete at most so many in this run.
    :param dry_run: only report what would be deleted.
    """

    template_fields: Sequence[str] = (*PaimonTableOperator.template_fields, "older_than")
    action = "expire-snapshots"

    def __init__(
        self,
        *,
        retain_max: int | None = None,
        retain_min: int | None = None,
        older_than: str | int | datetime | None = None,
        max_deletes: int | None = None,
        dry_run: bool = False,
        engine: str = "local",
        **kwargs: Any,
    ) -> None:
        super().__init__(engine=engine, **kwargs)
        self.retain_max = retain_max
        self.retain_min = retain_min
        self.older_than = older_than
        self.max_deletes = max_deletes
        self.dry_run_only = dry_run


class PaimonExpireChangelogsOperator(PaimonExpireSnapshotsOperator):
    """Delete changelogs that were kept when their snapshots expired.

    Parameters are those of :class:`PaimonExpireSnapshotsOperator`; what is not given comes from
    the table's options ``changelog.*``.
    """

    action = "expire-changelogs"


class PaimonExpireTagsOperator(PaimonTableOperator):
    """Delete tags whose retention is over.

    :param older_than: also those with a retention that were made before this point in time: ISO
        8601 with a zone, an aware datetime, or epoch milliseconds.  (templated)
    :param dry_run: only report what would be deleted.
    """

    template_fields: Sequence[str] = (*PaimonTableOperator.template_fields, "older_than")
    action = "expire-tags"

    def __init__(
        self,
        *,
        older_than: str | int | datetime | None = None,
        dry_run: bool = False,
        engine: str = "local",
        **kwargs: Any,
    ) -> None:
        super().__init__(engine=engine, **kwargs)
        self.older_than = older_than
        self.dry_run_only = dry_run


class PaimonExpirePartitionsOperator(PaimonTableOperator):
    """Drop partitions whose time, read from their value or last update, is too long ago.

    :param expiration_time: how old a partition may be, e.g. ``7 d``; default is the table's
        option ``partition.expiration-time``.  (templated)
    :param dry_run: only report what would be dropped.
    """

    template_fields: Sequence[str] = (*PaimonTableOperator.template_fields, "expiration_time")
    action = "expire-partitions"

    def __init__(
        self,
        *,
        expiration_time: str | None = None,
        dry_run: bool = False,
        engine: str = "local",
        **kwargs: Any,
    ) -> None:
        super().__init__(engine=engine, **kwargs)
        self.expiration_time = expiration_time
        self.dry_run_only = dry_run


class PaimonRemoveOrphanFilesOperator(PaimonTableOperator):
    """Delete files in the table's folder that no snapshot, tag, changelog or branch names.

    Files that the format does not make are reported and stay.

    :param older_than: only files from before this point in time; default: a day ago.  ISO 8601
        with a zone, an aware datetime, or epoch milliseconds.  (templated)
    :param allow_young: permit an ``older_than`` less than a day ago: nobody may be writing then.
    :param dry_run: only report what would be deleted.
    """

    template_fields: Sequence[str] = (*PaimonTableOperator.template_fields, "older_than")
    action = "remove-orphan-files"

    def __init__(
        self,
        *,
        older_than: str | int | datetime | None = None,
        allow_young: bool = False,
        dry_run: bool = False,
        engine: str = "local",
        **kwargs: Any,
    ) -> None:
        super().__init__(engine=engine, **kwargs)
        self.older_than = older_than
        self.allow_young = allow_young
        self.dry_run_only = dry_run
