"""What a handle has of a data frame: columns, a count, and itself as a frame of pandas or polars."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, Protocol

from table_core.errors import MissingPackageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa

    from table_core.predicate.expression import Expression
    from table_core.table.read.scan import Scan

__all__ = ["Frames"]


class _Readable(Protocol):
    @property
    def arrow_schema(self) -> pa.Schema: ...

    def read(
        self, columns: Sequence[str] | None = None, where: str | Expression | None = None
    ) -> Scan: ...


class Frames:
    """The part of a handle that shows the newest state as a frame."""

    @property
    def schema(self: _Readable) -> pa.Schema:
        """The same as ``arrow_schema``; ``definition`` has the types, keys and options of Paimon."""
        return self.arrow_schema

    def count(self: _Readable, where: str | Expression | None = None) -> int:
        """How many rows the newest state has, or those of them for which ``where`` holds."""
        return sum(batch.num_rows for batch in self.read(columns=[], where=where).to_batches())

    def to_pandas(self: _Readable, columns: Sequence[str] | None = None) -> Any:
        """All rows of the newest state as a pandas data frame; ``read`` says which.

        Raises:
            MissingPackageError: pandas is not installed.
        """
        try:
            importlib.import_module("pandas")
        except ImportError as error:
            raise MissingPackageError.of("to_pandas", "frames", error) from error
        return self.read(columns=columns).to_arrow().to_pandas()

    def to_polars(self: _Readable, columns: Sequence[str] | None = None) -> Any:
        """All rows of the newest state as a polars data frame; ``read`` says which.

        Raises:
            MissingPackageError: polars is not installed.
        """
        try:
            import polars as pl
        except ImportError as error:
            raise MissingPackageError.of("to_polars", "frames", error) from error
        return pl.from_arrow(self.read(columns=columns).to_arrow())
