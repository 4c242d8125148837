"""A value that only the run knows: text with a Jinja template in it, in place of a value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from table_core.shapes.shape import Number, Shape, Text, unexpected

if TYPE_CHECKING:
    from collections.abc import Iterator

    from table_core.shapes.problem import Problem
    from table_core.shapes.shape import Defs

__all__ = ["TEMPLATE", "Templated", "is_template"]

TEMPLATE: Final = r"(.|\n)*\{[{%](.|\n)*"
"""The pattern of a text with a template in it."""
_MARKS: Final = ("{{", "{%")


def is_template(value: object) -> bool:
    """Whether ``value`` is text with a template in it."""
    return isinstance(value, str) and any(mark in value for mark in _MARKS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Templated(Shape):
    """What ``inner`` takes, a template, or the text that one has rendered to."""

    inner: Shape
    or_nothing: bool = False
    """None is taken too, and what an empty template renders to."""

    @property
    def in_words(self) -> str:
        """Those of the inner shape: nearly every argument may be a template."""
        return self.inner.in_words

    def problems(self, value: Any) -> Iterator[Problem]:
        """None of a template; else those of what it stands for."""
        if is_template(value) or self._is_nothing(value):
            return
        for problem in self.inner.problems(self._read(value)):
            if problem.path or not problem.expected or isinstance(self.inner, Text):
                yield problem
            else:
                yield unexpected(value, f"{self.inner.in_words} or a template")

    def plain(self, value: Any) -> Any:
        """A template as it is; else the inner value."""
        if self._is_nothing(value):
            return None
        return value if is_template(value) else self.inner.plain(self._read(value))

    def of_text(self, text: str) -> Any:
        """A template as it is; else the inner value."""
        return text if is_template(text) else self.inner.of_text(text)

    def _is_nothing(self, value: Any) -> bool:
        return self.or_nothing and (value is None or value in ("", "None"))

    def _read(self, value: Any) -> Any:
        if not isinstance(value, str) or isinstance(self.inner, Text):
            return value
        return self.inner.of_text(value)

    def _schema(self, defs: Defs) -> dict[str, Any]:
        if isinstance(self.inner, Text):
            return _text_schema(self.inner, defs)
        rendered = "" if not isinstance(self.inner, Number) else f"{self.inner.digits}|"
        text = {"type": "string", "pattern": f"^(?:{rendered}{TEMPLATE})$"}
        return {"anyOf": [self.inner.schema(defs), text]}


def _text_schema(inner: Text, defs: Defs) -> dict[str, Any]:
    schema = inner.schema(defs)
    if inner.one_of:
        return {"anyOf": [schema, {"type": "string", "pattern": f"^(?:{TEMPLATE})$"}]}
    if inner.pattern:
        return {**schema, "pattern": f"^(?:{inner.pattern}|{TEMPLATE})$"}
    return schema
