"""Mistakes that everybody makes once name what to write instead."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

from table_core.errors import FilesExpiredError, TableError
from tests.tables import new_catalog, write_rows

ROWS = pa.table({"id": [1], "dt": ["2026-01-01"]})


def made(**options: str) -> Any:
    table = new_catalog().create_table("d.t", ROWS.schema, options=options)
    write_rows(table, ROWS)
    return table


@pytest.mark.parametrize(
    ("act", "told"),
    [
        (lambda t: t.read(where="dt = 2026-01-02"), r"write the date in quotes, '2026-01-02'"),
        (lambda t: t.read(where="dt = abc"), r"no column 'abc'; .* text is written in quotes, 'abc'"),
        (lambda t: t.changes(after=5), r"after=5 has nothing behind it: the newest snapshot is 1"),
        (lambda t: t.changes(after=1, to=0), r"after=1 lies behind to=0"),
        (lambda t: t.read(timestamp=1_735_689_600_000), r"before 2025-01-01 00:00:00.000 UTC .*oldest is of 2"),
    ],
)  # fmt: skip
def test_the_word_that_helps(act: Callable[[Any], object], told: str) -> None:
    with pytest.raises(TableError, match=told):
        act(made())


def test_a_lost_file_of_the_newest_snapshot_is_not_told_as_expired() -> None:
    table = made()
    (lost,) = (i.path for i in table.access.storage.walk("") if "/data-" in i.path)
    table.access.storage.delete([lost])
    with pytest.raises(FilesExpiredError, match=r"newest snapshot needs it.*recover"):
        table.read().to_arrow()


def test_a_file_that_was_expired_under_a_reader_is() -> None:
    table = made(**{"write-only": "true"})
    scan = table.read()
    assert scan.splits()
    write_rows(table, ROWS, overwrite="table")
    table.expire_snapshots(retain_max=1, retain_min=1)
    with pytest.raises(FilesExpiredError, match="was expired while it was read") as error:
        scan.to_arrow()
    assert "recover" not in str(error.value)
