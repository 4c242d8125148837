"""How much may come of foreign bytes, however few they are: what a reader of a damaged or hostile file spends.

These are options of the process that reads, because whoever writes a table writes its options too:
environment variables, for workers, jobs and the command line alike.  Whoever opens a store hands them over.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from table_core.errors import ArgumentError, OptionError
from table_core.options.parse import size_bytes
from table_core.shortened import shortened

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "BLOCK_BYTES",
    "CACHED_ENTRIES",
    "DELETED_ROWS",
    "DOCUMENT_BYTES",
    "FOOTER_BYTES",
    "JSON_BYTES",
    "LINE_BYTES",
    "MANIFEST_BYTES",
    "MANIFEST_ENTRIES",
    "PAGE_BYTES",
    "ROW_BYTES",
    "SQL_DEPTH",
    "SQL_WORDS",
    "STRIPE_BYTES",
    "Budget",
    "require_bounded",
    "take_budgets",
]


_SET: Final[dict[str, str]] = {}
"""What the environment of this process says."""
_VARIABLES: Final[list[str]] = []
"""All there are.  They are asked for one by one: to look through an environment takes as long as to read a small file."""
_BRACKETS: Final = re.compile(r"[()\[\]{}]")
_WORD: Final = re.compile(r"\w+|[^\w\s]")


@dataclass(frozen=True, slots=True)
class Budget:
    """One limit: the variable that sets it, and what it is without."""

    variable: str
    default: int
    meaning: str

    def __post_init__(self) -> None:
        _VARIABLES.append(self.variable)

    @property
    def most(self) -> int:
        """What it is now.

        Raises:
            OptionError: the variable is no size or number, or less than 1.
        """
        text = _SET.get(self.variable)
        if not text:
            return self.default
        try:
            most = size_bytes(text)
        except ValueError as error:
            raise OptionError(
                f"{self.variable}={text!r}: {error}", option=self.variable, value=text
            ) from error
        if most < 1:
            raise OptionError(
                f"{self.variable}={text!r}: at least 1", option=self.variable, value=text
            )
        return most

    def told(self, count: str) -> str:
        """What an error says: ``count``, the limit, and what to do."""
        return (
            f"{count}, more than {self.most:,}: {self.meaning}. If the file is honest, set "
            f"{self.variable} to more in the environment of who reads it"
        )


MANIFEST_ENTRIES: Final = Budget(
    "TABLE_CORE_MANIFEST_ENTRIES_MAX", 250_000, "what one manifest may list"
)
MANIFEST_BYTES: Final = Budget(
    "TABLE_CORE_MANIFEST_BYTES_MAX", 128 << 20, "what one manifest may unpack to"
)
BLOCK_BYTES: Final = Budget(
    "TABLE_CORE_BLOCK_BYTES_MAX", 64 << 20, "what one block of an Avro file may unpack to"
)
LINE_BYTES: Final = Budget(
    "TABLE_CORE_LINE_BYTES_MAX", 16 << 20, "how long one line of JSON or CSV may be"
)
DOCUMENT_BYTES: Final = Budget(
    "TABLE_CORE_DOCUMENT_BYTES_MAX", 256 << 20, "what is read of one metadata file"
)
JSON_BYTES: Final = Budget(
    "TABLE_CORE_JSON_BYTES_MAX", 8 << 20, "how large a metadata file of JSON may be"
)
ROW_BYTES: Final = Budget(
    "TABLE_CORE_ROW_BYTES_MAX", 256 << 20, "what one row of a Parquet file may take in memory"
)
PAGE_BYTES: Final = Budget(
    "TABLE_CORE_PAGE_BYTES_MAX", 512 << 20, "what one page of a Parquet file may unpack to"
)
FOOTER_BYTES: Final = Budget(
    "TABLE_CORE_FOOTER_BYTES_MAX",
    8 << 20,
    "what a footer of an ORC file or of its stripes may unpack to",
)
STRIPE_BYTES: Final = Budget(
    "TABLE_CORE_STRIPE_BYTES_MAX", 512 << 20, "what one stripe of an ORC file may take in memory"
)
DELETED_ROWS: Final = Budget(
    "TABLE_CORE_DELETED_ROWS_MAX",
    1 << 25,
    "how many rows the deletion vectors of one file may delete",
)
CACHED_ENTRIES: Final = Budget(
    "TABLE_CORE_CACHED_ENTRIES_MAX", 400_000, "how many entries of manifests a process keeps"
)
SQL_DEPTH: Final = Budget(
    "TABLE_CORE_SQL_DEPTH_MAX", 500, "how many brackets of SQL may be open at a time"
)
SQL_WORDS: Final = Budget(
    "TABLE_CORE_SQL_WORDS_MAX", 200_000, "how many words, numbers and signs SQL may have"
)


def take_budgets(environment: Mapping[str, str]) -> None:
    """Let ``environment`` say the budgets of this process from now on."""
    said = {name: environment[name] for name in _VARIABLES if name in environment}
    if said != _SET:
        _SET.clear()
        _SET.update(said)


def require_bounded(sql: str) -> None:
    """Refuse SQL that is nested without end, or very long: a parser spends kilobytes on each bracket and word.

    Brackets and words in texts count too: nobody has so many there either.

    Raises:
        ArgumentError: it is.
    """
    most, depth, deepest = SQL_DEPTH.most, 0, 0
    for mark in _BRACKETS.finditer(sql):
        depth = depth + 1 if mark[0] in "([{" else max(0, depth - 1)
        deepest = max(deepest, depth)
    if deepest > most:
        raise _beyond(SQL_DEPTH, f"the SQL has {deepest:,} brackets open at a time", sql)
    words_max = SQL_WORDS.most
    if len(sql) > words_max and (words := sum(1 for _ in _WORD.finditer(sql))) > words_max:
        raise _beyond(SQL_WORDS, f"the SQL has {words:,} words, numbers and signs", sql)


def _beyond(budget: Budget, count: str, sql: str) -> ArgumentError:
    return ArgumentError(budget.told(count), argument="sql", value=shortened(sql, 60))
