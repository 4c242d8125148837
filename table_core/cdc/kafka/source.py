"""Change events in Kafka topics, read without a consumer group: the tables keep the offsets."""

from __future__ import annotations

import importlib
import json
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Protocol

from table_core.cdc.files.source import EVENT_BYTES_MAX, FORMATS, check_choices
from table_core.cdc.kafka.client_options import require_client_options
from table_core.cdc.kafka.registry import SchemaRegistry
from table_core.cdc.model.table_pattern import TablePattern
from table_core.errors import (
    ArgumentError,
    EventError,
    MissingPackageError,
    NotFoundError,
    StorageUnavailableError,
)
from table_core.position.decide import TopicsNow
from table_core.position.source import TopicsId
from table_core.validation_errors import too_large, too_many_values, unreadable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

__all__ = [
    "AVRO",
    "JsonRecords",
    "KafkaReading",
    "KafkaSource",
    "RecordForm",
    "json_text",
    "record_line",
    "topics_meant",
]

AVRO: Final = "debezium-avro"
"""Records of Confluent's Avro form, with a schema registry."""
_BEGINS: Final = frozenset(bytes([byte]) for byte in b'{["-0123456789tfn')
_SCHEMA: Final = b'{"schema":'
_PAYLOAD: Final = b',"payload":'
_TIMEOUT_S: Final = 10.0
_MESSAGES: Final = 100
"""Held at once beside those that the client holds: each may be as large as an event may be."""
_END_OF_PARTITION: Final = -191
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

    def open(self) -> KafkaReading:
        """Connect.

        Raises:
            StorageUnavailableError: no broker answers.
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
            **self.options,
        }
        return KafkaReading(self, driver, driver.Consumer(config, logger=_Silent()))


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


class RecordForm(Protocol):
    """How keys and values of records become JSON."""

    def key(self, body: bytes | None) -> bytes:
        """A key on one line."""
        ...

    def value(self, body: bytes | None) -> bytes:
        """A value on one line."""
        ...


class JsonRecords:
    """Records that are JSON."""

    def __init__(self, max_bytes: int = EVENT_BYTES_MAX) -> None:
        self._max_bytes = max_bytes
        self._schema = b"{"
        """How the newest value with a schema begins, up to its payload: known to be JSON."""

    def key(self, body: bytes | None) -> bytes:
        """The key as it came, on one line; as text if it is no JSON."""
        return json_text(body)

    def value(self, body: bytes | None) -> bytes:
        """The value as it came, on one line; what is no JSON says why where it is read."""
        if body is None:
            return b"null"
        if len(body) > self._max_bytes:
            return unreadable(too_large(len(body), self._max_bytes))
        if (why := too_many_values(body)) is not None:
            return unreadable(why, body)
        text = _one_line(body)
        if text[:1] not in _BEGINS:
            return _as_text(body)
        try:
            self._check(text)
        except RecursionError:
            return unreadable("its value is nested too deep", body)
        except ValueError as error:
            return unreadable(f"its value is no JSON: {error}", body)
        return text

    def _check(self, text: bytes) -> None:
        """Refuse what is not one JSON value: it would say things of the record that it is in."""
        if text.startswith(self._schema) and text.endswith(b"}") and len(self._schema) > 1:
            json.loads(text[len(self._schema) : -1].decode())
            return
        json.loads(text.decode())  # of bytes it would take UTF-16 too, which the line is not
        if text.startswith(_SCHEMA) and (at := text.rfind(_PAYLOAD)) > 0:
            head = text[: at + len(_PAYLOAD)]
            with suppress(ValueError):  # there is a payload within the payload
                json.loads(head + b"null}")
                self._schema = head


class KafkaReading:
    """One consumer."""

    def __init__(self, source: KafkaSource, driver: Any, consumer: Any) -> None:
        self._source, self._driver, self._consumer = source, driver, consumer

    def close(self) -> None:
        """Leave."""
        self._consumer.close()

    def partitions(self) -> dict[tuple[str, int], tuple[int, int]]:
        """First and next offset of every partition now.

        Raises:
            NotFoundError: there is no such topic.
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
            raise self._unavailable(error) from None
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
                code = error.args[0].code() if error.args else None
                if code not in {getattr(self._driver.KafkaError, name) for name in _NO_IDS}:
                    raise self._unavailable(error) from None
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
            StorageUnavailableError: the brokers are gone.
        """
        open_ = {at for at, next_ in end.items() if next_ > start.get(at, 0)}
        if not open_:
            return
        make = self._driver.TopicPartition
        self._consumer.assign([make(*at, start.get(at, 0)) for at in open_])
        while open_:
            messages = self._consumer.consume(_MESSAGES, timeout=1.0)
            if not messages:
                self._ask_brokers()
            for message in messages:
                at = (message.topic(), message.partition())
                error = message.error()
                if error is not None:
                    if error.code() == _END_OF_PARTITION:
                        open_.discard(at)
                        continue
                    raise self._named(error, at, start.get(at, 0))
                offset = message.offset()
                if offset < end[at]:
                    yield *at, offset, _line(message, form)
                if offset + 1 >= end[at]:
                    open_.discard(at)

    def _ask_brokers(self) -> None:
        """The client waits for brokers without end, and does not say so."""
        try:
            self._consumer.list_topics(timeout=_TIMEOUT_S)
        except self._driver.KafkaException as error:
            raise self._unavailable(error) from None

    def _named(self, error: Any, at: tuple[str, int], offset: int) -> EventError:
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

    def _unavailable(self, error: Any) -> StorageUnavailableError:
        text = error.args[0].str() if error.args else "no answer"
        return StorageUnavailableError(
            f"Kafka at {self._source.servers} cannot be reached: {text}",
            path=self._source.servers,
            reason=text,
        )


def _line(message: Any, form: RecordForm) -> bytes:
    at = (message.topic(), message.partition(), message.offset())
    return record_line(at, message.headers() or (), message.key(), message.value(), form)


def record_line(
    at: tuple[str, int, int],
    headers: Iterable[tuple[str, bytes | None]],
    key: bytes | None,
    value: bytes | None,
    form: RecordForm,
) -> bytes:
    """The record at a topic, partition and offset as the line that a file of records would have."""
    texts = {
        name: body.decode(errors="replace") if body is not None else None for name, body in headers
    }
    described = {"topic": at[0], "partition": at[1], "offset": at[2], "headers": texts}
    front = json.dumps(described, separators=(",", ":"))[:-1].encode()
    return front + b',"key":' + form.key(key) + b',"value":' + form.value(value) + b"}\n"


def json_text(body: bytes | None) -> bytes:
    """JSON on one line; a key that is none becomes text."""
    if body is None:
        return b"null"
    text = _one_line(body)
    if text[:1] not in _BEGINS:
        return _as_text(body)
    try:
        json.loads(text.decode())  # of bytes it would take UTF-16 too, which the line is not
    except (ValueError, RecursionError):
        return _as_text(body)
    return text


def _one_line(body: bytes) -> bytes:
    return body.replace(b"\n", b" ").replace(b"\r", b" ").strip()


def _as_text(body: bytes) -> bytes:
    return json.dumps(body.decode(errors="replace")).encode()
