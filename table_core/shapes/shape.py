"""What one value may be: text, a number, a flag, one of several.

A shape checks a value and tells every problem with its path, makes of a good one what JSON can hold,
and describes itself as JSON Schema and in words.  So a job, an operator, the command line, a
declaration and the reference pages say the same of an argument, because they all ask its shape.

Values come from two places.  Python's are what they are.  A file's numbers and flags are ``Written``:
whether ``07`` is a number or a text is for the shape to say.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from table_core.errors import ArgumentError
from table_core.options.nearest import hint
from table_core.shapes.problem import Problem, Written, abridged, value_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

__all__ = [
    "AnyValue",
    "Defs",
    "Flag",
    "Nothing",
    "Number",
    "OneOf",
    "Scalar",
    "Setting",
    "Shape",
    "Text",
    "unexpected",
]

Defs = dict[str, Any]
"""Named parts of a JSON Schema, which others refer to."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """A kind of value; subclasses say which."""

    about: str = ""
    """One sentence, for the reference."""
    what: str = ""
    """What it stands for, in a few words; by default its parts say it."""
    named: str = ""
    """The name of this part of the JSON Schema, where others refer to it."""

    @property
    def in_words(self) -> str:
        """The shape in a few words, for the reference."""
        return self.what

    @property
    def takes_names(self) -> bool:
        """Whether a mapping may fit it."""
        return False

    def problems(self, value: Any) -> Iterator[Problem]:  # noqa: ARG002 - of subclasses
        """Everything in ``value`` that does not fit."""
        yield from ()

    def fits(self, value: Any) -> bool:
        """Whether nothing is wrong with ``value``."""
        return next(iter(self.problems(value)), None) is None

    def require(self, value: Any, name: str) -> None:
        """Refuse what does not fit, as the argument ``name``.

        Raises:
            ArgumentError: names the argument, and every value in it that is wrong; of a mapping or a list, which
                may hold a secret, no more than these.
        """
        wrong = [f"{name}{one.place}: {one.message}" for one in self.problems(value)]
        if wrong:
            told = abridged(value) if isinstance(value, Mapping | list | tuple) else value
            raise ArgumentError("; ".join(wrong), argument=name, value=told)

    def plain(self, value: Any) -> Any:
        """A value that fits, as JSON can hold it."""
        return value_of(value)

    def of_text(self, text: str) -> Any:
        """The value that ``text`` stands for, on a command line or in a rendered template."""
        return text

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


def unexpected(value: Any, expected: str) -> Problem:
    """The problem of a value that is not what is ``expected``."""
    return Problem(message=f"expected {expected}, found {abridged(value)}", expected=expected)


@dataclass(frozen=True, slots=True, kw_only=True)
class AnyValue(Shape):
    """Whatever; somebody else looks at it."""

    @property
    def in_words(self) -> str:
        """Nothing is said of it."""
        return "anything"

    def plain(self, value: Any) -> Any:
        """The value, as YAML has it."""
        if isinstance(value, dict):
            return {name: self.plain(one) for name, one in value.items()}
        return [self.plain(one) for one in value] if isinstance(value, list) else value_of(value)


@dataclass(frozen=True, slots=True, kw_only=True)
class Nothing(Shape):
    """``null``."""

    @property
    def in_words(self) -> str:
        """It itself."""
        return "`null`"

    def problems(self, value: Any) -> Iterator[Problem]:
        """Nothing but nothing."""
        if value is not None:
            yield unexpected(value, "null")

    def _schema(self, defs: Defs) -> dict[str, Any]:  # noqa: ARG002 - it has no parts
        return {"type": "null"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Text(Shape):
    """Text.  Of a file as it stands there: ``07``, ``NO`` and ``2026`` are text too."""

    one_of: Sequence[str] = ()
    pattern: str = ""
    """A regular expression that the whole text fits."""
    what: str = "text"
    judge: Callable[[str], str] | None = None
    """Says what is wrong with a text, '' if nothing is: where a pattern cannot."""

    @property
    def in_words(self) -> str:
        """Its choices, or what it stands for."""
        choices = ", ".join(f"`{one}`" for one in self.one_of)
        return choices or self.what

    def problems(self, value: Any) -> Iterator[Problem]:
        """Text, and one of those that are known."""
        text = value.text if isinstance(value, Written) else value
        if not isinstance(text, str):
            yield unexpected(value, self.what)
        elif self.one_of:
            if isinstance(value, Written) or text not in self.one_of:
                yield self._unknown(value, text)
        elif self.pattern and isinstance(value, Written):
            yield unexpected(value, f"{self.what}, in quotes")
        elif self.pattern and re.fullmatch(self.pattern, text) is None:
            yield unexpected(value, self.what)
        elif self.judge is not None and (wrong := self.judge(text)):
            yield Problem(message=f"expected {self.what}, found {abridged(value)}: {wrong}")

    def _unknown(self, value: Any, text: str) -> Problem:
        near = hint(text, self.one_of)
        more = f"; {near}" if near.startswith("did") else ""
        known = ", ".join(self.one_of)
        return Problem(message=f"expected one of {known}, found {abridged(value)}{more}")

    def plain(self, value: Any) -> Any:
        """The text."""
        return value.text if isinstance(value, Written) else value

    def _schema(self, defs: Defs) -> dict[str, Any]:  # noqa: ARG002 - it has no parts
        if self.one_of:
            return {"type": "string", "enum": list(self.one_of)}
        if self.pattern:
            return {"type": "string", "pattern": f"^(?:{self.pattern})$"}
        return {"type": ["string", "number", "boolean"]}


def _is_whole(value: Any) -> bool:
    """``1``, and of a file ``1.0`` too."""
    if not isinstance(value, Written):
        return isinstance(value, int)
    return isinstance(value.value, int) or (
        math.isfinite(value.value) and value.value == int(value.value)
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Number(Shape):
    """A number."""

    minimum: float | None = None
    maximum: float | None = None
    whole: bool = True

    @property
    def in_words(self) -> str:
        """With its bound."""
        least = "" if self.minimum is None or self.minimum < 0 else f" of at least {self.minimum:g}"
        return self.what or f"a {'whole ' if self.whole else ''}number{least}"

    def problems(self, value: Any) -> Iterator[Problem]:
        """A number within its bounds."""
        number = value_of(value)
        if isinstance(number, bool) or not isinstance(number, int | float):
            yield unexpected(value, "a number")
        elif self.whole and not _is_whole(value):
            yield unexpected(value, "a whole number")
        elif self.minimum is not None and not number >= self.minimum:
            yield unexpected(value, f"at least {self.minimum:g}")
        elif self.maximum is not None and not number <= self.maximum:
            yield unexpected(value, f"at most {self.maximum:g}")

    @property
    def digits(self) -> str:
        """The pattern of a whole number as text."""
        if self.minimum is None or self.minimum < 0:
            return "-?[0-9]{1,19}"
        return "[0-9]{1,19}" if self.minimum < 1 else "[1-9][0-9]{0,18}"

    def plain(self, value: Any) -> int | float:
        """The number."""
        number: int | float = value_of(value)
        return int(number) if self.whole else number

    def of_text(self, text: str) -> Any:
        """The number that ``text`` writes; the text itself if it writes none."""
        if re.fullmatch(self.digits, text):
            return int(text)
        if self.whole:
            return text
        try:
            return float(text)
        except ValueError:
            return text

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

    def problems(self, value: Any) -> Iterator[Problem]:
        """One of the two."""
        if not isinstance(value_of(value), bool):
            yield unexpected(value, "true or false")

    def of_text(self, text: str) -> Any:
        """``true`` or ``false``, as YAML, JSON and Python write them; other text as it is."""
        return {"true": True, "false": False}.get(text.lower(), text)

    def _schema(self, defs: Defs) -> dict[str, Any]:  # noqa: ARG002 - it has no parts
        return {"type": "boolean"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting(Shape):
    """The value of an option: text, a number or a flag.  Of a file its text."""

    @property
    def in_words(self) -> str:
        """Text, whatever it means."""
        return self.what or "text"

    def problems(self, value: Any) -> Iterator[Problem]:
        """Neither nothing, nor a list, nor a mapping."""
        if not isinstance(value_of(value), str | int | float):
            yield unexpected(value, "text")

    def plain(self, value: Any) -> Any:
        """The text of a file, which is exact."""
        return value.text if isinstance(value, Written) else value

    def _schema(self, defs: Defs) -> dict[str, Any]:  # noqa: ARG002 - it has no parts
        return {"type": ["string", "number", "boolean"]}


@dataclass(frozen=True, slots=True, kw_only=True)
class Scalar(Shape):
    """A number, a text, or nothing: a bound that may be open."""

    @property
    def in_words(self) -> str:
        """All that it may be."""
        return "number, text or `null`"

    def problems(self, value: Any) -> Iterator[Problem]:
        """Neither a list, nor a mapping, nor a flag."""
        one = value_of(value)
        if isinstance(one, bool) or not isinstance(one, str | int | float | None):
            yield unexpected(value, "a number, a text or null")

    def plain(self, value: Any) -> Any:
        """The text of a file, which is exact where a floating number would not be."""
        return value.text if isinstance(value, Written) else value

    def _schema(self, defs: Defs) -> dict[str, Any]:  # noqa: ARG002 - it has no parts
        return {"type": ["string", "number", "null"]}


@dataclass(frozen=True, slots=True, kw_only=True)
class OneOf(Shape):
    """One of several shapes; the first that fits."""

    shapes: Sequence[Shape]

    @property
    def in_words(self) -> str:
        """All that it may be."""
        return " or ".join(dict.fromkeys(shape.in_words for shape in self.shapes))

    def problems(self, value: Any) -> Iterator[Problem]:
        """None if one fits; else the problems of the one that came closest."""
        tries: list[list[Problem]] = []
        for shape in self.shapes:
            tries.append(list(shape.problems(value)))
            if not tries[-1]:
                return
        inner = next((problems for problems in tries if problems[0].path), None)
        if inner is None and isinstance(value, dict):
            inner = self._of_mapping(tries)
        if inner is None:
            yield unexpected(value, self.what)
        else:
            yield from inner

    def _of_mapping(self, tries: Sequence[list[Problem]]) -> list[Problem] | None:
        """What a shape that takes a mapping says of one: a member that is missing."""
        for shape, problems in zip(self.shapes, tries, strict=True):
            if shape.takes_names:
                return problems
        return None

    def plain(self, value: Any) -> Any:
        """The value, as the shape that fits has it."""
        fitting = next((shape for shape in self.shapes if shape.fits(value)), None)
        return AnyValue().plain(value) if fitting is None else fitting.plain(value)

    def of_text(self, text: str) -> Any:
        """What the first shape makes of ``text`` that then fits it."""
        for shape in self.shapes:
            if shape.fits(value := shape.of_text(text)):
                return value
        return text

    def _schema(self, defs: Defs) -> dict[str, Any]:
        return {"anyOf": [shape.schema(defs) for shape in self.shapes]}
