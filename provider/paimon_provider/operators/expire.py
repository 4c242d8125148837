"""Delete what is too old to be needed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from paimon_provider.operators.base import PaimonTableOperator

if TYPE_CHECKING:
    from datetime import datetime

__all__ = [
    "PaimonExpireChangelogsOperator",
    "PaimonExpirePartitionsOperator",
    "PaimonExpireSnapshotsOperator",
    "PaimonExpireTagsOperator",
    "PaimonRemoveOrphanFilesOperator",
]


class PaimonExpireSnapshotsOperator(PaimonTableOperator):
    """Delete old snapshots, and the files that only they refer to.

    Defaults come from the table's options. The newest snapshots, and those that tags and consumers
    need, are always kept.

    :param retain_max: keep at most this many snapshots. (templated)
    :param retain_min: keep at least this many snapshots. (templated)
    :param older_than: delete only snapshots from before this point in time: ISO 8601 with a zone,
        an aware datetime, or epoch milliseconds. (templated)
    :param max_deletes: delete at most this many snapshots in one run. (templated)
    :param dry_run: only report what would be deleted.
    """

    never_nothing = ("retain_min", "max_deletes")
    action = "expire-snapshots"

    def __init__(
        self,
        *,
        retain_max: int | str | None = None,
        retain_min: int | str | None = None,
        older_than: str | int | datetime | None = None,
        max_deletes: int | str | None = None,
        dry_run: bool = False,
        engine: str = "local",
        **kwargs: Any,
    ) -> None:
        super().__init__(engine=engine, **kwargs)
        self._take_arguments(locals())


class PaimonExpireChangelogsOperator(PaimonExpireSnapshotsOperator):
    """Delete changelogs that outlived their snapshots.

    The parameters are those of :class:`PaimonExpireSnapshotsOperator`. Their defaults come from the
    table's options ``changelog.*``.
    """

    action = "expire-changelogs"


class PaimonExpireTagsOperator(PaimonTableOperator):
    """Delete tags whose retention has ended.

    :param older_than: also delete tags with a retention that were created before this point in
        time: ISO 8601 with a zone, an aware datetime, or epoch milliseconds. (templated)
    :param dry_run: only report what would be deleted.
    """

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
        self._take_arguments(locals())


class PaimonExpirePartitionsOperator(PaimonTableOperator):
    """Drop partitions that are too old, by their value or their last update.

    :param expiration_time: how old a partition may be, e.g. ``7 d``; default: the table's option
        ``partition.expiration-time``. (templated)
    :param dry_run: only report what would be dropped.
    """

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
        self._take_arguments(locals())


class PaimonRemoveOrphanFilesOperator(PaimonTableOperator):
    """Delete files in the table's folder that no snapshot, tag, changelog or branch refers to.

    Files that do not belong to the format are reported and kept.

    :param older_than: delete only files from before this point in time; default: a day ago. ISO
        8601 with a zone, an aware datetime, or epoch milliseconds. (templated)
    :param allow_young: allow an ``older_than`` less than a day ago. No process may be writing to
        the table then.
    :param dry_run: only report what would be deleted.
    """

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
        self._take_arguments(locals())
