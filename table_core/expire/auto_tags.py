"""Tags that a table makes by itself, one a period (format 11.6).

A tag is named after the period that is over: the first snapshot of the 2nd makes the tag of the 1st.
Times are wall-clock milliseconds of the local zone, encoded as UTC.

Daily, delay 10 minutes, newest tag 2026-02-28: a snapshot of 03-02 00:05 makes none, the next one, of 00:12,
makes 2026-03-01.  If then none comes until 03-04, that one makes 2026-03-03, and nothing is called 03-02;
with ``tag.automatic-completion`` it makes 03-02, and the one after it 03-03.

Source: ``org.apache.paimon.tag.TagAutoCreation``, ``TagPeriodHandler``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final

from table_core.errors import OptionError
from table_core.options import keys_retention as keys

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from table_core.ondisk.snapshot import Snapshot
    from table_core.options.table import TableOptions

__all__ = ["AutoTags", "TagPeriod", "batch_tag_name"]

_HOUR_MS: Final = 3_600_000
_DAY_MS: Final = 24 * _HOUR_MS
_PARTS: Final = {"y": r"(\d{4})", "m": r"(\d\d)"}
_NO_WATERMARK: Final = -(2**63)
_LAST_MS: Final = 253_370_764_800_000
"""The beginning of the year 9999."""
_BATCH: Final = "batch-write-"
_DAY_NAME: Final = "{0:04}-{1:02}-{2:02}"


@dataclass(frozen=True, slots=True)
class TagPeriod:
    """How long a period is and what its tag is called."""

    length_ms: int
    template: str
    """Year, month, day, hour, minute as ``{0}`` to ``{4}``."""

    @classmethod
    def named_by(cls, options: TableOptions) -> TagPeriod | None:
        """What names the tags of a table that makes any by itself; None: it makes none."""
        makes = options.get(keys.TAG_AUTOMATIC_CREATION) != "none"
        return cls.of(options) if makes else None

    @classmethod
    def of(cls, options: TableOptions) -> TagPeriod:
        """What ``tag.creation-period``, ``…-duration`` and ``tag.period-formatter`` say."""
        duration_ms = options.get(keys.TAG_CREATION_PERIOD_DURATION)
        if duration_ms is not None:
            return cls(duration_ms, "{0:04}{1:02}{2:02}{3:02}{4:02}")
        style = options.get(keys.TAG_PERIOD_FORMATTER)
        day = _DAY_NAME if style == "with-dashes" else "{0:04}{1:02}{2:02}"
        gap = "" if style == "without-dashes-and-spaces" else " "
        period = options.get(keys.TAG_CREATION_PERIOD)
        if period == "daily":
            return cls(_DAY_MS, day)
        if period == "hourly":
            return cls(_HOUR_MS, f"{day}{gap}{{3:02}}")
        return cls(2 * _HOUR_MS, "{0:04}-{1:02}-{2:02} {3:02}")

    def name(self, at_ms: int) -> str:
        """The tag of the period that begins at ``at_ms``."""
        at = datetime.fromtimestamp(at_ms / 1000, UTC)
        return self.template.format(at.year, at.month, at.day, at.hour, at.minute)

    def begin(self, name: str) -> int | None:
        """When the period of tag ``name`` begins; None: no such tag is made automatically.

        Only a real time is one, with a year of four digits: a user's ``20241301`` is no tag of a day.
        """
        is_daily = "{3" not in self.template
        text = name.split(" ", maxsplit=1)[0] if is_daily else name
        pattern = re.sub(
            r"\{(\d)[^}]*\}", lambda m: _PARTS["m" if m[1] != "0" else "y"], self.template
        )
        match = re.fullmatch(pattern, text, re.ASCII)
        if match is None:
            return None
        year, month, day, hour, minute = (*map(int, match.groups()), 0, 0)[:5]
        try:
            at = datetime(year, month, day, hour, minute, tzinfo=UTC)
        except ValueError:
            return None
        return (at - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1)

    def over_at(self, at_ms: int) -> int:
        """The begin of the last period that is over at ``at_ms``."""
        return int(at_ms / self.length_ms) * self.length_ms - self.length_ms


@dataclass(frozen=True, slots=True, kw_only=True)
class AutoTags:
    """The options ``tag.*`` of a table that makes tags by itself."""

    period: TagPeriod
    by_watermark: bool
    delay_ms: int = 0
    retained_max: int | None = None
    time_retained_ms: int | None = None
    completes: bool = False
    """Make the tags of periods without a snapshot too, each with the next snapshot there is."""

    @classmethod
    def of(cls, options: TableOptions) -> AutoTags | None:
        """What ``options`` say; None: no tags by period.

        Raises:
            OptionError: ``tag.creation-delay`` is no shorter than a period.
        """
        mode = options.get(keys.TAG_AUTOMATIC_CREATION)
        if mode not in {"process-time", "watermark"}:
            return None
        period, delay_ms = TagPeriod.of(options), options.get(keys.TAG_CREATION_DELAY)
        if delay_ms >= period.length_ms:
            raise OptionError(
                f"tag.creation-delay is {delay_ms} ms; it must be shorter than the period, "
                f"{period.length_ms} ms",
                option="tag.creation-delay",
            )
        return cls(
            period=period,
            by_watermark=mode == "watermark",
            delay_ms=delay_ms,
            retained_max=options.get(keys.TAG_NUM_RETAINED_MAX),
            time_retained_ms=options.get(keys.TAG_DEFAULT_TIME_RETAINED),
            completes=options.get(keys.TAG_AUTOMATIC_COMPLETION),
        )

    def newest(self, names: Iterable[str]) -> str | None:
        """Of ``names``, the automatic one of the latest period."""
        begins = {name: begin for name in names if (begin := self.period.begin(name)) is not None}
        return max(begins, key=begins.__getitem__, default=None)

    def is_due(
        self, snapshot: Snapshot, newest: str | None, local_ms: Callable[[int], int]
    ) -> bool:
        """Whether ``snapshot`` makes a tag, where ``newest`` is the newest automatic one."""
        at_ms = self._time(snapshot, local_ms)
        if at_ms is None:
            return False
        begin = None if newest is None else self.period.begin(newest)
        return begin is None or at_ms - self.delay_ms >= begin + 2 * self.period.length_ms

    def due(
        self, snapshots: Iterable[Snapshot], newest: str | None, local_ms: Callable[[int], int]
    ) -> Iterator[tuple[str, Snapshot]]:
        """The tags that ``snapshots``, oldest first, make; ``local_ms``: epoch to wall clock."""
        for snapshot in snapshots:
            if not self.is_due(snapshot, newest, local_ms):
                continue
            at_ms = self._time(snapshot, local_ms)
            assert at_ms is not None
            begin = self.period.over_at(at_ms)
            last = None if newest is None else self.period.begin(newest)
            if self.completes and last is not None:
                begin = last + self.period.length_ms
            newest = self.period.name(begin)
            yield newest, snapshot

    def surplus(self, snapshot_of: Mapping[str, int]) -> list[str]:
        """Automatic tags, oldest first, that are too many (``tag.num-retained-max``)."""
        if self.retained_max is None:
            return []
        begins = {n: begin for n in snapshot_of if (begin := self.period.begin(n)) is not None}
        ordered = sorted(begins, key=lambda name: (snapshot_of[name], begins[name]))
        return ordered[: max(0, len(ordered) - self.retained_max)]

    def _time(self, snapshot: Snapshot, local_ms: Callable[[int], int]) -> int | None:
        if not self.by_watermark:
            return local_ms(snapshot.time_millis)
        mark = snapshot.watermark
        # One that ends a stream is no time of any period either.
        if mark is None or not _NO_WATERMARK < mark < _LAST_MS:
            return None
        return local_ms(mark)


def batch_tag_name(at_ms: int) -> str:
    """What a batch write's tag is called unless ``tag.batch.customized-name`` says."""
    return f"{_BATCH}{datetime.fromtimestamp(at_ms / 1000, UTC):%Y-%m-%d}"


def is_batch_tag(name: str) -> bool:
    """Whether a batch write may have made the tag ``name``."""
    day = TagPeriod(_DAY_MS, _DAY_NAME)
    return (
        name.startswith(_BATCH)
        and " " not in name
        and day.begin(name.removeprefix(_BATCH)) is not None
    )
