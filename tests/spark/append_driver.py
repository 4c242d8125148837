"""A driver to be killed: appends rows to a table by Spark's own writer, and stops for good at one step.

python append_driver.py TABLE write|move|commit
"""

from __future__ import annotations

import sys
import time
from typing import Any

import table_core as tc
import table_core.spark as tcs
from table_core.spark.session.create import open_session
from table_core.spark.writing import native
from table_core.table.api.table import Table

SLOW = "aggregate(sequence(1L, 100000L + id), 0L, (a, x) -> (a + x * 31) % 1000003) AS slow"
HANGS_S = 600


def hang(*_: Any, **__: Any) -> Any:
    print("here", flush=True)
    time.sleep(HANGS_S)


def main(uri: str, step: str) -> None:
    spark = open_session({"spark.master": "local[2]"})
    spark.sparkContext.setLogLevel("OFF")
    rows = spark.range(0, 100, 1, 2).selectExpr("id", "concat('x', id) v")
    if step == "write":  # rows that take a while; whoever kills sees the files of the tasks
        rows = (
            spark.range(0, 2000, 1, 100).selectExpr("id", SLOW).selectExpr("id", "string(slow) v")
        )
    if step == "move":
        move = native._move
        native._move = lambda factory, taken: hang(move(factory, taken[:1]))
    if step == "commit":
        Table.commit = hang  # type: ignore[method-assign]
    tcs.write(rows, tc.open_table(uri))


if __name__ == "__main__":
    main(*sys.argv[1:])
