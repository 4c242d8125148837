"""Shapes around a shape: nothing in its place, or a judge who knows more."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from table_core.errors import TableError
from table_core.shapes.problem import Problem, value_of
from table_core.shapes.shape import Shape, unexpected

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from table_core.shapes.shape import Defs

__all__ = ["Instance", "Judged", "OrNothing"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Instance(Shape):
    """What is of a type."""

    of: type | tuple[type, ...]

    def problems(self, value: Any) -> Iterator[Problem]:
        """Of one that is of another."""
        if not isinstance(value_of(value), self.of):
            yield unexpected(value, self.what)


@dataclass(frozen=True, slots=True, kw_only=True)
class OrNothing(Shape):
    """What ``inner`` takes, or None."""

    inner: Shape

    @property
    def in_words(self) -> str:
        """Those of the inner shape: nothing is what is left out."""
        return self.inner.in_words

    def problems(self, value: Any) -> Iterator[Problem]:
        """None of None."""
        if value is not None:
            yield from self.inner.problems(value)

    def plain(self, value: Any) -> Any:
        """None, or the inner value."""
        return None if value is None else self.inner.plain(value)

    def of_text(self, text: str) -> Any:
        """The inner value."""
        return self.inner.of_text(text)

    def _schema(self, defs: Defs) -> dict[str, Any]:
        return {"anyOf": [self.inner.schema(defs), {"type": "null"}]}


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged(Shape):
    """What ``inner`` takes and ``judge`` does not refuse."""

    inner: Shape
    judge: Callable[[Any], object]
    """Raises ``TableError``; it is asked only for what ``inner`` takes."""

    @property
    def in_words(self) -> str:
        """Those of the inner shape."""
        return self.what or self.inner.in_words

    def problems(self, value: Any) -> Iterator[Problem]:
        """Those of the inner shape; if there are none, what the judge says."""
        wrong = list(self.inner.problems(value))
        yield from wrong
        if not wrong:
            try:
                self.judge(self.inner.plain(value))
            except TableError as error:
                yield Problem(message=str(error))

    def plain(self, value: Any) -> Any:
        """The inner value."""
        return self.inner.plain(value)

    def of_text(self, text: str) -> Any:
        """The inner value."""
        return self.inner.of_text(text)

    def _schema(self, defs: Defs) -> dict[str, Any]:
        return self.inner.schema(defs)
