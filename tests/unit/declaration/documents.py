"""Declarations that several tests begin with."""

from __future__ import annotations

BASE = """\
version: 1
name: shop
tables:
  a.t:
    columns: {id: BIGINT NOT NULL, dt: STRING, amount: "DECIMAL(12, 2)"}
    primary_key: [id]
    options: {bucket: 2}
  a.p:
    columns: {id: BIGINT, h: INT, flag: BOOLEAN}
    partition_by: [h, flag]
"""
LINE = BASE.count("\n") + 1

CHAIN = """\
version: 1
name: chain
pipeline: {schedule: 0 6 * * *, timezone: Europe/Oslo}
tables:
  s.a: {columns: {id: BIGINT}, tags: [raw]}
  s.b: {columns: {id: BIGINT}, tags: [daily, money]}
  s.c: {columns: {id: BIGINT}, tags: [daily], audit: true}
  s.d: {columns: {id: BIGINT}}
external:
  ref.x: {}
sources:
  load_a: {table: s.a, rows_uri: "file:///a/*.parquet", tags: [slow]}
flows:
  make_b: {table: s.b, reads: {a: s.a}, sql: SELECT id FROM a}
  make_c: {table: s.c, reads: {b: s.b, x: ref.x}, sql: SELECT b.id FROM b JOIN x ON x.id = b.id}
  make_d: {table: s.d, reads: {c: s.c}, sql: SELECT id FROM c, after: [load_a], tags: [money]}
checks:
  b: {table: s.b, rows: [1, null]}
  c: {table: s.c, rows: [1, null], tags: [strict]}
upkeep: {policy: {compact: true}, tags: [night]}
triggers:
  wake: {table: s.a, flows: [make_d], tags: [daily]}
"""
