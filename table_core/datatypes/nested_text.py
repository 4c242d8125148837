"""Types with parts as SQL writes them: ``MAP<STRING, ROW<`x` INT 'how far', y ARRAY<DATE>>>``.

``text`` parses what has no parts and joins the two.
"""

from __future__ import annotations

import re
from collections import Counter, deque
from typing import TYPE_CHECKING, Final

from table_core.datatypes.kinds import Array, Field, Map, Multiset, Row, Vector
from table_core.errors import SchemaError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from table_core.datatypes.kinds import DataType

__all__ = ["parse_parts"]

_DEPTH_MAX: Final = 32
_OUTER: Final = re.compile(
    r"\s*(?P<name>ARRAY|MULTISET|MAP|ROW|STRUCT|VECTOR)\s*<(?P<parts>.*)>(?P<rest>[^<>]*)",
    re.IGNORECASE | re.DOTALL,
)
_QUOTED: Final = re.compile(r"`[^`]*`|'(?:[^']|'')*'")
_NAME: Final = re.compile(r"`(?P<quoted>[^`]+)`|(?P<plain>[^\s:<>`',()]+)")
_COMMENT: Final = re.compile(r"(?<=\s)COMMENT$", re.IGNORECASE)
_SHOWN: Final = 200
_LENGTH: Final = re.compile(r"\s*[0-9]{1,10}\s*")
_OPENING, _CLOSING = "<(", ">)"


def parse_parts(text: str, parse: Callable[[str], DataType]) -> tuple[DataType, str] | None:
    """The type with parts in ``text`` and what follows it; None where ``text`` has no parts.

    Raises:
        SchemaError: something is wrong inside.
    """
    match = _OUTER.fullmatch(text)
    if match is None:
        return None
    if text.count("<") > _DEPTH_MAX * 4 or _depth(text) > _DEPTH_MAX:
        raise _no_type(text, f"more than {_DEPTH_MAX} types within each other")
    name, parts = match["name"].upper(), list(_split(text, match["parts"]))
    counts = {"ARRAY": 1, "MULTISET": 1, "MAP": 2, "VECTOR": 2}
    if len(parts) != counts.get(name, len(parts)):
        raise _no_type(text, f"{name} has {counts[name]} parts, this has {len(parts)}")
    return _of_parts(text, name, parts, parse), match["rest"]


def _of_parts(text: str, name: str, parts: list[str], parse: Callable[[str], DataType]) -> DataType:
    if name == "MAP":
        return Map(parse(parts[0]), parse(parts[1]))
    if name == "VECTOR":
        if not _LENGTH.fullmatch(parts[1]):
            raise _no_type(text, "VECTOR<type, length>")
        return Vector(parse(parts[0]), int(parts[1]))
    if name in {"ARRAY", "MULTISET"}:
        return (Array if name == "ARRAY" else Multiset)(parse(parts[0]))
    members = [_member(text, part, parse) for part in parts]
    counted = Counter(member.name for member in members)
    twice = sorted(name for name, count in counted.items() if count > 1)
    if twice:
        raise _no_type(text, f"member {twice[0]!r} is there twice")
    return Row(tuple(members))


def _member(text: str, part: str, parse: Callable[[str], DataType]) -> Field:
    stripped = part.strip()
    name = _NAME.match(stripped)
    rest = stripped[name.end() :].lstrip().removeprefix(":").lstrip() if name else ""
    described = None
    last = deque(_QUOTED.finditer(rest), maxlen=1)
    if last and last[0].end() == len(rest) and last[0][0].startswith("'"):
        described = last[0][0][1:-1].replace("''", "'")
        rest = _COMMENT.sub("", rest[: last[0].start()].rstrip()).rstrip()
    if name is None or not rest:
        raise _no_type(text, f"{stripped[:_SHOWN]!r} is no member: write a name and a type")
    return Field(0, name["quoted"] or name["plain"], parse(rest), described)


def _split(text: str, parts: str) -> Iterator[str]:
    """At the commas that are not inside of brackets or quotes."""
    hidden = _QUOTED.sub(lambda quoted: "q" * len(quoted[0]), parts)
    depth, begin = 0, 0
    for at, char in enumerate(hidden):
        depth += (char in _OPENING) - (char in _CLOSING)
        if depth < 0:
            raise _no_type(text, "brackets do not match")
        if char == "," and not depth:
            yield parts[begin:at]
            begin = at + 1
    if depth:
        raise _no_type(text, "brackets do not match")
    yield parts[begin:]


def _depth(text: str) -> int:
    depth = deepest = 0
    for char in _QUOTED.sub("", text):
        depth += (char == "<") - (char == ">")
        deepest = max(deepest, depth)
    return deepest


def _no_type(text: str, why: str) -> SchemaError:
    what = f"not a type: {text.strip()[:200]!r}: {why}"
    return SchemaError(what, problems=[what])
