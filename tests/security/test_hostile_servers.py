"""Attack: whoever answers in the place of a schema registry, a Spark master or a store.

Goal: a worker that waits for ever, or takes memory without end.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pytest

import table_core as tc
from paimon_provider.launchers import masters
from paimon_provider.launchers.masters import Masters
from table_core.cdc.kafka import registry
from table_core.cdc.kafka.registry import SchemaRegistry
from table_core.errors import ArgumentError, StorageUnavailableError, TableError

OK = b"HTTP/1.1 200 OK\r\n"


@contextmanager
def server(answer: Callable[[socket.socket], Any]) -> Iterator[int]:
    """A port where ``answer`` gets each connection; it is over when the client is gone.

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
