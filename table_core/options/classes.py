"""The class of an option: what becomes of it when it is stored in a table."""

from __future__ import annotations

from enum import StrEnum

from table_core.options.harmless import HARMLESS, HARMLESS_PATTERN
from table_core.options.refused import REFUSED
from table_core.options.table import is_known

__all__ = ["OptionClass", "class_of"]


class OptionClass(StrEnum):
    """Each option has one."""

    HONOURED = "honoured"
    """We do what it says."""
    HARMLESS = "harmless"
    """It changes nothing here, and that is right."""
    REFUSED = "refused"
    """A value that asks for something stops reading, committing or both."""


def class_of(key: str) -> OptionClass | None:
    """The class of the option ``key``; None: nobody knows it."""
    if key in REFUSED:
        return OptionClass.REFUSED
    if key in HARMLESS or HARMLESS_PATTERN.fullmatch(key):
        return OptionClass.HARMLESS
    return OptionClass.HONOURED if is_known(key) else None
