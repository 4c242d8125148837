"""Change events in Kafka topics, read without a consumer group: the tables keep the offsets."""

from __future__ import annotations

import importlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from table_core.cdc.model.line_settings import EVENT_BYTES_MAX, FORMATS, check_choices
from table_core.cdc.model.table_pattern import TablePattern
from table_core.cdc.source.kafka.client_options import require_client_options
from table_core.cdc.source.kafka.records import record_line
from table_core.cdc.source.kafka.registry import SchemaRegistry
from table_core.errors import (
    ArgumentError,
    EventError,
    MissingPackageError,
    NotFoundError,
    StorageUnavailableError,
)
from table_core.position.decide import TopicsNow
from table_core.position.source import TopicsId

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from table_core.cdc.source.kafka.records import RecordForm

__all__ = [
    "AVRO",
    "KafkaConnection",
    "KafkaSource",
    "topics_meant",
]

AVRO: Final = "debezium-avro"
"""Records of Confluent's Avro form, with a schema registry."""
_TIMEOUT_S: Final = 10.0
_AHEAD_KB: Final = 16 << 10
"""What the client holds that nobody has asked for yet."""
_END_OF_PARTITION: Final = -191
_GONE: Final = ("UNKNOWN_TOPIC_OR_PART", "UNKNOWN_TOPIC_ID", "_UNKNOWN_TOPIC", "_UNKNOWN_PARTITION")
"""What is said of a topic that was deleted since it was listed."""
_NO_IDS: Final = (
    *("UNSUPPORTED_VERSION", "_UNSUPPORTED_FEATURE"),
    *("TOPIC_AUTHORIZATION_FAILED", "CLUSTER_AUTHORIZATION_FAILED"),
)
"""Errors of brokers that do not tell the ids of topics, today or tomorrow."""


@dataclass(frozen=True, slots=True)
class KafkaSource:
    """The records of some topics.

    Args:
        servers: ``host:port``, several with commas.
        topics: names, or one regular expression that starts with ``^``: see ``topics_meant``.
        format: ``debezium-avro``, or see ``FilesSource``.
        tables: regular expression for the source tables to read, for ``sync_table``.
        decimals: see ``FilesSource``.
        binary: see ``FilesSource``.
        timestamps: see ``FilesSource``.
        times: see ``FilesSource``.
        registry: address of the schema registry of ``debezium-avro``.
        registry_options: see ``SchemaRegistry``; never logged.
        options: options of the client, e.g. ``{"security.protocol": "SASL_SSL", …}``; never logged.
            Options that select a program, a library or a class are refused.
        max_event_bytes: a record with a larger value is not read; it is reported as unreadable.
        java_options: the same options under the names of Java's client, for Spark; never logged.
            Without them Spark reads the topics only if there are no ``options`` either.
    """

    servers: str
    topics: str | Sequence[str]
    format: str = "debezium-json"
    tables: str | None = None
    decimals: str = "auto"
    binary: str = "auto"
    timestamps: str = "auto"
    times: str | None = None
    registry: str | None = None
    registry_options: Mapping[str, Any] = field(default_factory=dict, repr=False)
    options: Mapping[str, Any] = field(default_factory=dict, repr=False)
    max_event_bytes: int = EVENT_BYTES_MAX
    java_options: Mapping[str, str] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        check_choices(self, (*FORMATS, AVRO))
        if (self.format == AVRO) != (self.registry is not None):
            raise ArgumentError(
                f"format={AVRO!r} needs registry='http://…', and no other format does",
                argument="registry",
                value=self.format,
            )
        _ = self.schemas  # refuses what is wrong
        require_client_options(self.options, "options")
        require_client_options(self.java_options, "java_options")
        if isinstance(self.topics, str) and self.topics.startswith("^"):
            TablePattern("topics", self.topics)

    @property
    def schemas(self) -> SchemaRegistry | None:
        """Where the schemas of the records are, if they are Avro."""
        if self.registry is None:
            return None
        return SchemaRegistry(self.registry, self.registry_options)

    def connect(self) -> KafkaConnection:
        """Open a connection.

        Raises:
            ArgumentError: the client does not know an option, or cannot use it.
        """
        try:
            driver = importlib.import_module("confluent_kafka")
        except ImportError as error:
            raise MissingPackageError.of("KafkaSource", "kafka", error) from error
        config = {
            "bootstrap.servers": self.servers,
            "group.id": "table_core",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "isolation.level": "read_committed",
            "auto.offset.reset": "error",
            "queued.max.messages.kbytes": _AHEAD_KB,
            **self.options,
        }
        try:
            consumer = driver.Consumer(config, logger=_Silent())
        except driver.KafkaException as error:
            text = error.args[0].str() if error.args else "no reason"
            raise ArgumentError(
                f"options: Kafka's client cannot use them: {text}",
                argument="options",
                value=sorted(self.options),
            ) from None
        return KafkaConnection(self, driver, consumer)

    open = connect  # what it was called before all sources had the same verb


def topics_meant(wanted: str | Sequence[str], known: Iterable[str]) -> list[str]:
    """The topics that ``topics`` of a source names, of those that are known.

    A regular expression, which begins with ``^``, is matched against whole names, as those of tables and
    databases are: a topic of a longer name may be anything.  It takes no topic whose name begins with
    ``__``, where Kafka and Debezium keep their own, unless it begins so itself.
    """
    if not isinstance(wanted, str):
        return list(wanted)
    if not wanted.startswith("^"):
        return [wanted]
    pattern, takes_own = TablePattern("topics", wanted), wanted.startswith("^__")
    return [n for n in known if pattern.matches(n) and (takes_own or not n.startswith("__"))]


class _Silent:
    """The client's own log repeats its configuration."""

    def log(self, *_: Any) -> None:
        """Nothing."""

    def __getattr__(self, name: str) -> Any:
        return self.log


class KafkaConnection:
    """One connection: a consumer without a group."""

    def __init__(self, source: KafkaSource, driver: Any, consumer: Any) -> None:
        self._source, self._driver, self._consumer = source, driver, consumer
        self.ends: dict[tuple[str, int], int] = {}
        """Up to where ``lines`` has read the partitions that it is done with, whatever stands there."""
        self._paused: set[tuple[str, int]] = set()

    def close(self) -> None:
        """Leave."""
        self._consumer.close()

    def partitions(self) -> dict[tuple[str, int], tuple[int, int]]:
        """First and next offset of every partition now.

        Raises:
            NotFoundError: there is no such topic, or not any more.
            StorageUnavailableError: no broker answers.
        """
        try:
            known = self._consumer.list_topics(timeout=_TIMEOUT_S).topics
            wanted = self._source.topics
            names = topics_meant(wanted, known)
            lacking = [n for n in names if n not in known or known[n].error is not None]
            if lacking or not names:
                whole = "" if lacking else " (a pattern is matched against whole names)"
                raise NotFoundError(
                    f"no topic {lacking or wanted} at {self._source.servers}{whole}; there are "
                    f"{sorted(n for n in known if not n.startswith('__'))}",
                    name=str(lacking or wanted),
                    available=sorted(known),
                )
            offsets = {}
            for name in names:
                for id in known[name].partitions:
                    at = self._driver.TopicPartition(name, id)
                    offsets[name, id] = self._consumer.get_watermark_offsets(at, timeout=_TIMEOUT_S)
        except self._driver.KafkaException as error:
            raise self._failed(error) from None
        return offsets

    def now(self) -> TopicsNow:
        """The topics as they are: cluster, ids where the brokers tell them, first and next offsets."""
        ends = self.partitions()
        names = sorted({topic for topic, _ in ends})
        cluster = str(self._consumer.list_topics(timeout=_TIMEOUT_S).cluster_id or "")
        ids = dict.fromkeys(names, "") | self._topic_ids(names)
        return TopicsNow(source=TopicsId(cluster=cluster, topics=ids), ends=ends)

    def _topic_ids(self, names: Sequence[str]) -> dict[str, str]:
        """Ids of topics; none of brokers that have none, or do not show them to this user.

        Raises:
            NotFoundError: one was deleted a moment ago.
            StorageUnavailableError: nobody answered: a topic whose id is not known is not told from one
                that was recreated, so that is no answer.
        """
        admin = importlib.import_module("confluent_kafka.admin")
        config = {"bootstrap.servers": self._source.servers, **self._source.options}
        client = admin.AdminClient(config, logger=_Silent())
        wanted = self._driver.TopicCollection(list(names))
        ids = {}
        for name, described in client.describe_topics(wanted, request_timeout=_TIMEOUT_S).items():
            try:
                ids[name] = str(described.result().topic_id)
            except self._driver.KafkaException as error:
                if not self._is_one_of(_NO_IDS, error):
                    raise self._failed(error) from None
        return ids

    def lines(
        self,
        start: Mapping[tuple[str, int], int],
        end: Mapping[tuple[str, int], int],
        form: RecordForm,
    ) -> Iterator[tuple[str, int, int, bytes]]:
        """Records as lines of JSON, with topic, partition and offset, until ``end``.

        Raises:
            EventError: a record that comes next was deleted.
            NotFoundError: its topic was.
            StorageUnavailableError: the brokers are gone.
        """
        open_ = {at for at, next_ in end.items() if next_ > start.get(at, 0)}
        self.ends = {at: next_ for at, next_ in end.items() if at not in open_}
        if not open_:
            return
        make = self._driver.TopicPartition
        self._paused.clear()
        self._consumer.assign([make(*at, start.get(at, 0)) for at in open_])
        while open_:
            if open_ <= self._paused:  # what they waited for has come to its end
                self.resume(open_)
            message = self._consumer.poll(1.0)  # one: of records of many megabytes each is enough
            if message is None:
                self._ask_brokers({topic for topic, _ in open_})
                continue
            at = (message.topic(), message.partition())
            error = message.error()
            if error is not None:
                if error.code() != _END_OF_PARTITION:
                    raise self._error_of(error, at, start.get(at, 0))
                # before ``end`` where a transaction is open that began there
                self.ends[at] = min(end[at], max(message.offset(), start.get(at, 0)))
                open_.discard(at)
                continue
            offset = message.offset()
            if offset < end[at]:
                yield *at, offset, _line(message, form)
            if offset + 1 >= end[at]:
                self.ends[at] = end[at]
                open_.discard(at)

    def pause(self, at: tuple[str, int]) -> None:
        """Get no records of a partition for a while; as long as there are others."""
        if at not in self._paused:
            self._paused.add(at)
            self._consumer.pause([self._driver.TopicPartition(*at)])

    def resume(self, partitions: Iterable[tuple[str, int]]) -> None:
        """Get records of partitions again."""
        paused = self._paused & set(partitions)
        self._paused -= paused
        if paused:
            self._consumer.resume([self._driver.TopicPartition(*at) for at in paused])

    def _ask_brokers(self, topics: Iterable[str]) -> None:
        """The client waits without end for brokers and for topics that are gone, and does not say so."""
        try:
            known = self._consumer.list_topics(timeout=_TIMEOUT_S).topics
        except self._driver.KafkaException as error:
            raise self._failed(error) from None
        if any(n not in known or known[n].error is not None for n in topics):
            raise self._gone("it is not listed any more")

    def _error_of(
        self, error: Any, at: tuple[str, int], offset: int
    ) -> EventError | NotFoundError | StorageUnavailableError:
        if self._is_one_of(_GONE, self._driver.KafkaException(error)):
            return self._failed(self._driver.KafkaException(error))
        if "AUTO_OFFSET_RESET" in error.name().upper() or "OFFSET_OUT_OF_RANGE" in error.name():
            return EventError(
                f"topic {at[0]}, partition {at[1]}: offset {offset} was deleted before it was read; "
                "drop the tables and take a new snapshot, and raise the topic's retention.ms",
                topic=at[0],
                partition=at[1],
                offset=offset,
            )
        return EventError(
            f"topic {at[0]}, partition {at[1]}: {error.str()}",
            topic=at[0],
            partition=at[1],
            offset=offset,
        )

    def _is_one_of(self, names: Iterable[str], error: Any) -> bool:
        code = error.args[0].code() if error.args else None
        return code in {getattr(self._driver.KafkaError, name) for name in names}

    def _failed(self, error: Any) -> NotFoundError | StorageUnavailableError:
        """What a client's error means: a topic that is gone, or brokers that are."""
        text = error.args[0].str() if error.args else "no answer"
        if self._is_one_of(_GONE, error):
            return self._gone(text)
        return StorageUnavailableError(
            f"Kafka at {self._source.servers} cannot be reached: {text}",
            path=self._source.servers,
            reason=text,
        )

    def _gone(self, reason: str) -> NotFoundError:
        wanted = self._source.topics
        return NotFoundError(
            f"no topic {wanted!r} at {self._source.servers} any more: it was deleted, or is being recreated "
            f"({reason}); run this again to see what is there now",
            name=str(wanted),
        )


def _line(message: Any, form: RecordForm) -> bytes:
    at = (message.topic(), message.partition(), message.offset())
    return record_line(at, message.headers() or (), message.key(), message.value(), form)
