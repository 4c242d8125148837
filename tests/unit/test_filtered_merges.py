"""Conditions on rows that are merged: what tests keys skips row groups, what tests values must not.

Method: two versions of the same keys in files of many small row groups.
"""

from __future__ import annotations

import pyarrow as pa
import pytest

from tests.tables import new_catalog, write_rows

ROWS = 5_000


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    catalog = new_catalog(tmp_path_factory.mktemp("warehouse").as_uri())
    schema = pa.schema([pa.field("k", pa.int64(), nullable=False), ("v", pa.int64())])
    options = {"bucket": "1", "write-only": "true", "file.block-size": "4 kb"}
    catalog.create_table("d.t", schema, primary_key=("k",), options=options)
    for version in (1, 2):
        write_rows(catalog.table("d.t"), pa.table([range(ROWS), [version] * ROWS], schema=schema))
    return catalog.table("d.t")


def test_an_old_version_does_not_come_back_when_the_new_one_fails_the_condition(table):
    assert table.read(where="v = 1").to_arrow().num_rows == 0
    assert table.read(where="v = 1 AND k < 10").to_arrow().num_rows == 0
    assert table.read(where="v = 1 OR k = 3").to_arrow().to_pylist() == [{"k": 3, "v": 2}]


@pytest.mark.parametrize(
    ("where", "keys"),
    [
        ("k = 4321", [4321]),
        ("k = 4321 AND v = 2", [4321]),
        ("k IN (1, 4999) OR k = 7", [1, 7, 4999]),
        ("k = -1", []),
        ("NOT k < 4998", [4998, 4999]),
    ],
)
def test_a_condition_on_keys_finds_the_newest_version(table, where, keys):
    found = table.read(where=where).to_arrow()
    assert found.to_pylist() == [{"k": key, "v": 2} for key in keys]
