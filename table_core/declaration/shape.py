"""What a part of the file may look like: checked with places, and told to editors as JSON Schema."""

from __future__ import annotations

import difflib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from table_core.declaration.located import Fault, Located

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = [
    "AnyValue",
    "Flag",
    "Following",
    "ListOf",
    "MapOf",
    "Number",
    "OneOf",
    "Record",
    "Shape",
    "Text",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """A kind of value; subclasses say which."""

    about: str = ""

    def check(self, given: Located, file: str, faults: list[Fault]) -> None:
        """Add a fault for everything in ``given`` that does not fit."""

    def schema(self) -> dict[str, Any]:
        """The JSON Schema of this shape."""
        return {"description": self.about} if self.about else {}

    def _expect(self, given: Located, what: str, file: str, faults: list[Fault]) -> None:
        shown = type(given.value).__name__ if isinstance(given.value, dict | list) else given.value
        faults.append(Fault(file, *given.place, f"expected {what}, found {shown!r}"))


@dataclass(frozen=True, slots=True, kw_only=True)
class AnyValue(Shape):
    """Whatever; somebody else looks at it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Text(Shape):
    """Text; numbers and flags count as what they look like."""

    one_of: Sequence[str] = ()

    def check(self, given: Located, file: str, faults: list[Fault]) -> None:
        """Text, and one of those that are known."""
        if not isinstance(given.value, str | int | float):
            self._expect(given, "text", file, faults)
        elif self.one_of and given.value not in self.one_of:
            self._expect(given, f"one of {', '.join(self.one_of)}", file, faults)

    def schema(self) -> dict[str, Any]:
        """``string``, with its choices."""
        choices = {"enum": list(self.one_of)} if self.one_of else {}
        kind: Any = "string" if self.one_of else ["string", "number", "boolean"]
        return {**Shape.schema(self), "type": kind, **choices}


@dataclass(frozen=True, slots=True, kw_only=True)
class Number(Shape):
    """A number."""

    minimum: float | None = None

    def check(self, given: Located, file: str, faults: list[Fault]) -> None:
        """A number that is large enough."""
        if isinstance(given.value, bool) or not isinstance(given.value, int | float):
            self._expect(given, "a number", file, faults)
        elif self.minimum is not None and given.value < self.minimum:
            self._expect(given, f"at least {self.minimum:g}", file, faults)

    def schema(self) -> dict[str, Any]:
        """``number``, with its bound."""
        bound = {} if self.minimum is None else {"minimum": self.minimum}
        return {**Shape.schema(self), "type": "number", **bound}


@dataclass(frozen=True, slots=True, kw_only=True)
class Flag(Shape):
    """True or false."""

    def check(self, given: Located, file: str, faults: list[Fault]) -> None:
        """One of the two."""
        if not isinstance(given.value, bool):
            self._expect(given, "true or false", file, faults)

    def schema(self) -> dict[str, Any]:
        """``boolean``."""
        return {**Shape.schema(self), "type": "boolean"}


@dataclass(frozen=True, slots=True, kw_only=True)
class ListOf(Shape):
    """A list, or one value that stands for a list of it."""

    item: Shape

    def check(self, given: Located, file: str, faults: list[Fault]) -> None:
        """Each of its items."""
        if isinstance(given.value, list):
            for item in given.value:
                self.item.check(item, file, faults)
        else:
            self._expect(given, "a list", file, faults)

    def schema(self) -> dict[str, Any]:
        """``array``."""
        return {**Shape.schema(self), "type": "array", "items": self.item.schema()}


@dataclass(frozen=True, slots=True, kw_only=True)
class MapOf(Shape):
    """Names to values of one shape."""

    item: Shape

    def check(self, given: Located, file: str, faults: list[Fault]) -> None:
        """Each of its values."""
        if not isinstance(given.value, dict):
            self._expect(given, "a mapping", file, faults)
            return
        for item in given.value.values():
            self.item.check(item, file, faults)

    def schema(self) -> dict[str, Any]:
        """``object`` of any names."""
        item = self.item.schema()
        return {**Shape.schema(self), "type": "object", "additionalProperties": item}


@dataclass(frozen=True, slots=True, kw_only=True)
class OneOf(Shape):
    """One of several shapes; told apart by what kind of value it is."""

    shapes: Sequence[Shape]
    what: str

    def check(self, given: Located, file: str, faults: list[Fault]) -> None:
        """The first that fits; the faults of the one that came closest."""
        tries: list[list[Fault]] = []
        for shape in self.shapes:
            found: list[Fault] = []
            shape.check(given, file, found)
            if not found:
                return
            tries.append(found)
        inner = [found for found in tries if (found[0].line, found[0].column) != given.place]
        if inner:
            faults += inner[0]
        else:
            self._expect(given, self.what, file, faults)

    def schema(self) -> dict[str, Any]:
        """``anyOf``."""
        return {**Shape.schema(self), "anyOf": [shape.schema() for shape in self.shapes]}


@dataclass(frozen=True, slots=True, kw_only=True)
class Following:
    """A member whose shape follows from what stands beside it."""

    member: str
    by: str
    """The member whose text decides; where it is not given, the name of another member does."""
    shapes: Mapping[str, Record]

    def check(self, given: Located, file: str, faults: list[Fault]) -> None:
        """The member, as what stands beside it wants it; also that it is there if it must be."""
        chosen = given.value[self.by].value if self.by in given.value else None
        names = [chosen] if isinstance(chosen, str) else list(given.value)
        shape = next((self.shapes[name] for name in names if name in self.shapes), None)
        if shape is None:
            return
        found = given.value.get(self.member)
        if found is not None:
            shape.check(found, file, faults)
        elif shape.required:
            needed = f"{self.member!r} must have {', '.join(shape.required)}"
            faults.append(Fault(file, *given.place, f"{self.by}: {chosen}: {needed}"))

    def schema(self) -> list[dict[str, Any]]:
        """``if`` and ``then`` for each."""
        return [self._rule(name, shape) for name, shape in self.shapes.items()]

    def _rule(self, name: str, shape: Record) -> dict[str, Any]:
        then: dict[str, Any] = {"properties": {self.member: shape.schema()}}
        if shape.required:
            then["required"] = [self.member]
        asked = {"required": [self.by], "properties": {self.by: {"const": name}}}
        other = {"required": [name], "not": {"required": [self.by]}}
        return {"if": {"anyOf": [asked, other]}, "then": then}


@dataclass(frozen=True, slots=True, kw_only=True)
class Record(Shape):
    """Named members, each with a shape of its own."""

    members: Mapping[str, Shape]
    required: Sequence[str] = ()
    exactly_one: Sequence[str] = field(default=())
    """Members of which there must be one and no more."""
    following: Following | None = None

    def check(self, given: Located, file: str, faults: list[Fault]) -> None:
        """Each member, none that is unknown, all that are needed."""
        if not isinstance(given.value, dict):
            self._expect(given, "a mapping", file, faults)
            return
        keys = given.keys or {}
        for name, item in given.value.items():
            shape = self.members.get(name)
            if shape is None:
                near = difflib.get_close_matches(name, self.members, 1)
                hint = f"did you mean {near[0]!r}?" if near else f"known: {', '.join(self.members)}"
                faults.append(Fault(file, *keys[name], f"unknown member {name!r}; {hint}"))
            elif item.value is not None:
                shape.check(item, file, faults)
        faults += [
            Fault(file, *given.place, f"member {name!r} is missing")
            for name in self.required
            if name not in given.value
        ]
        chosen = [name for name in self.exactly_one if name in given.value]
        if self.exactly_one and len(chosen) != 1:
            wanted = ", ".join(self.exactly_one)
            found = ", ".join(chosen) or "none"
            faults.append(Fault(file, *given.place, f"give one of {wanted}; found {found}"))
        elif self.following is not None:
            self.following.check(given, file, faults)

    def schema(self) -> dict[str, Any]:
        """``object`` of these members and no other."""
        document: dict[str, Any] = {
            **Shape.schema(self),
            "type": "object",
            "properties": {name: shape.schema() for name, shape in self.members.items()},
            "additionalProperties": False,
        }
        if self.required:
            document["required"] = list(self.required)
        if self.exactly_one:
            document["oneOf"] = [{"required": [name]} for name in self.exactly_one]
        if self.following is not None:
            document["allOf"] = self.following.schema()
        return document
