"""Creating schemas: what is stored, and every refusal by its words.

Method: small Arrow schemas in, documents out; refusals are asked for several at once, because a user
who fixes one fault at a time loses an afternoon.
"""

from __future__ import annotations

import pyarrow as pa
import pytest

from table_core.datatypes.kinds import Field, Row
from table_core.errors import OptionError, SchemaError, UnsupportedFeatureError
from table_core.schema.evolve import create

COLUMNS = pa.schema(
    [
        pa.field("id", pa.int32()),
        pa.field("dt", pa.string()),
        pa.field("name", pa.string()),
        pa.field("amount", pa.decimal128(10, 2)),
    ]
)


def made(**arguments):
    return create(**{"columns": COLUMNS, "now_ms": 7} | arguments)


def problems(**arguments) -> list[str]:
    with pytest.raises(SchemaError) as caught:
        made(**arguments)
    return caught.value.facts["problems"]


def test_ids_are_given_depth_first() -> None:
    nested = pa.struct([pa.field("x", pa.int32()), pa.field("y", pa.struct([("z", pa.int8())]))])
    columns = pa.schema(
        [("a", pa.int8()), ("r", nested), ("l", pa.list_(nested)), ("b", pa.int8())]
    )
    schema = create(columns, now_ms=0)
    assert [f.id for f in schema.fields] == [0, 1, 5, 9]
    row = schema.field("r").type
    assert isinstance(row, Row)
    assert [f.id for f in row.fields] == [2, 3]
    assert row.fields[1].type == Row((Field(4, "z", row.fields[1].type.fields[0].type),))
    assert schema.highest_field_id == 9


def test_primary_key_columns_become_not_null_unless_nullable_keys_are_asked_for() -> None:
    schema = made(primary_key=("id",))
    assert not schema.field("id").type.nullable
    assert schema.field("dt").type.nullable
    assert (schema.id, schema.time_millis) == (0, 7)
    kept = made(primary_key=("id",), options={"primary-key.nullable": "true"})
    assert kept.field("id").type.nullable


def test_keys_given_as_options_are_normalised_away() -> None:
    schema = made(options={"primary-key": "id, dt", "partition": "dt"})
    assert schema.primary_keys == ("id", "dt")
    assert schema.partition_keys == ("dt",)
    assert schema.raw_options == {}
    assert "the argument ['id']" in problems(primary_key=["id"], options={"primary-key": "dt"})[0]


def test_options_of_the_connector_are_accepted_and_not_stored() -> None:
    given = {
        "connector": "paimon",
        "path": "/x",
        "auto-create": "true",
        "write-mode": "append-only",
    }
    assert made(options=given | {"bucket": "-1"}).raw_options == {"bucket": "-1"}
    assert "connector" in problems(options={"connector": "kafka"})[0]


@pytest.mark.parametrize(("key", "mode"), [(("id",), "append-only"), ((), "change-log")])
def test_old_write_modes_that_contradict_the_key_are_refused_by_name(key, mode) -> None:
    with pytest.raises(UnsupportedFeatureError) as caught:
        made(primary_key=key, options={"write-mode": mode})
    assert caught.value.facts["feature"] == f"write-mode={mode}"


def test_unknown_options_are_refused_with_the_nearest_name() -> None:
    with pytest.raises(OptionError, match="merge-engine"):
        made(options={"merge-engin": "deduplicate"})


def test_a_fixed_bucket_append_table_without_bucket_key_hashes_all_its_columns() -> None:
    assert made(options={"bucket": "2"}).raw_options["bucket-key"] == "id,dt,name,amount"
    parted = made(options={"bucket": "2"}, partition_by=("dt",))
    assert parted.raw_options["bucket-key"] == "id,name,amount"
    with pytest.raises(SchemaError, match="bucket-key"):
        create(pa.schema([("m", pa.list_(pa.int8()))]), options={"bucket": "1"}, now_ms=0)


REFUSED = [
    ({"primary_key": ["nope"]}, "'nope' does not exist"),
    ({"primary_key": ["id", "id"]}, "2 times"),
    ({"primary_key": ["dt"], "partition_by": ["dt"]}, "partition columns only"),
    ({"partition_by": ["nope"]}, "partition key column 'nope'"),
    ({"options": {"bucket": "-1", "bucket-key": "id"}}, "bucket-key needs a fixed bucket"),
    ({"options": {"bucket": "0"}}, "bucket = 0"),
    ({"options": {"bucket": "-2"}}, "postpone"),
    (
        {"primary_key": ["id"], "partition_by": ["dt"], "options": {"bucket": "2"}},
        "lacks partition",
    ),
    ({"primary_key": ["id"], "options": {"bucket": "2", "bucket-key": "name"}}, "must be part of"),
    ({"options": {"changelog-producer": "input"}}, "needs a primary key"),
    ({"options": {"merge-engine": "aggregation"}}, "needs a primary key"),
    (
        {"primary_key": ["id"], "options": {"merge-engine": "first-row", "sequence.field": "name"}},
        "first-row",
    ),
    (
        {
            "primary_key": ["id"],
            "options": {"merge-engine": "first-row", "changelog-producer": "input"},
        },
        "first-row allows",
    ),
    ({"primary_key": ["id"], "options": {"sequence.field": "zz"}}, "'zz' does not exist"),
    ({"primary_key": ["id"], "options": {"rowkind.field": "amount"}}, "must be a STRING"),
    (
        {
            "primary_key": ["id"],
            "options": {
                "merge-engine": "aggregation",
                "fields.name.aggregate-function": "sum",
            },
        },
        "does not take the type",
    ),
    ({"options": {"fields.zz.aggregate-function": "sum"}}, "'zz' does not exist"),
    (
        {"primary_key": ["id"], "options": {"fields.name.sequence-group": "amount,id"}},
        "primary key column 'id' cannot be in a group",
    ),
    (
        {"options": {"snapshot.num-retained.min": "5", "snapshot.num-retained.max": "3"}},
        "below snapshot.num-retained.min",
    ),
    (
        {
            "primary_key": ["id"],
            "options": {
                "deletion-vectors.enabled": "true",
                "changelog-producer": "full-compaction",
            },
        },
        "deletion-vectors",
    ),
    ({"options": {"record-level.expire-time": "1 d"}}, "record-level.time-field"),
    (
        {"primary_key": ["amount"], "options": {"bucket": "2", "bucket-function.type": "mod"}},
        "exactly one INT",
    ),
    ({"columns": pa.schema([("_KEY_a", pa.int8())])}, "reserved"),
    ({"columns": pa.schema([("a", pa.int8()), ("a", pa.int8())])}, "2 times"),
    ({"columns": pa.schema([])}, "at least one column"),
    ({"columns": pa.schema([("a", pa.duration("s"))])}, "column 'a'"),
    (
        {"columns": pa.schema([("a", pa.list_(pa.int8()))]), "primary_key": ["a"]},
        "cannot be a key",
    ),
]


@pytest.mark.parametrize(("arguments", "words"), REFUSED)
def test_a_broken_rule_is_named(arguments, words) -> None:
    assert any(words in p for p in problems(**arguments)), problems(**arguments)


def test_all_broken_rules_are_named_at_once() -> None:
    found = problems(
        options={
            "changelog-producer": "input",
            "sequence.field": "zz",
            "snapshot.num-retained.min": "0",
        }
    )
    assert len(found) == 3


@pytest.mark.parametrize("key", ["data-evolution.enabled"])
def test_features_that_cannot_be_written_are_refused_by_name(key) -> None:
    with pytest.raises(UnsupportedFeatureError) as caught:
        made(options={key: "true"})
    assert caught.value.facts["feature"] == key
