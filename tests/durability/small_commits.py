"""Commits of one row, and the keys that are there."""

from __future__ import annotations

import os

import pyarrow as pa

import table_core as tc

AS = tc.CommitAs(user="task", identifier=3)


def add(table: tc.Table, key: int, size: int = 1, **how: object) -> tc.Commit:
    with table.write(**how) as writer:
        value = os.urandom(size).hex()
        writer.write(pa.table({"k": [key], "v": [value]}, schema=table.arrow_schema))
        return writer.commit()


def keys(table: tc.Table) -> list[int]:
    return sorted(table.read().to_arrow()["k"].to_pylist())
