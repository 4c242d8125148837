"""Tags: a name for a snapshot, which it keeps alive.

On disk:  ``<table>/tag/tag-<name>``, the snapshot's JSON; with a retention also when the tag was
          made (local date-time as ``[y, M, d, h, m, s, nanos]``, zeros at the end may be missing)
          and for how many seconds it holds.
Source:   ``org.apache.paimon.tag.Tag``; format 11.6 and T17.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

from table_core.ondisk.snapshot import Snapshot
from table_core.validation_errors import ValidationErrors

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Tag"]

_CREATED: Final = "tagCreateTime"
_RETAINED: Final = "tagTimeRetained"
_NANOS: Final = 1_000_000_000
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tag:
    """A tagged snapshot."""

    snapshot: Snapshot
    created_ns: int | None = None
    """Local wall clock of the maker as if UTC, epoch nanoseconds; only with a retention."""
    retained_ns: int | None = None
    """How long the tag holds; None is for ever."""

    def to_json(self) -> bytes:
        """Encode; without retention exactly the snapshot, because old readers take no more."""
        extra: dict[str, object] = dict(self.snapshot.extra)
        if self.created_ns is not None:
            extra[_CREATED] = _date_time(self.created_ns)
        if self.retained_ns is not None:
            extra[_RETAINED] = self.retained_ns / _NANOS
        return replace(self.snapshot, extra=extra).to_json()

    @classmethod
    def from_json(cls, body: bytes, *, path: str) -> Tag:
        """Decode ``body`` read from ``path``.

        Raises:
            CorruptFileError: no snapshot, or times that are none; all problems at once.
        """
        snapshot = Snapshot.from_json(body, path=path)
        problems = ValidationErrors(path)
        created = snapshot.extra.get(_CREATED)
        retained = snapshot.extra.get(_RETAINED)
        tag = cls(
            snapshot=replace(snapshot, extra=_without_times(snapshot.extra)),
            created_ns=None if created is None else _epoch(problems, created),
            retained_ns=None if retained is None else _duration(problems, retained),
        )
        problems.raise_if_any()
        return tag


def _without_times(extra: Mapping[str, object]) -> dict[str, object]:
    return {key: value for key, value in extra.items() if key not in {_CREATED, _RETAINED}}


def _date_time(nanos: int) -> list[int]:
    at = _EPOCH + timedelta(seconds=nanos // _NANOS)
    return [at.year, at.month, at.day, at.hour, at.minute, at.second, nanos % _NANOS]


def _epoch(problems: ValidationErrors, value: Any) -> int | None:
    whole = isinstance(value, list) and all(type(part) is int for part in value)
    if not whole or not 3 <= len(value) <= 7:
        problems.add(_CREATED, f"expected [y, M, d, h, m, s, nanos], got {json.dumps(value)}")
        return None
    parts = [*value, *[0] * (7 - len(value))]
    try:
        year, month, day, hour, minute, second = parts[:6]
        at = datetime(year, month, day, hour, minute, second, tzinfo=UTC)
    except (ValueError, OverflowError) as error:
        problems.add(_CREATED, f"{error}, got {json.dumps(value)}")
        return None
    if not 0 <= parts[6] < _NANOS:
        problems.add(_CREATED, f"{parts[6]} nanoseconds")
    return (at - _EPOCH) // timedelta(seconds=1) * _NANOS + int(parts[6])


def _duration(problems: ValidationErrors, value: Any) -> int | None:
    if type(value) not in {int, float} or not abs(value) < 2**63:
        problems.add(_RETAINED, f"expected seconds, got {json.dumps(value)}")
        return None
    return int((Decimal(repr(value)) * _NANOS).to_integral_value())
