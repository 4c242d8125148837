"""Charts of a table from its metadata: ``table.plot.history()``, ``.levels()``, ``.partitions()``."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from table_core.errors import ArgumentError, MissingPackageError
from table_core.history.shape import levels_document
from table_core.table.maintenance.observe import partitions_observed
from table_core.table.maintenance.observed_snapshots import partition_of

if TYPE_CHECKING:
    from types import ModuleType

    from table_core.ondisk.snapshot import Snapshot
    from table_core.table.metadata.access import TableAccess

__all__ = ["Plots"]

_LAST: Final = 500
_LAST_MAX: Final = 5_000
"""Vega refuses more than 5,000 rows in a chart."""
_WIDTH: Final = 640


class Plots:
    """Charts as Altair draws them; a notebook shows each, and ``save`` writes it into a file.

    They read metadata and no rows.  The extra ``plot`` installs Altair.
    """

    def __init__(self, access: TableAccess) -> None:
        self._access = access

    def history(self, last: int = _LAST) -> Any:
        """Rows of the table's files after each snapshot, and what each has added or taken away.

        Reads the ``last`` snapshots, at most 5,000: one small file each.

        Returns:
            An ``altair.VConcatChart``: a line of ``rows``, above bars of ``change`` with the kind of
            the commit as their colour, both over ``at`` (UTC).

        Raises:
            MissingPackageError: Altair is not installed.
            ArgumentError: ``last`` is not between 1 and 5,000.
        """
        alt = _altair()
        if not 1 <= last <= _LAST_MAX:
            raise ArgumentError(
                f"last={last}: draw 1 to {_LAST_MAX} snapshots", argument="last", value=last
            )
        ids = self._access.snapshot_ids()[-last:]
        points = [_point(self._access.metadata.snapshot(id)) for id in ids]
        base = _chart(alt, points, ("snapshot", "at", "rows", "change", "kind")).encode(
            x=alt.X("at:T", title="committed (UTC)"),
            tooltip=["snapshot:Q", "at:T", "kind:N", "rows:Q", "change:Q"],
        )
        rows = base.mark_line(point=True, interpolate="step-after").encode(
            y=alt.Y("rows:Q", title="rows")
        )
        change = base.mark_bar(size=4).encode(
            y=alt.Y("change:Q", title="rows added or taken away"),
            color=alt.Color("kind:N", title="commit"),
        )
        return alt.vconcat(
            rows.properties(width=_WIDTH, height=180, title=self._title("history")),
            change.properties(width=_WIDTH, height=120),
        )

    def levels(self) -> Any:
        """Bytes on each level of each bucket, the buckets with the most sorted runs first.

        Reads the manifests of the newest snapshot.  Shows the worst 500 buckets.

        Returns:
            An ``altair.Chart``: bars of ``bytes``, one for each ``bucket``, with ``level`` as colour.

        Raises:
            MissingPackageError: Altair is not installed.
        """
        alt, access = _altair(), self._access
        document = levels_document(
            access.metadata.live_files(access.head()),
            keyed=access.schema.is_key_table,
            text_of=partial(partition_of, access.schema),
        )
        bars = [
            {
                "bucket": f"{partition}/{bucket}" if partition else f"bucket {bucket}",
                "level": level,
                "files": files,
                "bytes": size,
                "rows": rows,
                "sorted_runs": runs,
            }
            for partition, bucket, runs, levels in document["buckets"]
            for level, files, size, rows in levels
        ][:_LAST_MAX]
        names = ("bucket", "level", "files", "bytes", "rows", "sorted_runs")
        return (
            _chart(alt, bars, names)
            .mark_bar()
            .encode(
                x=alt.X("bytes:Q", title="bytes"),
                y=alt.Y(
                    "bucket:N",
                    title="bucket",
                    sort=alt.SortField("sorted_runs", order="descending"),
                ),
                color=alt.Color("level:O", title="level"),
                tooltip=["bucket:N", "level:O", "files:Q", "bytes:Q", "rows:Q", "sorted_runs:Q"],
            )
            .properties(width=_WIDTH, title=self._title("levels"))
        )

    def partitions(self, top: int = 50) -> Any:
        """The largest partitions: bytes, with the time of the last write as colour.

        Reads the manifests of the newest snapshot.

        Returns:
            An ``altair.Chart``: bars of ``bytes``, one for each ``partition``, with ``written`` as colour.

        Raises:
            MissingPackageError: Altair is not installed.
            ArgumentError: the table has no partitions, or ``top`` is not between 1 and 1,000.
        """
        alt, access = _altair(), self._access
        if not access.schema.partition_keys:
            raise ArgumentError(
                f"{access.name} has no partitions: draw its levels or its history",
                argument="partitions",
                value=access.name,
            )
        if not 1 <= top <= 1_000:
            raise ArgumentError(f"top={top}: draw 1 to 1000 partitions", argument="top", value=top)
        document = partitions_observed(access, access.metadata.live_files(access.head()))
        largest = sorted(document["partitions"], key=lambda one: -one["bytes"])[:top]
        bars = [
            {
                "partition": "/".join(f"{k}={v}" for k, v in one["values"].items()),
                **{name: one[name] for name in ("bytes", "rows", "files", "small_files")},
                "written": _iso(one["written_ms"]),
            }
            for one in largest
        ]
        names = ("partition", "bytes", "rows", "files", "small_files", "written")
        return (
            _chart(alt, bars, names)
            .mark_bar()
            .encode(
                x=alt.X("bytes:Q", title="bytes"),
                y=alt.Y("partition:N", title="partition", sort="-x"),
                color=alt.Color("written:T", title="last written (UTC)"),
                tooltip=["partition:N", "bytes:Q", "rows:Q", "files:Q", "small_files:Q"],
            )
            .properties(width=_WIDTH, title=self._title("partitions"))
        )

    def _title(self, what: str) -> str:
        return f"{self._access.name}: {what}"


def _altair() -> ModuleType:
    try:
        import altair as alt
    except ImportError as error:
        raise MissingPackageError.of("table.plot", "plot", error) from error
    return alt


def _chart(alt: ModuleType, rows: list[dict[str, Any]], names: tuple[str, ...]) -> Any:
    """A chart over ``rows`` as they are: none of them is a chart with axes and nothing in it."""
    return alt.Chart(alt.Data(values=rows or [dict.fromkeys(names)]))


def _point(snapshot: Snapshot) -> dict[str, Any]:
    return {
        "snapshot": snapshot.id,
        "at": _iso(snapshot.time_millis),
        "rows": snapshot.total_record_count,
        "change": snapshot.delta_record_count,
        "kind": str(snapshot.commit_kind),
    }


def _iso(at_ms: int | None) -> str | None:
    return None if at_ms is None else datetime.fromtimestamp(at_ms / 1000, UTC).isoformat()
