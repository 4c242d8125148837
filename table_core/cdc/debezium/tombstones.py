"""Records of Debezium without a value whose delete is gone: compaction keeps the newest record of a key.

Debezium writes a delete and, right behind it, a tombstone of the same key.  Of these the tombstone says
nothing new.  Compaction takes the delete away, and the tombstone alone says that the row is gone::

    offset 7  key {"id": 1}  delete      with it, 8 adds nothing
    offset 8  key {"id": 1}  null        alone, it is a delete of the row with id 1
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow.compute as pc

from table_core.cdc.debezium.json_fallback import decode_events
from table_core.cdc.model.embedded_schema import declared_columns
from table_core.cdc.model.envelope import Event, unwrap
from table_core.cdc.model.record import SourceTable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from table_core.cdc.model.changes import Changes
    from table_core.cdc.model.window import Segment

    KeyOf = Callable[[SourceTable], tuple[str, ...]]

__all__ = ["lone_tombstones", "topics_of"]

_TOMBSTONE: Final = r'"value"\s*:\s*null\s*\}\s*$'
_KEY: Final = re.compile(rb'"key"\s*:\s*(.*?)\s*,\s*"value"\s*:\s*null\s*\}\s*$', re.DOTALL)
_TOPIC: Final = re.compile(rb'^\s*\{\s*"topic"\s*:\s*("(?:[^"\\]|\\.)*")')


def topics_of(lines: Segment, decoded: Sequence[Changes]) -> dict[str, SourceTable]:
    """Which table the events of a topic are of, as far as these show it."""
    topics = {}
    for changes in decoded:
        first = _TOPIC.match(lines.window.text_of(int(changes.lines[0])))
        if first is not None:
            topics[str(json.loads(first[1]))] = changes.table
    return topics


def _table_of(topic: str, known: frozenset[SourceTable]) -> SourceTable | None:
    """The table that the topic ``PREFIX.DATABASE.TABLE`` names, of those that are known.

    A router may have given the topic another name; then it is that of the same last part, or the only one.
    """
    rest, _, name = topic.rpartition(".")
    table = SourceTable(rest.rpartition(".")[2], name)
    if table in known:
        return table
    same = {one for one in known if one.name == name} or known
    return next(iter(same)) if len(same) == 1 else None


def lone_tombstones(
    lines: Segment,
    decoded: Sequence[Changes],
    known: frozenset[SourceTable],
    topics: dict[str, SourceTable],
    key_of: KeyOf,
) -> list[Changes]:
    """Deletes for the tombstones in ``lines`` that stand behind no delete of their row.

    Args:
        lines: records.
        decoded: the changes in them.
        known: the source tables that feed a table already.
        topics: the tables of topics that are known better.
        key_of: the primary key of the table that a source table feeds.
    """
    hits = np.flatnonzero(np.asarray(pc.match_substring_regex(lines.lines, _TOMBSTONE)))
    if not len(hits):
        return []
    deletes = {n for one in decoded for n in one.lines[np.asarray(pc.equal(one.ops, "d"))].tolist()}
    before = _line_before(lines)

    def events() -> Iterator[tuple[int, Event]]:
        for number in lines.numbers[hits].tolist():
            text = lines.window.text_of(number)
            key = _KEY.search(text)
            earlier = before.get(number)
            if key is None or (earlier in deletes and _has_key(lines, earlier, key[1])):
                continue
            record = json.loads(text)
            topic, schema = record.get("topic"), _key_schema(record)
            _, _, row = unwrap(record)
            table = None
            if isinstance(topic, str) and isinstance(row, dict):
                table = topics.get(topic) or _table_of(topic, known)
            if table is None or not (columns := key_of(table)) or not row.keys() >= set(columns):
                continue  # of no table here, or of one whose rows other columns tell apart
            yield number, Event(table, "d", row, None, schema, None)

    return decode_events(events(), lines.place, declared_columns, [])


def _line_before(lines: Segment) -> dict[int, int]:
    """By line, the one before it in its partition."""
    window, numbers = lines.window, lines.numbers
    files, places = window.file_of[numbers], window.line_of[numbers]
    order = np.lexsort((places, files))
    same = np.diff(files[order]) == 0
    ordered = numbers[order]
    return dict(zip(ordered[1:][same].tolist(), ordered[:-1][same].tolist(), strict=True))


def _has_key(lines: Segment, number: int | None, key: bytes) -> bool:
    """Whether a record has a key, byte by byte."""
    assert number is not None
    return (
        re.search(rb'"key"\s*:\s*' + re.escape(key) + rb"\s*,", lines.window.text_of(number))
        is not None
    )


def _key_schema(record: Any) -> Any:
    """The schema that a key carries; None if it carries none."""
    key = record.get("key")
    schema = (
        key.get("schema") if isinstance(key, dict) and key.keys() == {"schema", "payload"} else None
    )
    return schema if isinstance(schema, dict) else None
