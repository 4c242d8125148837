"""Records of a topic as the lines of JSON that a file of events would have."""

from __future__ import annotations

import base64
import json
from contextlib import suppress
from typing import TYPE_CHECKING, Final, Protocol

from table_core.cdc.model.line_settings import EVENT_BYTES_MAX
from table_core.validation_errors import is_text, too_large, too_many_values, unreadable

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["JsonRecords", "RecordForm", "json_text", "record_line"]

_BEGINS: Final = frozenset(bytes([byte]) for byte in b'{["-0123456789tfn')
_SCHEMA: Final = b'{"schema":'
_PAYLOAD: Final = b',"payload":'
_UNREADABLE: Final = unreadable("")[:-4]
"""How what stands for a value begins that could not be read."""


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
            return unreadable(too_large(len(body), self._max_bytes), body)
        if (why := too_many_values(body)) is not None:
            return unreadable(why, body)
        text = _one_line(body)
        if text[:1] not in _BEGINS:
            return _as_text(body) if is_text(body) else unreadable("its value is no UTF-8", body)
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
    body = form.value(value)
    if key is not None and body.startswith(
        _UNREADABLE
    ):  # the key as it came: it may be no JSON either
        body = body[:-1] + b', "key_base64": "' + base64.b64encode(key) + b'"}'
    return front + b',"key":' + form.key(key) + b',"value":' + body + b"}\n"


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
