"""A store of objects goes to another process: it needs its package, so it is no test of the core alone."""

from __future__ import annotations

import pickle

from table_core.storage.stores.locate import open_storage


def test_an_s3_store_travels_to_another_process() -> None:
    storage = open_storage("s3a://bucket/a b/wh/", {"key": "k", "secret": "s"})
    copy = pickle.loads(pickle.dumps(storage))
    assert copy.uri == storage.uri == "s3a://bucket/a b/wh"
    assert copy.within("t").prefix == "bucket/a b/wh/t"
