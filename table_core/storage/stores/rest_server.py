"""Requests to the server of a REST catalog: signed, within a time and a size, made again where that is safe.

Source: ``org.apache.paimon.rest.HttpClient``, ``ExponentialHttpRequestRetryStrategy`` of 2.0.0.
"""

from __future__ import annotations

import json
import logging
import random
import socket
import time
import urllib.parse
import urllib.request
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol

from table_core.errors import OutcomeUnknownError, StorageUnavailableError
from table_core.http_answer import NoRedirects, http_answer
from table_core.options.budgets import DOCUMENT_BYTES, JSON_BYTES
from table_core.options.rest import RestOptions
from table_core.options.stored_json import json_object
from table_core.options.tls import is_loopback
from table_core.rest.documents import page_of
from table_core.rest.refusals import Refusal, RefusedError, is_rejected, is_undecided, merged
from table_core.rest.resources import CONFIG, Resources
from table_core.rest.signature import DlfToken, signed_headers
from table_core.storage.stores.os_errors import explained
from table_core.storage.stores.retries import Retries

if TYPE_CHECKING:
    from collections.abc import Mapping

    from table_core.http_answer import Answer
    from table_core.ports import Clock

__all__ = ["BearerAuth", "DlfAuth", "RequestAuth", "RestRequest", "RestServer", "connected"]

_log: Final = logging.getLogger(__name__)
_REDIRECTS: Final = 300
_PAGES_MAX: Final = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class RestRequest:
    """One request."""

    method: str
    path: str
    parameters: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""

    @property
    def changes_something(self) -> bool:
        """Whether it may not be made twice."""
        return self.method != "GET"


class RequestAuth(Protocol):
    """Says who makes a request."""

    def headers(self, request: RestRequest) -> Mapping[str, str]:
        """The headers of ``request`` that say it."""
        ...


@dataclass(frozen=True, slots=True)
class BearerAuth:
    """A token that is sent as it is."""

    token: str = field(repr=False)

    def headers(self, request: RestRequest) -> Mapping[str, str]:  # noqa: ARG002
        """See ``RequestAuth``."""
        return {"Authorization": f"Bearer {self.token}"}


@dataclass(slots=True)
class DlfAuth:
    """Signatures with a token, which is read from its file again before it expires."""

    region: str
    clock: Clock
    token: DlfToken | None = field(default=None, repr=False)
    token_path: str | None = None

    def headers(self, request: RestRequest) -> Mapping[str, str]:
        """See ``RequestAuth``.

        Raises:
            NotFoundError, AccessDeniedError: the token file cannot be read.
            CorruptFileError: it is none.
        """
        now_ms = self.clock.now_ms()
        if self.token_path is not None and (self.token is None or self.token.needs_renewal(now_ms)):
            path = Path(self.token_path)
            with explained(f"file://{path.parent}", path.name, "read"):
                body = path.read_bytes()
            self.token = DlfToken.from_json(body, path=str(path))
        assert self.token is not None
        return signed_headers(
            self.token,
            self.region,
            now_ms,
            method=request.method,
            path=request.path,
            parameters=request.parameters,
            body=request.body,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class RestServer:
    """The server of a REST catalog at ``uri``."""

    uri: str
    auth: RequestAuth = field(repr=False)
    retries: Retries = field(default_factory=Retries)
    resources: Resources = field(default_factory=lambda: Resources(None))
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    """That go with every request."""

    def get(self, path: str, **parameters: str) -> bytes:
        """The document at ``path``.

        Raises:
            RefusedError: the server does not give it.
            StorageUnavailableError: there is no answer.
        """
        return self._answer(RestRequest(method="GET", path=path, parameters=parameters))

    def post(self, path: str, document: Mapping[str, object]) -> bytes:
        """What comes back for ``document``, which is sent once.

        Raises:
            RefusedError: the server does not take it: nothing was changed.
            StorageUnavailableError: it was not sent.
            OutcomeUnknownError: it was sent, and nobody says what became of it.
        """
        body = json.dumps(document, ensure_ascii=False).encode()
        return self._answer(RestRequest(method="POST", path=path, body=body))

    def delete(self, path: str) -> None:
        """Delete what is at ``path``.

        Raises:
            RefusedError, StorageUnavailableError, OutcomeUnknownError: as ``post``.
        """
        self._answer(RestRequest(method="DELETE", path=path))

    def names(self, path: str, member: str) -> list[str]:
        """All names of a listing, page by page, sorted.

        Raises:
            RefusedError, StorageUnavailableError: as ``get``.
        """
        page = self.get(path)
        names, token = page_of(page, member, path)
        size, most = len(page), DOCUMENT_BYTES.most
        for _ in range(_PAGES_MAX):
            if token is None:
                return sorted(set(names))
            page = self.get(path, pageToken=token)
            size += len(page)
            if size > most:
                told = DOCUMENT_BYTES.told(f"the pages of {path} at {self.uri} have {size:,} bytes")
                raise StorageUnavailableError(told, path=path, reason="endless listing")
            more, following = page_of(page, member, path)
            names += more
            token = None if following == token else following
        raise StorageUnavailableError(
            f"the listing of {path} at {self.uri} has no end after {_PAGES_MAX:,} pages",
            path=path,
            reason="endless listing",
        )

    def _answer(self, request: RestRequest) -> bytes:
        what, bounds = f"{request.method} {request.path}", self.retries
        until = time.monotonic() + bounds.total_seconds
        for attempt in range(1, bounds.attempts + 1):
            cause: OSError | None = None
            seconds = max(min(bounds.read_seconds, until - time.monotonic()), 0.001)
            try:
                answer = self._sent(request, seconds)
            except OSError as error:
                if request.changes_something and not _is_unsent(error):
                    raise self._unknown(what, str(error)) from error
                reason, cause = str(error), error
            else:
                if answer.status < _REDIRECTS:
                    return answer.body
                refusal = Refusal.of(answer.status, answer.body)
                undecided = is_undecided(answer.status)
                if undecided and request.changes_something:
                    raise self._unknown(what, f"HTTP {answer.status}: {refusal.message}")
                if not undecided and not is_rejected(answer.status):
                    raise RefusedError(refusal)
                reason = f"HTTP {answer.status}: {refusal.message}"
            pause = bounds.pause_seconds(attempt, random.random())
            if attempt == bounds.attempts or time.monotonic() + pause >= until:
                raise StorageUnavailableError(
                    f"{what} at {self.uri} failed, {attempt} times: {reason}",
                    path=self.uri,
                    reason=reason,
                ) from cause
            _log.warning("rest: %s failed: %s; again in %.1f s", what, reason, pause)
            time.sleep(pause)
        raise AssertionError(what)

    def _sent(self, request: RestRequest, seconds: float) -> Answer:
        query = urllib.parse.urlencode(request.parameters)
        url = f"{self.uri}{request.path}{'?' if query else ''}{query}"
        headers = {**self.headers, **self.auth.headers(request)}
        if request.body:
            headers["Content-Type"] = "application/json"
        return http_answer(
            urllib.request.Request(
                url, data=request.body or None, headers=headers, method=request.method
            ),
            (NoRedirects(),),
            seconds=seconds,
            most=JSON_BYTES.most,
        )

    def _unknown(self, what: str, reason: str) -> OutcomeUnknownError:
        return OutcomeUnknownError(
            f"{what} at {self.uri} was sent, and nobody says what became of it: {reason}. Look whether it was done",
            user=None,
            id=None,
            floor=None,
        )


def connected(
    options: RestOptions, written: Mapping[str, str], warehouse: str, clock: Clock
) -> RestServer:
    """The server that ``options`` name, and what it says of ``warehouse``; ``written`` are they as texts.

    A warning in the log tells of a server on another machine without TLS: Paimon's client takes it too.

    Raises:
        OptionError, UnsupportedFeatureError: what the server adds to them is wrong, or not for this release.
        AccessDeniedError, NotFoundError, StorageUnavailableError: it does not tell.
    """
    parts = urllib.parse.urlsplit(options.uri)
    if parts.scheme == "http" and not is_loopback(parts.hostname):
        _log.warning(
            "rest: %s has no TLS: who can see the network can read the token, and who can change it can answer "
            "for the server. Use https://",
            options.uri,
        )
    first = _server(options, clock)
    try:
        answer = first.get(CONFIG, warehouse=warehouse)
    except RefusedError as error:
        raise error.refusal.error(f"warehouse {warehouse!r}", options.uri) from None
    config = merged(json_object(answer, path=CONFIG), written)
    return _server(RestOptions.of({**config, "uri": options.uri}), clock)


def _server(options: RestOptions, clock: Clock) -> RestServer:
    dlf = options.dlf
    auth: RequestAuth
    if options.token is not None:
        auth = BearerAuth(options.token)
    else:
        token = None
        if "token-path" not in dlf:
            token = DlfToken(
                access_key_id=dlf["access-key-id"],
                access_key_secret=dlf["access-key-secret"],
                security_token=dlf.get("security-token"),
            )
        auth = DlfAuth(dlf["region"], clock, token, dlf.get("token-path"))
    return RestServer(
        uri=options.uri, auth=auth, resources=Resources(options.prefix), headers=options.headers
    )


def _is_unsent(error: OSError) -> bool:
    """Whether no server has the request: there was nobody to connect to."""
    reason = getattr(error, "reason", error)
    return isinstance(reason, (ConnectionRefusedError, socket.gaierror))
