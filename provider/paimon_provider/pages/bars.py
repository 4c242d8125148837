"""Sums or counts by the values of a column, kept from changes: what comes is added, what goes is taken off."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from paimon_provider.pages.text import cell_text
from table_core.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["AGGREGATES", "Bars", "BarsOf"]

AGGREGATES: Final = ("sum", "count")
KEYS_MAX: Final = 10_000
_SHOWN_MAX: Final = 200
_KEY_MAX: Final = 200
_TAKEN_OFF: Final = ("-U", "-D")


@dataclass(frozen=True, slots=True)
class BarsOf:
    """What a viewer asks for."""

    by: str
    value: str | None
    """The column that is summed up; None where rows are counted."""

    @property
    def columns(self) -> list[str]:
        """The columns that are read."""
        return [self.by] if self.value is None else [self.by, self.value]

    def require(self, schema: pa.Schema) -> None:
        """Refuse columns that are not there or cannot be summed up.

        Raises:
            ArgumentError: says which.
        """
        for name in self.columns:
            if name not in schema.names:
                raise ArgumentError(f"there is no column {cell_text(name)}", argument="by")
        if self.value is not None:
            type_ = schema.field(self.value).type
            numeric = pa.types.is_integer(type_) or pa.types.is_floating(type_)
            if not numeric and not pa.types.is_decimal(type_):
                raise ArgumentError(
                    f"{cell_text(self.value)} is {type_}, which cannot be summed up: agg=count "
                    "counts rows",
                    argument="value",
                )
        if pa.types.is_nested(schema.field(self.by).type):
            raise ArgumentError(f"{cell_text(self.by)} is nested: no key of a bar", argument="by")


@dataclass(slots=True)
class Bars:
    """The sums, and how many rows each is made of: a key without rows is gone."""

    of: BarsOf
    sums: dict[Any, Any] = field(default_factory=dict)
    rows: Counter[Any] = field(default_factory=Counter)
    keeps_empty: bool = False
    """Whether a key stays whose rows have come and gone: where differences are summed up, and no state."""

    def add(self, batches: Iterable[pa.RecordBatch]) -> None:
        """Add rows with a ``_ROW_KIND``.

        Raises:
            ArgumentError: the column has too many values.
        """
        for batch in batches:
            table = pa.table({name: batch.column(name) for name in (*self.of.columns, "_ROW_KIND")})
            is_gone = pc.is_in(table["_ROW_KIND"], value_set=pa.array(_TAKEN_OFF))
            for part, sign in ((table.filter(pc.invert(is_gone)), 1), (table.filter(is_gone), -1)):
                if part.num_rows:
                    self._merge(part, sign)

    def _merge(self, part: pa.Table, sign: int) -> None:
        """Add what the rows of one sign sum up to, key by key."""
        by, value = self.of.by, self.of.value
        columns = {"key": part[by], "value": part[by if value is None else value]}
        grouped = (
            pa.table(columns)
            .group_by("key")
            .aggregate(
                [
                    ("value", "count", pc.CountOptions(mode="all")),
                    *([] if value is None else [("value", "sum")]),
                ]
            )
        )
        counts = grouped["value_count"].to_pylist()
        added = counts if value is None else grouped["value_sum"].to_pylist()
        for key, count, one in zip(grouped["key"].to_pylist(), counts, added, strict=True):
            self.rows[key] += sign * count
            self.sums[key] = self.sums.get(key, 0) + sign * (0 if one is None else one)
            if not self.rows[key] and not self.keeps_empty:
                del self.rows[key], self.sums[key]
        if len(self.rows) > KEYS_MAX:
            raise ArgumentError(
                f"{cell_text(by)} has more than {KEYS_MAX:,} values: choose a column with fewer",
                argument="by",
                value=by,
            )

    def largest(self, most: int) -> list[tuple[str, float]]:
        """The keys whose numbers are farthest from nothing, and those that are not 0."""
        order = sorted(self.sums.items(), key=lambda item: (-abs(float(item[1])), str(item[0])))
        return [(cell_text(key, _KEY_MAX), float(number)) for key, number in order[:most] if number]

    def shown(self) -> list[list[Any]]:
        """Key and number, the largest first."""
        order = sorted(self.sums.items(), key=lambda item: (-float(item[1]), str(item[0])))
        return [[cell_text(key, _KEY_MAX), _number(number)] for key, number in order[:_SHOWN_MAX]]


def _number(value: Any) -> float | int:
    if isinstance(value, Decimal):
        return float(value)
    return value if isinstance(value, int | float) else 0
