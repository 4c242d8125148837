"""The options of one table, parsed once.

A stored option that this release does not know is kept; one that a user gives is refused with
the nearest known name.  Old names (format 13.1) mean the new one.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, TypeVar

from table_core.errors import OptionError
from table_core.options import (
    keys_commit,
    keys_engine,
    keys_files,
    keys_identity,
    keys_merge,
    keys_retention,
    keys_scan,
    keys_write,
)
from table_core.options.aggregate_functions import FUNCTION_OPTIONS
from table_core.options.harmless import HARMLESS, HARMLESS_PATTERN
from table_core.options.nearest import meant
from table_core.options.old_names import replacement_of
from table_core.options.refused import REFUSED

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from table_core.options.option import Option

__all__ = [
    "COLUMN_SUFFIX",
    "OPTIONS",
    "TableOptions",
    "canonical_key",
    "is_known",
    "refuse_unknown",
]

T = TypeVar("T")

_MODULES: Final = (
    keys_identity,
    keys_files,
    keys_commit,
    keys_write,
    keys_merge,
    keys_scan,
    keys_retention,
    keys_engine,
)
OPTIONS: Final[Mapping[str, Option[Any]]] = {
    option.key: option
    for module in _MODULES
    for option in (getattr(module, name) for name in module.__all__)
}
"""Every known option by its key."""
_ALIASES: Final = {alias: o.key for o in OPTIONS.values() for alias in o.aliases}
COLUMN_SUFFIX: Final = "|".join(
    (
        *("aggregate-function", "ignore-retract", "stats-mode", "sequence-group", r"map\..+"),
        *map(re.escape, FUNCTION_OPTIONS),
    )
)
"""A pattern of what may follow ``fields.<column>.``: the same for any column, and of functions."""
_PATTERNS: Final = re.compile(
    rf"""(parquet|orc|avro)\..+
    |fields\.[^.].*\.({COLUMN_SUFFIX})
    |fields\.default-aggregate-function
    |file-index\.(bloom-filter|bitmap|bsi|range-bitmap)\..+
    |tc\..+""",
    re.VERBOSE,
)


@dataclass(frozen=True, slots=True, eq=False)
class TableOptions:
    """Typed view of ``raw`` (canonical key to text).  Make one with ``parse``."""

    raw: Mapping[str, str]
    _values: Mapping[str, Any] = field(repr=False)

    @classmethod
    def parse(cls, options: Mapping[str, str]) -> TableOptions:
        """Read every known option of ``options``; unknown ones are kept in ``raw``.

        Raises:
            OptionError: a value does not parse, or an option is given under its old and its new
                name with different values.
        """
        raw: dict[str, str] = {}
        for key, value in options.items():
            canonical = _ALIASES.get(key, key)
            if raw.get(canonical, value) != value:
                raise OptionError(
                    f"option {canonical!r} is given twice with different values: "
                    f"{raw[canonical]!r} and, as {key!r}, {value!r}",
                    option=canonical,
                    value=value,
                )
            raw[canonical] = value
        values = {key: _parsed(OPTIONS[key], text) for key, text in raw.items() if key in OPTIONS}
        return cls(raw, values)

    def get(self, option: Option[T]) -> T:
        """The value of ``option``, or its default."""
        setting: T = self._values.get(option.key, option.default)
        return setting

    def is_set(self, option: Option[Any]) -> bool:
        """Whether ``option`` is given explicitly."""
        return option.key in self._values

    def for_column(self, column: str, suffix: str) -> str | None:
        """The text of ``fields.<column>.<suffix>``, or None."""
        return self.raw.get(f"fields.{column}.{suffix}")

    def with_overrides(self, overrides: Mapping[str, str]) -> TableOptions:
        """These options with ``overrides`` on top, e.g. those of one table handle."""
        merged = dict(self.raw)
        for key, value in overrides.items():
            merged[_ALIASES.get(key, key)] = value
        return TableOptions.parse(merged)


def _parsed(option: Option[Any], text: str) -> Any:
    try:
        return option.parse(text)
    except ValueError as error:
        raise OptionError(
            f"option {option.key!r} cannot be {text!r}: {error}", option=option.key, value=text
        ) from error


def canonical_key(key: str) -> str:
    """``key``, or the key that its option has today."""
    return _ALIASES.get(key, key)


def is_known(key: str) -> bool:
    """Whether ``key`` is an option of this release or of Apache Paimon 2.0."""
    return (
        key in OPTIONS
        or key in _ALIASES
        or key in HARMLESS
        or key in REFUSED
        or _PATTERNS.fullmatch(key) is not None
        or HARMLESS_PATTERN.fullmatch(key) is not None
    )


def refuse_unknown(keys: Iterable[str]) -> None:
    """Refuse options that a user gives and nobody knows.

    Raises:
        OptionError: names every unknown key, each with the nearest known one, or with what replaced
            it where it is of an older release.
    """
    unknown = [k for k in keys if not is_known(k)]
    if not unknown:
        return
    hints = []
    for key in unknown:
        replacement = replacement_of(key)
        if replacement is not None:
            hints.append(f"{key!r} (of an older release: {replacement})")
            continue
        hints.append(f"{key!r}{meant(key, [*OPTIONS, *_ALIASES, *HARMLESS, *REFUSED])}")
    raise OptionError(f"unknown option {', '.join(hints)}", option=unknown[0], value=None)
