"""pypaimon behind the questions that ``Judge.java`` answers; runs in pypaimon's own environment.

Lines of JSON on standard input and output, as in ``Judge.java``.  Only ``read``.
"""

from __future__ import annotations

import datetime as dt
import decimal
import json
import sys
from typing import Any

import pyarrow as pa
from judge import judged
from pypaimon import CatalogFactory
from pypaimon.schema.data_types import PyarrowFieldParser


def answer(ask: dict[str, Any]) -> list[list[Any]]:
    table = CatalogFactory.create({"warehouse": ask["warehouse"]}).get_table(ask["table"])
    if ask["options"]:
        table = table.copy(ask["options"])
    builder = table.new_read_builder()
    names = [field.name for field in table.fields]
    columns = ask["columns"] or names
    if ask["where"]:
        schema = PyarrowFieldParser.from_paimon_schema(table.fields)
        builder = builder.with_filter(
            _predicate(builder.new_predicate_builder(), ask["where"], schema)
        )
    if ask["columns"]:
        builder = builder.with_projection(columns)
    rows = builder.new_read().to_arrow(builder.new_scan().plan().splits())
    return judged(rows.select(columns))


def _predicate(builder: Any, wish: dict[str, Any], schema: pa.Schema) -> Any:
    if "parts" in wish:
        parts = [_predicate(builder, part, schema) for part in wish["parts"]]
        return getattr(builder, f"{wish['op']}_predicates")(parts)
    op, column = wish["op"], wish["column"]
    values = [_value(v, schema.field(column).type) for v in wish["values"]]
    if op in ("is_in", "is_not_in"):
        return getattr(builder, op)(column, values)
    return getattr(builder, op)(column, *values)


def _value(cell: Any, kind: pa.DataType) -> Any:
    if pa.types.is_decimal(kind):
        return decimal.Decimal(cell)
    if pa.types.is_floating(kind):
        return float(cell)
    if pa.types.is_date(kind):
        return dt.date.fromisoformat(cell)
    if pa.types.is_time(kind):
        return dt.time.fromisoformat(cell)
    if pa.types.is_binary(kind) or pa.types.is_fixed_size_binary(kind):
        return bytes.fromhex(cell[2:])
    if pa.types.is_timestamp(kind):
        moment = dt.datetime.fromisoformat(cell[:-3])
        return moment.replace(tzinfo=dt.UTC) if kind.tz else moment
    return cell


def main() -> None:
    answers, sys.stdout = sys.stdout, sys.stderr
    for line in sys.stdin:
        try:
            out: dict[str, Any] = {"ok": answer(json.loads(line))}
        except Exception as error:  # it answers for whatever pypaimon raises
            out = {"error": type(error).__name__, "message": str(error)}
        print(json.dumps(out), file=answers, flush=True)


if __name__ == "__main__":
    main()
