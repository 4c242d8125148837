"""Partitions past their time, by their value or by their last update.

Source: ``org.apache.paimon.operation.NormalPartitionExpire``,
``org.apache.paimon.partition.PartitionTimeExtractor``; format 11.4.  Wall-clock times are encoded
as UTC.  Paimon dates the stored value, whatever folders are called: a DATE is a number of days there, so it
never expires by value (format T60), and a TIMESTAMP is a text such as ``2026-01-02T07:00``, for which a
formatter is needed.  That is reported, like every value that is no time.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from table_core.datatypes.date_parser import lenient_time, parser_of
from table_core.errors import UnsupportedFeatureError
from table_core.options import keys_retention

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from table_core.options.table import TableOptions

__all__ = ["Partition", "PartitionExpiry", "PartitionPlan", "partition_time", "plan_partitions"]

_STRATEGIES = ("values-time", "update-time")


@dataclass(frozen=True, slots=True, kw_only=True)
class Partition:
    """One partition with live files."""

    row: bytes
    """Serialized, as in manifests."""
    texts: Mapping[str, str | None]
    """Column to value text, as in the folder name but unescaped; None: NULL.  In partition-key order."""
    updated_ms: int | None
    """When the newest of its live files was made, epoch ms; None: a file does not say."""
    dated_by: Mapping[str, str | None] | None = None
    """Column to the text that Paimon dates; None: ``texts``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionExpiry:
    """The options ``partition.*`` that decide."""

    expiration_ms: int
    by_update: bool = False
    pattern: str | None = None
    formatter: str | None = None
    partitions_max: int = 100
    batch_max: int | None = None

    @classmethod
    def of(
        cls, options: TableOptions, *, expiration_ms: int | None = None
    ) -> PartitionExpiry | None:
        """What ``options`` of a table say, ``expiration_ms`` first; None: partitions do not expire.

        Raises:
            UnsupportedFeatureError: a custom strategy.
        """
        age_ms = (
            options.get(keys_retention.PARTITION_EXPIRATION_TIME)
            if expiration_ms is None
            else expiration_ms
        )
        if age_ms is None:
            return None
        strategy = options.get(keys_retention.PARTITION_EXPIRATION_STRATEGY).lower()
        if strategy not in _STRATEGIES:
            raise UnsupportedFeatureError(
                f"partition.expiration-strategy {strategy!r} is a Java class; "
                f"there are {', '.join(_STRATEGIES)}",
                feature=f"partition expiration strategy {strategy}",
            )
        return cls(
            expiration_ms=age_ms,
            by_update=strategy == "update-time",
            pattern=options.get(keys_retention.PARTITION_TIMESTAMP_PATTERN),
            formatter=options.get(keys_retention.PARTITION_TIMESTAMP_FORMATTER),
            partitions_max=options.get(keys_retention.PARTITION_EXPIRATION_MAX_NUM),
            batch_max=options.get(keys_retention.PARTITION_EXPIRATION_BATCH_SIZE),
        )


@dataclass(frozen=True, slots=True)
class PartitionPlan:
    """What is to be dropped, and what nobody can date."""

    expired: tuple[Partition, ...]
    """In the order of their value texts, at most ``partitions_max``."""
    undated: tuple[Partition, ...]
    """They never expire: a value that is NULL or no time, or a file without a creation time."""
    left: int
    """Expired ones that this run leaves to the next."""
    batch_max: int | None

    def batches(self) -> Iterator[tuple[Partition, ...]]:
        """What to drop in one commit each."""
        size = self.batch_max or len(self.expired)
        for start in range(0, len(self.expired), size or 1):
            yield self.expired[start : start + size]


def partition_time(
    texts: Mapping[str, str | None], *, pattern: str | None, formatter: str | None
) -> datetime | None:
    """The wall-clock time that partition values say; None if they say none.

    >>> str(partition_time({"dt": "2026-01-02", "h": "7"}, pattern="$dt $h:00:00", formatter=None))
    '2026-01-02 07:00:00+00:00'

    Source: ``PartitionTimeExtractor#extract``, which dates no NULL and no value with a ``$``.

    Raises:
        UnsupportedFeatureError: ``formatter`` has a letter outside the subset.
    """
    parse = lenient_time if formatter is None else parser_of(formatter)
    if pattern is None:
        first = next(iter(texts.values()), None)
        return None if first is None else parse(first)
    text = pattern
    for name, value in texts.items():  # one after the other: $h takes the beginning of $hour
        named = f"${name}"
        if value is None or (named in text and ("$" in value or "\\" in value)):
            return None
        text = text.replace(named, value)
    return parse(text)


def plan_partitions(
    partitions: Iterable[Partition],
    expiry: PartitionExpiry,
    *,
    now_local_ms: int,
    now_ms: int | None = None,
) -> PartitionPlan:
    """Which of ``partitions`` go.

    ``now_local_ms``: wall clock of the local zone, encoded as UTC, which values are compared with.
    ``now_ms``: the moment, which last updates are compared with; the same where the zone is UTC.
    """
    now = datetime.fromtimestamp(now_local_ms / 1000, UTC)
    moment_ms = now_local_ms if now_ms is None else now_ms
    cutoff_ms = (moment_ms if expiry.by_update else now_local_ms) - expiry.expiration_ms
    expired: list[Partition] = []
    undated: list[Partition] = []
    for partition in partitions:
        if expiry.by_update:
            at_ms = partition.updated_ms
        else:
            time = partition_time(
                partition.texts if partition.dated_by is None else partition.dated_by,
                pattern=expiry.pattern,
                formatter=expiry.formatter,
            )
            at_ms = None if time is None else now_local_ms - _ms(now - time)
        if at_ms is None:
            undated.append(partition)
        elif at_ms < cutoff_ms:
            expired.append(partition)
    expired.sort(key=lambda p: tuple(text or "" for text in p.texts.values()))
    kept = tuple(expired[: expiry.partitions_max])
    return PartitionPlan(kept, tuple(undated), len(expired) - len(kept), expiry.batch_max)


def _ms(delta: timedelta) -> int:
    return delta // timedelta(milliseconds=1)
