"""Large files as splits of their own parts, so that no task holds the others up."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from table_core.options import keys_scan

if TYPE_CHECKING:
    from table_core.scan.split import Split
    from table_core.table.read.split_reader import SplitReader

__all__ = ["in_parts"]

_CUT: Final = ("parquet", "orc")
"""Formats of which a part can be read without the rest."""
_ROWS_WORTH_A_PART: Final = 1_000
"""A row group has hardly fewer rows: a target of a few bytes would make a task for each byte."""


def in_parts(reader: SplitReader, split: Split) -> list[Split]:
    """``split`` as splits that tasks read beside one another, each row in one of them.

    A file beyond ``source.split.target-size`` is cut at its row groups or stripes, if its rows are read as
    they lie.  What is merged stays whole: its splits are key ranges that do not overlap.
    """
    if (
        len(split.files) != 1
        or split.files[0].format not in _CUT
        or split.branch is not None
        or split.deletions
        or reader.forgives_any
        or not reader.is_plain(split)
    ):
        return [split]
    target = reader.access.options.get(keys_scan.SOURCE_SPLIT_TARGET_SIZE)
    count = min(split.size // target, split.files[0].row_count // _ROWS_WORTH_A_PART)
    if count <= 1:
        return [split]
    return [replace(split, part=(number, count)) for number in range(count)]
