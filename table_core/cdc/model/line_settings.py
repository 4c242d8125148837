"""What sources of lines and of records say of them alike: their form, their values, their size."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from table_core.cdc.model.encoding import PlainSettings
from table_core.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["EVENT_BYTES_MAX", "FORMATS", "check_choices", "plain_settings"]

FORMATS: Final = ("debezium-json", "canal-json", "maxwell-json", "ogg-json", "json")
"""Forms of events in lines or records."""
EVENT_BYTES_MAX: Final = 16 << 20
"""A larger event is not read, unless a source says otherwise."""
_CHOICES: Final[Mapping[str, tuple[str | None, ...]]] = {
    "decimals": ("auto", "text", "base64"),
    "binary": ("auto", "base64", "hex"),
    "timestamps": ("auto", "adaptive", "millis", "micros", "nanos"),
    "times": (None, "millis", "micros", "nanos"),
}


def check_choices(source: Any, formats: tuple[str, ...]) -> None:
    """Refuse values of arguments that are none of those allowed."""
    for argument, allowed in {"format": formats, **_CHOICES}.items():
        value = getattr(source, argument)
        if value not in allowed:
            raise ArgumentError(
                f"{argument}={value!r} is none of {', '.join(map(repr, allowed))}",
                argument=argument,
                value=value,
            )


def plain_settings(source: Any) -> PlainSettings:
    """What a source says of events without schema."""
    return PlainSettings(
        decimals=source.decimals,
        binary=source.binary,
        timestamps=source.timestamps,
        times=source.times,
    )
