"""What a case of Apache Paimon's public suites says, in our words, and how it is played on our handle.

A case is a shape of a table and steps, each a verb with its arguments or what must be there then::

    case(
        "of two rows with one key, the later one stays",
        shape("k INT, v STRING", key="k"),
        put((1, "a")),
        put((1, "b")),
        rows((1, "b")),
    )

The steps are in ``steps``.  A row is a tuple of its values, with its kind before them if it is no ``+I``:
``("-D", 1, "b")``.  A case that this release refuses says so by the name that the refusal has: ``missing="blob"``.  Every
handle is opened anew, so that nothing is remembered between two steps.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol

from table_core.datatypes.kinds import Field
from table_core.datatypes.text import parse_type
from table_core.errors import TableError
from tests.tables import new_catalog

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    import table_core as tc

__all__ = [
    "NAME",
    "START_MS",
    "Case",
    "Play",
    "Row",
    "Shape",
    "Step",
    "area",
    "case",
    "holds",
    "must_refuse",
    "names_in",
    "play",
    "shape",
    "unmade",
]

NAME = "d.t"
START_MS = 1_700_000_000_000
"""2023-11-14 22:13:20 UTC: when a case begins."""
Row = tuple[Any, ...]


class Hand:
    """A clock that stands still until a step moves it."""

    def __init__(self) -> None:
        self.ms = START_MS

    def now_ms(self) -> int:
        self.ms += 1
        return self.ms

    def local_offset_ms(self, at_ms: int) -> int:
        return 0

    def sleep_ms(self, duration_ms: int) -> None:
        self.ms += duration_ms


@dataclass(frozen=True, slots=True)
class Shape:
    """A table to be: columns as DDL has them, keys, partition columns and options."""

    columns: str
    key: str = ""
    partition: str = ""
    options: Mapping[str, str] = field(default_factory=dict)

    def with_options(self, options: Mapping[str, str]) -> Shape:
        """This with more options."""
        return replace(self, options={**self.options, **options})

    @property
    def fields(self) -> tuple[Field, ...]:
        """The columns, numbered as they stand."""
        parts = (part.strip().partition(" ") for part in _parts(self.columns))
        return tuple(
            Field(number, name, parse_type(type_)) for number, (name, _, type_) in enumerate(parts)
        )


class Play:
    """One case as it is played: its warehouse, its table, its clock."""

    def __init__(self, shape: Shape | None, warehouse: str | None = None) -> None:
        self.shape = shape
        self.clock = Hand()
        self.catalog = replace(new_catalog(warehouse), clock=self.clock)
        self.result: Any = None
        self.kept: dict[str, Any] = {}
        """Writers and handles that are still open, by name."""

    def create(self) -> None:
        """Make the table."""
        if self.shape is not None:
            self.catalog.create_table(
                NAME,
                self.shape.fields,
                primary_key=names_in(self.shape.key),
                partition_by=names_in(self.shape.partition),
                options=dict(self.shape.options),
            )

    def table(
        self, options: Mapping[str, str] | None = None, branch: str | None = None
    ) -> tc.Table:
        """A fresh handle."""
        return self.catalog.table(NAME, branch=branch, options=options)


class Step(Protocol):
    """One thing that is done, or that must hold."""

    def run(self, play: Play) -> None:
        """Do it, or raise."""


@dataclass(frozen=True, slots=True)
class Unmade:
    """A table that is not created: the error says these words."""

    words: str

    def run(self, play: Play) -> None:
        must_refuse(Play.create, play, self.words)


@dataclass(frozen=True, slots=True)
class Case:
    """One promise of the public suites."""

    promise: str
    shape: Shape | None
    steps: tuple[Step, ...]
    missing: str = ""
    """What this release refuses; the refusal names it."""
    area: str = ""

    @property
    def is_refused(self) -> bool:
        """Whether its table cannot be created."""
        return bool(self.steps) and isinstance(self.steps[0], Unmade)


def case(
    promise: str,
    table: Shape | None,
    *steps: Step,
    options: Mapping[str, str] | None = None,
    missing: str = "",
) -> Case:
    """One case; ``options`` come to those of ``table``."""
    if table is not None and options:
        table = table.with_options(options)
    return Case(promise, table, steps, missing)


def area(name: str, *cases: Case | Iterable[Case]) -> tuple[Case, ...]:
    """The cases of one area, single ones and tables of them."""
    flat: list[Case] = []
    for one in cases:
        flat.extend([one] if isinstance(one, Case) else one)
    return tuple(replace(one, area=name) for one in flat)


def shape(columns: str, key: str = "", partition: str = "", **options: str) -> Shape:
    """A shape; ``merge__engine`` is no name, so options with dots come by ``with_options``."""
    return Shape(columns, key, partition, {k.replace("_", "-"): v for k, v in options.items()})


def play(one: Case, warehouse: str | None = None) -> Play:
    """Play a case, in memory unless ``warehouse`` says where; whatever does not hold raises."""
    state = Play(one.shape, warehouse)
    if not one.is_refused:
        state.create()
    for step in one.steps:
        step.run(state)
    return state


def holds(one: Case) -> bool:
    """Whether a case holds; False if it is refused by the name that it says is missing.

    Raises:
        AssertionError: it is neither: something else is there, or what was missing is there now.
    """
    try:
        play(one)
    except TableError as error:
        if not one.missing:
            raise
        text = f"{error} {error.facts}"
        assert one.missing.lower() in text.lower(), f"{text!r} does not name {one.missing!r}"
        return False
    assert not one.missing, f"{one.missing} is missing no more: take the mark away"
    return True


def unmade(words: str) -> Unmade:
    """The table of the case is refused."""
    return Unmade(words)


def must_refuse(act: Callable[[Play], object], state: Play, words: str) -> None:
    """Assert that ``act`` raises an error of ours that says these words."""
    try:
        act(state)
    except TableError as error:
        text = f"{error} {error.facts}"
        assert words.lower() in text.lower(), f"the refusal says {text!r}, not {words!r}"
        return
    raise AssertionError(f"not refused; expected {words!r}")


def _parts(text: str) -> Iterator[str]:
    """What commas part, those inside of ``<>`` and ``()`` aside."""
    depth, part = 0, ""
    for sign in text:
        depth += (sign in "<(") - (sign in ">)")
        if sign == "," and depth == 0:
            yield part
            part = ""
        else:
            part += sign
    yield part


def names_in(text: str) -> list[str]:
    """Names that commas part."""
    return [name.strip() for name in text.split(",") if name.strip()]
