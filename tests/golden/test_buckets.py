"""Goal: our rows go into the buckets that Paimon's go into, for keys of every type.

Method: every row that Paimon wrote into a golden table lies in the bucket that we would choose.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import corpus

import table_core as tc
from table_core.bucketing.fixed import bucket_ids
from table_core.options import keys_identity

CASES = (
    "key-bin-binary",
    "key-composite-many",
    "key-dec-decimal",
    "key-ntz-timestamp-ntz",
    "key-str-string",
    "append-fixed-bucket",
    "many-commits",
)


@pytest.mark.parametrize("name", CASES)
def test_every_row_lies_in_the_bucket_that_we_would_choose(name: str, tmp_path: Path) -> None:
    case = corpus.unpack(name, tmp_path)
    table = tc.open_catalog((case.folder / "warehouse").as_uri()).table(case.about["table"])
    schema = table.definition
    assert schema.bucket > 0
    types = [field.type for field in schema.select(schema.bucket_keys)]
    function = schema.options.get(keys_identity.BUCKET_FUNCTION_TYPE)
    rows, used = 0, set()
    scan = table.read()
    for split in scan.splits():
        for batch in scan.read_split(split):
            columns = [batch[key] for key in schema.bucket_keys]
            chosen = set(bucket_ids(columns, types, schema.bucket, function).tolist())
            assert chosen == {split.bucket}
            rows += batch.num_rows
            used.add(split.bucket)
    assert rows
    assert len(used) > 1 or schema.bucket == 1
