"""Evolving schemas: each change, what it keeps, and when it is refused."""

from __future__ import annotations

import pickle
from dataclasses import replace

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from table_core.datatypes.castable import is_castable
from table_core.datatypes.kinds import Field
from table_core.datatypes.text import parse_type, type_to_json
from table_core.errors import OptionError, SchemaError
from table_core.schema.change import (
    AddColumn,
    DropColumn,
    DropPrimaryKey,
    RemoveOption,
    RenameColumn,
    SetOption,
    UpdateColumnComment,
    UpdateColumnDefault,
    UpdateColumnNullability,
    UpdateColumnPosition,
    UpdateColumnType,
    UpdateComment,
)
from table_core.schema.evolve import create, evolve
from table_core.schema.nested import path_text, split_path

BASE = create(
    pa.schema(
        [
            pa.field("id", pa.int32()),
            pa.field("dt", pa.string()),
            pa.field("name", pa.string()),
            pa.field("n", pa.int32()),
            pa.field("r", pa.struct([("x", pa.int32()), ("y", pa.string())])),
            pa.field("l", pa.list_(pa.struct([("z", pa.int32())]))),
        ]
    ),
    primary_key=("id", "dt"),
    partition_by=("dt",),
    options={"bucket": "2", "sequence.field": "n"},
    now_ms=0,
)


def after(*changes, has_snapshots: bool = True, schema=BASE):
    return evolve(schema, changes, has_snapshots=has_snapshots, now_ms=9)


def names(schema) -> list[str]:
    return [f.name for f in schema.fields]


def refusal(*changes, **more) -> str:
    with pytest.raises(SchemaError) as caught:
        after(*changes, **more)
    return "; ".join(caught.value.facts["problems"])


def test_the_next_schema_has_the_next_id_and_its_own_time() -> None:
    schema = after(UpdateComment("hello"))
    assert (schema.id, schema.time_millis, schema.comment) == (1, 9, "hello")
    assert schema.fields == BASE.fields


def test_a_dropped_column_added_again_is_another_column() -> None:
    schema = after(DropColumn("name"), AddColumn("name", "STRING"))
    assert schema.field("name").id == BASE.highest_field_id + 1
    assert schema.highest_field_id == BASE.highest_field_id + 1


@pytest.mark.parametrize(
    ("change", "order"),
    [
        (AddColumn("c", "INT"), "id dt name n r l c"),
        (AddColumn("c", "INT", first=True), "c id dt name n r l"),
        (AddColumn("c", pa.int32(), after="dt"), "id dt c name n r l"),
        (UpdateColumnPosition("r", first=True), "r id dt name n l"),
        (UpdateColumnPosition("id", after="n"), "dt name n id r l"),
        (UpdateColumnPosition("l", before="dt"), "id l dt name n r"),
        (UpdateColumnPosition("id", last=True), "dt name n r l id"),
    ],
)
def test_columns_go_where_they_are_sent(change, order) -> None:
    assert names(after(change)) == order.split()


def test_add_column_before_partition() -> None:
    schema = after(SetOption("add-column-before-partition", "true"), AddColumn("c", "INT"))
    assert names(schema)[:3] == ["id", "c", "dt"]


def test_nested_members_are_added_renamed_dropped_and_retyped() -> None:
    schema = after(
        AddColumn("r.w", "BIGINT", after="x"),
        RenameColumn("r.x", "xx"),
        DropColumn("r.y"),
        UpdateColumnType("l.element.z", "BIGINT"),
    )
    assert type_to_json(schema.field("r").type)["fields"] == [
        {"id": 5, "name": "xx", "type": "INT"},
        {"id": BASE.highest_field_id + 1, "name": "w", "type": "BIGINT"},
    ]
    assert schema.field("l").type.element.fields[0].type == parse_type("BIGINT")


def test_options_follow_a_renamed_column() -> None:
    schema = create(
        pa.schema([(n, pa.int32()) for n in "kgabc"]),
        primary_key=("k",),
        options={
            "bucket": "1",
            "bucket-key": "k",
            "merge-engine": "partial-update",
            "fields.g.sequence-group": "a,b",
            "fields.a.aggregate-function": "sum",
        },
        now_ms=0,
    )
    changed = after(*(RenameColumn(n, n + n) for n in "kgab"), schema=schema, has_snapshots=True)
    assert changed.raw_options == {
        "bucket": "1",
        "bucket-key": "kk",
        "merge-engine": "partial-update",
        "fields.gg.sequence-group": "aa,bb",
        "fields.aa.aggregate-function": "sum",
    }
    assert changed.primary_keys == ("kk",)
    assert changed.field("kk").id == schema.field("k").id
    assert after(RenameColumn("n", "m")).raw_options["sequence.field"] == "m"


def test_changing_a_type_keeps_id_and_nullability() -> None:
    schema = after(UpdateColumnType("n", "BIGINT"))
    assert schema.field("n").id == BASE.field("n").id
    assert schema.field("n").type == parse_type("BIGINT")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ([AddColumn("n", "INT")], "exists already"),
        ([AddColumn("c", "INT NOT NULL")], "must be nullable"),
        ([AddColumn("c", "INT", after="zz")], "no column 'zz'"),
        ([AddColumn("c", "INT", after="n", first=True)], "more than one place"),
        ([AddColumn("zz.c", "INT")], "'zz' is missing"),
        ([AddColumn("n.c", "INT")], "is missing"),
        ([AddColumn("c", "NONSENSE")], "not a type"),
        ([AddColumn("c", pa.duration("s"))], "has no Paimon type"),
        ([DropColumn("zz")], "'zz' is missing"),
        ([DropColumn("dt")], "partition column 'dt' cannot be dropped"),
        ([DropColumn("id")], "primary-key column 'id' cannot be dropped"),
        ([DropColumn("n")], "sequence.field names it"),
        ([DropColumn("r.x"), DropColumn("r.y")], "only column"),
        ([RenameColumn("dt", "d")], "partition column 'dt' cannot be renamed"),
        ([RenameColumn("n", "name")], "exists already"),
        ([UpdateColumnType("id", "BIGINT")], "cannot be given another type"),
        ([UpdateColumnType("r", "INT")], "cannot go from"),
        ([UpdateColumnType("r", pa.struct([("x", pa.int64())]))], "members one by one"),
        ([UpdateColumnNullability("id", True)], "cannot become nullable"),
        ([UpdateColumnNullability("n", False)], "cannot become NOT NULL"),
        ([UpdateColumnPosition("n")], "say where"),
        ([UpdateColumnPosition("n", after="n")], "next to itself"),
        ([DropPrimaryKey()], "no snapshot"),
        ([SetOption("path", "/x")], "not stored"),
        ([SetOption("merge-engine", "first-row")], None),
    ],
)
def test_refusals(changes, words) -> None:
    if words is None:
        with pytest.raises(OptionError, match="fixed once"):
            after(*changes)
    else:
        assert words in refusal(*changes)


@pytest.mark.parametrize(
    "change",
    [
        UpdateColumnType("m.key", "BIGINT"),
        UpdateColumnType("deep.element.key", "BIGINT"),
        UpdateColumnType("rows.key.a", "BIGINT"),
        UpdateColumnNullability("m.key", False),
        AddColumn("rows.key.b", "INT"),
        DropColumn("rows.key.a"),
        RenameColumn("rows.key.a", "b"),
        UpdateColumnType("m", "MAP<BIGINT, INT>"),
    ],
    ids=str,
)
def test_the_key_of_a_map_stays_as_it_is(change) -> None:
    types = {
        "m": "MAP<INT, INT>",
        "deep": "ARRAY<MAP<INT, INT>>",
        "rows": "MAP<ROW<a INT, c INT>, INT>",
    }
    table = create(
        [Field(at, *one) for at, one in enumerate((n, parse_type(t)) for n, t in types.items())],
        now_ms=0,
    )
    with pytest.raises(SchemaError, match=r"key of a map stays|cannot go from"):
        evolve(table, [change], has_snapshots=True, now_ms=1)
    assert evolve(table, [UpdateColumnType("m.value", "BIGINT")], has_snapshots=True, now_ms=1)


def test_all_refusals_come_at_once() -> None:
    assert refusal(DropColumn("zz"), DropColumn("id"), AddColumn("n", "INT")).count(";") == 2


def test_options_change_within_their_limits() -> None:
    assert after(SetOption("bucket", "8")).raw_options["bucket"] == "8"
    assert (
        "bucket"
        not in after(
            RemoveOption("bucket"), has_snapshots=False, schema=create_pk_unpartitioned()
        ).raw_options
    )
    for key, value in [
        ("bucket", "-1"),
        ("bucket-key", "id"),
        ("deletion-vectors.enabled", "true"),
    ]:
        with pytest.raises(OptionError, match="cannot change"):
            after(SetOption(key, value))
    modifiable = after(SetOption("deletion-vectors.modifiable", "true"))
    assert after(SetOption("deletion-vectors.enabled", "true"), schema=modifiable)
    ignoring = after(SetOption("ignore-delete", "true"))
    with pytest.raises(OptionError, match="from true to false"):
        after(RemoveOption("ignore-delete"), schema=ignoring)
    assert after(SetOption("merge-engine", "deduplicate")).id == 1
    with pytest.raises(OptionError, match="did you mean"):
        after(SetOption("buckets", "3"))


def create_pk_unpartitioned():
    return create(
        pa.schema([("id", pa.int32())]), primary_key=("id",), options={"bucket": "2"}, now_ms=0
    )


def test_an_option_under_its_old_name_is_replaced() -> None:
    old = create_pk_unpartitioned()
    old = replace(old, raw_options={"write.compaction-skip": "true"})
    changed = after(SetOption("write-only", "false"), schema=old)
    assert changed.raw_options == {"write-only": "false"}


def test_nullability_default_and_comment() -> None:
    schema = after(
        SetOption("alter-column-null-to-not-null.disabled", "false"),
        UpdateColumnNullability("n", False),
        UpdateColumnDefault("name", "zz"),
        UpdateColumnComment("name", "who"),
    )
    assert not schema.field("n").type.nullable
    assert (schema.field("name").default, schema.field("name").description) == ("zz", "who")


def test_explicit_casts_can_be_forbidden() -> None:
    assert after(UpdateColumnType("n", "SMALLINT"))
    strict = after(SetOption("disable-explicit-type-casting", "true"))
    assert "cannot go from INT to SMALLINT" in refusal(
        UpdateColumnType("n", "SMALLINT"), schema=strict
    )
    assert after(UpdateColumnType("n", "BIGINT"), schema=strict)


def test_changes_can_be_pickled() -> None:
    changes = [AddColumn("c", pa.int32()), DropColumn("d"), SetOption("a", "b"), DropPrimaryKey()]
    assert pickle.loads(pickle.dumps(changes)) == changes


@pytest.mark.parametrize(
    ("source", "target", "implicit", "explicit"),
    [
        ("INT", "BIGINT", True, True),
        ("BIGINT", "INT", False, True),
        ("TIMESTAMP(3)", "INT", False, True),
        ("TIMESTAMP(3)", "SMALLINT", False, False),
        ("TIMESTAMP(3)", "DOUBLE", False, False),
        ("DATE", "INT", False, False),
        ("INT", "DATE", False, False),
        ("DATE", "TIMESTAMP", False, True),
        ("INT", "TIMESTAMP", False, True),
        ("STRING", "INT", False, True),
        ("CHAR(3)", "STRING", True, True),
        ("STRING", "CHAR(3)", False, True),
        ("BYTES", "STRING", False, True),
        ("STRING", "BYTES", False, True),
        ("FLOAT", "BOOLEAN", False, False),
        ("INT", "BOOLEAN", False, True),
        ("DECIMAL(10,2)", "DECIMAL(4,1)", True, True),
        ("VARIANT", "STRING", False, False),
        ("INT ARRAY", "STRING", False, True),
        ("STRING", "INT ARRAY", False, False),
        ("INT NOT NULL", "INT", True, True),
    ],
)
def test_the_matrix_of_casts(source, target, implicit, explicit) -> None:
    pair = parse_type(source), parse_type(target)
    assert is_castable(*pair, explicit=False) is implicit
    assert is_castable(*pair, explicit=True) is explicit


DOTTED = create(
    pa.schema(
        [
            pa.field("v1.2", pa.int32()),
            pa.field("v1", pa.struct([("2", pa.int32()), ("a.b", pa.int32()), ("`", pa.int32())])),
            pa.field("x`y", pa.int32()),
        ]
    ),
    options={"bucket": "-1", "fields.v1.2.stats-mode": "full"},
    now_ms=0,
)


@pytest.mark.parametrize("name", ["v1.2", "`v1.2`"])
def test_a_column_whose_name_has_a_dot_is_named_with_and_without_backquotes(name: str) -> None:
    schema = after(RenameColumn(name, "v3"), schema=DOTTED)
    assert names(schema) == ["v3", "v1", "x`y"]
    assert schema.raw_options["fields.v3.stats-mode"] == "full"
    assert "fields.v1.2.stats-mode names it" in refusal(DropColumn(name), schema=DOTTED)
    plain = after(RemoveOption("fields.v1.2.stats-mode"), schema=DOTTED)
    assert names(after(DropColumn(name), schema=plain)) == ["v1", "x`y"]
    assert after(UpdateColumnComment(name, "c"), schema=DOTTED).field("v1.2").description == "c"


@pytest.mark.parametrize(
    ("path", "left"),
    [("v1.`2`", ["a.b", "`"]), ("`v1`.`a.b`", ["2", "`"]), ("v1.````", ["2", "a.b"])],
)
def test_members_whose_path_needs_backquotes(path: str, left: list[str]) -> None:
    schema = after(DropColumn(path), schema=DOTTED)
    assert names(schema) == names(DOTTED)
    assert [member.name for member in schema.field("v1").type.fields] == left


@pytest.mark.parametrize(
    ("written", "name"),
    [("`c.d`", "c.d"), ("`c``.d`", "c`.d"), ("x`z", "x`z"), ("`c", "`c"), ("``", "``")],
)
def test_a_new_column_is_called_what_stands_in_backquotes(written: str, name: str) -> None:
    schema = after(AddColumn(written, "INT"), schema=DOTTED)
    assert names(schema)[-1] == name
    assert name in names(after(DropColumn("x`y"), schema=schema))


def test_a_path_that_leads_nowhere_says_how_a_dot_is_written() -> None:
    assert "stands in backquotes" in refusal(AddColumn("c.d", "INT"), schema=DOTTED)
    assert "'3' is missing" in refusal(DropColumn("`v1`.3"), schema=DOTTED)


@given(st.lists(st.text("a.`b", min_size=1), min_size=1, max_size=3))
def test_the_text_of_a_path_is_read_as_its_steps(steps: list[str]) -> None:
    assert split_path((), path_text(steps)) == tuple(steps)
