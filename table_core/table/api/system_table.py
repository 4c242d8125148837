"""A handle on a system table by its own name, such as ``shop.orders$snapshots``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from table_core.errors import ArgumentError, UnsupportedFeatureError
from table_core.table.api.table import Table
from table_core.table.metadata.timestamps import epoch_ms
from table_core.table.system_tables.listing import system_scan
from table_core.table.system_tables.narrowed import narrowed, narrowed_tables
from table_core.table.system_tables.state import STATES, at_state

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    import pyarrow as pa

    from table_core.predicate.expression import Expression
    from table_core.table.metadata.access import TableAccess
    from table_core.table.metadata.timestamps import PointInTime
    from table_core.table.read.scan import Scan

__all__ = ["SystemTable"]

_LOGS: Final = frozenset({"audit_log", "binlog"})


class SystemTable(Table):
    """Read-only: it describes another table.  What else a table can do is refused."""

    def __init__(
        self, name: str, scan: Callable[[], Scan], described: TableAccess | None = None
    ) -> None:
        """``described`` is the table behind the ``$``; global tables have none."""
        self._name, self._scan, self._described = name, scan, described

    @classmethod
    def of(cls, described: TableAccess, system: str) -> SystemTable:
        """The system table ``system`` of ``described``.

        Raises:
            NotFoundError: there is no such system table.
            UnsupportedFeatureError: the table has not what it shows.
        """
        system_scan(described, system)
        return cls(f"{described.name}${system}", lambda: system_scan(described, system), described)

    @property
    def access(self) -> TableAccess:  # type: ignore[override]  # what would change it, needs this
        """There is none: nothing can be done to a system table.

        Raises:
            UnsupportedFeatureError: always.
        """
        raise UnsupportedFeatureError(
            f"{self._name} is a system table: it can be read, and nothing else; ask the table that "
            "it describes",
            feature="changing system tables",
        )

    def __repr__(self) -> str:
        return f"SystemTable({self._name!r})"

    @property
    def name(self) -> str:
        """``database.table$name``."""
        return self._name

    @property
    def arrow_schema(self) -> pa.Schema:
        """The columns as Arrow sees them."""
        return self._scan().schema

    @property
    def options(self) -> Mapping[str, str]:
        """The options of the table that it describes."""
        return {} if self._described is None else dict(self._described.options.raw)

    @property
    def primary_key(self) -> tuple[str, ...]:
        """None."""
        return ()

    @property
    def partition_by(self) -> tuple[str, ...]:
        """None."""
        return ()

    def read(
        self,
        columns: Sequence[str] | None = None,
        where: str | Expression | None = None,
        snapshot: int | None = None,
        tag: str | None = None,
        timestamp: PointInTime | None = None,
        watermark: int | None = None,
        limit: int | None = None,
    ) -> Scan:
        """Its rows; of the newest state, unless an argument or ``scan.*`` options name another.

        A condition on the column ``partition`` spares the manifests of others; no other saves reading.

        Raises:
            ArgumentError, NotFoundError, PredicateError: as ``Table.read``.
            UnsupportedFeatureError: a state of a system table that shows none.
        """
        scan = self._scan()
        if any(point is not None for point in (snapshot, tag, timestamp, watermark)):
            scan = self._scan_at(snapshot, tag, timestamp, watermark)
        if columns is None and where is None and limit is None:
            return scan
        return narrowed(scan, columns, where, limit)

    def _scan_at(
        self,
        snapshot: int | None,
        tag: str | None,
        timestamp: PointInTime | None,
        watermark: int | None,
    ) -> Scan:
        plain = self._name.rpartition("$")[2].lower()
        if self._described is None or plain not in STATES:
            raise UnsupportedFeatureError(
                f"{self._name} shows all there is, not one state: leave snapshot, tag, timestamp and "
                f"watermark out; those of a state are {', '.join(f'${name}' for name in sorted(STATES))}",
                feature="states of system tables that show none",
            )
        at_ms = None if timestamp is None else epoch_ms("timestamp", timestamp)
        points = {"snapshot": snapshot, "tag": tag, "timestamp": at_ms, "watermark": watermark}
        named = [name for name, value in points.items() if value is not None]
        if len(named) > 1:
            raise ArgumentError(
                f"one state can be read at a time, not {' and '.join(named)}",
                argument=named[1],
                value=str(points[named[1]]),
            )
        state = at_state(
            self._described, snapshot=snapshot, tag=tag, timestamp_ms=at_ms, watermark=watermark
        )
        return system_scan(state, plain)

    def follow(
        self,
        after: int | None = None,
        consumer: str | None = None,
        poll_seconds: float | None = None,
        columns: Sequence[str] | None = None,
    ) -> Iterator[pa.Table]:
        """Changes for ever, as ``Table.follow``: of ``$audit_log`` and ``$binlog`` only.

        An update of ``$binlog`` is one row with what the row was and is.
        """
        from table_core.table.system_tables.rows import follow_log

        plain = self._name.rpartition("$")[2].lower()
        if self._described is None or plain not in _LOGS:
            raise UnsupportedFeatureError(
                f"{self._name} has no changes; $audit_log and $binlog can be followed",
                feature=f"following ${plain}",
            )
        tables = follow_log(
            self._described, plain, after=after, consumer=consumer, poll_seconds=poll_seconds
        )
        return tables if columns is None else narrowed_tables(tables, self._scan().schema, columns)
