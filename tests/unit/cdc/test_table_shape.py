"""When a source table has to be read again, told from two looks at its catalog."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from table_core.cdc.model.record import SourceTable
from table_core.cdc.model.table_shape import GONE, TableShape, rewritten, shapes_from, shapes_text

OLD = TableShape(
    key=("id",), id="7", columns={"id": 1, "v": 2}, last_column=2,
    stamps={"id": "50", "v": "50"}, files={"7": "90"},
)  # fmt: skip
PARTED = replace(OLD, files={"8": "91", "9": "92"})
ADDED = {"columns": {"id": 1, "v": 2, "n": 3}, "last_column": 3}


@pytest.mark.parametrize(
    ("old", "more"),
    [
        (OLD, {"id": "8"}),
        (OLD, {"columns": {"id": 1, "w": 2}}),
        (OLD, {"columns": {"id": 2, "v": 1}}),
        (OLD, {"columns": {"id": 1, "v": 3}, "last_column": 3}),
        (OLD, {**ADDED, "last_column": 4}),
        (OLD, {"columns": {"id": 1, "v": 2, "was here": 3}, "last_column": 3}),
        (OLD, {"files": {"7": "91"}, "stamps": {"id": "50", "v": "51"}}),
        (OLD, {**ADDED, "files": {"7": "91"}}),
        (PARTED, {"files": {"8": "91"}}),
        (PARTED, {"files": {"8": "91", "9": "93"}}),
        (PARTED, {"files": {"8": "91", "9": "92", "10": "94"}, "joined": ["10"]}),
        (replace(OLD, id=GONE), {}),
    ],
)
def test_it_is_read_again(old: TableShape, more: dict[str, Any]) -> None:
    assert rewritten(old, replace(PARTED if old is PARTED else OLD, **more), "was here".__eq__)


@pytest.mark.parametrize(
    ("old", "more"),
    [
        (OLD, {}),
        (OLD, ADDED),
        (OLD, {"files": {"7": "91"}}),
        (OLD, {**ADDED, "files": {"7": "91"}, "filled": ["n"]}),
        (OLD, {"stamps": {"id": "50", "v": "51"}}),
        (OLD, {"columns": {"id": 1}}),
        (PARTED, {"files": {"8": "91", "9": "92", "10": "94"}}),
        (TableShape(key=("id",)), {}),
    ],
)
def test_its_log_tells_all(old: TableShape, more: dict[str, Any]) -> None:
    assert not rewritten(old, replace(PARTED if old is PARTED else OLD, **more), lambda _: False)


def test_shapes_come_back_from_their_text() -> None:
    shapes = {SourceTable("s", "a"): OLD, SourceTable("s", "b"): TableShape(key=())}
    assert shapes_from(shapes_text(shapes)) == shapes
    assert shapes_from(None) == {}
