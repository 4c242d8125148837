"""What a column may be called in an Avro file.

Source: ``org.apache.avro.NameValidator#UTF_VALIDATOR``, by which Paimon writes and opens them.
"""

from __future__ import annotations

from typing import Final

__all__ = ["is_avro_name"]

_LAST: Final = "\uffff"
"""Java looks at one half of a later letter at a time, and neither is a letter."""


def is_avro_name(name: str) -> bool:
    """Whether ``name`` is letters, of any language, digits and underscores, and begins with no digit."""
    return bool(name) and not name[0].isdecimal() and all(map(_goes_on, name))


def _goes_on(letter: str) -> bool:
    return letter == "_" or (letter <= _LAST and (letter.isalpha() or letter.isdecimal()))
