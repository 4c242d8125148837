"""Which type changes an existing column allows.

Two conditions: the matrix permits the cast, implicitly or explicitly, and a rule exists that carries
it out when old files are read (``cast``).

Source: ``org.apache.paimon.types.DataTypeCasts``, ``org.apache.paimon.casting.CastExecutors``;
format 2.4.
"""

from __future__ import annotations

from typing import Final

from table_core.datatypes.kinds import Atomic, DataType, Root, with_nullability

__all__ = ["BINARIES", "EXACT_INTEGERS", "NUMERIC", "STRINGS", "TIMESTAMPS", "is_castable"]

EXACT_INTEGERS: Final = (Root.TINYINT, Root.SMALLINT, Root.INT, Root.BIGINT)
NUMERIC: Final = frozenset({*EXACT_INTEGERS, Root.FLOAT, Root.DOUBLE, Root.DECIMAL})
STRINGS: Final = frozenset({Root.CHAR, Root.VARCHAR})
BINARIES: Final = frozenset({Root.BINARY, Root.VARBINARY})
TIMESTAMPS: Final = frozenset({Root.TIMESTAMP, Root.TIMESTAMP_LTZ})
_TIMES: Final = frozenset({Root.DATE, Root.TIME, *TIMESTAMPS})
_PREDEFINED: Final = frozenset({Root.BOOLEAN, *NUMERIC, *STRINGS, *BINARIES, *_TIMES})

_IMPLICIT: Final[dict[Root, frozenset[Root]]] = {
    Root.CHAR: frozenset({Root.CHAR}),
    Root.VARCHAR: STRINGS,
    Root.BOOLEAN: frozenset({Root.BOOLEAN}),
    Root.BINARY: frozenset({Root.BINARY}),
    Root.VARBINARY: BINARIES,
    Root.DECIMAL: NUMERIC,
    **{root: frozenset(EXACT_INTEGERS[: at + 1]) for at, root in enumerate(EXACT_INTEGERS)},
    Root.FLOAT: frozenset({*EXACT_INTEGERS, Root.FLOAT, Root.DECIMAL}),
    Root.DOUBLE: NUMERIC,
    Root.DATE: frozenset({Root.DATE, Root.TIMESTAMP}),
    Root.TIME: frozenset({Root.TIME, Root.TIMESTAMP}),
    Root.TIMESTAMP: TIMESTAMPS,
    Root.TIMESTAMP_LTZ: TIMESTAMPS,
}
_TO_NUMBER: Final = frozenset({*NUMERIC, *STRINGS, Root.BOOLEAN, *TIMESTAMPS})
_EXPLICIT: Final[dict[Root, frozenset[Root]]] = {
    Root.CHAR: _PREDEFINED,
    Root.VARCHAR: _PREDEFINED,
    Root.BOOLEAN: frozenset({*STRINGS, *EXACT_INTEGERS}),
    Root.BINARY: frozenset({*STRINGS, *BINARIES}),
    Root.VARBINARY: frozenset({*STRINGS, *BINARIES}),
    **dict.fromkeys(NUMERIC, _TO_NUMBER),
    Root.DATE: frozenset({*TIMESTAMPS, *STRINGS}),
    Root.TIME: frozenset({Root.TIME, *TIMESTAMPS, *STRINGS}),
    Root.TIMESTAMP: frozenset({Root.DATE, Root.TIME, *STRINGS, *NUMERIC}),
    Root.TIMESTAMP_LTZ: frozenset({Root.DATE, Root.TIME, *STRINGS, *NUMERIC}),
}


def is_castable(source: DataType, target: DataType, *, explicit: bool = True) -> bool:
    """Whether a column of type ``source`` may become ``target``; nullability is not looked at."""
    if with_nullability(source, nullable=True) == with_nullability(target, nullable=True):
        return True
    if not isinstance(target, Atomic):
        return False
    if not isinstance(source, Atomic):
        return explicit and target.root in STRINGS
    permitted = source.root in _IMPLICIT.get(target.root, frozenset()) or (
        explicit and source.root in _EXPLICIT.get(target.root, frozenset())
    )
    return permitted and _has_rule(source.root, target.root)


def _has_rule(source: Root, target: Root) -> bool:
    """Whether old values can be carried over.  Timestamps become INT and BIGINT only."""
    return not (
        source in TIMESTAMPS and target in NUMERIC and target not in {Root.INT, Root.BIGINT}
    )
