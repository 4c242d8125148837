"""What a job prints: its progress told as a sentence, secrets taken out.

A row of a table can be in what a job prints, and a row can hold anything: also a line that looks like
progress.  So progress is what a launcher got as progress (``ProgressLine``), by a way that no row
takes: a file of its own, or lines that begin with a word that only this job was told.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from table_core.errors import TableError, error_from_document, error_to_document
from table_core.options.shown import shown

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["Listener", "ProgressLine", "Redaction", "log_text", "progress_of"]

_MARK: Final = "***"
_PROGRESS: Final = '{"event": "progress"'


_LINE_MAX: Final = 64 * 1024
"""Characters of one line that the log shows."""


class ProgressLine(str):
    """A line of progress that came by its own way; other lines are only text."""

    __slots__ = ()


class Listener:
    """Tells the lines that begin with ``nonce`` as progress, all others as text."""

    def __init__(self, nonce: str, log: Callable[[str], None]) -> None:
        self._nonce = nonce
        self._log = log

    def __call__(self, line: str) -> None:
        """Take one line of the job."""
        progress = line.removeprefix(self._nonce)
        self._log(line if progress == line else ProgressLine(progress))


def log_text(text: str) -> str:
    """``text`` with control characters, such as terminal escapes, by number; cut if it is huge."""
    text = shown(text)
    return text if len(text) <= _LINE_MAX else f"{text[:_LINE_MAX]} … ({len(text):,} characters)"


class Redaction:
    """Replaces secrets wherever they turn up."""

    def __init__(self, secrets: Sequence[str]) -> None:
        # JSON within JSON writes a secret differently; the longer ones first, as they may overlap.
        written = {form for secret in secrets for form in (secret, json.dumps(secret)[1:-1])}
        self._secrets = sorted(filter(None, written), key=len, reverse=True)

    def text(self, text: str) -> str:
        """``text`` without secrets."""
        for secret in self._secrets:
            text = text.replace(secret, _MARK)
        return text

    def error(self, error: TableError) -> TableError:
        """``error`` itself, or one like it where message or facts had a secret."""
        document = error_to_document(error)
        told = self._clean(document)
        return error if told == document else error_from_document(told)

    def _clean(self, value: Any) -> Any:
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, dict):
            return {key: self._clean(item) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [self._clean(item) for item in value]
        return value


def progress_of(line: str) -> str | None:
    """The sentence for a line of progress, such as ``write: table shop.orders``; None for others."""
    if not line.startswith(_PROGRESS):
        return None
    try:
        document = json.loads(line)
    except ValueError:
        return None
    facts = (f"{k} {v}" for k, v in document.items() if k not in {"event", "stage"} and v)
    return f"{document.get('stage')}: {', '.join(facts)}".rstrip(": ")
