"""Say what changed in a table, on a page."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, ClassVar, Final

from paimon_provider._compat import BaseOperator, asset_state
from paimon_provider.arguments.checks import ChecksArguments, require_arguments, require_early
from paimon_provider.arguments.table_identity import is_template
from paimon_provider.assets import table_asset
from paimon_provider.failures import airflow_failures
from paimon_provider.links import ChangeReportLink, report_url
from paimon_provider.pages.report import COLUMNS_MAX, KINDS, ChangeReport, SnapshotChanges, render
from paimon_provider.pages.reports_folder import clear_reports, report_name, write_report
from paimon_provider.pages.text import cell_text
from paimon_provider.runs.mapped_tables import as_given, over_tables, own_of
from paimon_provider.watching.conditions import delivers_changes
from paimon_provider.watching.run_positions import RunPosition
from paimon_provider.watching.seen import Seen, since
from table_core.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from paimon_provider._compat import Context
    from paimon_provider.watching.conditions import SnapshotFacts

__all__ = ["PaimonChangeReportOperator"]

_CONNECTION: Final = "paimon_default"
_BARS: Final = 20
"""As many as a screen shows at once."""
_DIFFERENCES: Final = 20
_ROWS: Final = 200


class PaimonChangeReportOperator(ChecksArguments, BaseOperator):
    """Render an HTML page with charts of what changed in a table since the last run.

    The task's link "Change report" opens the page. The position of the last run is kept in the
    state of the table's asset. A repeated attempt shows the same changes again, and the next run
    shows those of a failed run.

    :param table: ``database.table``.  (templated)
    :param label_column: the column that names a row.
    :param value_column: the numeric column to draw.
    :param paimon_conn_id: the connection with the warehouse.
    :param catalog: the connection's ``catalog_name``, if it has one. It is part of the asset's
        name.
    :param reader: the name of the position; default: the Dag and the task, so renaming either
        starts again.
    """

    template_fields: Sequence[str] = ("table", "label_column", "value_column")
    operator_extra_links = (ChangeReportLink(),)
    ui_color = "#e8f1fb"
    position_key: ClassVar[str] = "report"

    def __init__(
        self,
        *,
        table: str,
        label_column: str,
        value_column: str,
        paimon_conn_id: str = _CONNECTION,
        catalog: str | None = None,
        reader: str | None = None,
        **kwargs: Any,
    ) -> None:
        require_early(self, table=table, paimon_conn_id=paimon_conn_id, catalog=catalog)
        if "inlets" not in kwargs:
            kwargs["inlets"] = _assets(table, paimon_conn_id, catalog)
        super().__init__(**kwargs)
        self.inlets = as_given(self.inlets, kwargs["inlets"])
        self.table = table
        self.label_column = label_column
        self.value_column = value_column
        self.paimon_conn_id = paimon_conn_id
        self.catalog = catalog
        self.reader = reader
        self.report_link: str | None = None

    @classmethod
    def partial(cls, **kwargs: Any) -> Any:
        """What Airflow's does; a mapped task has the asset of its table too."""
        mapped: Any = super().partial(**kwargs)
        return (
            mapped
            if mapped.kwargs.get("inlets")
            else over_tables(mapped, "inlets", _CONNECTION, _assets)
        )

    def execute(self, context: Context) -> dict[str, Any]:
        """Render the page; return its address and the snapshots that it covers."""
        ti: Any = context["ti"]
        own = table_asset(self.table, paimon_conn_id=self.paimon_conn_id, catalog=self.catalog)
        self.inlets = own_of(self.inlets, own.uri)
        state = asset_state(context, self.inlets[0])
        reader = self.reader or f"{ti.dag_id}.{ti.task_id}"
        position = RunPosition(state, f"{self.position_key}.{reader}", ti)
        with airflow_failures():
            start = Seen() if position.start is None else Seen.from_json(position.start)
            require_arguments(self)
            report, to = self._read(start)
            name = report_name(ti.dag_id, ti.run_id, ti.task_id, ti.map_index)
            path = write_report(name, ti.dag_id, render(report))
            clear_reports(path.stat().st_mtime_ns // 1_000_000)
        self.report_link = report_url(name)
        ti.xcom_push(key=ChangeReportLink().xcom_key, value=self.report_link)
        if report.head is not None:
            position.keep(start.to_json(), to.to_json())
        self.log.info("Change report of %s: %s", self.table, self.report_link)
        return {
            "version": 1,
            "report": self.report_link,
            "after": report.after,
            "head": report.head,
            "rows": report.changes_total,
        }

    def _read(self, start: Seen) -> tuple[ChangeReport, Seen]:
        from paimon_provider.hooks.paimon import PaimonHook

        hook = PaimonHook(self.paimon_conn_id)
        snapshots, producer = hook.snapshots(self.table)
        table = hook.table(self.table)
        if not snapshots:
            return self._report(table, 0, None, [], []), start
        head, birth = snapshots[-1], table.birth
        step = since(snapshots, start, birth)
        warnings = []
        if step.reset:
            was = f"snapshot {start.place.id} is gone"
            warnings.append(f"The table was rolled back or recreated: {was}.")
        if step.gap and start.place.id:
            first, last = step.gap
            warnings.append(f"Snapshots {first} to {last} expired before they were read.")
        after = step.new[0].id - 1 if step.new else head.id
        delivering = [s for s in snapshots if delivers_changes(s, producer)]
        history = [_changes_of(table, snapshot) for snapshot in delivering]
        new = [s.id for s in delivering if s.id > after]
        report = self._report(table, after, head.id, history, new, " ".join(warnings))
        return report, start.moved(head, step.new, birth)

    def _report(
        self,
        table: Any,
        after: int,
        head: int | None,
        history: list[SnapshotChanges],
        new: list[int],
        warning: str = "",
    ) -> ChangeReport:
        rows = table.read(
            columns=list(dict.fromkeys((self.label_column, self.value_column)))
        ).to_arrow()
        top = rows.sort_by([(self.value_column, "descending")]).slice(0, _BARS)
        stream = _Stream()
        differences: list[tuple[str, float]] = []
        if new:
            stream.take(table.changes(after=after, to=head))
            differences = self._differences(table, after, head)
        return ChangeReport(
            table=self.table,
            label=self.label_column,
            value=self.value_column,
            after=after,
            head=head,
            values=[
                (cell_text(row[self.label_column]), float(row[self.value_column] or 0))
                for row in top.to_pylist()
            ],
            others=rows.num_rows - top.num_rows,
            differences=differences,
            history=history,
            columns=stream.columns,
            changes=stream.first,
            changes_total=stream.total,
            warning=warning,
        )

    def _differences(self, table: Any, after: int, head: int | None) -> list[tuple[str, float]]:
        """By how much the values have changed; none where changes do not say what was before."""
        from paimon_provider.pages.bars import Bars, BarsOf  # Arrow stays out of Dag parsing

        producer = str(table.options.get("changelog-producer", "none")).lower()
        if table.primary_key and producer == "none":
            return []
        bars = Bars(BarsOf(self.label_column, self.value_column), keeps_empty=True)
        try:
            bars.of.require(table.arrow_schema)
            scan = table.changes(after=after, to=head, columns=bars.of.columns)
            bars.add(scan.to_batches())
        except ArgumentError as error:
            self.log.info("No differences by %s: %s", self.label_column, error)
            return []
        return bars.largest(_DIFFERENCES)


class _Stream:
    """The first rows of a change stream, and how many there are of each kind."""

    def __init__(self) -> None:
        self.columns: list[str] = []
        self.first: list[list[object]] = []
        self.kinds: Counter[str] = Counter()

    @property
    def total(self) -> int:
        """All rows."""
        return self.kinds.total()

    def take(self, scan: Any) -> None:
        """Read ``scan`` to its end, batch by batch."""
        for batch in scan.to_batches():
            self.columns = [*batch.schema.names]
            for at in range(min(_ROWS - len(self.first), batch.num_rows)):
                # one row at a time, and of it what the page shows: a cell may be large
                row = batch.slice(at, 1).select(self.columns[:COLUMNS_MAX]).to_pylist()[0]
                self.first.append([cell_text(value) for value in row.values()])
            for counted in batch.column("_ROW_KIND").value_counts().to_pylist():
                self.kinds[str(counted["values"])] += counted["counts"]


def _changes_of(table: Any, snapshot: SnapshotFacts) -> SnapshotChanges:
    stream = _Stream()
    stream.take(table.changes(after=snapshot.id - 1, to=snapshot.id))
    return SnapshotChanges(
        snapshot_id=snapshot.id,
        time_millis=snapshot.time_millis,
        rows={kind: stream.kinds[kind] for kind in KINDS},
    )


def _assets(table: str, conn_id: str, catalog: str | None) -> list[Any]:
    if is_template(table):
        return []
    return [table_asset(table, paimon_conn_id=conn_id, catalog=catalog)]
