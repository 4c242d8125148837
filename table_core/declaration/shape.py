"""What a part of the file may look like: checked with places, read, and told to editors as JSON Schema.

One description does all three, so what the schema takes the parser takes, and the reverse.  ``check``
finds faults, ``plain`` gives the value that the rest of the program works with, ``schema`` the JSON
Schema.  Nothing (a bare ``key:``) is a fault everywhere but where a shape says otherwise.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from table_core.declaration.foreign_words import member_hint
from table_core.declaration.hints import hint
from table_core.declaration.located import Diagnostic, Located
from table_core.declaration.slips import glued, shown, slip

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = [
    "AnyValue",
    "Flag",
    "ListOf",
    "MapOf",
    "Number",
    "OneOf",
    "Record",
    "Scalar",
    "Shape",
    "Text",
]

Defs = dict[str, Any]
"""Named parts of the schema, which others refer to."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """A kind of value; subclasses say which."""

    about: str = ""
    named: str = ""
    """The name of this part of the schema, where others refer to it."""

    @property
    def in_words(self) -> str:
        """The shape in a few words, for the reference; '' where its parts say it."""
        return ""

    def check(self, node: Located, file: str, diagnostics: list[Diagnostic]) -> None:
        """Add a fault for everything in ``node`` that does not fit."""

    def plain(self, node: Located) -> Any:
        """The value of what was checked."""
        return node.plain()

    def schema(self, defs: Defs) -> dict[str, Any]:
        """The JSON Schema of this shape; parts with a name go into ``defs``."""
        if not self.named:
            return self._described(defs)
        if self.named not in defs:
            defs[self.named] = {}
            defs[self.named] = self._described(defs)
        return {"$ref": f"#/$defs/{self.named}"}

    def _described(self, defs: Defs) -> dict[str, Any]:
        about = {"description": self.about} if self.about else {}
        return {**about, **self._schema(defs)}

    def _schema(self, defs: Defs) -> dict[str, Any]:  # noqa: ARG002 - of subclasses
        return {}

    def _expect(
        self, node: Located, expected: str, file: str, diagnostics: list[Diagnostic]
    ) -> None:
        message = f"expected {expected}, found {shown(node)}{slip(node, expected)}"
        diagnostics.append(Diagnostic(file, *node.place, message))


@dataclass(frozen=True, slots=True, kw_only=True)
class AnyValue(Shape):
    """Whatever; somebody else looks at it."""

    @property
    def in_words(self) -> str:
        """Nothing is said of it."""
        return "anything"


@dataclass(frozen=True, slots=True, kw_only=True)
class Text(Shape):
    """Text, as it stands in the file: ``07``, ``NO`` and ``2026`` are text too."""

    one_of: Sequence[str] = ()
    pattern: str = ""
    """Of a regular expression that the whole text fits."""
    what: str = "text"
    """What the pattern stands for, in words."""

    @property
    def in_words(self) -> str:
        """Its choices, or what it stands for."""
        choices = ", ".join(f"`{one}`" for one in self.one_of)
        return choices or self.what

    def check(self, node: Located, file: str, diagnostics: list[Diagnostic]) -> None:
        """Text, and one of those that are known."""
        if not isinstance(node.value, str | int | float):
            self._expect(node, self.what, file, diagnostics)
        elif self.one_of and (not isinstance(node.value, str) or node.value not in self.one_of):
            known = ", ".join(self.one_of)
            message = f"expected one of {known}, found {shown(node)}"
            near = hint(str(node.text), self.one_of)
            more = f"; {near}" if near.startswith("did") else ""
            diagnostics.append(Diagnostic(file, *node.place, f"{message}{more}"))
        elif self.pattern and not isinstance(node.value, str):
            self._expect(node, f"{self.what}, in quotes", file, diagnostics)
        elif self.pattern and re.search(f"^(?:{self.pattern})$", str(node.text)) is None:
            self._expect(node, self.what, file, diagnostics)

    def plain(self, node: Located) -> str | None:
        """The source text."""
        return node.text

    def _schema(self, defs: Defs) -> dict[str, Any]:  # noqa: ARG002 - it has no parts
        if self.one_of:
            return {"type": "string", "enum": list(self.one_of)}
        if self.pattern:
            return {"type": "string", "pattern": f"^(?:{self.pattern})$"}
        return {"type": ["string", "number", "boolean"]}


@dataclass(frozen=True, slots=True, kw_only=True)
class Number(Shape):
    """A number."""

    minimum: float | None = None
    maximum: float | None = None
    whole: bool = True

    @property
    def in_words(self) -> str:
        """With its bound."""
        bound = "" if self.minimum is None else f" of at least {self.minimum:g}"
        return f"{'whole number' if self.whole else 'number'}{bound}"

    def check(self, node: Located, file: str, diagnostics: list[Diagnostic]) -> None:
        """A number that is large enough."""
        value = node.value
        if isinstance(value, bool) or not isinstance(value, int | float):
            self._expect(node, "a number", file, diagnostics)
        elif self.whole and value != int(value):
            self._expect(node, "a whole number", file, diagnostics)
        elif self.minimum is not None and value < self.minimum:
            self._expect(node, f"at least {self.minimum:g}", file, diagnostics)
        elif self.maximum is not None and value > self.maximum:
            self._expect(node, f"at most {self.maximum:g}", file, diagnostics)

    def plain(self, node: Located) -> int | float:
        """The number."""
        value: int | float = node.value
        return int(value) if self.whole else value

    def _schema(self, defs: Defs) -> dict[str, Any]:  # noqa: ARG002 - it has no parts
        bounds = {"minimum": self.minimum, "maximum": self.maximum}
        bound = {name: value for name, value in bounds.items() if value is not None}
        return {"type": "integer" if self.whole else "number", **bound}


@dataclass(frozen=True, slots=True, kw_only=True)
class Flag(Shape):
    """True or false."""

    @property
    def in_words(self) -> str:
        """Both values."""
        return "`true` or `false`"

    def check(self, node: Located, file: str, diagnostics: list[Diagnostic]) -> None:
        """One of the two."""
        if not isinstance(node.value, bool):
            self._expect(node, "true or false", file, diagnostics)

    def _schema(self, defs: Defs) -> dict[str, Any]:  # noqa: ARG002 - it has no parts
        return {"type": "boolean"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Scalar(Shape):
    """A number, a text, or nothing: a bound that may be open."""

    @property
    def in_words(self) -> str:
        """All that it may be."""
        return "number, text or `null`"

    def check(self, node: Located, file: str, diagnostics: list[Diagnostic]) -> None:
        """Neither a list, nor a mapping, nor a flag."""
        value = node.value
        if isinstance(value, bool) or not isinstance(value, str | int | float | None):
            self._expect(node, "a number, a text or null", file, diagnostics)

    def plain(self, node: Located) -> str | None:
        """The source text, which is exact where a floating number would not be."""
        return node.text

    def _schema(self, defs: Defs) -> dict[str, Any]:  # noqa: ARG002 - it has no parts
        return {"type": ["string", "number", "null"]}


@dataclass(frozen=True, slots=True, kw_only=True)
class ListOf(Shape):
    """A list."""

    item: Shape
    least: int = 0
    most: int | None = None

    def check(self, node: Located, file: str, diagnostics: list[Diagnostic]) -> None:
        """Each of its items, and how many there are."""
        if not isinstance(node.value, list):
            self._expect(node, "a list", file, diagnostics)
            return
        count = len(node.value)
        if count < self.least or (self.most is not None and count > self.most):
            message = f"expected {self._counted()}, found {count}"
            diagnostics.append(Diagnostic(file, *node.place, message))
        for item in node.value:
            self.item.check(item, file, diagnostics)

    def _counted(self) -> str:
        if self.least == self.most:
            return f"{self.least} items"
        return f"at least {self.least} item" + ("s" if self.least != 1 else "")

    def plain(self, node: Located) -> list[Any]:
        """The values of its items."""
        return [self.item.plain(item) for item in node.value]

    def _schema(self, defs: Defs) -> dict[str, Any]:
        least = {"minItems": self.least} if self.least else {}
        most = {} if self.most is None else {"maxItems": self.most}
        return {"type": "array", "items": self.item.schema(defs), **least, **most}


@dataclass(frozen=True, slots=True, kw_only=True)
class MapOf(Shape):
    """Names to values of one shape."""

    item: Shape
    names: str = ""
    """A regular expression that each name fits as a whole."""
    names_are: str = ""
    """What the expression stands for, in words."""
    taken: str = ""
    """A name that something else has."""
    taken_by: str = ""
    least: int = 0

    def check(self, node: Located, file: str, diagnostics: list[Diagnostic]) -> None:
        """Each of its values."""
        if not isinstance(node.value, dict):
            self._expect(node, "a mapping", file, diagnostics)
            return
        if len(node.value) < self.least:
            diagnostics.append(
                Diagnostic(file, *node.place, "expected at least one member, found none")
            )
        for name, item in node.value.items():
            if self.names and re.search(f"^(?:{self.names})$", name) is None:
                at = (node.keys or {}).get(name, node.place)
                diagnostics.append(Diagnostic(file, *at, f"{name!r} is {self.names_are}"))
            if self.taken and name == self.taken:
                at = (node.keys or {}).get(name, node.place)
                diagnostics.append(Diagnostic(file, *at, f"{name!r} is taken: {self.taken_by}"))
            before = len(diagnostics)
            self.item.check(item, file, diagnostics)
            if len(diagnostics) > before and (message := glued(name, item)):
                at = (node.keys or {}).get(name, node.place)
                diagnostics[before:] = [Diagnostic(file, *at, message)]

    def plain(self, node: Located) -> dict[str, Any]:
        """Names to values."""
        return {name: self.item.plain(item) for name, item in node.value.items()}

    def _schema(self, defs: Defs) -> dict[str, Any]:
        free = {"not": {"const": self.taken}} if self.taken else {}
        names = {"propertyNames": {"pattern": f"^(?:{self.names})$", **free}} if self.names else {}
        least = {"minProperties": self.least} if self.least else {}
        item = self.item.schema(defs)
        return {"type": "object", "additionalProperties": item, **names, **least}


@dataclass(frozen=True, slots=True, kw_only=True)
class OneOf(Shape):
    """One of several shapes; the first that fits."""

    shapes: Sequence[Shape]
    what: str

    def check(self, node: Located, file: str, diagnostics: list[Diagnostic]) -> None:
        """The first that fits; the faults of the one that came closest."""
        tries: list[list[Diagnostic]] = []
        for shape in self.shapes:
            faults: list[Diagnostic] = []
            shape.check(node, file, faults)
            if not faults:
                return
            tries.append(faults)
        inner = [faults for faults in tries if (faults[0].line, faults[0].column) != node.place]
        if inner:
            diagnostics += inner[0]
        elif isinstance(node.value, dict) and (made := self._of_mappings(tries)):
            diagnostics += made
        else:
            self._expect(node, self.what, file, diagnostics)

    def _of_mappings(self, tries: Sequence[list[Diagnostic]]) -> list[Diagnostic]:
        """What a mapping is told by the shapes that take one: a member that is missing."""
        for shape, faults in zip(self.shapes, tries, strict=True):
            if isinstance(shape, Record | MapOf):
                return faults
        return []

    def plain(self, node: Located) -> Any:
        """The value, as the shape that fits has it."""
        for shape in self.shapes:
            faults: list[Diagnostic] = []
            shape.check(node, "", faults)
            if not faults:
                return shape.plain(node)
        return node.plain()

    def _schema(self, defs: Defs) -> dict[str, Any]:
        return {"anyOf": [shape.schema(defs) for shape in self.shapes]}


@dataclass(frozen=True, slots=True, kw_only=True)
class Record(Shape):
    """Named members, each with a shape of its own."""

    members: Mapping[str, Shape]
    required: Sequence[str] = ()
    exactly_one: Sequence[str] = field(default=())
    """Members of which there must be one and no more."""
    some_of: Sequence[str] = field(default=())
    """Members of which there must be one at least."""

    def check(self, node: Located, file: str, diagnostics: list[Diagnostic]) -> None:
        """Each member, none that is unknown, all that are needed."""
        if not isinstance(node.value, dict):
            self._expect(node, "a mapping", file, diagnostics)
            return
        keys = node.keys or {}
        for name, item in node.value.items():
            shape = self.members.get(name)
            if shape is None:
                inner = getattr(self.members.get("with"), "members", ())
                near = glued(name, item) or member_hint(name, self.members, inner=inner)
                diagnostics.append(
                    Diagnostic(file, *keys[name], f"unknown member {name!r}; {near}")
                )
            else:
                shape.check(item, file, diagnostics)
        diagnostics += [
            Diagnostic(file, *node.place, f"member {name!r} is missing")
            for name in self.required
            if name not in node.value
        ]
        chosen = [name for name in self.exactly_one if name in node.value]
        if self.exactly_one and len(chosen) != 1:
            present = ", ".join(chosen) or "none"
            message = f"give one of {', '.join(self.exactly_one)}; found {present}"
            diagnostics.append(Diagnostic(file, *node.place, message))
        if self.some_of and not any(name in node.value for name in self.some_of):
            message = f"give at least one of {', '.join(self.some_of)}"
            diagnostics.append(Diagnostic(file, *node.place, message))

    def plain(self, node: Located) -> dict[str, Any]:
        """Members to values."""
        return {name: self.members[name].plain(item) for name, item in node.value.items()}

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
