"""Looks at topics before a sync reads them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from table_core.cdc.model.finding import Finding, Level
from table_core.cdc.model.line_settings import plain_settings
from table_core.cdc.source.kafka.parallel_batches import records_window
from table_core.cdc.source.lines import LineDecoder
from table_core.errors import EventError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from table_core.cdc.model.record import SourceTable
    from table_core.cdc.model.window import Window
    from table_core.cdc.source.kafka.records import RecordForm
    from table_core.cdc.source.kafka.source import KafkaConnection, KafkaSource

__all__ = ["findings"]

_RECORDS: Final = 20
"""The newest ones of each partition are looked at."""


def findings(
    source: KafkaSource, form: RecordForm, wants: Callable[[SourceTable], bool]
) -> Iterator[Finding]:
    """What was looked at, bad or good."""
    connection = source.connect()
    try:
        ends = connection.partitions()
        topics = {topic for topic, _ in ends}
        yield Finding(Level.OK, "topics", f"{len(topics)} with {len(ends)} partitions")
        window = _newest(connection, ends, form)
    finally:
        connection.close()
    decoder = LineDecoder(
        wants=wants,
        fields_of=lambda _: None,
        settings=plain_settings(source),
        format=source.format,
        by_topic=True,
    )
    try:
        changes, _ = decoder.decode(window)
    except EventError as error:
        effect = "a sync ends there, unless it has a dead_letter table"
        yield Finding(Level.WARNING, "events", str(error), effect, "look at the record's producer")
        return
    for table in dict.fromkeys(one.table for one in changes):
        if decoder.key_of(window, table):
            yield Finding(Level.OK, str(table), "has a key")
        else:
            yield Finding(
                Level.WARNING,
                str(table),
                "its records have no key",
                "an event that is delivered twice can be there twice: it is left out only if it comes again "
                "in its partition and tells its place in the log of MySQL, MariaDB or PostgreSQL",
                "give the table a key in the source, or primary_key=… to the sync",
            )


def _newest(
    connection: KafkaConnection, ends: dict[tuple[str, int], tuple[int, int]], form: RecordForm
) -> Window:
    begin = {at: max(first, next_ - _RECORDS) for at, (first, next_) in ends.items()}
    last = {at: next_ for at, (_, next_) in ends.items()}
    records = list(connection.lines(begin, last, form))
    return records_window([(t, n, offset) for t, n, offset, _ in records], [r[-1] for r in records])
