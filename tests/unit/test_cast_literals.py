"""A cast of a literal means what the cast of a column means; remainders are exact."""

from __future__ import annotations

from decimal import Decimal

import pyarrow as pa
import pytest

import table_core as tc
from table_core.errors import PredicateError
from tests.tables import new_catalog, write_rows

COLUMNS = {
    "i": (pa.int32(), [-5, 5, 6, None]),
    "l": (pa.int64(), [-5, 5, 6, None]),
    "d": (pa.float64(), [1e17, 5.0, -7.5, None]),
    "f": (pa.float32(), [4.0, 5.0, -7.5, None]),
    "s": (pa.string(), ["true", "1.0E10", "-5", None]),
    "m": (pa.decimal128(10, 2), [Decimal("5.68"), Decimal("5.67"), Decimal(-5), None]),
    "b": (pa.bool_(), [True, False, True, None]),
}


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> tc.Table:
    catalog = new_catalog(tmp_path_factory.mktemp("casts").as_uri())
    schema = pa.schema([("id", pa.int32()), *((n, t) for n, (t, _) in COLUMNS.items())])
    table = catalog.create_table("d.t", schema)
    columns = {name: values for name, (_, values) in COLUMNS.items()}
    write_rows(table, pa.table({"id": [0, 1, 2, 3], **columns}, schema=schema))
    return table


@pytest.mark.parametrize(
    ("where", "ids"),
    [
        ("i = CAST(-5.7 AS INT)", [0]),
        ("i = CAST(5.7 AS INT)", [1]),
        ("i = CAST('5.7' AS INT)", [1]),
        ("CAST(5.7 AS BIGINT) = l", [1]),
        ("i IN (CAST(5.2 AS INT), -5L)", [0, 1]),
        ("i = -5L", [0]),
        ("i = CAST(TRUE AS INT) + 4", [1]),
        ("m = CAST(5.678 AS DECIMAL(10, 2))", [0]),
        ("m = CAST('5.678' AS DECIMAL(10, 2))", [0]),
        ("m = CAST(5.674 AS DECIMAL(10, 2))", [1]),
        ("m = -5BD", [2]),
        ("s = CAST(TRUE AS STRING)", [0]),
        ("s = CAST(1e10 AS STRING)", [1]),
        ("s = CAST(-5.7 AS INT)", None),
        ("s = CAST(CAST(-5.7 AS INT) AS STRING)", [2]),
        ("i = CAST(CAST(4.6 AS DECIMAL(10, 0)) AS INT)", [1]),
        ("b = CAST(1 AS BOOLEAN)", [0, 2]),
        ("i = CAST(1e30 AS INT)", None),
        ("i = CAST(300 AS TINYINT)", None),
        ("i = CAST('five' AS INT)", None),
        ("i = CAST(NULL AS INT)", []),
        ("i <=> CAST(NULL AS INT)", [3]),
        ("d % 3 = 2", [1]),
        ("d % 3 = 1e17 % 3", [0]),
        ("d % CAST('Infinity' AS DOUBLE) = d", [0, 1, 2]),
        ("d % 2 = -1.5", [2]),
        ("f % 3 = 1", [0]),
        ("i % 3 = -2", [0]),
    ],
)
def test_casts_and_remainders_are_those_of_spark(
    table: tc.Table, where: str, ids: list[int] | None
) -> None:
    if ids is None:
        with pytest.raises(PredicateError):
            table.read(where=where)
    else:
        assert table.read(where=where).to_arrow()["id"].to_pylist() == ids


def test_a_value_given_as_a_cast_is_stored_as_the_cast(table: tc.Table) -> None:
    table.update({"i": "CAST(-9.9 AS INT)", "m": "CAST(1.005 AS DECIMAL(10, 2))"}, where="id = 3")
    row = table.read(where="id = 3").to_arrow().to_pylist()[0]
    assert (row["i"], row["m"]) == (-9, Decimal("1.01"))
