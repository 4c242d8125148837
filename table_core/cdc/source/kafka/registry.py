"""A schema registry: the Avro schemas of records by number."""

from __future__ import annotations

import base64
import json
import ssl
import urllib.parse
import urllib.request
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final

from table_core.errors import (
    ArgumentError,
    EventError,
    StorageUnavailableError,
    TableError,
    UnsupportedFeatureError,
)
from table_core.http_answer import Answer, http_answer
from table_core.storage.system import SystemClock

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from table_core.ports import Clock

__all__ = ["SchemaRegistry"]

_TIMEOUT_S: Final = 30.0
_OPTIONS: Final = ("user", "password", "token", "ca")
_DENIED: Final = frozenset({401, 403})
_NOT_FOUND: Final = 404
_SCHEMA_BYTES: Final = 4 << 20
_PASSING: Final = frozenset({429, 500, 502, 503, 504})
_WAITS_MS: Final = (500, 1000, 2000)


class _ElsewhereError(Exception):
    """A registry sends us to another host; asked again, it would too."""


class _SameHost(urllib.request.HTTPRedirectHandler):
    """Follows a redirect on the same host and scheme only: who we are is not for others."""

    def redirect_request(
        self, req: Any, fp: Any, code: int, msg: str, headers: Any, newurl: str
    ) -> urllib.request.Request | None:
        """The next request.

        Raises:
            _ElsewhereError: it would go elsewhere.
        """
        here, there = urllib.parse.urlsplit(req.full_url), urllib.parse.urlsplit(newurl)
        if (here.scheme, here.netloc) != (there.scheme, there.netloc):
            raise _ElsewhereError(
                f"redirects to {there.scheme}://{there.hostname}: name that one as the registry"
            )
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _is_plain(url: str) -> bool:
    """Whether ``url`` is an address that can be shown."""
    try:
        parts = urllib.parse.urlsplit(url)
        _ = parts.port
    except ValueError:
        return False
    is_bare = not (parts.query or parts.fragment) and parts.username is None
    return parts.scheme in {"http", "https"} and bool(parts.hostname) and is_bare


@dataclass(frozen=True, slots=True)
class SchemaRegistry:
    """What answers ``GET /schemas/ids/NUMBER`` as Confluent's registry does.

    Args:
        url: its address, several with commas: the next one is asked where one does not answer.
        options: ``user`` and ``password``, or ``token``; ``ca``: file of certificates to trust.
        clock: waits before it asks once more.
    """

    url: str
    options: Mapping[str, Any] = field(default_factory=dict, repr=False)
    clock: Clock = field(default_factory=SystemClock, repr=False)

    def __post_init__(self) -> None:
        for name in self.options:
            if name not in _OPTIONS:
                raise ArgumentError(
                    f"registry_options {name!r} is none of {', '.join(_OPTIONS)}",
                    argument="registry_options",
                    value=name,
                )
        for url in self._urls:
            if not _is_plain(url):
                raise ArgumentError(
                    "registry is an http or https address without a password, and nothing behind its path; who "
                    "asks belongs into registry_options",
                    argument="registry",
                    value="",
                )

    @property
    def _urls(self) -> list[str]:
        return [url.strip().rstrip("/") for url in self.url.split(",")]

    def schema(self, number: int) -> str:
        """The text of a schema.

        Raises:
            StorageUnavailableError: no registry answers.
            EventError: there is no such schema.
            ArgumentError: the registry wants another user.
            UnsupportedFeatureError: the schema is no Avro, or refers to others.
        """
        failure, settled = "", set[str]()
        for url in self._asked_in_turn(settled):
            settled.add(url)
            try:
                answer = self._asked(f"{url}/schemas/ids/{number}")
                if answer.status in _DENIED:
                    raise ArgumentError(
                        f"the registry {url} refuses us with status {answer.status}: give user and "
                        "password, or token, in registry_options",
                        argument="registry_options",
                        value=answer.status,
                    )
                if answer.status == _NOT_FOUND:
                    raise EventError(
                        f"the registry {url} has no schema {number}: registry is not the one that "
                        "the records were written with, or the schema was deleted for good",
                        schema=number,
                    )
                if answer.status == HTTPStatus.OK:
                    return self._text(number, json.loads(answer.body))
                failure = f"{url}: status {answer.status}"
                if answer.status in _PASSING:
                    settled.discard(url)
            except TableError:
                raise
            except _ElsewhereError as error:
                failure = f"{url}: {error}"
            except OSError as error:
                settled.discard(url)
                failure = f"{url}: {getattr(error, 'reason', error)}"
            except (ValueError, RecursionError) as error:
                failure = f"{url}: its answer is no schema: {error}"
        raise StorageUnavailableError(
            f"no schema registry answers: {failure}", path=self.url, reason=failure
        )

    def _asked_in_turn(self, settled: set[str]) -> Iterator[str]:
        """Every address, and again after a while those that are not ``settled``: one that starts has no answer yet."""
        yield from self._urls
        for wait in _WAITS_MS:
            if left := [url for url in self._urls if url not in settled]:
                self.clock.sleep_ms(wait)
                yield from left

    def _asked(self, url: str) -> Answer:
        request = urllib.request.Request(url)
        user, token = self.options.get("user"), self.options.get("token")
        if user is not None:
            pair = f"{user}:{self.options.get('password', '')}"
            request.add_header("Authorization", f"Basic {base64.b64encode(pair.encode()).decode()}")
        elif token is not None:
            request.add_header("Authorization", f"Bearer {token}")
        ca = self.options.get("ca")
        trusted = ssl.create_default_context(cafile=ca) if ca else None
        return http_answer(
            request, [_SameHost()], seconds=_TIMEOUT_S, most=_SCHEMA_BYTES, trusted=trusted
        )

    def _text(self, number: int, answer: Any) -> str:
        if not isinstance(answer, dict) or not isinstance(answer.get("schema"), str):
            raise ValueError("there is no text under 'schema'")  # noqa: TRY004 - as no JSON is
        if answer.get("schemaType", "AVRO") != "AVRO" or answer.get("references"):
            raise UnsupportedFeatureError(
                f"schema {number} is {answer.get('schemaType', 'AVRO')}"
                + (" with references to other schemas" if answer.get("references") else ""),
                feature="schemas of a registry other than plain Avro",
            )
        text: str = answer["schema"]
        return text
