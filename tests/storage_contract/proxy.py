"""An HTTP proxy that answers as an S3 server does on a bad day.

It passes requests on, except where ``plan`` says otherwise for the next requests that match.
"""

from __future__ import annotations

import http.client
import threading
import urllib.parse
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

BODY = '<?xml version="1.0"?><Error><Code>{code}</Code><Message>{code}</Message></Error>'
HOP = {"connection", "transfer-encoding", "keep-alive", "content-length"}


@dataclass
class Plan:
    """What goes wrong with the next ``times`` requests that ``matches``."""

    matches: Callable[[str, str], bool]
    status: int = 0
    code: str = ""
    lose_answer: bool = False
    """The server does it, the client hears nothing."""
    hang: bool = False
    """Neither does anything."""
    cut: bool = False
    """The body is shorter than it should be, and its length is given as that of the rest."""
    times: int = 1
    then: Plan | None = None
    """What goes wrong after that."""
    seen: list[str] = field(default_factory=list)


class Proxy:
    """``with Proxy(endpoint) as p: p.plan = Plan(...)``; ``p.endpoint`` is where to go."""

    def __init__(self, endpoint: str) -> None:
        self.target = urllib.parse.urlsplit(endpoint)
        self.plan: Plan | None = None
        self.stop = threading.Event()
        proxy = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_: object) -> None:
                pass

            def answer(self) -> None:
                proxy.answer(self)

            do_GET = do_PUT = do_POST = do_DELETE = do_HEAD = answer

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.server.server_port}"

    def __enter__(self) -> Self:
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop.set()
        self.server.shutdown()
        self.server.server_close()

    def answer(self, request: Any) -> None:
        length = int(request.headers.get("Content-Length") or 0)
        body = request.rfile.read(length) if length else b""
        if self.plan is not None and self.plan.times == 0 and self.plan.then is not None:
            self.plan = self.plan.then
        plan = self.plan
        bad = plan is not None and plan.times > 0 and plan.matches(request.command, request.path)
        if bad:
            assert plan is not None
            plan.times -= 1
            plan.seen.append(f"{request.command} {request.path}")
            if plan.hang:
                self.stop.wait(60)
                request.close_connection = True
                return
            if plan.status:
                self.reply(request, plan.status, [], BODY.format(code=plan.code).encode())
                return
        status, headers, content = self.forward(request, body)
        if bad and plan is not None and plan.lose_answer:
            request.close_connection = True
            request.connection.close()
            return
        if bad and plan is not None and plan.cut:
            content = content[: len(content) // 2]
        self.reply(request, status, headers, content)

    def forward(self, request: Any, body: bytes) -> tuple[int, list[tuple[str, str]], bytes]:
        """Under the name that the client signed."""
        there = http.client.HTTPConnection(self.target.hostname or "", self.target.port, timeout=30)
        try:
            there.putrequest(
                request.command, request.path, skip_host=True, skip_accept_encoding=True
            )
            for name, value in request.headers.items():
                there.putheader(name, value)
            there.endheaders(body)
            reply = there.getresponse()
            return reply.status, reply.getheaders(), reply.read()
        finally:
            there.close()

    def reply(
        self, request: Any, status: int, headers: list[tuple[str, str]], content: bytes
    ) -> None:
        request.send_response_only(status)
        kept = [(n, v) for n, v in headers if n.lower() not in HOP]
        head = request.command == "HEAD"
        length = next((v for n, v in headers if head and n.lower() == "content-length"), None)
        for name, value in [*kept, ("Content-Length", length or str(len(content)))]:
            request.send_header(name, value)
        request.end_headers()
        if not head:
            request.wfile.write(content)
