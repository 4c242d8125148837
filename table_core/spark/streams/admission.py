"""Bounded micro-batches and ``Trigger.AvailableNow``, where PySpark has them (4.2)."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from table_core.scan.stream_offset import NO_LIMIT, ReadLimit, StreamOffset
from table_core.spark.session.failures import carried
from table_core.spark.streams.source import StreamReader

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["AdmittingReader"]

_SPARK: Final[Any] = import_module("pyspark.sql.streaming.datasource")
"""What a version before 4.2 does not have, and its types do not know."""
_PLENTY: Final = 1 << 62
"""Stands for our own limit, which knows more than one of Spark's can say."""


class AdmittingReader(StreamReader, _SPARK.SupportsTriggerAvailableNow):  # type: ignore[misc]  # see _SPARK
    """A source that Spark tells where it stands and how much it wants."""

    _until: StreamOffset | None = None

    def getDefaultReadLimit(self) -> Any:  # noqa: N802
        """What ``read.stream.*`` asks for."""
        return _SPARK.ReadAllAvailable() if self._limit == NO_LIMIT else _SPARK.ReadMaxRows(_PLENTY)

    def latestOffset(self, start: Mapping[str, object], limit: Any) -> dict[str, object]:  # type: ignore[override]  # 4.2 asks so  # noqa: N802
        """How far the next micro-batch goes."""
        with carried():
            at = StreamOffset.from_document(start)
            return self._reached(at, self._asked(limit), self._until).to_document()

    def reportLatestOffset(self) -> dict[str, object] | None:  # noqa: N802
        """Nothing: to know it would be as much work as to plan it."""
        return None

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        """Remember the newest snapshot: this run ends there."""
        with carried():
            head = self._planner.access.metadata.head_id()
            self._until = StreamOffset(snapshot=(head or 0) + 1)

    def _asked(self, limit: Any) -> ReadLimit:
        match limit:
            case _SPARK.ReadMaxRows(max_rows=rows) if rows != _PLENTY:
                return ReadLimit(rows=rows)
            case _SPARK.ReadMaxFiles(max_files=files):
                return ReadLimit(files=files)
            case _SPARK.ReadMaxBytes(max_bytes=size):
                return ReadLimit(bytes=size)
            case _SPARK.ReadMaxRows():
                return self._limit
        return NO_LIMIT
