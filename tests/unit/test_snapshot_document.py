"""The snapshot document keeps what it does not understand and names everything it dislikes."""

from __future__ import annotations

import json

import pytest

from table_core.errors import CorruptFileError, ErrorKind, UnsupportedFeatureError
from table_core.ondisk.snapshot import Snapshot
from tests.unit.snapshot_documents import JAVA


def test_unknown_members_survive_a_rewrite() -> None:
    body = json.dumps(JAVA).encode()
    assert json.loads(Snapshot.from_json(body, path="p").to_json()) == JAVA


@pytest.mark.parametrize("watermark", [-(2**63), 2**63 - 1])
def test_the_least_and_the_largest_number_of_java_are_numbers(watermark: int) -> None:
    """Flink commits the least as the watermark of a stream that has none."""
    body = json.dumps(JAVA | {"watermark": watermark}).encode()
    assert Snapshot.from_json(body, path="p").watermark == watermark


def test_every_problem_is_reported_at_once() -> None:
    broken = JAVA | {"id": True, "commitKind": "GUESS"}
    del broken["commitUser"]
    with pytest.raises(CorruptFileError) as caught:
        Snapshot.from_json(json.dumps(broken).encode(), path="snapshot-4")
    assert caught.value.kind is ErrorKind.CORRUPT
    assert caught.value.facts["problems"] == [
        "id: expected int, got True",
        "commitUser: missing",
        "commitKind: unknown value 'GUESS'",
    ]


def test_a_version_newer_than_ours_is_refused_by_name() -> None:
    with pytest.raises(UnsupportedFeatureError, match="version 4"):
        Snapshot.from_json(json.dumps(JAVA | {"version": 4}).encode(), path="snapshot-4")
    with pytest.raises(CorruptFileError, match="timeMillis: expected a number of 64 bits"):
        Snapshot.from_json(json.dumps(JAVA | {"timeMillis": 1 << 63}).encode(), path="snapshot-4")
    with pytest.raises(CorruptFileError, match="expected >= 1"):
        Snapshot.from_json(json.dumps(JAVA | {"id": 0}).encode(), path="snapshot-0")
