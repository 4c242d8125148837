"""What must hold for the rows of a table: looked at batch by batch, told with numbers and samples."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from table_core.datatypes.bounds import Bounds
from table_core.errors import ArgumentError, DataError
from table_core.ondisk.layout import MAIN
from table_core.table.api.check_rules import RULES, allowed_rows, sound_rules
from table_core.table.dml.postponed_rows import waiting_partitions
from table_core.table.metadata.clocks import AHEAD_MS
from table_core.table.metadata.describing import FilesOf, between
from table_core.table.read.committed_rows import committed_rows
from table_core.table.read.last_rows import rows_came_ms

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from table_core.ondisk.snapshot import Snapshot
    from table_core.predicate.expression import Expression
    from table_core.table.api.table import Table
    from table_core.table.metadata.results import ResultDocument
    from table_core.table.read.scan import Scan

__all__ = ["RULES", "check"]

_SAMPLE: Final = 5


@dataclass(slots=True)
class _Finding:
    """One rule: how many rows break it, and some of them."""

    rule: str
    allowed: int = 0
    """So many rows may break it."""
    failed_rows: int = 0
    sample: list[Any] = field(default_factory=list)
    measured: Any = None

    def add(self, rows: pa.RecordBatch | pa.Table) -> None:
        self.failed_rows += rows.num_rows
        self.sample += rows.slice(0, _SAMPLE - len(self.sample)).to_pylist()

    @property
    def broken(self) -> bool:
        return self.failed_rows > self.allowed

    def to_document(self) -> dict[str, object]:
        return {
            "rule": self.rule,
            "passed": not self.broken,
            "failed_rows": self.failed_rows,
            "sample": [{key: _plain(v) for key, v in row.items()} for row in self.sample],
            **({} if self.measured is None else {"found": self.measured}),
        }


def check(
    table: Table,
    rules: Mapping[str, Any],
    *,
    against: Table | None = None,
    query: Callable[[str, pa.Table], pa.Table] | None = None,
    fail: bool = True,
) -> ResultDocument:
    """Hold ``rules`` against the newest rows of ``table``, those too that readers see after a compaction only.

    ``not_null`` and ``unique`` are lists of columns; ``range`` is column to ``[smallest, largest]``,
    None for open; ``rows`` is ``[fewest, most]``; ``change`` is ``[lowest, highest]`` ratio of the
    row count to that of ``against``; ``sql`` is a query over the view ``rows``, of which every row
    is a fault; ``where`` chooses the rows that are looked at; ``at_most`` rows, or ``"1 %"`` of those
    looked at, may break a rule on rows; ``freshness`` is how long ago the last rows may have come, e.g.
    ``"2 h"``.  ``unique`` holds its columns in
    memory, ``sql`` all.  ``details["state"]`` tells the state that was looked at from any other, ``details["rows"]`` how many
    rows that were.  A table without rows, or without snapshots, keeps every rule but ``rows``.

    As in SQL, NULL breaks neither ``range`` nor ``unique``: forbid it with ``not_null``.  NaN breaks
    any ``range``.  Bounds are compared exactly, see ``Bounds``.

    Raises:
        DataError: a rule is broken and ``fail`` is on; facts list all that were looked at.
        ArgumentError: no such rule, or one that checks nothing; or rows of a branch wait for their bucket.
    """
    started_ms = table.access.clock.now_ms()
    rules = sound_rules(rules, against=against is not None)
    head = table.latest_snapshot()
    _refuse_waiting(table, head)
    findings, count = _findings(table, rules, against, query, head)
    told = [finding.to_document() for finding in findings]
    broken = [finding for finding in findings if finding.broken]
    if broken and fail:
        lines = [f"{f.rule}: {f.failed_rows} rows, e.g. {f.sample or f.measured}" for f in broken]
        raise DataError(
            f"{table.name} breaks {len(broken)} of {len(findings)} rules:\n" + "\n".join(lines),
            column=None,
            row=None,
            value=None,
            checks=told,
        )
    looked_at = FilesOf.of(table.access, head)
    details = {
        "checks": told,
        "failed": len(broken),
        "rows": count,
        "state": head.state if head else None,
    }
    return between(table.access, "check", looked_at, looked_at, details, started_ms=started_ms)


def _findings(
    table: Table,
    rules: Mapping[str, Any],
    against: Table | None,
    query: Callable[[str, pa.Table], pa.Table] | None,
    snapshot: Snapshot | None,
) -> tuple[list[_Finding], int]:
    """Each rule, and how many rows were looked at."""
    of_rows = {"not_null", "unique", "range", "rows"}
    findings, count = _by_batch(table, rules, snapshot) if of_rows & set(rules) else ([], 0)
    if "sql" in rules:
        findings.append(_by_query(table, rules, query, snapshot))
    for finding in findings:
        if not finding.rule.startswith("rows "):
            finding.allowed = allowed_rows(rules.get("at_most"), count)
    if against is not None and "change" in rules:
        findings.append(_by_change(table, rules, against, snapshot))
    if "freshness" in rules:
        findings.append(_by_age(table, rules["freshness"], snapshot.id if snapshot else None))
    return findings, count


def _by_age(table: Table, most_ms: int, snapshot: int | None) -> _Finding:
    """How long ago rows came: compactions and statistics bring none.

    Rows of the future, by a clock that was ahead, are not fresh: nobody knows how old they are.
    """
    now = table.access.clock.now_ms()
    newest = None if snapshot is None else rows_came_ms(table.access, snapshot)
    age_ms = None if newest is None else now - newest
    is_ahead = age_ms is not None and age_ms < -AHEAD_MS
    seconds = None if age_ms is None else (age_ms if is_ahead else max(age_ms, 0)) / 1000
    finding = _Finding(f"freshness {most_ms / 1000:g} s", measured={"seconds": seconds})
    finding.failed_rows = 1 if seconds is None or is_ahead or seconds * 1000 > most_ms else 0
    return finding


def _by_batch(
    table: Table, rules: Mapping[str, Any], snapshot: Snapshot | None
) -> tuple[list[_Finding], int]:
    not_null = {name: _Finding(f"not_null {name}") for name in rules.get("not_null", ())}
    ranges = {name: _Finding(f"range {name}") for name in rules.get("range", {})}
    bounds = {name: Bounds(name, *ends) for name, ends in rules.get("range", {}).items()}
    unique: Sequence[str] = rules.get("unique", ())
    columns = list(dict.fromkeys([*not_null, *ranges, *unique])) or None
    keys: list[pa.Table] = []
    count = 0
    scan = _scan(table, snapshot, columns, rules.get("where"))
    rows = () if snapshot is None else scan.to_batches()
    none = pa.RecordBatch.from_pylist([], schema=scan.schema)
    for batch in chain([none], rows):  # a rule on a column that is not there is told without rows
        count += batch.num_rows
        for name, finding in not_null.items():
            finding.add(batch.filter(pc.is_null(batch.column(name))))
        for name, finding in ranges.items():
            finding.add(batch.filter(bounds[name].outside(batch.column(name))))
        if unique:
            keys.append(pa.Table.from_batches([batch]).select(list(unique)))
    findings = [*not_null.values(), *ranges.values()]
    if unique:
        findings.append(_twice(unique, keys))
    if "rows" in rules:
        low, high = rules["rows"]
        finding = _Finding(f"rows {[low, high]}", measured=count)
        wrong = (low is not None and count < low) or (high is not None and count > high)
        finding.failed_rows = max(count, 1) if wrong else 0
        findings.append(finding)
    return findings, count


def _twice(unique: Sequence[str], keys: list[pa.Table]) -> _Finding:
    """Values that are there more than once; a NULL in one of the columns is like no other."""
    finding = _Finding(f"unique {', '.join(unique)}")
    if keys:
        known = [_without_negative_zero(table.drop_null()) for table in keys]
        counted = pa.concat_tables(known).group_by(list(unique)).aggregate([([], "count_all")])
        finding.add(counted.filter(pc.greater(counted.column("count_all"), 1)))
    return finding


def _without_negative_zero(table: pa.Table) -> pa.Table:
    """-0.0 as 0.0: SQL takes them for equal, and Arrow groups them apart."""
    for at, column in enumerate(table.columns):
        if pa.types.is_floating(column.type):
            zero = pa.scalar(0.0, column.type)
            plain = pc.if_else(pc.equal(column, zero), zero, column)
            table = table.set_column(at, table.schema.field(at), plain)
    return table


def _by_query(
    table: Table,
    rules: Mapping[str, Any],
    query: Callable[[str, pa.Table], pa.Table] | None,
    snapshot: Snapshot | None,
) -> _Finding:
    finding = _Finding("sql")
    if query is None:
        raise ArgumentError("rule sql needs an engine", argument="sql", value=rules["sql"])
    rows = _scan(table, snapshot, None, rules.get("where")).to_arrow()
    finding.add(query(rules["sql"], rows))
    return finding


def _by_change(
    table: Table, rules: Mapping[str, Any], against: Table, snapshot: Snapshot | None
) -> _Finding:
    low, high = rules["change"]
    before, now = _count(against, against.latest_snapshot()), _count(table, snapshot)
    finding = _Finding(f"change {[low, high]}", measured={"before": before, "now": now})
    ratio = now / before if before else None
    if ratio is not None and not (low or 0) <= ratio <= (math.inf if high is None else high):
        finding.failed_rows = max(abs(now - before), 1)
    return finding


def _count(table: Table, snapshot: Snapshot | None) -> int:
    columns = list(table.primary_key) or table.arrow_schema.names[:1]
    return sum(batch.num_rows for batch in _scan(table, snapshot, columns).to_batches())


def _scan(
    table: Table,
    snapshot: Snapshot | None,
    columns: Sequence[str] | None,
    where: str | Expression | None = None,
) -> Scan:
    """All rows that are committed, under the schema of ``snapshot``.

    What passes may be published, and then a compaction shows readers what they did not see before.
    """
    access = table.access
    if snapshot is not None:
        access = access.with_schema(access.metadata.schema(snapshot.schema_id))
    return committed_rows(access, snapshot, where, columns=columns, explicit=snapshot is not None)


def _refuse_waiting(table: Table, head: Snapshot | None) -> None:
    """Refuse a branch with rows that wait for their bucket: no read finds them, and they would be published."""
    access = table.access
    if access.branch == MAIN or not waiting_partitions(access, head):
        return
    raise ArgumentError(
        f"{table.name}: rows wait for their bucket (bucket = -2), and no check can see them; compact the branch "
        "first",
        argument="table",
        value=table.name,
    )


def _plain(value: object) -> object:
    return value if value is None or isinstance(value, str | int | float | bool) else str(value)
