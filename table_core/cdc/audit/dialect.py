"""What is asked of a server about the rows of a table: counts and checksums, in its own SQL."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from table_core.cdc.audit.canonical import mysql_canonical, postgres_canonical
from table_core.cdc.audit.checksums import crc32_of, md5_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from table_core.cdc.audit.canonical import Canonical
    from table_core.cdc.audit.checksums import Hashes
    from table_core.datatypes.kinds import DataType

__all__ = ["MARIADB", "POSTGRES", "Dialect", "texts_of"]

_NULL: Final = "~"
_BETWEEN: Final = ","


@dataclass(frozen=True, slots=True)
class Dialect:
    """The SQL of a server.  ``{}`` stands for the operand of an expression."""

    canonical: Callable[[str, DataType], Canonical | None]
    hashed: str
    """A number of a text."""
    hashes: Callable[[pa.Array], Hashes]
    """The same number, here."""
    joined: Callable[[Sequence[str]], str]
    """Texts with commas between them."""
    length: str
    """Of a text in characters, as text."""
    is_linear: bool
    """Whether sums of its numbers are the same where two rows have swapped values, once in 10,000 times."""
    slot: str
    """Which of the parts of a range, that begin at ``low`` and are ``width`` wide, a number is in."""

    def text(self, columns: Mapping[str, Canonical]) -> str:
        """The text of a row; ``columns`` by their quoted names."""
        parts = []
        for name, canonical in columns.items():
            value = canonical.server.replace("{}", name)
            if canonical.is_sized:
                parts.append(f"COALESCE({self.length.replace('{}', value)}, '{_NULL}')")
            parts.append(f"COALESCE({value}, '{_NULL}')")
        return self.joined(parts)

    def summed(self, columns: Mapping[str, Canonical], key: Mapping[str, Canonical]) -> str:
        """What is summed of a row: the number of its text, and how much it counts by its key."""
        number = self.hashed.replace("{}", self.text(columns))
        if not self.is_linear:
            return number
        return f"{number} * (1 + {self.hashed.replace('{}', self.text(key))})"

    def summed_here(
        self,
        batch: pa.RecordBatch,
        columns: Mapping[str, Canonical],
        key: Mapping[str, Canonical],
    ) -> Hashes:
        """The same of the rows of a batch."""
        numbers = self.hashes(texts_of(batch, columns))
        if not self.is_linear:
            return numbers
        return numbers * (self.hashes(texts_of(batch, key)) + np.uint64(1))


def texts_of(batch: pa.RecordBatch, columns: Mapping[str, Canonical]) -> pa.Array:
    """The texts of the rows of a batch; ``columns`` by name."""
    parts: list[pa.Array] = []
    for name, canonical in columns.items():
        value = canonical.form(batch.column(name))
        if canonical.is_sized:
            parts.append(pc.utf8_length(value).cast(pa.string()))
        parts.append(value)
    return pc.binary_join_element_wise(
        *parts, _BETWEEN, null_handling="replace", null_replacement=_NULL
    )


MARIADB: Final = Dialect(
    canonical=mysql_canonical,
    hashed="CRC32({})",
    hashes=crc32_of,
    joined=lambda parts: f"CONCAT_WS('{_BETWEEN}', {', '.join(parts)})",
    length="CHAR_LENGTH({})",
    is_linear=True,
    slot="({} - {low}) DIV {width}",
)
POSTGRES: Final = Dialect(
    canonical=postgres_canonical,
    hashed="('x' || left(md5(convert_to({}, 'UTF8')), 16))::bit(64)::bigint",
    hashes=md5_of,
    joined=f" || '{_BETWEEN}' || ".join,
    length="char_length({})::text",
    is_linear=False,
    slot="({}::bigint - {low}) / {width}",
)
