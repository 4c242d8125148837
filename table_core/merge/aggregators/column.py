"""A column and the aggregate function that its options ask for: what an aggregator is made of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from table_core.errors import OptionError
from table_core.options import parse

if TYPE_CHECKING:
    from table_core.datatypes.kinds import Field
    from table_core.options.table import TableOptions

__all__ = ["FunctionColumn"]


@dataclass(frozen=True, slots=True)
class FunctionColumn:
    """Column ``field``, whose versions ``function`` merges, with the options of its table."""

    field: Field
    function: str
    options: TableOptions

    @property
    def name(self) -> str:
        """The column's name."""
        return self.field.name

    def option(self, suffix: str) -> str | None:
        """The text of ``fields.<column>.<suffix>``, or None."""
        return self.options.for_column(self.name, suffix)

    def flag(self, suffix: str) -> bool:
        """Whether ``fields.<column>.<suffix>`` is true; False if it is not there.

        Raises:
            OptionError: it is neither true nor false.
        """
        text = self.option(suffix)
        if text is None:
            return False
        try:
            return parse.boolean(text)
        except ValueError as error:
            raise self.wrong(suffix, text, str(error)) from error

    def wrong(self, suffix: str, value: str | None, why: str) -> OptionError:
        """The error of a value that ``fields.<column>.<suffix>`` cannot have."""
        option = f"fields.{self.name}.{suffix}"
        return OptionError(
            f"option {option!r} cannot be {value!r}: {why}", option=option, value=value
        )
