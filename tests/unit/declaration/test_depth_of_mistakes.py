"""Mistakes that only Airflow, Spark or a run would have shown: validate knows them, with a place and a remedy."""

from __future__ import annotations

import json

import pytest

from table_core.declaration import manifest
from table_core.declaration.document import faults_of, parse
from table_core.errors import ArgumentError

BASE = """\
version: 1
name: shop
warehouse: ./wh
tables:
  shop.a:
    columns: {id: BIGINT NOT NULL, c: STRING, m: "MAP<STRING, INT>", n: INT}
    primary_key: [id]
  shop.b:
    columns: {id: BIGINT NOT NULL, c: STRING, n: INT, r: "ROW<x INT>"}
    primary_key: [id]
"""
MERGE = "flows: {f: {table: shop.b, merge: {source: %s, on: [id], when: [%s]}}}"
OF_A = "{table: shop.a}"
OF_SQL = "{sql: 'SELECT id, n AS k FROM a', reads: {a: shop.a}}"
SQL = 'flows: {f: {table: shop.b, reads: {a: shop.a}, sql: "SELECT id, c, n FROM a WHERE c = %s"}}'
FILES = "flows: {f: {table: shop.b, rows_uri: '%s'}}"
UPKEEP = (
    "upkeep: {schedule: '0 3 * * *', policy: {compact: {strategy: minor}}, tables: {shop.a: {%s}}}"
)
PARAM = "pipeline: {params: {x: {%s}}}"

WRONG: dict[str, tuple[str, str]] = {
    "default below its minimum": (PARAM % "type: integer, minimum: 5, default: 1", "1 is less than the minimum of 5"),
    "default that is none of enum": (PARAM % "enum: [a, b], default: c", "'c' is not one of"),
    "default that its pattern refuses": (PARAM % "type: string, pattern: '^a', default: b", "does not match"),
    "default that is too long": (PARAM % "type: string, maxLength: 2, default: abc", "too long"),
    "item of a default": (PARAM % "type: array, items: {type: integer}, default: [a]", "not of type 'integer'"),
    "default that is no date": (PARAM % "type: string, format: date, default: nope", "is not a 'date'"),
    "default that is another constant": (PARAM % "const: 1, default: 2", "1 was expected"),
    "pattern that is none": (PARAM % "type: string, pattern: '('", "no JSON Schema: pattern"),
    "minimum that is none": (PARAM % "type: integer, minimum: a", "no JSON Schema: minimum"),
    "column of the source in a condition": (
        MERGE % (OF_A, "{action: matched-upsert, condition: 'source.nn > 1'}"),
        "the source has no column 'nn'; did you mean 'n'?",
    ),
    "column of the table in a condition": (
        MERGE % (OF_A, "{action: matched-upsert, condition: 'target.m IS NULL'}"), "the target has no column 'm'",
    ),
    "column of nobody in a condition": (
        MERGE % (OF_A, "{action: matched-delete, condition: 'gone = 1'}"), "'gone' is neither source.",
    ),
    "column of the source in a value": (
        MERGE % (OF_A, "{action: not-matched-insert, values: {n: 'source.k + 1'}}"), "the source has no column 'k'",
    ),
    "column that a query renames": (
        MERGE % (OF_SQL, "{action: not-matched-insert, values: {n: source.n}}"), "the source has no column 'n'",
    ),
    "key that a query does not give": (
        MERGE.replace("[id]", "[c]") % (OF_SQL, "{action: matched-upsert}"), "the source has no column 'c'",
    ),
    "template without an end": (SQL % "'{{ params.x'", "does not close"),
    "template without a name": (SQL % "'{{ params. }}'", "is no template: expected name or number"),
    "if without its end": (SQL % "1 {% if x %} AND 1 = 1", "is no template: Unexpected end of template"),
    "brace that is missing": (FILES % "file:///x/{{ ds }/*.parquet", "is no template: unexpected '}'"),
    "comment without its end": (FILES % "file:///x/{# a /*.parquet", "Missing end of comment"),
    "template in a condition": (
        "flows: {f: {table: shop.b, run: delete, with: {where: \"c = '{{ ds }\"}}}", "is no template",
    ),
    "template in a check": ("checks: {k: {table: shop.b, where: \"c = '{{ ds }\", not_null: [c]}}", "is no template"),
    "expiry of partitions that are not there": (UPKEEP % "expire-partitions: {expiration_time: 30 d}", "has no partitions"),
    "expiry of partitions, true": (UPKEEP % "expire-partitions: true", "shop.a has no partitions"),
    "members that differ in case": ('  shop.r: {columns: {r: "ROW<a INT, A INT>"}}', "'A' and 'a' differ in case alone"),
    "deep members": (
        '  shop.r: {columns: {r: "MAP<STRING, ARRAY<ROW<x ROW<\u00e4 INT, \u00c4 INT>>>>"}}', "differ in case alone",
    ),
}  # fmt: skip


@pytest.mark.parametrize("mistake", WRONG)
def test_a_mistake_has_its_place_and_a_remedy(mistake: str) -> None:
    text, told = WRONG[mistake]
    diagnostics = faults_of(f"{BASE}{text}\n", "x.yaml")
    assert [diagnostic for diagnostic in diagnostics if told in diagnostic.message], diagnostics
    assert len(diagnostics) == 1, "one mistake is told once"
    assert diagnostics[0].line == BASE.count("\n") + 1


RIGHT = [
    PARAM % "type: integer, minimum: 0, default: 1",
    PARAM % "type: string, format: date, default: 2026-01-01",
    PARAM % "type: [string, 'null'], enum: [a, null], default: null",
    MERGE
    % (
        OF_A,
        "{action: matched-upsert, condition: 'source.n > target.n AND source.m[''x''] = TARGET.R.x'}",
    ),
    MERGE
    % (
        OF_A,
        "{action: not-matched-insert, values: {id: source.ID, n: 'coalesce(source.n, 0) + 1'}}",
    ),
    MERGE % (OF_SQL, "{action: matched-upsert, values: {n: source.k}}"),
    MERGE % (OF_SQL.replace("n AS k", "*"), "{action: matched-upsert, values: {n: source.n}}"),
    MERGE % (OF_A, "{action: matched-upsert, condition: 'source.{{ params.x }} > 1'}"),
    SQL % "'{{ params.x | lower }}' {# why #} {% if x %} AND 1 = 1 {% endif %}",
    FILES % "file:///x/{{ macros.ds_add(ds, 1) }}/*.parquet",
    UPKEEP % "expire-partitions: false",
    "upkeep: {schedule: '0 3 * * *', policy: {expire-partitions: {expiration_time: 30 d}}}",
    '  shop.r: {columns: {r: "ROW<a INT, b ROW<A INT>>"}}',
]


AIM = {"TABLE_CORE_TARGET": "prod"}


def test_targets_without_an_entry_say_so() -> None:
    with pytest.raises(
        ArgumentError, match="no target 'prod': this file has no targets; add targets"
    ):
        parse(f"{BASE}targets: {{}}\n", environment=AIM)
    with pytest.raises(ArgumentError, match="no target 'prod'; did you mean 'Prod'"):
        parse(f"{BASE}targets: {{Prod: {{warehouse: ./x}}}}\n", environment=AIM)


@pytest.mark.parametrize(
    "targets", ["{prod: {warehous: x}}", "{prod: 5}", "{prod: null}", "", "[]", "x"]
)
def test_a_target_with_a_fault_is_not_told_as_one_that_is_not_there(targets: str) -> None:
    diagnostics = faults_of(f"{BASE}targets: {targets}\n", "x.yaml", environment=AIM)
    assert len(diagnostics) == 1
    assert "no target" not in diagnostics[0].message


@pytest.mark.parametrize("number", range(len(RIGHT)))
def test_what_is_right_passes(number: int) -> None:
    assert faults_of(f"{BASE}{RIGHT[number]}\n", "x.yaml") == []


@pytest.mark.parametrize("value", [None, 5, "x", [], {}, [5], [[]], True], ids=repr)
def test_a_manifest_with_any_member_damaged_is_not_taken_and_raises_nothing(value: object) -> None:
    digest = manifest.digest_of(BASE.encode())
    first, _, second = manifest.compiled(parse(BASE), digest).partition("\n")
    head, body = json.loads(first), json.loads(second)
    assert manifest.whole(f"{first}\n{second}", digest) is not None
    for name in head:
        line = json.dumps({**head, name: value})
        assert isinstance(manifest.included(line), list)
        for found in (manifest.head_of(line, digest), manifest.whole(f"{line}\n{second}", digest)):
            of_another = name in ("version", "digest") and value != head[name]
            assert not of_another or found is None
    for name in body:
        manifest.whole(f"{first}\n{json.dumps({**body, name: value})}\n", digest)
