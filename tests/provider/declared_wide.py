"""A declaration that has everything."""

from __future__ import annotations

WIDE = """\
version: 1
name: wide
pipeline:
  retries: 7
  retry_delay: 2 min
  max_active_tasks: 3
  params: {day: {type: string, default: x}, input: {type: string}, plain: 5}
tables:
  s.orders: {columns: {id: BIGINT, h: INT}, partition_by: [h]}
  s.sums: {columns: {id: BIGINT}}
  s.late: {columns: {id: BIGINT}}
  s.out: {columns: {id: BIGINT}}
sources:
  load: {table: s.orders, rows_uri: "file:///data/*.parquet", overwrite: {h: 07}}
flows:
  sums:
    table: s.sums
    reads: {o: {table: s.orders, mode: changes}}
    pending: {table: s.late, sql: SELECT id FROM o}
    sql: SELECT id FROM o
    with: {retries: 1, retry_delay: 30 s, parameters: {low: 3}}
  erase: {table: s.sums, run: delete, with: {where: id = 1}}
  out: {table: s.out, reads: {s: s.sums}, sql: "SELECT id FROM s WHERE '{{ params.day }}' <> ''"}
  merge:
    table: s.out
    merge: {source: {reads: {s: s.late}, sql: SELECT id FROM s}, on: [id], when: [{action: matched-delete}]}
checks:
  late: {table: s.late, rows: [0, null]}
  sums: {table: s.sums, unique: [id]}
upkeep: {policy: {compact: true}}
triggers:
  woken: {table: s.orders, partitions: [{h: 07}], flows: [out]}
"""
