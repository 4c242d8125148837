"""Single values of events: base64, decimals, times of day, addresses."""

from __future__ import annotations

import base64
import ipaddress
from decimal import Context, Decimal
from typing import Any, Final

__all__ = [
    "address_text",
    "base64_bytes",
    "bit_bytes",
    "clock_text",
    "plain_text",
    "unscaled",
    "unscaled_text",
    "uuid_text",
]

_URL_SAFE: Final = frozenset("-_")
_EXACT: Final = Context(prec=200)
_SCALE_MAX: Final = 200_000
"""More digits than PostgreSQL's ``numeric`` has on either side of its point."""
_ZEROS_MAX: Final = 128
_IP4_WITHIN: Final = {bytes(12): "::", bytes(10) + b"\xff\xff": "::ffff:"}


def address_text(value: bytes) -> str:
    """As MariaDB prints it: addresses of version 4 within version 6 keep their dots."""
    address = ipaddress.ip_address(value)
    front, last = value[:12], value[12:]
    if last and last[:2] != b"\0\0" and front in _IP4_WITHIN:
        return f"{_IP4_WITHIN[front]}{ipaddress.IPv4Address(last)}"
    return str(address)


def uuid_text(value: bytes) -> str:
    """As servers print it."""
    text = value.hex()
    return "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))


def clock_text(time: int, per_second: int) -> str:
    """``[-]HH:MM:SS[.fraction]``, without zeros at the end of the fraction."""
    seconds, fraction = divmod(abs(time), per_second)
    minutes, second = divmod(seconds, 60)
    digits = f".{fraction:0{len(str(per_second)) - 1}}".rstrip("0").rstrip(".")
    return f"{'-' if time < 0 else ''}{minutes // 60:02}:{minutes % 60:02}:{second:02}{digits}"


def base64_bytes(text: str) -> bytes:
    """The bytes of base64 of either alphabet.

    Raises:
        ValueError: it is none.
    """
    return base64.b64decode(text, altchars=b"-_" if _URL_SAFE & set(text) else None, validate=True)


def bit_bytes(text: str, size: int) -> bytes:
    """The bits of a number, the highest first.

    Raises:
        ValueError: they are more than ``size`` bytes hold.
    """
    number = int(text)
    if not 0 <= number < 256**size:
        raise ValueError(f"{number} has more than {8 * size} bits")
    return number.to_bytes(size, "big")


def unscaled(text: str, scale: int) -> Decimal:
    """The number whose digits ``text`` holds as base64 of a big-endian integer, all of them.

    Raises:
        ValueError: no base64, or a scale that no source has.
    """
    if abs(scale) > _SCALE_MAX:
        raise ValueError(f"scale {scale} is none of a number")
    whole = Decimal(int.from_bytes(base64_bytes(text), "big", signed=True)).as_tuple()
    return Decimal((whole.sign, whole.digits, -scale))


def unscaled_text(number: int | Decimal, scale: int) -> Any:
    """What ``unscaled`` reads; ``number`` itself where it has more digits than ``scale``.

    >>> unscaled_text(Decimal("12.5"), 2)
    'BOI='
    """
    whole = Decimal(number).scaleb(scale, _EXACT)
    if whole != whole.to_integral_value(context=_EXACT):
        return number
    digits = int(whole)
    size = digits.bit_length() // 8 + 1
    return base64.b64encode(digits.to_bytes(size, "big", signed=True)).decode()


def plain_text(number: Decimal) -> str:
    """The number without exponent, but for one that would be little else than zeros."""
    _, digits, exponent = number.as_tuple()
    assert isinstance(exponent, int)
    many = abs(exponent) > len(digits) + _ZEROS_MAX
    return f"{number:e}" if many else f"{number:f}"
