"""What stands where something else should, and what somebody is likely to have done."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from table_core.declaration.located import Located

__all__ = ["glued", "slip"]

_SHOWN_MAX: Final = 60
_FLAGS: Final = ("true", "false", "yes", "no", "on", "off")


def slip(node: Located, expected: str) -> str:
    """What is likely to have gone wrong; with a separator in front."""
    value = node.value
    if expected.startswith("a mapping") and isinstance(value, list):
        return ": write name: value, without dashes or square brackets"
    if expected.startswith("a list") and isinstance(value, str) and value:
        parts = ", ".join(part.strip() for part in value.split(","))
        return f": write [{parts}]" if len(parts) <= _SHOWN_MAX else ""
    if expected.startswith("a list") and isinstance(value, dict):
        return ": write [ … ] around it, or a dash before it"
    if expected == "a number" and isinstance(value, str) and value.strip().isdigit():
        return ": write it without quotes"
    if expected == "true or false" and isinstance(value, str) and value.lower() in _FLAGS:
        return ": write it without quotes"
    return ""


def glued(name: str, node: Located) -> str:
    """What a name that has no value is likely to be; '' if nothing is."""
    if node.value is not None:
        return ""
    if ":" in name:
        return f"{name!r} has no value: write a blank after the colon"
    if name.count(")") > name.count("("):
        return f'{name!r} has no value: put quotes around what has a comma, e.g. "DECIMAL(12, 2)"'
    return ""
