"""Print what the pipeline left in the warehouse, and compare it with the expectation."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from rich.table import Table

from demo.airflow_home import AirflowHome, DemoError
from demo.environment import PAGE, TABLES, USER
from demo.expected import Expected, expected

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from rich.console import Console

    import table_core as tc
    from demo.wiring import Wiring

__all__ = ["check", "clicks", "tables"]

ROWS = 40
COLORS = {"+I": "green", "+U": "cyan", "-U": "dim", "-D": "red"}


def tables(catalog: tc.Catalog, console: Console) -> None:
    """Print the tables, the snapshots of ``country_sales`` and its change stream."""
    for name in TABLES[:-1]:
        table = catalog.table(name)
        rows = table.read(columns=[table.arrow_schema.names[0]]).to_arrow().num_rows
        newest = table.latest_snapshot()
        console.print(f"[bold]{name}[/bold]: {rows:,} rows, snapshot {newest.id if newest else 0}")
    sales = catalog.table(TABLES[-1])
    rows = sales.read().to_arrow().sort_by([("revenue", "descending")])
    console.print(_grid(TABLES[-1], rows.column_names, rows.to_pylist()))
    snapshots = sales.system("snapshots").to_arrow()
    wanted = [
        n
        for n in (
            "snapshot_id",
            "schema_id",
            "commit_kind",
            "commit_time",
            "delta_record_count",
            "changelog_record_count",
            "total_record_count",
        )
        if n in snapshots.column_names
    ]
    console.print(_grid("snapshots of country_sales", wanted, snapshots.select(wanted).to_pylist()))
    _changes(sales, console)


def _changes(sales: Any, console: Console) -> None:
    """The newest changes, each row with its kind."""
    ids = [snapshot.id for snapshot in sales.snapshots()]
    changes = sales.changes(after=min(ids), to=max(ids)).to_arrow()
    rows = changes.slice(max(0, changes.num_rows - ROWS)).to_pylist()
    title = f"change stream of country_sales (last {len(rows)} of {changes.num_rows})"
    names = ["_ROW_KIND", *(n for n in changes.column_names if n != "_ROW_KIND")]
    console.print(_grid(title, names, rows, [COLORS.get(row["_ROW_KIND"], "") for row in rows]))


def check(catalog: tc.Catalog, inbox: Path) -> Expected:
    """The expectation, which ``country_sales`` and ``customers`` meet.

    Raises:
        DemoError: they do not; says which countries differ.
    """
    want = expected(inbox)[-1]
    found = catalog.table(TABLES[-1]).read().to_arrow()
    wanted, have = (
        {row["country"]: tuple(row[n] for n in want.sales.column_names) for row in t.to_pylist()}
        for t in (want.sales, found)
    )
    wrong = sorted(c for c in wanted.keys() | have.keys() if wanted.get(c) != have.get(c))
    if wrong:
        lines = [f"{c}: expected {wanted.get(c)}, found {have.get(c)}" for c in wrong[:5]]
        raise DemoError(f"country_sales differs in {len(wrong)} rows:\n" + "\n".join(lines))
    customers = catalog.table(TABLES[0]).read(columns=["id"]).to_arrow().num_rows
    if customers != want.customers:
        raise DemoError(f"customers has {customers} rows, expected {want.customers}")
    return want


def clicks(airflow: AirflowHome, wiring: Wiring, report: str, console: Console) -> None:
    """Where to look next."""
    run = f"{airflow.url}/dags/streamhouse_report/runs/{report}"
    console.print()
    console.print(f"[bold]Airflow[/bold]   {airflow.url}   login {USER} / {airflow.password}")
    console.print(f"[bold]Report[/bold]    {run}   (open its task, then the link)", soft_wrap=True)
    console.print(f"[bold]Page[/bold]      {airflow.url}{PAGE}", soft_wrap=True)
    reach = "".join(f"{name}={value} " for name, value in wiring.command_line.items())
    read = f"{reach}.venv/bin/table-core read {TABLES[-1]} -w {wiring.warehouse}"
    console.print(f"[bold]Rows[/bold]      {read}", soft_wrap=True)
    if not airflow.address:
        console.print(f"[bold]Shell[/bold]     source {airflow.home}/env.sh && airflow dags list")
        console.print("[bold]Stop[/bold]      make demo-down")


def _grid(
    title: str, names: Sequence[str], rows: Sequence[dict[str, Any]], styles: Sequence[str] = ()
) -> Table:
    grid = Table(title=title, title_justify="left", header_style="bold")
    kinds = {n: pa.infer_type([r[n] for r in rows]) for n in names}
    for name in names:
        number = pa.types.is_integer(kinds[name]) or pa.types.is_decimal(kinds[name])
        grid.add_column(name, justify="right" if number else "left")
    for n, row in enumerate(rows):
        grid.add_row(*(_cell(row[name]) for name in names), style=styles[n] if styles else "")
    return grid


def _cell(value: Any) -> str:
    if isinstance(value, datetime):
        return value.isoformat(" ", "seconds")
    return "" if value is None else str(value)
