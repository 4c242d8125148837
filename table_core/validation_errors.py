"""Collect every fault of a stored or given document, each with its location."""

from __future__ import annotations

import base64
import json
import re
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, TypeVar

from table_core.errors import CorruptFileError, TableError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = [
    "UNFORESEEN",
    "VALUES_MAX",
    "ValidationErrors",
    "is_text",
    "stored",
    "stored_names",
    "too_large",
    "too_many_values",
    "unreadable",
    "unreadable_parts",
    "unreadable_why",
    "way_out",
]

T = TypeVar("T")
UNFORESEEN: Final = (
    ValueError,
    TypeError,
    LookupError,
    AttributeError,
    ArithmeticError,
    NotImplementedError,
    RecursionError,
)
"""What a value of another shape than it should have makes Python raise (Arrow's are ``ValueError``
and, for a type that it does not take, ``NotImplementedError``)."""
_STORED: Final = re.compile(r"(?:^|/)(?:snapshot|changelog|schema|tag|consumer|manifest)/[^/]+$")
_TOLD: Final = 100
"""Of the faults of one document."""
_LONG: Final = range(-(2**63), 2**63)
"""What a number of Java can be: a missing watermark is the least of them."""


class ValidationErrors:
    """A list of faults that grows while a document is read, then is raised as one error."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.messages: list[str] = []

    def add(self, location: str, what: str) -> None:
        """Record that ``what`` is wrong at ``location``."""
        self.messages.append(f"{location}: {what}")

    def take(
        self, document: Mapping[str, object], key: str, want: type[T], default: T | None = None
    ) -> T | None:
        """Return ``document[key]`` if it has exactly the type ``want``; record a fault if not.

        A missing or null member gives ``default`` and no fault: call ``need`` for required ones.
        """
        value = document.get(key)
        if value is None:
            return default
        if type(value) is not want:  # `is`: JSON true must not pass as an int
            self.add(key, f"expected {want.__name__}, got {value!r}")
            return default
        if isinstance(value, int) and value not in _LONG:
            self.add(key, f"expected a number of 64 bits, got {value}")
            return default
        return value

    def need(self, document: Mapping[str, object], key: str, want: type[T], fallback: T) -> T:
        """Return the required member ``key``; record a fault and return ``fallback`` if absent."""
        if document.get(key) is None:
            self.add(key, "missing")
            return fallback
        value = self.take(document, key, want)
        return fallback if value is None else value

    def as_named(self, document: Mapping[str, object], key: str, prefix: str) -> None:
        """Record a fault if the file is ``<prefix><another number>``: then it is another's copy."""
        number, name = document.get(key), self.path.rpartition("/")[2]
        digits = name.removeprefix(prefix)
        if name != digits and digits.isdigit() and type(number) is int and str(number) != digits:
            self.add(key, f"{number} in the file of {digits}")

    def raise_if_any(self) -> None:
        """Raise ``CorruptFileError`` with every fault, or return if there is none."""
        if self.messages:
            first, more = self.messages[:_TOLD], len(self.messages) - _TOLD
            shown = first if more <= 0 else [*first, f"and {more:,} more"]
            what = f"{self.path}: {'; '.join(shown)}{way_out(self.path)}"
            raise CorruptFileError(what, path=self.path, problems=shown)


def way_out(path: str) -> str:
    """What an error about the stored document ``path`` says at its end; nothing about other documents.

    >>> way_out("snapshot/snapshot-7")
    "; 'table-core recover' says what can be saved"
    """
    return "; 'table-core recover' says what can be saved" if _STORED.search(path) else ""


VALUES_MAX: Final = 500_000
"""Of an event: in memory each takes ten to a hundred bytes."""
_STRING: Final = re.compile(rb'"(?:[^"\\]|\\.)*"')


@contextmanager
def stored(what: str, text: str | None) -> Iterator[None]:
    """Read a text that a table stores: anybody who may write there may have written it.

    Raises:
        CorruptFileError: it has not the shape that it should have.
    """
    try:
        yield
    except TableError:
        raise
    except UNFORESEEN as error:
        why = f"no {what}: {text!r:.200}: {type(error).__name__}: {error}"[:600]
        raise CorruptFileError(f"the table stores {why}", path=what, problems=[why]) from error


def stored_names(what: str, text: str | None) -> list[str]:
    """The names in a list that a table stores as JSON; none if it stores none.

    Raises:
        CorruptFileError: it is no list of texts.
    """
    with stored(what, text):
        names = json.loads(text or "[]")
        if not isinstance(names, list) or not all(isinstance(one, str) for one in names):
            raise ValueError("not a list of texts")
    return names


_UNREADABLE: Final = "table_core.unreadable"
_BODY: Final = "body"
_BODY_BASE64: Final = "body_base64"
_KEY_BASE64: Final = "key_base64"


def is_text(body: bytes) -> bool:
    """Whether bytes are UTF-8."""
    try:
        body.decode()
    except UnicodeDecodeError:
        return False
    return True


def unreadable(why: str, body: bytes | None = None) -> bytes:
    """JSON that stands for an event that could not be read, with all of it that there is.

    >>> unreadable("no JSON", b"{")
    b'{"table_core.unreadable": "no JSON", "body": "{"}'
    """
    told = {_UNREADABLE: why}
    if body is not None:
        if is_text(body):
            told[_BODY] = body.decode()
        else:
            told[_BODY_BASE64] = base64.b64encode(body).decode()
    return json.dumps(told).encode()


def unreadable_why(value: Mapping[str, Any]) -> str | None:
    """Why an event could not be read, if ``unreadable`` made the value."""
    members = {_UNREADABLE, _BODY, _BODY_BASE64, _KEY_BASE64}
    is_one = _UNREADABLE in value and value.keys() <= members
    return str(value[_UNREADABLE]) if is_one else None


def unreadable_parts(value: Mapping[str, Any]) -> tuple[bytes | None, bytes | None]:
    """Body and key of an event that could not be read, as they came."""
    body, key = value.get(_BODY), value.get(_KEY_BASE64)
    coded = value.get(_BODY_BASE64)
    whole = base64.b64decode(coded) if coded is not None else None
    return (
        whole if body is None else str(body).encode(),
        None if key is None else base64.b64decode(key),
    )


def too_many_values(body: bytes) -> str | None:
    """Why JSON is not read that would be very many values in memory, each larger than its text."""
    if len(body) <= VALUES_MAX or _marks(body) <= VALUES_MAX:
        return None
    count = _marks(_STRING.sub(b"", body))
    return None if count <= VALUES_MAX else f"it has more than {VALUES_MAX} values"


def _marks(body: bytes) -> int:
    return sum(body.count(mark) for mark in (b",", b"[", b"{"))


def too_large(size: int, limit: int) -> str:
    """Why an event is not read that is larger than it may be."""
    return f"it has {size} bytes, more than max_event_bytes={limit}"
