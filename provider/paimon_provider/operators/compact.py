"""Rewrite many small files into few large ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from paimon_provider.operators.base import PaimonDatabaseOperator, PaimonTableOperator

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = [
    "PaimonCompactDatabaseOperator",
    "PaimonCompactOperator",
    "PaimonRescaleOperator",
    "PaimonRewriteManifestsOperator",
]


class PaimonCompactOperator(PaimonTableOperator):
    """Compact a table.

    :param strategy: ``full`` rewrites each bucket into one sorted run; ``minor`` does what
        Paimon's automatic compaction would do now. (templated)
    :param partitions: the partitions to compact, e.g. ``[{"dt": "{{ ds }}"}]``; None means all.
        (templated)
    :param where: a condition on partition columns, instead of ``partitions``.  (templated)
    :param order_by: columns to sort the rows of an append table by.  (templated)
    :param dry_run: only report what would be compacted.
    """

    action = "compact"

    def __init__(
        self,
        *,
        strategy: str = "full",
        partitions: Sequence[Mapping[str, str]] | None = None,
        where: str | None = None,
        order_by: Sequence[str] | None = None,
        dry_run: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self._take_arguments(locals())


class PaimonRescaleOperator(PaimonTableOperator):
    """Rewrite partitions with the table's number of buckets, in one commit.

    :param buckets: first change the table to this number of buckets; default: keep its option.
        (templated)
    :param partitions: the partitions to rewrite, e.g. ``[{"dt": "{{ ds }}"}]``; None means all.
        (templated)
    :param dry_run: only report what would be rewritten.
    """

    action = "rescale"

    def __init__(
        self,
        *,
        buckets: int | str | None = None,
        partitions: Sequence[Mapping[str, str]] | None = None,
        dry_run: bool = False,
        engine: str = "local",
        **kwargs: Any,
    ) -> None:
        super().__init__(engine=engine, **kwargs)
        self._take_arguments(locals())


class PaimonRewriteManifestsOperator(PaimonTableOperator):
    """Rewrite the manifests into as few as possible, without touching data files.

    :param dry_run: only report the result.
    """

    action = "rewrite-manifests"

    def __init__(self, *, dry_run: bool = False, engine: str = "local", **kwargs: Any) -> None:
        super().__init__(engine=engine, **kwargs)
        self.dry_run_only = dry_run


class PaimonCompactDatabaseOperator(PaimonDatabaseOperator):
    """Compact the tables of a database whose names match a pattern.

    A table that fails does not stop the others. Its error is raised at the end.

    :param including: regular expression for names of tables.  (templated)
    :param excluding: regular expression for those to leave out. (templated)
    :param strategy: ``minor`` or ``full``, as for ``PaimonCompactOperator``. (templated)
    :param idle_time: e.g. ``"1 h"``: only partitions that have not been written to for that long.
        (templated)
    :param parallelism: how many tables to compact at the same time. (templated)
    :param dry_run: only report what would be compacted.
    """

    action = "compact-database"

    def __init__(
        self,
        *,
        including: str = ".*",
        excluding: str = "",
        strategy: str = "minor",
        idle_time: str | None = None,
        parallelism: int | str = 1,
        dry_run: bool = False,
        engine: str = "local",
        **kwargs: Any,
    ) -> None:
        super().__init__(engine=engine, **kwargs)
        self._take_arguments(locals())
