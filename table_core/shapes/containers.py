"""What a list or a mapping may hold."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from table_core.options.nearest import hint
from table_core.shapes.problem import Problem, UnknownMember, abridged
from table_core.shapes.shape import Shape, unexpected

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from table_core.shapes.shape import Defs

__all__ = ["ListOf", "MapOf", "Record"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ListOf(Shape):
    """A list."""

    item: Shape
    least: int = 0
    most: int | None = None
    each_once: bool = False
    """Items are names, and none comes twice."""

    @property
    def in_words(self) -> str:
        """Of what."""
        return self.what or f"a list of {self.item.in_words}"

    def problems(self, value: Any) -> Iterator[Problem]:
        """Each of its items, and how many there are."""
        if not isinstance(value, list | tuple):
            yield unexpected(value, "a list")
            return
        count = len(value)
        if count < self.least or (self.most is not None and count > self.most):
            yield Problem(message=f"expected {self._counted()}, found {count}")
        before: set[str] = set()
        for number, item in enumerate(value):
            for problem in self.item.problems(item):
                yield problem.under(number)
            if self.each_once and isinstance(item, str):
                if item in before:
                    yield Problem(message=f"{abridged(item)} comes twice", path=(number,))
                before.add(item)

    def _counted(self) -> str:
        if self.least == self.most:
            return f"{self.least} items"
        return f"at least {self.least} item" + ("s" if self.least != 1 else "")

    def plain(self, value: Any) -> list[Any]:
        """The values of its items."""
        return [self.item.plain(item) for item in value]

    def _schema(self, defs: Defs) -> dict[str, Any]:
        least = {"minItems": self.least} if self.least else {}
        most = {} if self.most is None else {"maxItems": self.most}
        return {"type": "array", "items": self.item.schema(defs), **least, **most}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Mapping(Shape):
    """Names to values; a subclass says of what."""

    @property
    def takes_names(self) -> bool:
        """A mapping may fit it."""
        return True

    def problems(self, value: Any) -> Iterator[Problem]:
        """Those of the names, and of what they lead to."""
        if not isinstance(value, Mapping):
            yield unexpected(value, "a mapping")
            return
        for name in value:
            if not isinstance(name, str):  # which Python can have and JSON cannot
                yield Problem(message=f"a name must be text, found {abridged(name)}")
        yield from self._inner_problems(
            {name: one for name, one in value.items() if isinstance(name, str)}
        )

    def _inner_problems(self, value: Mapping[str, Any]) -> Iterator[Problem]:  # noqa: ARG002 - of subclasses
        yield from ()


@dataclass(frozen=True, slots=True, kw_only=True)
class MapOf(_Mapping):
    """Names to values of one shape."""

    item: Shape
    names: str = ""
    """A regular expression that each name fits as a whole."""
    names_are: str = ""
    """What a name is that does not fit it, in words."""
    taken: str = ""
    """A name that something else has."""
    taken_by: str = ""
    least: int = 0

    @property
    def in_words(self) -> str:
        """To what."""
        return self.what or f"a mapping to {self.item.in_words}"

    def _inner_problems(self, value: Mapping[str, Any]) -> Iterator[Problem]:
        if len(value) < self.least:
            yield Problem(message="expected at least one member, found none")
        for name, item in value.items():
            if self.names and re.fullmatch(self.names, name) is None:
                yield Problem(message=f"{name!r} is {self.names_are}", path=(name,), of_name=True)
            if self.taken and name == self.taken:
                yield Problem(
                    message=f"{name!r} is taken: {self.taken_by}", path=(name,), of_name=True
                )
            for problem in self.item.problems(item):
                yield problem.under(name)

    def plain(self, value: Any) -> dict[str, Any]:
        """Names to values."""
        return {name: self.item.plain(item) for name, item in value.items()}

    def _schema(self, defs: Defs) -> dict[str, Any]:
        free = {"not": {"const": self.taken}} if self.taken else {}
        names = {"propertyNames": {"pattern": f"^(?:{self.names})$", **free}} if self.names else {}
        least = {"minProperties": self.least} if self.least else {}
        item = self.item.schema(defs)
        return {"type": "object", "additionalProperties": item, **names, **least}


@dataclass(frozen=True, slots=True, kw_only=True)
class Record(_Mapping):
    """Named members, each with a shape of its own."""

    members: Mapping[str, Shape]
    required: Sequence[str] = ()
    exactly_one: Sequence[str] = field(default=())
    """Members of which there must be one and no more."""
    some_of: Sequence[str] = field(default=())
    """Members of which there must be one at least."""
    only_with: Mapping[str, str] = field(default_factory=dict)
    """Members that mean something only beside another one."""

    @property
    def in_words(self) -> str:
        """Its members have a table of their own."""
        return self.what or "a mapping"

    def _inner_problems(self, value: Mapping[str, Any]) -> Iterator[Problem]:
        """Of each member, of one that is unknown, and of one that is missing."""
        for name, item in value.items():
            shape = self.members.get(name)
            if shape is not None:
                for problem in shape.problems(item):
                    yield problem.under(name)
            else:
                message = f"unknown member {name!r}; {hint(name, self.members)}"
                yield UnknownMember(
                    message=message, path=(name,), of_name=True, members=self.members
                )
        yield from self._missing(value)

    def _missing(self, value: Mapping[str, Any]) -> Iterator[Problem]:
        for name in self.required:
            if name not in value:
                yield Problem(message=f"member {name!r} is missing")
        chosen = [name for name in self.exactly_one if value.get(name) is not None]
        if self.exactly_one and len(chosen) != 1:
            present = ", ".join(chosen) or "none"
            yield Problem(message=f"give one of {', '.join(self.exactly_one)}; found {present}")
        if self.some_of and not any(name in value for name in self.some_of):
            yield Problem(message=f"give at least one of {', '.join(self.some_of)}")
        for name, other in self.only_with.items():
            if value.get(name) is not None and value.get(other) is None:
                yield Problem(message=f"{name} goes with {other} only", path=(name,), of_name=True)

    def plain(self, value: Any) -> dict[str, Any]:
        """Members to values."""
        return {name: self.members[name].plain(item) for name, item in value.items()}

    def _schema(self, defs: Defs) -> dict[str, Any]:
        document: dict[str, Any] = {
            "type": "object",
            "properties": {name: shape.schema(defs) for name, shape in self.members.items()},
            "additionalProperties": False,
        }
        if self.required:
            document["required"] = list(self.required)
        if self.exactly_one:
            document["oneOf"] = [{"required": [name]} for name in self.exactly_one]
        if self.some_of:
            document["anyOf"] = [{"required": [name]} for name in self.some_of]
        return document
