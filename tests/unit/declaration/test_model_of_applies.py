"""A warehouse that is declared, changed by hands and by syncs, and applied again and again.

Whatever came before: an apply that ends leaves what is declared, done twice it is done once, killed
after any write it is done by the next one, and no stored value ever means something else.
"""

from __future__ import annotations

import itertools
import random
from contextlib import suppress
from dataclasses import dataclass, field, replace
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pyarrow as pa
import pytest

from table_core.datatypes.text import parse_type, type_text
from table_core.datatypes.widths import Width, width
from table_core.declaration import applying
from table_core.declaration.compare import Action
from table_core.declaration.document import parse
from table_core.declaration.model import Declaration
from table_core.errors import SchemaError, TableError
from table_core.schema import change
from table_core.table.api.catalog import Catalog
from table_core.table.api.opening import open_catalog
from tests.tables import write_rows

_NUMBERS = itertools.count()
TYPES: dict[str, Any] = {
    "INT": 2**31 - 1,
    "BIGINT": -(2**53) - 1,
    "DECIMAL(4, 1)": Decimal("999.9"),
    "DECIMAL(22, 2)": Decimal("99999999999999999999.99"),
    "STRING": "some text that is long",
    "VARCHAR(4)": "text",
    "DOUBLE": 0.1,
    "BOOLEAN": True,
    "ARRAY<INT>": [1, None],
    "ARRAY<BIGINT>": [2**40],
    "ROW<`m` INT>": {"m": 5},
    "ROW<`m` BIGINT, `n` DATE>": {"m": 2**50, "n": None},
}
NAMES = ("a", "b", "c", "d")


class Killed(BaseException):
    """The process ends here."""


@dataclass
class Dying:
    """A store whose user dies right after so many creations."""

    inner: Any
    left: list[int] = field(default_factory=lambda: [10**9])

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def within(self, path: str) -> Dying:
        return Dying(self.inner.within(path), self.left)

    def create(self, *given: Any) -> Any:
        done = self.inner.create(*given)
        self.left[0] -= 1
        if self.left[0] == 0:
            raise Killed
        return done


@dataclass
class World:
    chance: random.Random
    catalog: Catalog
    store: Dying
    columns: dict[str, str] = field(default_factory=lambda: {"k": "INT NOT NULL"})
    options: dict[str, str] = field(default_factory=dict)
    comment: str | None = None
    key: bool = False

    @property
    def declaration(self) -> Declaration:
        columns = ", ".join(f'{name}: "{kind}"' for name, kind in self.columns.items())
        lines = [f"columns: {{{columns}}}"]
        options = {**self.options, **({"bucket": "1"} if self.key else {})}
        lines += ["primary_key: [k]"] if self.key else []
        lines += [f"options: {{{', '.join(f'{k}: {v}' for k, v in options.items())}}}"]
        lines += [] if self.comment is None else [f"comment: {self.comment}"]
        body = "".join(f"    {line}\n" for line in lines)
        source = "sources: {s: {table: a.t, sync: {kind: files, uri: x}}}\n"
        return parse(f"version: 1\nname: n\ntables:\n  a.t:\n{body}{source}")

    def edit(self) -> None:
        """Somebody changes the file."""
        name = self.chance.choice(NAMES)
        choice = self.chance.randrange(6)
        if choice < 3:
            suffix = " NOT NULL" if name in self.columns and self.chance.random() < 0.2 else ""
            self.columns[name] = self.chance.choice(list(TYPES)) + suffix
        elif choice == 3:
            self.columns.pop(name, None)
        elif choice == 4:
            self.options["target-file-size"] = self.chance.choice(("1 gb", "1024 mb", "2gb"))
        else:
            self.comment = self.chance.choice((None, "2026", "yes", "x"))

    def alter(self, made: Any) -> None:
        with suppress(TableError):  # a hand that tries what the table refuses
            self.catalog.alter_table("a.t", [made])

    def by_hand(self) -> None:
        """Somebody, or a sync, changes the table: never so that a value is lost."""
        if not self.there:
            return
        name = self.chance.choice(NAMES)
        found = self.catalog.table("a.t").definition.by_name.get(name)
        kind = parse_type(self.chance.choice(list(TYPES)))
        if found is None:
            self.alter(change.AddColumn(name, kind))
        elif width(found.type, kind) is Width.NARROWER:
            self.alter(change.UpdateColumnType(name, kind))
        else:
            self.alter(change.UpdateColumnNullability(name, nullable=True))
        if self.chance.random() < 0.2:
            self.alter(change.SetOption("write-only", "true"))

    def write(self) -> None:
        if not self.there:
            return
        table = self.catalog.table("a.t")
        row: dict[str, Any] = {"k": self.chance.randrange(5)}
        for one in table.definition.fields:
            text = type_text(one.type).removesuffix(" NOT NULL")
            if one.name != "k":
                row[one.name] = TYPES.get(text)
        if any(row[f.name] is None and not f.type.nullable for f in table.definition.fields):
            return
        write_rows(table, pa.Table.from_pylist([row], schema=table.arrow_schema))

    @property
    def there(self) -> bool:
        return "a" in self.catalog.databases() and "t" in self.catalog.tables("a")

    def rows(self) -> list[dict[str, Any]]:
        if not self.there:
            return []
        found: list[dict[str, Any]] = self.catalog.table("a.t").read().to_arrow().to_pylist()
        return sorted(found, key=lambda row: (row["k"], str(row)))

    def apply(self) -> bool:
        """Apply what is declared, now and then with a death on the way; whether it could be."""
        declaration = self.declaration
        before, had = self.rows(), set(self.columns_there)
        self.store.left[0] = self.chance.choice((1, 2, 3, 10**9))
        with suppress(Killed, SchemaError):
            applying.apply(applying.plan(declaration, self.catalog), self.catalog)
        self.store.left[0] = 10**9
        (plan,) = applying.plan(declaration, self.catalog)
        try:
            applying.apply([plan], self.catalog)
        except SchemaError:
            assert plan.refused
        kept = [{name: row[name] for name in had} for row in self.rows()]
        assert [known(one) for one in kept] == [known(one) for one in before]
        if plan.refused:
            return False
        (again,) = applying.plan(declaration, self.catalog)
        assert (again.action, again.told) == (Action.NONE, ())
        self.holds(declaration)
        return True

    @property
    def columns_there(self) -> list[str]:
        return self.catalog.table("a.t").arrow_schema.names if self.there else []

    def holds(self, declaration: Declaration) -> None:
        """The warehouse is as planned: what is declared is there, or something that holds more."""
        definition = self.catalog.table("a.t").definition
        for name, text in declaration.tables["a.t"].columns.items():
            wants, has = parse_type(text), definition.by_name[name].type
            if "<" not in text:
                assert width(has, wants) in {Width.SAME, Width.WIDER}, (has, wants)
        for key, value in self.options.items():
            sizes = {"1 gb": 2**30, "1024 mb": 2**30, "2gb": 2**31}
            assert definition.raw_options[key] in {v for v, n in sizes.items() if n == sizes[value]}
        if self.comment is not None:
            assert definition.comment == self.comment


def known(row: dict[str, Any]) -> str:
    """A row without the members that an apply has added to its ROWs."""

    def plain(value: Any) -> Any:
        if isinstance(value, dict):
            return {k: plain(v) for k, v in sorted(value.items()) if v is not None}
        if isinstance(value, list):
            return [plain(v) for v in value]
        if isinstance(value, int | float | Decimal) and not isinstance(value, bool):
            return Fraction(value)
        return value

    return str({name: plain(value) for name, value in sorted(row.items())})


@pytest.mark.parametrize("seed", range(60))
def test_whatever_happened_an_apply_leaves_what_is_declared_and_no_value_changes(seed: int) -> None:
    chance = random.Random(seed)
    catalog = open_catalog(f"memory://{next(_NUMBERS)}-model")
    store = Dying(catalog.storage)
    world = World(chance, replace(catalog, storage=store), store, key=chance.random() < 0.5)
    for _ in range(12):
        chance.choice((world.edit, world.edit, world.by_hand, world.write))()
        if chance.random() < 0.6:
            saved = (dict(world.columns), dict(world.options), world.comment)
            if not world.apply() and chance.random() < 0.7:
                world.columns, world.options, world.comment = saved
                undo = world.catalog.table("a.t").definition.by_name if world.there else {}
                for name in NAMES:  # somebody takes back what was refused
                    if name in world.columns and name in undo:
                        world.columns[name] = type_text(undo[name].type)
                    elif name in world.columns and "NOT NULL" in world.columns[name]:
                        del world.columns[name]
