"""Goal: names that we put into Avro files Apache Paimon opens, and those that we refuse it refuses to write.

Method: a table of each name, as a column and as a member of a ROW, written by Apache Paimon and by us.
"""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from judge import Judge, JudgeError

import table_core as tc
from table_core.datatypes.avro_names import is_avro_name
from tests.tables import write_rows

NAMES = (
    *(
        "çé",
        "a b",
        "target.x",
        "1",
        "a-b",
        "_x",
        "名",
        "a٣",
        "²",
        "x²",
        "aⅣ",
        "ª",
        "a$",
        "a`b",
        "prix_€",
        "e\u0301",
    ),
    *("_1", "ŉ", "𝒳", "😀", "ʰ"),
)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("nested", [False, True])
def test_both_take_the_same_names(paimon: Judge, tmp_path: Path, name: str, nested: bool) -> None:
    theirs = paimon.table(tmp_path / "theirs", "d.t")
    inside = {"type": "ROW", "fields": [{"id": 2, "name": name, "type": "INT"}]}
    column = ("r", inside) if nested else (name, "INT")
    value = [2] if nested else 2
    try:
        theirs.create([("id", "INT"), column], file__format="avro", bucket="-1")
        theirs.write([["+I", 1, value]])
    except JudgeError:
        assert not is_avro_name(name)
        return
    assert theirs.read() == [["+I", 1, value]]
    assert is_avro_name(name)
    catalog = tc.open_catalog(str(tmp_path / "ours"))
    catalog.create_database("d")
    plain = pa.struct([(name, pa.int32())]) if nested else pa.int32()
    schema = pa.schema([("id", pa.int32()), (column[0], plain)])
    table = catalog.create_table("d.t", schema, options={"file.format": "avro"})
    cell = {name: 2} if nested else 2
    write_rows(table, pa.table({"id": [1], column[0]: [cell]}, schema=schema))
    assert paimon.table(tmp_path / "ours", "d.t").read() == [["+I", 1, value]]
    read = tc.open_catalog(str(tmp_path / "theirs")).table("d.t").read().to_arrow()
    assert read.to_pylist() == [{"id": 1, column[0]: cell}]
