"""Attack: whoever answers in the place of a schema registry, a Spark master, a store, a database or a broker.

Goal: a worker that waits for ever, or takes memory without end.
"""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from itertools import count
from typing import Any

import pytest

import table_core as tc
from paimon_provider.launchers import masters
from paimon_provider.launchers.masters import Masters
from table_core.cdc.model.source_table import CatalogColumn, CatalogTable
from table_core.cdc.source.kafka import registry
from table_core.cdc.source.kafka import source as kafka_source
from table_core.cdc.source.kafka.registry import SchemaRegistry
from table_core.errors import ArgumentError, OptionError, StorageUnavailableError, TableError
from table_core.options.budgets import take_budgets
from table_core.storage.stores import mysql_connection

OK = b"HTTP/1.1 200 OK\r\n"


@contextmanager
def server(answer: Callable[[socket.socket], Any], *, greets: bool = False) -> Iterator[int]:
    """A port where ``answer`` gets each connection; it is over when the client is gone.

    ``greets``: the server is the first to say something.

    A client may send its request in several pieces. What is not read when a connection is closed
    makes the system reset it, and the client loses the answer: so the rest is read first.
    """
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve() -> None:
            with suppress(OSError):
                while True:
                    connection, _ = listening.accept()
                    threading.Thread(target=talk, args=(connection,), daemon=True).start()

        def talk(connection: socket.socket) -> None:
            with suppress(OSError), connection:
                if not greets:
                    connection.recv(1 << 16)
                answer(connection)
                connection.shutdown(socket.SHUT_WR)
                while connection.recv(1 << 16):
                    pass

        threading.Thread(target=serve, daemon=True).start()
        yield listening.getsockname()[1]
        listening.shutdown(socket.SHUT_RDWR)


def slowly(head: bytes) -> Callable[[socket.socket], Any]:
    """A byte now and then: never late for a timeout of one read."""

    def answer(connection: socket.socket) -> None:
        pause = threading.Event()
        for byte in head:
            connection.send(bytes([byte]))
        while not pause.wait(0.05):
            connection.send(b"x")

    return answer


def endless(head: bytes, piece: bytes) -> Callable[[socket.socket], Any]:
    def answer(connection: socket.socket) -> None:
        connection.sendall(head)
        while True:
            connection.sendall(piece)

    return answer


def once(body: bytes) -> Callable[[socket.socket], Any]:
    return lambda connection: connection.sendall(body)


ANSWERS: dict[str, tuple[Callable[[socket.socket], Any], str]] = {
    "slow bodies": (slowly(OK + b"\r\n"), "no whole answer within"),
    "slow lengths": (slowly(OK + b"Content-Length: 9999\r\n\r\n"), "no whole answer within"),
    "slow heads": (slowly(OK + b"X: "), "no whole answer within"),
    "slow statuses": (slowly(b"HTTP/1.1 200 "), "no whole answer within"),
    "no end": (endless(OK + b"\r\n", b" " * 65_536), "more than"),
    "chunks without end": (
        endless(OK + b"Transfer-Encoding: chunked\r\n\r\n", b"8000\r\n" + b" " * 32_768 + b"\r\n"),
        "more than",
    ),
    "heads without end": (endless(OK, b"X: y\r\n"), "no HTTP"),
    "a long line": (endless(OK, b"X" * 65_536), "no HTTP"),
    "no HTTP": (once(b"SSH-2.0-OpenSSH\r\n"), "no HTTP"),
    "an early end": (
        once(OK + b'Content-Length: 999\r\n\r\n{"schema": "\\"int\\""}'),
        "before its length",
    ),
    "a negative length": (once(OK + b"Content-Length: -5\r\n\r\n{"), "answers"),
    "a chunk of no size": (once(OK + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n"), "no HTTP"),
    "deep JSON": (once(OK + b"\r\n" + b"[" * 200_000), "answers"),
    "another value": (once(OK + b"\r\n[1]"), "answers"),
    "nothing": (once(b""), "answers"),
}


@pytest.mark.parametrize("kind", ANSWERS)
def test_a_registry_or_a_master_that_answers_with_anything_is_told_in_time(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer, told = ANSWERS[kind]
    limit = 0.5 if "slow" in kind else 60
    monkeypatch.setattr(registry, "_TIMEOUT_S", limit)
    monkeypatch.setattr(masters, "_CALL_SECONDS", limit)
    with server(answer) as port:
        for ask in (
            lambda: SchemaRegistry(f"http://127.0.0.1:{port}").schema(1),
            lambda: Masters("spark://127.0.0.1:7077", port).ask("status/driver-1"),
        ):
            with pytest.raises(StorageUnavailableError, match=told):
                ask()


def test_a_redirect_leads_nobody_elsewhere() -> None:
    asked: list[bytes] = []

    def other(connection: socket.socket) -> None:
        asked.append(b"")
        connection.sendall(OK + b'\r\n{"success": true, "schema": "x"}')

    with server(other) as elsewhere:
        to = f"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:{elsewhere}/\r\n\r\n".encode()
        with server(once(to)) as port:
            with pytest.raises(ArgumentError, match="302"):
                Masters("spark://127.0.0.1:7077", port).ask("create", {"secret": 1})
            with pytest.raises(StorageUnavailableError, match="redirects to"):
                SchemaRegistry(f"http://127.0.0.1:{port}").schema(1)
    again = once(b"HTTP/1.1 302 Found\r\nLocation: /again\r\n\r\n")
    with server(again) as port, pytest.raises(StorageUnavailableError, match="status 302"):
        SchemaRegistry(f"http://127.0.0.1:{port}").schema(1)
    assert asked == []


OF_A_STORE: dict[str, tuple[Callable[[socket.socket], Any], str]] = {
    "no end": (endless(OK + b"\r\n", b"x" * 65_536), "TABLE_CORE_DOCUMENT_BYTES_MAX"),
    "a length": (
        endless(OK + b"Content-Length: 99999999999\r\n\r\n", b"x" * 65_536),
        "TABLE_CORE_DOCUMENT_BYTES_MAX",
    ),
    "an early end": (once(OK + b"Content-Length: 99\r\n\r\nshort"), "s3://bucket/wh"),
    "a redirect": (
        once(b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\n\r\n"),
        "s3://bucket/wh",
    ),
    "no HTTP": (once(b"no HTTP"), "s3://bucket/wh"),
    "slow": (slowly(OK + b"\r\n"), "s3://bucket/wh"),
}


@pytest.mark.parametrize("kind", OF_A_STORE)
def test_a_store_that_sends_without_end_takes_no_memory(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer, told = OF_A_STORE[kind]
    monkeypatch.setenv("TABLE_CORE_DOCUMENT_BYTES_MAX", "4 mb")
    with server(answer) as port:
        options = {
            "endpoint_url": f"http://127.0.0.1:{port}",
            "key": "a",
            "secret": "b",
            "request.total-timeout": "2 s",
        }
        catalog = tc.open_catalog("s3://bucket/wh", options)
        with pytest.raises(TableError) as caught:
            catalog.storage.read("d.db/t/snapshot/snapshot-1")
    assert told in str(caught.value)


@pytest.fixture
def small_answers() -> Iterator[None]:
    take_budgets({"TABLE_CORE_DOCUMENT_BYTES_MAX": "4 mb"})
    yield
    take_budgets(os.environ)


def packet(body: bytes, number: int = 0, length: int | None = None) -> bytes:
    """A packet of MySQL, and what it says that it has."""
    return (len(body) if length is None else length).to_bytes(3, "little") + bytes([number]) + body


GREETING = (
    b"\x0a8.0.36\0" + bytes(4) + b"saltsalt\0" + b"\xff\xf7\x2d\x02\0\xff\xdf\x15" + bytes(10)
    + b"saltsaltsalt\0mysql_native_password\0"
)  # fmt: skip


def a_mysql(answer: Callable[[socket.socket], Any]) -> Callable[[socket.socket], Any]:
    """It lets everybody in, says yes to what is set, and answers the first query with ``answer``."""

    def talk(connection: socket.socket) -> None:
        connection.sendall(packet(GREETING))
        connection.recv(1 << 16)
        connection.sendall(packet(b"\0\0\0\2\0\0\0", 2))
        while b"SET" in connection.recv(1 << 16):
            connection.sendall(packet(b"\0\0\0\2\0\0\0", 1))
        answer(connection)

    return talk


ROWS = packet(b"\1", 1) + packet(
    b"\3def" + b"\0" * 3 + b"\1a\0\x0c\x2d\0\xff\xff\0\0\xfd\0\0\0\0\0", 2
)
ROWS += packet(b"\xfe\0\0\2\0", 3)
ROW = b"\xfd\xf0\xff\0" + b"x" * 65_520
MYSQLS: dict[str, tuple[Callable[[socket.socket], Any], str]] = {
    "silence": (lambda connection: connection.recv(1), "no login within"),
    "slow": (slowly(packet(b"", length=60_000)), "no login within"),
    "a long greeting": (endless(packet(b"\x0a", length=0xFFFFFF), b"x" * 65_536), "for a login"),
    "no MySQL": (once(b"SSH-2.0-OpenSSH_9.6\r\n" + b"x" * 6_000_000), "cannot be reached"),
    "no words": (once(packet(b"")), "no MySQL"),
    "half a greeting": (once(packet(GREETING[:12])), "no MySQL"),
    "an early end": (once(packet(GREETING)[:20]), "ended the connection"),
    "a character set that there is not": (
        once(packet(GREETING.replace(b"\xff\xf7\x2d", b"\xff\xf7\xfe"))),
        "cannot be reached",
    ),
    "ways to log in without end": (
        endless(
            packet(GREETING),
            b"".join(packet(b"\xfemysql_native_password\0" + b"x" * 20 + b"\0", n) for n in range(2, 250, 2)),
        ),
        "cannot be reached",
    ),
    "rows without end": (
        a_mysql(endless(ROWS, b"".join(packet(ROW, (n + 4) % 256) for n in range(256)))),
        "TABLE_CORE_DOCUMENT_BYTES_MAX",
    ),
    "a row without end": (
        a_mysql(endless(ROWS, packet(b"x" * 0xFFFFFF, 4))),
        "cannot be reached",
    ),
    "columns without end": (a_mysql(once(packet(b"\xfe" + b"\xff" * 8, 1))), "cannot be reached"),
    "a column of no length": (
        a_mysql(once(ROWS + packet(b"\xfd\xff\xff\xff", 4))),
        "no MySQL",
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", MYSQLS)
def test_a_mysql_that_answers_with_anything_is_named_in_time(
    kind: str, monkeypatch: pytest.MonkeyPatch, small_answers: None
) -> None:
    answer, told = MYSQLS[kind]
    monkeypatch.setattr(
        mysql_connection, "_LOGIN_SECONDS", 1.0 if told == "no login within" else 30
    )
    with server(answer, greets=True) as port:
        source = tc.MySqlSource("127.0.0.1", "u", "p", port=port, ssl={"mode": "disable"})

        with pytest.raises(StorageUnavailableError, match=told) as caught:
            first_rows(source)
    assert f"127.0.0.1:{port}" in str(caught.value)


def first_rows(source: tc.MySqlSource | tc.PostgresSource) -> list[tuple[Any, ...]]:
    connection = source.connect()
    try:
        return connection.rows("SELECT 1")
    finally:
        connection.close()


def message(kind: bytes, body: bytes, length: int | None = None) -> bytes:
    """A message of PostgreSQL, and what it says that it has."""
    return kind + (len(body) + 4 if length is None else length).to_bytes(4, "big") + body


LET_IN = message(b"R", bytes(4))
COLUMN = message(b"T", b"\0\1a" + bytes(7) + b"\0\0\0\x19" + b"\xff" * 6 + b"\0\0")
TEXT = message(b"D", b"\0\1" + (60_000).to_bytes(4, "big") + b"x" * 60_000)


NO_TLS = {"sslmode": "disable", "gssencmode": "disable", "connect_timeout": "2"}


class Sent:
    """How much a client took before it went away."""

    bytes = 0

    def endless(self, head: bytes, piece: bytes) -> Callable[[socket.socket], Any]:
        def answer(connection: socket.socket) -> None:
            connection.sendall(head)
            while True:
                connection.sendall(piece)
                self.bytes += len(piece)

        return answer


def a_postgres(answer: Callable[[socket.socket], Any]) -> Callable[[socket.socket], Any]:
    """It lets everybody in, and answers the first query with ``answer``."""

    def talk(connection: socket.socket) -> None:
        connection.sendall(LET_IN + message(b"Z", b"I"))
        connection.recv(1 << 16)
        answer(connection)

    return talk


def settings_of_many_names(connection: socket.socket) -> None:
    connection.sendall(LET_IN)
    for number in count():
        connection.sendall(message(b"S", b"a%d\0" % number + b"x" * 20_000 + b"\0"))


POSTGRESES: dict[str, tuple[Callable[[socket.socket], Any], str]] = {
    "silence": (lambda connection: connection.recv(1), "timeout"),
    "slow": (slowly(LET_IN + message(b"N", b"", length=20_000)), "timeout"),
    "no PostgreSQL": (once(b"SSH-2.0-OpenSSH_9.6\r\n"), "cannot be reached"),
    "a long login": (endless(b"R\x7f\xff\xff\xff", b"x" * 65_536), "invalid authentication"),
    "a long error": (endless(b"E\x7f\xff\xff\xff", b"x" * 65_536), "invalid error"),
    "a negative length": (once(b"R\xff\xff\xff\xff" + bytes(99)), "invalid authentication"),
    "notices without end": (endless(LET_IN, message(b"N", b"Mx\0\0") * 999), "for a login"),
    "settings without end": (endless(LET_IN, message(b"S", b"a\0x\0") * 999), "for a login"),
    "half a row": (a_postgres(once(COLUMN + TEXT[:100])), "closed the connection"),
    "settings of many names": (
        lambda connection: settings_of_many_names(connection),
        "for a login",
    ),
    "a row without end": (
        a_postgres(endless(COLUMN + b"D\x3f\xff\xff\xff\0\1\x3f\xff\xff\xf0", b"x" * 65_536)),
        "TABLE_CORE_DOCUMENT_BYTES_MAX",
    ),
    "rows without end": (a_postgres(endless(COLUMN, TEXT)), "TABLE_CORE_DOCUMENT_BYTES_MAX"),
    "an error without end": (
        a_postgres(endless(b"E\x3f\xff\xff\xff", b"x" * 65_536)),
        "TABLE_CORE_DOCUMENT_BYTES_MAX",
    ),
    "a longer value than its row": (
        a_postgres(once(COLUMN + message(b"D", b"\0\1\x7f\xff\xff\xff") + message(b"Z", b"I"))),
        "cannot be reached",
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", POSTGRESES)
def test_a_postgresql_that_answers_with_anything_is_named_in_time(
    kind: str, small_answers: None
) -> None:
    answer, told = POSTGRESES[kind]
    with server(answer) as port:
        source = tc.PostgresSource("127.0.0.1", "d", "u", port=port, options=NO_TLS)
        with pytest.raises(StorageUnavailableError, match=told) as caught:
            first_rows(source)
    assert f"127.0.0.1:{port}" in str(caught.value)


OUT = message(b"H", b"\0\0\1\0\0")
COPIES: dict[str, tuple[bytes, bytes, str]] = {
    "a row without end": (
        OUT + b"d\x3f\xff\xff\xff",
        b"x" * 65_536,
        "TABLE_CORE_DOCUMENT_BYTES_MAX",
    ),
    "notices between rows": (
        OUT + message(b"d", b"1\n"),
        message(b"N", b"Mx\0\0") * 999,
        "TABLE_CORE_DOCUMENT_BYTES_MAX",
    ),
}


@pytest.mark.parametrize("kind", COPIES)
def test_rows_of_a_postgresql_are_bounded_one_by_one(kind: str, small_answers: None) -> None:
    head, piece, told = COPIES[kind]
    sent = Sent()
    with server(a_postgres(sent.endless(head, piece))) as port:
        connection = tc.PostgresSource("127.0.0.1", "d", "u", port=port, options=NO_TLS).connect()
        table = CatalogTable("public", "t", (CatalogColumn("a", "text", True, None, None),), ())
        with pytest.raises(StorageUnavailableError, match=told):
            list(connection.chunk(table, None, None))
        connection.close()
    assert sent.bytes < 512 << 20, "4 MB is the limit"


def test_many_rows_of_a_postgresql_are_no_long_answer(small_answers: None) -> None:
    row = message(b"d", b"x" * 50_000 + b"\n")
    end = message(b"c", b"") + message(b"C", b"COPY 1000\0") + message(b"Z", b"I")
    with server(a_postgres(once(OUT + row * 1000 + end))) as port:
        connection = tc.PostgresSource("127.0.0.1", "d", "u", port=port, options=NO_TLS).connect()
        table = CatalogTable("public", "t", (CatalogColumn("a", "text", True, None, None),), ())
        rows = sum(1 for _ in connection.chunk(table, None, None))
        connection.close()
    assert rows == 1000


BROKERS: dict[str, Callable[[socket.socket], Any]] = {
    "silence": lambda connection: connection.recv(1),
    "slow": slowly((1000).to_bytes(4, "big")),
    "a long answer": endless(b"\x7f\xff\xff\xff", b"x" * 65_536),
    "a negative length": once(b"\xff" * 64),
    "no Kafka": once(b"SSH-2.0-OpenSSH_9.6\r\n"),
    "answers to nothing": endless(b"", (64).to_bytes(4, "big") + bytes(64)),
}


@pytest.mark.parametrize("kind", BROKERS)
def test_a_broker_that_answers_with_anything_is_named_in_time(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kafka_source, "_TIMEOUT_S", 1.0)
    with server(BROKERS[kind]) as port:
        reading = tc.KafkaSource(f"127.0.0.1:{port}", "t").connect()
        try:
            with pytest.raises(StorageUnavailableError, match="cannot be reached") as caught:
                reading.partitions()
        finally:
            reading.close()
    assert f"127.0.0.1:{port}" in str(caught.value)


def a_catalog(answer: Callable[[str, int], tuple[int, str]]) -> Callable[[socket.socket], Any]:
    """A REST catalog: ``answer`` has the status and the document for a path and the number of the request."""
    requests = count()

    def talk(connection: socket.socket) -> None:
        with connection.makefile("rb") as lines:
            path = lines.readline().split()[1].decode()
        status, body = answer(path, next(requests))
        head = f"HTTP/1.1 {status} X\r\nConnection: close\r\nContent-Length: {len(body.encode())}\r\n\r\n"
        connection.sendall(head.encode() + body.encode())

    return talk


def pages_without_end(path: str, number: int) -> tuple[int, str]:
    names = "" if "v1/config" in path else f'"databases": ["{"x" * 500_000}{number}"], '
    return 200, f'{{{names}"nextPageToken": "{number}"}}'


CATALOGS: dict[str, tuple[Callable[[str, int], tuple[int, str]], type[TableError], str]] = {
    "names without end": (
        pages_without_end,
        StorageUnavailableError,
        "TABLE_CORE_DOCUMENT_BYTES_MAX",
    ),
    "a file of this machine": (
        lambda _, __: (
            200,
            '{"overrides": {"token.provider": "dlf", "dlf.token-path": "/etc/hostname", "dlf.region": "x"}}',
        ),
        OptionError,
        "which file is read and sent to it",
    ),
    "a deep refusal": (lambda _, __: (400, "[" * 200_000), ArgumentError, "no reason that"),
    "a redirect": (lambda _, __: (302, "{}"), StorageUnavailableError, "HTTP 302"),
}


@pytest.mark.parametrize("kind", CATALOGS)
def test_a_rest_catalog_that_answers_with_anything_is_named_and_bounded(
    kind: str, small_answers: None
) -> None:
    answer, error, told = CATALOGS[kind]
    with server(a_catalog(answer), greets=True) as port:
        options = {
            "metastore": "rest",
            "uri": f"http://127.0.0.1:{port}",
            "token.provider": "bear",
            "token": "s3cret-token",
        }
        with pytest.raises(error, match=told) as caught:
            tc.open_catalog("w", options).databases()
    assert "s3cret-token" not in str(caught.value)
