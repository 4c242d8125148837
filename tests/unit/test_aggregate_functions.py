"""The table of aggregate functions: what a table may declare is what merges it."""

from __future__ import annotations

import pyarrow as pa
import pytest

from table_core.datatypes.kinds import Array, DataType, Field, Map, Multiset, Row, Vector
from table_core.datatypes.text import parse_type
from table_core.errors import OptionError, SchemaError
from table_core.merge.engines.engine import engine_for
from table_core.options.aggregate_functions import AGGREGATE_FUNCTIONS, FUNCTION_OPTIONS
from table_core.options.user_options import refuse_wrong
from table_core.schema.table_schema import TableSchema
from table_core.schema.validate_fields import field_option_problems
from tests.merge_rows import schema_of
from tests.tables import new_catalog

OF_PAIMON = {
    *("bool_and", "bool_or", "collect", "first_non_null_value", "first_not_null_value"),
    *("first_value", "hll_sketch", "last_non_null_value", "last_value", "listagg", "max"),
    *("merge_map", "merge_map_with_keytime", "min", "nested_partial_update", "nested_update"),
    *("primary-key", "product", "rbm32", "rbm64", "sum", "theta_sketch"),
}
"""The aggregator factories in ``META-INF/services`` of Apache Paimon 2.0.0."""
OURS: set[str] = set()
"""Those that Paimon has not: it reads no table that declares one."""
TEXTS = (
    *("TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "DECIMAL(5, 2)", "BOOLEAN"),
    *("CHAR(3)", "VARCHAR(3)", "STRING", "BINARY(3)", "VARBINARY(3)", "BYTES", "DATE"),
    *("TIME(3)", "TIMESTAMP(6)", "VARIANT", "BLOB"),
)
INT, ROW = parse_type("INT"), Row((Field(10, "a", parse_type("INT")),))
TIMED = Row((Field(11, "a", parse_type("INT")), Field(12, "t", parse_type("STRING"))))
TYPES: dict[str, DataType] = {
    **{text: parse_type(text) for text in TEXTS},
    "ARRAY": Array(INT),
    "ARRAY<ROW>": Array(ROW),
    "VECTOR": Vector(parse_type("FLOAT"), 3),
    "MULTISET": Multiset(INT),
    "MAP": Map(INT, INT),
    "MAP of ROW": Map(INT, ROW),
    "MAP of timed ROW": Map(INT, TIMED),
    "ROW": ROW,
}
NUMBERS = {"TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "DECIMAL(5, 2)"}
MAPS = {"MAP", "MAP of ROW", "MAP of timed ROW"}
COMPARABLE = {*TEXTS} - {"BOOLEAN", "VARIANT", "BLOB"}
BYTES = {"VARBINARY(3)", "BYTES"}
NOTHING: set[str] = set()
TAKEN: dict[str, tuple[set[str], set[str]]] = {
    **dict.fromkeys(("sum", "product"), (NUMBERS, NOTHING)),
    **dict.fromkeys(("max", "min"), (COMPARABLE, NOTHING)),
    **dict.fromkeys(("bool_and", "bool_or"), ({"BOOLEAN"}, NOTHING)),
    **dict.fromkeys(("last_value", "last_non_null_value"), ({*TYPES}, NOTHING)),
    **dict.fromkeys(
        ("first_value", "first_non_null_value", "first_not_null_value"), ({*TYPES}, NOTHING)
    ),
    "listagg": ({"STRING"}, {"CHAR(3)", "VARCHAR(3)"}),
    "collect": ({"ARRAY", "ARRAY<ROW>"}, {"VECTOR"}),
    "merge_map": (MAPS, {"MULTISET"}),
    "merge_map_with_keytime": ({"MAP of timed ROW"}, {"MAP of ROW"}),
    **dict.fromkeys(("nested_update", "nested_partial_update"), ({"ARRAY<ROW>"}, NOTHING)),
    **dict.fromkeys(("theta_sketch", "hll_sketch", "rbm32", "rbm64"), (BYTES, {"BINARY(3)"})),
    "primary-key": (NOTHING, {*TYPES}),
}
"""By function: the columns that it merges, and those that a table may declare it for besides."""

GIVEN = {
    "distinct": ("true", "maybe"),
    "count-limit": ("1", "0"),
    "nested-key-null-strategy": ("Merge", "none"),
}
"""By option of a function: a right text and a wrong one; of the others any text is right."""


def declared(type_: DataType, function: str) -> TableSchema:
    given = {
        "merge-engine": "aggregation",
        "fields__v__aggregate-function": function,
        "fields__v__nested-key": "a",
    }
    return schema_of({"k": "INT NOT NULL", "v": type_}, **given)


def merges(schema: TableSchema) -> bool:
    try:
        engine_for(schema)
    except OptionError:
        return False
    return True


def test_the_functions_are_those_of_paimon_and_those_named_as_ours() -> None:
    assert set(AGGREGATE_FUNCTIONS) == OF_PAIMON | OURS == set(TAKEN)


@pytest.mark.parametrize("function", sorted(AGGREGATE_FUNCTIONS))
def test_a_function_is_declared_for_the_columns_that_it_merges(function: str) -> None:
    merged, besides = TAKEN[function]
    schemas = {name: declared(type_, function) for name, type_ in TYPES.items()}
    accepted = {name for name, s in schemas.items() if not list(field_option_problems(s))}
    assert accepted == merged | besides
    assert {name for name, schema in schemas.items() if merges(schema)} == merged


@pytest.mark.parametrize("function", ["count", "summ", "SUM"])
@pytest.mark.parametrize(
    "key", ["fields.v.aggregate-function", "fields.default-aggregate-function"]
)
def test_a_function_that_paimon_has_not_is_refused_where_declared_and_where_merged(
    function: str, key: str
) -> None:
    options = {"merge-engine": "aggregation", key: function}
    with pytest.raises(OptionError, match="there is no aggregate function"):
        engine_for(schema_of({"k": "INT NOT NULL", "v": "INT"}, **options))
    columns = pa.schema([pa.field("k", pa.int32(), nullable=False), ("v", pa.int32())])
    with pytest.raises(SchemaError, match=f"no function is called '{function}'"):
        new_catalog().create_table("d.t", columns, primary_key=("k",), options=options)


@pytest.mark.parametrize("key", sorted(FUNCTION_OPTIONS))
def test_an_option_of_a_function_is_known_of_each_column_and_judged_where_given(key: str) -> None:
    right, wrong = GIVEN.get(key, ("a", None))
    refuse_wrong({f"fields.some.column.{key}": right})
    schema = schema_of({"k": "INT NOT NULL"}, **{f"fields.gone.{key}": right})
    assert any("'gone' does not exist" in problem for problem in field_option_problems(schema))
    if wrong is not None:
        with pytest.raises(OptionError, match=key):
            refuse_wrong({f"fields.v.{key}": wrong})
