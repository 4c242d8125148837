"""The random lives of a PostgreSQL are strong enough: with any one part of its sync taken out, one of them fails."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from table_core.cdc.source import source_shapes
from table_core.cdc.source.postgres import pgoutput, reader, shapes, source
from table_core.cdc.source.postgres.pgoutput import PgOutputRows
from table_core.cdc.source.postgres.reader import PostgresReader
from table_core.cdc.source.source_shapes import SourceShapes
from tests.cdc.postgres_lives import live
from tests.cdc.servers import Postgres
from tests.cdc.shared_bugs import on_top, require_shown, too_many_skipped

MOST = 60
"""Lives that one of these may take."""
Patch = pytest.MonkeyPatch


def _no_swaps(patch: Patch) -> None:
    patch.setattr(PgOutputRows, "_follow_keys", lambda *_: None)


def _no_shapes(patch: Patch) -> None:
    patch.setattr(source_shapes, "rewritten", lambda *_: "")


def _no_links(patch: Patch) -> None:
    made = shapes.TableShape
    patch.setattr(shapes, "TableShape", lambda **more: made(**{**more, "links": {}}))


def _no_homes(patch: Patch) -> None:
    patch.setattr(PostgresReader, "_tell_tables", lambda self, rows: rows.keys.update(
        {table: info.key for table, info in self._catalog.items()}
    ))  # fmt: skip


def _no_defaults(patch: Patch) -> None:
    patch.setattr(reader, "_missing", lambda *_: None)


def _no_large_values(patch: Patch) -> None:
    patch.setattr(pgoutput, "UNAVAILABLE", None)


def _no_truncate(patch: Patch) -> None:
    patch.setattr(PgOutputRows, "_truncate", lambda *_: None)


def _too_far(patch: Patch) -> None:
    def committed(self: Any, position: Any) -> None:
        if self._connection is not None and position.order > (0, 0):
            self._connection.rows(
                "SELECT pg_replication_slot_advance(%s, pg_current_wal_lsn())", (self.source.slot,)
            )

    patch.setattr(PostgresReader, "committed", committed)


def _words(patch: Patch) -> None:
    items = pgoutput.array_items

    def wrong(text: str) -> list[str | None]:
        return ["NULL" if item is None else item for item in items(text)]

    patch.setattr(pgoutput, "array_items", wrong)


def _null_defaults_of_partitions(patch: Patch) -> None:
    patch.setattr(
        source, "_COLUMNS", source._COLUMNS.replace("c.relkind = 'p' THEN (", "false THEN (")
    )


def _late_partitions(patch: Patch) -> None:
    patch.setattr(PostgresReader, "_came_with_rows", lambda *_: False)


def _any_key(patch: Patch) -> None:
    patch.setattr(SourceShapes, "refuse_key", lambda *_: None)


BUGS: dict[str, Callable[[Patch], None]] = {
    "rows that trade their keys are taken one after the other": _no_swaps,
    "tables are taken for what they were": _no_shapes,
    "a partition may have been out": _no_links,
    "a table may have had another name": _no_homes,
    "columns that are added are null": _no_defaults,
    "values that were not sent are null": _no_large_values,
    "a truncate is passed over": _no_truncate,
    "the slot moves on too far": _too_far,
    "rows that are read again come on top of the old ones": on_top,
    "NULL in an array is a word": _words,
    "a row of a transaction that is cut is skipped": too_many_skipped,
    "columns that are added to partitioned tables are null": _null_defaults_of_partitions,
    "a partition comes with no rows": _late_partitions,
    "a key may change": _any_key,
}


@pytest.mark.parametrize("bug", BUGS)
def test_some_life_shows(
    postgres_of_lives: Postgres,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    bug: str,
) -> None:
    BUGS[bug](monkeypatch)
    require_shown(lambda seed: live(postgres_of_lives, tmp_path / str(seed), seed), MOST)
