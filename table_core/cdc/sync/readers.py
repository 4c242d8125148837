"""Which reader goes with which source."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, TypeAlias

from table_core.cdc.model.encoding import PlainSettings
from table_core.cdc.model.line_settings import plain_settings
from table_core.cdc.source.files.reader import FilesReader
from table_core.cdc.source.files.source import BINLOG, FilesSource
from table_core.cdc.source.kafka.records import JsonRecords, json_text
from table_core.cdc.source.kafka.source import KafkaSource
from table_core.cdc.source.lines import LineDecoder
from table_core.cdc.source.mysql.source import MySqlSource
from table_core.cdc.source.postgres.source import PostgresSource
from table_core.cdc.sync.source_kinds import SOURCE_KINDS
from table_core.errors import ArgumentError, UnsupportedFeatureError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from table_core.cdc.apply.context import SyncContext
    from table_core.cdc.apply.reader import Reader
    from table_core.cdc.apply.tables import SyncTables
    from table_core.cdc.source.kafka.records import RecordForm
    from table_core.ports import Clock
    from table_core.position.lines import OffsetsPlace

__all__ = ["Source", "open_reader", "plain_of", "record_form", "source_from_spec"]

_POLL_FILES_MS, _POLL_TOPICS_MS = 1000, 500
"""At most, between two questions for news; files are listed once between two commits, for a store counts requests."""

Source: TypeAlias = FilesSource | KafkaSource | MySqlSource | PostgresSource


def plain_of(source: Source) -> PlainSettings:
    """What the source says of events without schema."""
    return (
        plain_settings(source) if isinstance(source, FilesSource | KafkaSource) else PlainSettings()
    )


def open_reader(
    source: Source, context: SyncContext, tables: SyncTables, until: str
) -> Reader[Any]:
    """The reader of ``source`` for one run; what only others need is not even imported.

    What its positions are depends on the source, and only the reader itself looks into them.
    """
    forever = until == "forever"
    if isinstance(source, MySqlSource):
        from table_core.cdc.source.mysql.reader import MySqlReader

        return MySqlReader(source=source, context=context, fed=tables, forever=forever)
    if isinstance(source, PostgresSource):
        from table_core.cdc.source.postgres.reader import PostgresReader

        return PostgresReader(source=source, context=context, fed=tables, forever=forever)
    if not isinstance(source, FilesSource | KafkaSource):
        raise ArgumentError(f"{source!r} is no source", argument="source", value=repr(source))
    if isinstance(source, FilesSource) and source.format == BINLOG:
        from table_core.cdc.source.mysql.binlog_reader import BinlogFilesReader

        return BinlogFilesReader(source=source, context=context, fed=tables)
    reader = _line_reader(source, context, tables, forever=forever)
    return reader if context.reader_of is None else context.reader_of(reader, tables)


def _line_reader(
    source: FilesSource | KafkaSource, context: SyncContext, tables: SyncTables, *, forever: bool
) -> Reader[Any]:
    decoder = LineDecoder(
        wants=tables.wants,
        fields_of=tables.fields_of,
        settings=plain_of(source),
        target_key=tables.key_of,
        known_sources=lambda: tables.known_sources,
        dead_letters=context.dead_letters,
        format=source.format,
        mapping=context.settings.mapping,
        by_topic=context.whole_database is not None,
    )
    poll = context.clock if forever else None
    if isinstance(source, KafkaSource):
        return _kafka_reader(source, context, tables, decoder, poll)
    poll_ms = context.limits.poll_ms(_POLL_FILES_MS, often=1)
    return FilesReader(source=source, decoder=decoder, poll=poll, poll_ms=poll_ms)


def _kafka_reader(
    source: KafkaSource,
    context: SyncContext,
    tables: SyncTables,
    decoder: LineDecoder,
    poll: Clock | None,
) -> Reader[OffsetsPlace]:
    from table_core.cdc.source.kafka.parallel_batches import ParallelReader
    from table_core.cdc.source.kafka.reader import KafkaReader

    form = record_form(source, context.clock)
    poll_ms = context.limits.poll_ms(_POLL_TOPICS_MS)
    reader = KafkaReader(source=source, decoder=decoder, form=form, poll=poll, poll_ms=poll_ms)
    if context.records_by is not None:
        reader.parallel = ParallelReader(
            tables=tables, source=source, form=reader.form, records_by=context.records_by
        )
    return reader


def record_form(source: KafkaSource, clock: Clock) -> RecordForm:
    """How the records of ``source`` become JSON."""
    from table_core.cdc.debezium.avro_events import AvroEvents

    if (registry := source.schemas) is None:
        return JsonRecords(source.max_event_bytes)
    return AvroEvents(registry.schema, json_text, source.max_event_bytes, clock.now_ms)


def _secret(name: str, value: Any) -> Any:
    """An argument, or what an environment variable says: ``{"env": "DB_PASSWORD"}``."""
    if not isinstance(value, dict):
        return value
    if value.keys() != {"env"}:
        return {key: _secret(f"{name}.{key}", inner) for key, inner in value.items()}
    secret = os.environ.get(str(value["env"]))
    if secret is None:
        raise ArgumentError(
            f"source: {name} is to come from the environment variable {value['env']!r}, which is "
            "not set where the job runs",
            argument=name,
            value=str(value["env"]),
        )
    return secret


def source_from_spec(described: Mapping[str, Any]) -> Source:
    """The source that a job spec tells: ``{"kind": "files", "uri": …, …}``.

    Raises:
        UnsupportedFeatureError: no such kind.
        ArgumentError: arguments that the kind does not have.
    """
    arguments = {name: _secret(name, value) for name, value in described.items()}
    kind = arguments.pop("kind", "files")
    if kind not in SOURCE_KINDS:
        raise UnsupportedFeatureError(
            f"sources of kind {kind!r} are not supported, only {', '.join(SOURCE_KINDS)}",
            feature=f"source {kind}",
        )
    try:
        source: Source = SOURCE_KINDS[kind](**arguments)
    except TypeError as error:
        raise ArgumentError(
            f"source of kind {kind!r} with {sorted(arguments)}: {error}",
            argument="source",
            value=sorted(arguments),
        ) from error
    return source
