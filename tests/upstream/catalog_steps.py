"""Steps on the catalog of a case: its databases, its tables, and tables beside the one of the case."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from tests.tables import write_rows
from tests.upstream.play import Play, Shape, names_in

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.upstream.play import Row

__all__ = ["calls", "creates", "lists", "opened", "reads", "writes"]


@dataclass(frozen=True, slots=True)
class Calls:
    """A verb of the catalog."""

    verb: str
    args: tuple[Any, ...]
    how: Mapping[str, Any]

    def run(self, play: Play) -> None:
        play.result = getattr(play.catalog, self.verb)(*self.args, **self.how)


@dataclass(frozen=True, slots=True)
class Creates:
    """One more table."""

    name: str
    shape: Shape
    how: Mapping[str, Any]

    def run(self, play: Play) -> None:
        play.catalog.create_table(
            self.name,
            self.shape.fields,
            primary_key=names_in(self.shape.key),
            partition_by=names_in(self.shape.partition),
            options=dict(self.shape.options),
            **self.how,
        )


@dataclass(frozen=True, slots=True)
class Lists:
    """What a verb of the catalog gives, in its order."""

    verb: str
    args: tuple[Any, ...]
    expected: tuple[Any, ...]

    def run(self, play: Play) -> None:
        value = tuple(getattr(play.catalog, self.verb)(*self.args))
        assert value == self.expected, f"{self.verb}: {value}, not {self.expected}"


@dataclass(frozen=True, slots=True)
class Opened:
    """A member of the handle of a table."""

    name: str
    path: str
    expected: Any

    def run(self, play: Play) -> None:
        value: Any = play.catalog.table(self.name)
        for part in self.path.split("."):
            value = value[part] if isinstance(value, Mapping) else getattr(value, part)
        assert value == self.expected, f"{self.name}.{self.path}: {value!r}, not {self.expected!r}"


@dataclass(frozen=True, slots=True)
class Writes:
    """Rows for a table by its name, each column by its name."""

    name: str
    columns: Mapping[str, Sequence[Any]]

    def run(self, play: Play) -> None:
        write_rows(play.catalog.table(self.name), pa.table(dict(self.columns)))


@dataclass(frozen=True, slots=True)
class Reads:
    """The rows of a table by its name, in any order."""

    name: str
    expected: tuple[Row, ...]
    columns: tuple[str, ...]

    def run(self, play: Play) -> None:
        scan = play.catalog.table(self.name).read(columns=list(self.columns) or None)
        seen = sorted(repr(tuple(row.values())) for row in scan.to_arrow().to_pylist())
        wanted = sorted(map(repr, self.expected))
        assert seen == wanted, f"{self.name}: {seen}, not {wanted}"


def calls(verb: str, *args: Any, **how: Any) -> Calls:
    """Call a verb of the catalog."""
    return Calls(verb, args, how)


def creates(name: str, shape: Shape, **how: Any) -> Creates:
    """Create one more table."""
    return Creates(name, shape, how)


def lists(verb: str, *args: Any, expected: Sequence[Any]) -> Lists:
    """A verb of the catalog gives this."""
    return Lists(verb, args, tuple(expected))


def opened(name: str, path: str, expected: Any) -> Opened:
    """The table ``name`` has this member."""
    return Opened(name, path, expected)


def writes(name: str, **columns: Sequence[Any]) -> Writes:
    """Write columns to a table by its name."""
    return Writes(name, columns)


def reads(name: str, *expected: Row, columns: str = "") -> Reads:
    """A table by its name has these rows."""
    return Reads(name, expected, tuple(names_in(columns)))
