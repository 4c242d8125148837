"""A stored document of JSON, which anybody who may write into the warehouse may have written.

What it is in memory is up to fifty times its text, so its text is bounded before it is read::

    {"fields": [{"": 0}, {"": 0}, …]}       8 bytes each, and 300 in memory
"""

from __future__ import annotations

import json
from typing import Any

from table_core.errors import ArgumentError, CorruptFileError, TableError
from table_core.options.budgets import JSON_BYTES
from table_core.validation_errors import ValidationErrors

__all__ = ["json_document", "json_object", "readable"]


def json_document(body: bytes | str, *, path: str) -> Any:
    """Decode ``body`` as JSON.

    Raises:
        CorruptFileError: it has more bytes than a document may have.
        ValueError, RecursionError: no JSON.
    """
    if len(body) > JSON_BYTES.most:
        what = JSON_BYTES.told(f"it has {len(body):,} bytes")
        raise CorruptFileError(f"{path}: {what}", path=path, problems=[what])
    return json.loads(body)


def readable(body: bytes, what: str) -> bytes:
    """``body``, a document that is to be stored as ``what``, if it can be read again.

    Raises:
        ArgumentError: it has more bytes than a document may have.
    """
    if len(body) > JSON_BYTES.most:
        told = JSON_BYTES.told(f"{what} would have {len(body):,} bytes")
        raise ArgumentError(f"{told}, and of all who read it. Nothing was stored", argument=what)
    return body


def json_object(body: bytes, *, path: str) -> dict[str, object]:
    """Decode ``body`` as one JSON object.

    Raises:
        CorruptFileError: too large, not UTF-8, not JSON or not an object.
    """
    problems = ValidationErrors(path)
    try:
        decoded = json_document(body, path=path)
    except TableError:
        raise
    except (ValueError, RecursionError) as error:
        problems.add("<root>", f"not JSON: {error}")
        problems.raise_if_any()
        raise
    if not isinstance(decoded, dict):
        problems.add("<root>", f"expected an object, got {type(decoded).__name__}")
        problems.raise_if_any()
    document: dict[str, object] = decoded
    return document
