"""Ranges of a key that tasks read at the same time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from table_core.cdc.model.source_table import CatalogColumn, CatalogTable
from table_core.cdc.source.key_ranges import key_ranges


@dataclass
class Bounds:
    """A server that knows the first and the last key."""

    first: int | None
    last: int | None

    def bounds(self, _: Any, __: str) -> tuple[str | None, str | None]:
        return tuple(None if n is None else str(n) for n in (self.first, self.last))  # type: ignore[return-value]  # two


def table(*types: str, about: int = 10**9) -> CatalogTable:
    columns = tuple(CatalogColumn(f"k{n}", t, False, None, None) for n, t in enumerate(types))
    return CatalogTable("d", "t", columns, tuple(c.name for c in columns), about)


@given(
    first=st.integers(-(2**40), 2**40),
    length=st.integers(0, 500),
    rows=st.integers(1, 60),
    read=st.none() | st.integers(0, 500),
)
def test_every_key_is_in_one_range_and_no_range_is_too_long(
    first: int, length: int, rows: int, read: int | None
) -> None:
    after = None if read is None else [str(first + min(read, length))]
    found = key_ranges(Bounds(first, first + length), table("bigint(20)"), after, rows)
    begin = first if after is None else int(after[0]) + 1
    behind = begin - 1
    for low, high in found:
        assert behind == (first - 1 if low is None else low)
        assert 0 < high - behind <= rows
        behind = high
    assert behind >= first + length or begin > first + length


@pytest.mark.parametrize(
    ("info", "bounds"),
    [
        (table("bigint", "int"), Bounds(1, 900)),
        (table("varchar(9)"), Bounds(1, 900)),
        (table("decimal(9,2)"), Bounds(1, 900)),
        (table("int"), Bounds(None, None)),
        (table("bigint unsigned", about=900), Bounds(1, 2**62)),
    ],
    ids=["two columns", "text", "no whole number", "empty", "large gaps"],
)
def test_other_keys_have_none(info: CatalogTable, bounds: Bounds) -> None:
    assert key_ranges(bounds, info, None, 100) == []
