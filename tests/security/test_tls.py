"""Attack: whoever is between us and a server.  Goal: a password in clear, or to be taken for the server."""

from __future__ import annotations

import socket
import ssl
import struct
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest

import table_core as tc
from table_core.cdc.source.kafka import registry
from table_core.cdc.source.kafka.registry import SchemaRegistry
from table_core.errors import ArgumentError, OptionError, StorageUnavailableError, TableError
from table_core.options.tls import default_mode, is_loopback, mode_of, mysql_source_tls, mysql_tls
from table_core.storage.stores import mysql_connection as mysql_driver
from table_core.storage.stores.jdbc import JdbcDatabase
from table_core.storage.stores.jdbc_tls import mysql_settings, postgres_settings

SECRET = "hunter2-hunter2"


class Plain:
    """A server that offers no TLS, and keeps what it hears."""

    def __init__(self, talk: Callable[[socket.socket], bytes]) -> None:
        self.heard = b""
        self.talk = talk
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()

    def serve(self) -> None:
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            with client:
                client.settimeout(5)
                try:
                    self.heard += self.talk(client)
                except OSError:
                    continue


def mysql(client: socket.socket) -> bytes:
    flags = 0x81BFF7FF & ~0x800  # everything but TLS
    hello = (
        b"\x0a8.0.0\0" + struct.pack("<I", 1) + b"A" * 8 + b"\0" + struct.pack("<H", flags & 0xFFFF)
        + b"\x2d" + struct.pack("<HH", 2, flags >> 16) + b"\x15" + b"\0" * 10 + b"B" * 12 + b"\0"
        + b"mysql_clear_password\0"
    )  # fmt: skip
    client.sendall(struct.pack("<I", len(hello))[:3] + b"\0" + hello)
    return client.recv(4096)


def asking(plugin: bytes, then: bytes = b"") -> Callable[[socket.socket], bytes]:
    """A MySQL without TLS that wants to be logged in to another way."""

    def talk(client: socket.socket) -> bytes:
        heard = mysql(client)
        ask = b"\xfe" + plugin + b"\0" + then
        client.sendall(struct.pack("<I", len(ask))[:3] + b"\x02" + ask)
        return heard + client.recv(4096)

    return talk


def postgres(client: socket.socket) -> bytes:
    heard = client.recv(8)
    while heard[-4:] in (struct.pack(">I", 80877103), struct.pack(">I", 80877104)):
        client.sendall(b"N")
        heard = client.recv(4096)
    if heard:
        client.sendall(b"R" + struct.pack(">II", 8, 3))  # a password in clear, please
        heard += client.recv(4096)
    return heard


@pytest.fixture(params=["mysql", "postgres"])
def plain(request: pytest.FixtureRequest) -> Iterator[tuple[str, Plain]]:
    server = Plain({"mysql": mysql, "postgres": postgres}[request.param])
    yield request.param, server
    server.listener.close()


WANTED = {
    "mysql": [
        *("useSSL=true", "useSSL=TRUE", "requireSSL=true", "ssl=true", "useSsl=true"),
        *("sslMode=REQUIRED", "sslMode=VERIFY_CA", "sslMode=VERIFY_IDENTITY", "sslMode=verify-full"),
        *("sslMode=trust", "verifyServerCertificate=true", "useSSL=false&sslMode=REQUIRED"),
    ],
    "postgres": ["ssl=true", "ssl=", "sslmode=require", "sslmode=verify-full", "ssl=true&sslmode=require"],
}  # fmt: skip


def test_tls_that_is_asked_for_of_a_catalog_is_had_or_no_password_goes_out(
    plain: tuple[str, Plain],
) -> None:
    kind, server = plain
    name = {"mysql": "mysql", "postgres": "postgresql"}[kind]
    for query in WANTED[kind]:
        database = JdbcDatabase(
            f"jdbc:{name}://127.0.0.1:{server.port}/x?{query}", {"user": "ada", "password": SECRET}
        )
        with pytest.raises(TableError):
            database.rows("SELECT 1")
        assert b"ada" not in server.heard, query
        assert SECRET.encode() not in server.heard, query


@pytest.mark.parametrize(
    ("kind", "query"),
    [
        *(("mysql", q) for q in ("sslMode=maybe", "useSSL=perhaps", "enabledTLSProtocols=TLSv1.3")),
        *(
            ("mysql", q)
            for q in ("trustCertificateKeyStoreUrl=file:/x.jks", "serverSslCert=/not/there")
        ),
        *(("postgresql", q) for q in ("sslmode=maybe", "ssl=perhaps", "sslfactory=a.B")),
        *(("postgresql", q) for q in ("ssl=true&sslmode=disable", "ssl=true&sslmode=prefer")),
        ("postgresql", "sslNegotiation=direct"),
    ],
)
def test_what_is_said_of_tls_and_cannot_be_done_is_refused(kind: str, query: str) -> None:
    with pytest.raises(OptionError):
        JdbcDatabase(f"jdbc:{kind}://127.0.0.1:9/x?{query}", {"user": "a"}).rows("SELECT 1")


def test_java_names_become_the_modes_that_they_are() -> None:
    def of(**given: str) -> tuple[bool, int] | str:
        found = mysql_settings(dict(given), "x")
        if "ssl_disabled" in found:
            return "disable"
        context = found["ssl"]
        return (context.check_hostname, context.verify_mode) if context else "prefer"

    assert of() == of(sslMode="PREFERRED") == "prefer"
    assert of(useSSL="false") == of(sslMode="DISABLED") == "disable"
    assert of(useSSL="true") == of(sslMode="REQUIRED") == (False, ssl.CERT_NONE)
    assert of(sslMode="VERIFY_CA") == of(useSSL="true", verifyServerCertificate="true")
    assert of(sslMode="VERIFY_CA") == (False, ssl.CERT_REQUIRED)
    assert of(sslMode="VERIFY_IDENTITY") == of(sslMode="verify-full") == (True, ssl.CERT_REQUIRED)
    assert postgres_settings({}, "x") == {}
    assert postgres_settings({"ssl": "true"}, "x") == {
        "sslmode": "verify-full",
        "sslrootcert": "system",
    }
    own = {"ssl": "true", "sslmode": "require", "sslrootcert": "/ca"}
    assert postgres_settings(own, "x") == {"sslmode": "require", "sslrootcert": "/ca"}


@pytest.mark.parametrize("plugin", [b"mysql_clear_password", b"dialog"])
@pytest.mark.parametrize("kind", ["source", "catalog"])
def test_a_server_without_tls_does_not_choose_to_get_the_password_in_clear(
    plugin: bytes, kind: str
) -> None:
    server = Plain(asking(plugin, b"\x01Password: "))
    catalog = JdbcDatabase(
        f"jdbc:mysql://127.0.0.1:{server.port}/x", {"user": "ada", "password": SECRET}
    )
    source = tc.MySqlSource("127.0.0.1", "ada", SECRET, port=server.port)
    with pytest.raises(TableError, match="password in clear"):
        source.connect() if kind == "source" else catalog.rows("SELECT 1")
    server.listener.close()
    assert SECRET.encode() not in server.heard


@pytest.mark.parametrize(
    ("bound", "says"),
    [
        ("_PACKET_MAX", "a packet of more than"),
        ("_LOGIN_BYTES", "more than 1,048,576 bytes for a login"),
    ],
)
def test_a_server_that_sends_a_packet_without_end_takes_no_memory(
    bound: str, says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mysql_driver, "_PACKET_MAX", 48 << 20)
    if bound == "_PACKET_MAX":  # the bound of a login is met first otherwise

        def connect(self: Any, sock: Any = None) -> None:
            super(mysql_driver._Bounded, self).connect(sock)

        monkeypatch.setattr(mysql_driver._Bounded, "connect", connect)

    def endless(client: socket.socket) -> bytes:
        mysql(client)
        for part in range(2, 256):
            client.sendall(b"\xff\xff\xff" + bytes([part]) + b"x" * 0xFFFFFF)
        return b""

    server = Plain(endless)
    with pytest.raises(TableError, match=says):
        tc.MySqlSource("127.0.0.1", "ada", SECRET, port=server.port).connect()
    server.listener.close()


def test_a_source_on_another_machine_has_to_prove_who_it_is(
    plain: tuple[str, Plain], monkeypatch: pytest.MonkeyPatch
) -> None:
    kind, server = plain
    real = socket.create_connection
    monkeypatch.setattr(  # "db.example.com" is the server on this machine
        socket, "create_connection", lambda at, *a, **k: real(("127.0.0.1", at[1]), *a, **k)
    )
    source: Any
    if kind == "mysql":
        source = tc.MySqlSource("db.example.com", "ada", SECRET, port=server.port)
    else:
        where = {"hostaddr": "127.0.0.1", "sslmode": "verify-full", "sslrootcert": "system"}
        source = tc.PostgresSource(
            "db.example.com", "x", "ada", SECRET, port=server.port, options=where
        )
    with pytest.raises(TableError):
        source.connect()
    assert b"ada" not in server.heard
    assert SECRET.encode() not in server.heard


@pytest.mark.parametrize("mode", [None, "require"])
def test_certificates_of_the_system_are_loaded_once_for_all_connections(
    monkeypatch: pytest.MonkeyPatch, mode: str | None
) -> None:
    loads: list[object] = []
    real = ssl.SSLContext.load_default_certs
    monkeypatch.setattr(
        ssl.SSLContext,
        "load_default_certs",
        lambda self, *a, **k: (loads.append(self), real(self, *a, **k))[1],
    )
    server = Plain(mysql)
    source = tc.MySqlSource(
        "127.0.0.1", "ada", SECRET, port=server.port, ssl={"mode": mode} if mode else None
    )
    for _ in range(4):
        with pytest.raises(TableError):
            source.connect()
    assert len(loads) <= 1


def test_what_a_source_says_of_tls_wins_over_the_default() -> None:
    def of(given: dict[str, Any] | None, host: str = "db.example.com") -> Any:
        found = mysql_source_tls(given, host)
        if found.get("ssl") is None:
            return found
        return found["ssl"].check_hostname, found["ssl"].verify_mode

    assert of(None) == of({}) == (True, ssl.CERT_REQUIRED)
    assert of(None, "127.0.0.1") == {"ssl": None}
    assert of({"mode": "disable"}) == {"ssl_disabled": True}
    assert of({"mode": "require"}) == (False, ssl.CERT_NONE)
    assert of({"mode": "VERIFY_CA"}) == of({"check_hostname": False}) == (False, ssl.CERT_REQUIRED)
    for wrong in ({"mode": "maybe"}, {"verify": True}, {"ca": "/not/there"}):
        with pytest.raises(ArgumentError, match="ssl: "):
            of(wrong)
    asked: list[dict[str, Any]] = []

    class Driver:
        @staticmethod
        def connect(**given: Any) -> None:
            asked.append(given)

    import table_core.cdc.source.postgres.source as module

    before, module.driver_connection = module.driver_connection, lambda: Driver  # type: ignore[assignment]
    try:
        for host, options in (
            ("db", {}), ("db", {"sslmode": "disable"}), ("localhost", {}), ("/run/pg", {}),
            ("localhost,db", {}), ("db", {"sslrootcert": "/ca"}), ("localhost", {"hostaddr": "10.0.0.1"}),
            ("db", {"sslmode": "", "sslrootcert": ""}), ("db", {"sslmode": None, "sslrootcert": "/ca"}),
        ):  # fmt: skip
            tc.PostgresSource(host, "x", "u", options=options).connect()
    finally:
        module.driver_connection = before  # type: ignore[assignment]
    assert [(a.get("sslmode"), a.get("sslrootcert")) for a in asked] == [
        ("verify-full", "system"), ("disable", None), (None, None), (None, None),
        ("verify-full", "system"), ("verify-full", "/ca"), ("verify-full", "system"),
        ("verify-full", "system"), ("verify-full", "/ca"),
    ]  # fmt: skip
    assert of({"mode": ""}) == of({"mode": None}) == of(None)


@pytest.mark.parametrize("name", ["host", "user", "options", "service", "conninfo", "row_factory"])
def test_options_of_a_source_lead_to_no_other_server(name: str) -> None:
    with pytest.raises(ArgumentError, match=f"options: {name} is said"):
        tc.PostgresSource("db", "x", "u", options={name: "y"})


@pytest.mark.parametrize(
    "host", ["localhost", "LOCALHOST.", "127.0.0.1", "127.9.9.9", "::1", "[::1]", "/tmp", None, ""]
)
def test_these_hosts_are_this_machine(host: str | None) -> None:
    assert is_loopback(host)


@pytest.mark.parametrize(
    "host", ["localhost.evil.com", "127.0.0.1.evil.com", "10.0.0.1", "db", "0.0.0.0", "::"]
)
def test_these_hosts_are_not(host: str) -> None:
    assert not is_loopback(host)
    assert default_mode(f"localhost,{host}") == "verify-full"
    assert mysql_tls(mode_of("verify_identity"))["ssl"].check_hostname


class Redirecting(BaseHTTPRequestHandler):
    to = ""
    seen: list[Any] = []  # noqa: RUF012

    def do_GET(self) -> None:
        self.seen.append((self.server.server_port, self.headers.get("Authorization")))  # type: ignore[attr-defined]
        if self.path.startswith("/schemas") and self.to:
            self.send_response(302)
            self.send_header("Location", self.to)
            self.end_headers()
        else:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b'{"schema": "\\"int\\""}' + b" " * 2000)

    def log_message(self, *_: Any) -> None:
        pass


@pytest.mark.parametrize("options", [{"token": SECRET}, {"user": "u", "password": SECRET}])
def test_a_token_does_not_go_along_to_another_host(options: dict[str, str]) -> None:
    servers = [HTTPServer(("127.0.0.1", 0), Redirecting) for _ in range(2)]
    for server in servers:
        threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        here, other = (server.server_port for server in servers)
        asked = SchemaRegistry(f"http://127.0.0.1:{here}", options)
        for to in (f"http://127.0.0.1:{other}/x", f"http://localhost:{here}/x", "file:///etc/hostname",
                   f"//127.0.0.1:{other}/x", "ftp://127.0.0.1/x"):  # fmt: skip
            Redirecting.to, Redirecting.seen[:] = to, []
            with pytest.raises(StorageUnavailableError):
                asked.schema(1)
            assert [port for port, _ in Redirecting.seen] == [here], to
        Redirecting.to, Redirecting.seen[:] = f"http://127.0.0.1:{here}/moved", []
        assert asked.schema(1) == '"int"'
        Redirecting.to = ""
        before, registry._SCHEMA_BYTES = registry._SCHEMA_BYTES, 1000  # type: ignore[misc]
        try:
            with pytest.raises(StorageUnavailableError, match="more than 1,000 bytes"):
                asked.schema(1)
        finally:
            registry._SCHEMA_BYTES = before  # type: ignore[misc]
    finally:
        for server in servers:
            server.shutdown()
            server.server_close()


class Answering(BaseHTTPRequestHandler):
    body = b""

    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(self.body)

    def log_message(self, *_: Any) -> None:
        pass


def test_whatever_a_registry_answers_is_a_schema_or_an_error_of_ours() -> None:
    server = HTTPServer(("127.0.0.1", 0), Answering)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        asked = SchemaRegistry(f"http://127.0.0.1:{server.server_port}")
        for body in (
            b"",
            b"x",
            b"[]",
            b"{}",
            b"null",
            b'{"schema": 5}',
            b"[" * 100_000,
            b"\xff",
            b'{"schema"',
        ):
            Answering.body = body
            with pytest.raises(StorageUnavailableError, match="no schema registry answers"):
                asked.schema(1)
    finally:
        server.shutdown()
        server.server_close()
