"""``scan.partitions``: the partitions that reads of a state are about, by their values or the newest ones.

Writers, upkeep and statements see the whole table: the option is about who reads.

Source: ``org.apache.paimon.flink.lookup.PartitionLoader``.
"""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING

from table_core.errors import ArgumentError, OptionError, UnsupportedFeatureError
from table_core.ondisk.binary_row import decode_row, sort_key
from table_core.options import fits, keys_files, keys_scan
from table_core.table.metadata.partition_spec import partition_matcher

if TYPE_CHECKING:
    from collections.abc import Callable

    from table_core.ondisk.snapshot import Snapshot
    from table_core.table.metadata.access import TableAccess

__all__ = ["chosen_partitions", "refuse_chosen_partitions"]


def chosen_partitions(
    access: TableAccess, snapshot: Snapshot | None
) -> Callable[[bytes], bool] | None:
    """Which serialized partitions of ``snapshot`` are read; None: all of them.

    The newest partition is the one with the largest values, column by column, where NULL is the smallest.

    Raises:
        OptionError: the option names no partitions of this table.
        UnsupportedFeatureError: partitions of another branch would be read, too.
    """
    text = access.options.get(keys_scan.SCAN_PARTITIONS)
    if text is None:
        return None
    fields = access.schema.partition_fields
    if not fields:
        raise _wrong(text, f"{access.name} is not partitioned")
    if access.options.is_set(keys_scan.SCAN_FALLBACK_BRANCH):
        raise UnsupportedFeatureError(
            f"{access.name} has scan.partitions and scan.fallback-branch: unset one of them",
            feature="scan.partitions",
        )
    number = fits.newest_partitions(text)
    if number is None:
        return _named(access, text)
    types = [field.type for field in fields]
    rows = access.metadata.live_files(snapshot).partition_rows()

    def values(row: bytes) -> tuple[object, ...]:
        return sort_key(types, decode_row(types, row, path="partition"))

    return frozenset(heapq.nlargest(number, rows, key=values)).__contains__


def refuse_chosen_partitions(access: TableAccess, who: str) -> None:
    """Refuse to read changes where only some partitions are wanted.

    Raises:
        UnsupportedFeatureError: ``scan.partitions`` is set.
    """
    if access.options.is_set(keys_scan.SCAN_PARTITIONS):
        raise UnsupportedFeatureError(
            f"{who} of {access.name} cannot be limited by scan.partitions: unset it, and give the partitions as where",
            feature="scan.partitions",
        )


def _named(access: TableAccess, text: str) -> Callable[[bytes], bool]:
    """The partitions in ``text``: ``dt=2026-01-01,hh=5;dt=2026-01-02``; a column that is not named is NULL."""
    default = access.options.get(keys_files.PARTITION_DEFAULT_NAME)
    specs = [
        {name: None if value == default else value for name, value in spec.items()}
        for spec in fits.partitions(text)
    ]
    whole: dict[str, str | None] = dict.fromkeys(access.schema.partition_keys)
    try:
        return partition_matcher(access, [{**whole, **spec} for spec in specs])
    except ArgumentError as error:
        raise _wrong(text, str(error)) from error


def _wrong(text: str, why: str) -> OptionError:
    return OptionError(
        f"scan.partitions = {text!r}: {why}; write dt=2026-01-01;dt=2026-01-02, max_pt() or max_two_pt()",
        option=keys_scan.SCAN_PARTITIONS.key,
        value=text,
    )
