"""What a handle remembers of a long history: the newest of it, and a step down costs the same however long it is.

Mutants: nothing is forgotten; the newest are forgotten; each step looks through all that is known.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from table_core.ondisk.snapshot import Snapshot
from table_core.table.metadata import carried

BODY = (
    '{{"version":3,"id":{id},"schemaId":0,"baseManifestList":"a","deltaManifestList":"b","commitUser":"u",'
    '"commitIdentifier":1,"commitKind":"APPEND","timeMillis":0,"totalRecordCount":0,"deltaRecordCount":0}}'
)
MOST = 80


class Known(dict[int, Snapshot]):
    """Counts the keys that are looked through."""

    looked = 0

    def __iter__(self) -> Any:
        for key in super().__iter__():
            self.looked += 1
            yield key


def test_a_long_walk_down_remembers_the_newest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(carried, "_HISTORY_MAX", MOST)
    metadata = SimpleNamespace(snapshot_body=lambda at: BODY.format(id=at).encode())
    access: Any = SimpleNamespace(metadata=metadata, branch="main")
    known = Known()
    for id in range(2_000, 0, -1):
        snapshot = carried.remembered(access, known, id)
        assert snapshot is not None
        assert snapshot.id == id
        assert len(known) <= MOST + MOST // 8
    assert set(range(1_921, 2_001)) <= known.keys()
    assert known.looked <= 2_000 * 10  # all of them at each step would be 160,000
