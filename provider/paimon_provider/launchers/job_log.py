"""What a job prints: its progress told as a sentence, secrets taken out.

A row of a table can be in what a job prints, and a row can hold anything: also a line that looks like
progress.  So progress is what a launcher got as progress (``ProgressLine``), by a way that no row
takes: a file of its own, or lines that begin with a word that only this job was told.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote, quote_plus

from table_core.errors import TableError, error_from_document, error_to_document
from table_core.options.shown import shown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

__all__ = ["Listener", "ProgressLine", "Redaction", "log_text", "progress_of", "without_console"]

_MARK: Final = "***"
_PROGRESS: Final = '{"event": "progress"'
_ENDS: Final = tuple(f'{_PROGRESS}, "stage": "{stage}"' for stage in ("done", "failed"))


_LINE_MIN: Final = 8
"""Characters of a line of a secret that is taken out alone."""
_LINE_MAX: Final = 64 * 1024
"""Characters of one line that the log shows."""


_DRAWN: Final = re.compile(r"\[Stage \d+:[=> ]*\(\d+ \+ \d+\) / \d+\]|\r {20,}\r")
"""A stage as Spark draws it on a terminal, several beside one another, and blanks that wipe it out."""
_BANNER: Final = re.compile(
    "WARNING: Using incubator modules:"
    "|Using Spark's default log4j profile:"
    "|Setting default log level to "
    r"|To adjust logging level use sc\.setLogLevel"
    "|.* WARN NativeCodeLoader: Unable to load native-hadoop library"
    "|.* WARN Utils: (Your hostname, .* resolves to|Set SPARK_LOCAL_IP if you need)"
)
"""Lines with which Spark begins, whatever the job is."""


class ProgressLine(str):
    """A line of progress that came by its own way; other lines are only text."""

    __slots__ = ()


class Listener:
    """Tells the lines that begin with ``nonce`` as progress, all others as text.

    What came of the job is told last (``end``): a JVM goes on to print while it ends.
    """

    def __init__(self, nonce: str, log: Callable[[str], None]) -> None:
        self._nonce = nonce
        self._log = log
        self._last: ProgressLine | None = None

    def __call__(self, line: str) -> None:
        """Take one line of the job."""
        progress = line.removeprefix(self._nonce)
        if progress == line:
            self._log(line)
        elif progress.startswith(_ENDS):
            self._last = ProgressLine(progress)
        else:
            self._log(ProgressLine(progress))

    def end(self) -> None:
        """The job is over: tell what came of it, if it said so."""
        if self._last is not None:
            self._log(self._last)


def without_console(line: str) -> str | None:
    """``line`` without what Spark draws for a person at a terminal; None if nothing is left of it.

    A bar ends without a line of its own: what comes next, be it progress, stands behind it.
    """
    if _BANNER.match(line):
        return None
    if not _DRAWN.search(line):
        return line
    return _DRAWN.sub("", line).replace("\r", "").strip() or None


def log_text(text: str) -> str:
    """``text`` with control characters, such as terminal escapes, by number; cut if it is huge."""
    text = shown(text)
    return text if len(text) <= _LINE_MAX else f"{text[:_LINE_MAX]} … ({len(text):,} characters)"


def _forms(secret: str) -> Iterator[str]:
    """How ``secret`` is written where it may turn up: bare, in JSON, in JSON within it, by Python, in an address.

    What has several lines, such as a key, is printed one by one.
    """
    for text in (secret, *(line for line in secret.splitlines() if _tells(line))):
        once = json.dumps(text)[1:-1]
        yield from (text, once, json.dumps(once)[1:-1], json.dumps(text, ensure_ascii=False)[1:-1])
        yield from (repr(text)[1:-1], quote(text, safe=""), quote(text), quote_plus(text))


def _tells(line: str) -> bool:
    """Whether a line of a secret is secret itself, and no word that is everywhere."""
    return len(line.strip()) >= _LINE_MIN and not line.startswith("-----")


class Redaction:
    """Replaces secrets wherever they turn up."""

    def __init__(self, secrets: Sequence[str]) -> None:
        # The longer ones first, as they may overlap.
        written = {form for secret in secrets for form in _forms(secret)}
        self._secrets = sorted(filter(None, written), key=len, reverse=True)

    def text(self, text: str) -> str:
        """``text`` without secrets."""
        for secret in self._secrets:
            text = text.replace(secret, _MARK)
        return text

    def error(self, error: TableError) -> TableError:
        """``error`` itself, or one like it where message or facts had a secret."""
        document = error_to_document(error)
        told = self.clean(document)
        return error if told == document else error_from_document(told)

    def clean(self, value: Any) -> Any:
        """``value`` with no secret in any text of it, however deep."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, dict):
            return {key: self.clean(item) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [self.clean(item) for item in value]
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
