"""An apply takes nothing away unasked: no stored value changes, and done twice it is done once."""

from __future__ import annotations

import decimal
import itertools
import subprocess
import sys
from datetime import date, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from table_core.datatypes.kinds import Field
from table_core.datatypes.text import parse_type, type_text
from table_core.declaration import applying
from table_core.declaration.compare import Action, TablePlan
from table_core.declaration.document import parse
from table_core.declaration.model import Declaration
from table_core.errors import CommitConflictError, GaveUpError, SchemaError, TableError
from table_core.schema import change
from table_core.table.api.catalog import Catalog
from table_core.table.api.opening import open_catalog
from tests.tables import write_rows

HEAD = "version: 1\nname: shop\ntables:\n"


@pytest.fixture
def catalog() -> Catalog:
    return open_catalog(f"memory://{next(_NUMBERS)}-applies")


_NUMBERS = itertools.count()


def declared(columns: str, more: str = "", **top: Any) -> Declaration:
    text = f"{HEAD}  a.t:\n    columns: {columns}\n" + "".join(
        f"    {line}\n" for line in more.splitlines()
    )
    return parse(text + "".join(f"{k}: {v}\n" for k, v in top.items()))


def planned(catalog: Catalog, declaration: Declaration, *allow: str) -> TablePlan:
    return applying.plan(declaration, catalog, allow=allow)[0]


def applied(catalog: Catalog, declaration: Declaration, *allow: str) -> TablePlan:
    plan = planned(catalog, declaration, *allow)
    applying.apply([plan], catalog)
    again = planned(catalog, declaration, *allow)
    assert again.action is Action.NONE, again.told
    return plan


def made(catalog: Catalog, columns: dict[str, str], **more: Any) -> None:
    catalog.create_database("a", if_not_exists=True)
    fields = [Field(0, name, parse_type(kind)) for name, kind in columns.items()]
    catalog.create_table("a.t", fields, **more)


def filled(catalog: Catalog, *rows: dict[str, Any]) -> None:
    table = catalog.table("a.t")
    write_rows(table, pa.Table.from_pylist(list(rows), schema=table.arrow_schema))


def rows(catalog: Catalog) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = catalog.table("a.t").read().to_arrow().to_pylist()
    return found


def type_of(catalog: Catalog, column: str) -> str:
    return type_text(catalog.table("a.t").definition.field(column).type)


VALUES: dict[str, list[Any]] = {
    "TINYINT": [-128, 127],
    "SMALLINT": [-(2**15), 2**15 - 1],
    "INT": [-(2**31), 2**31 - 1],
    "BIGINT": [-(2**63), 2**63 - 1, 2**53 + 1],
    "FLOAT": [0.10000000149011612, 16777216.0],
    "DOUBLE": [0.1, 1e300],
    "DECIMAL(4, 1)": [decimal.Decimal("999.9")],
    "DECIMAL(12, 2)": [decimal.Decimal("9999999999.99")],
    "DECIMAL(14, 1)": [decimal.Decimal("9999999999999.9")],
    "DECIMAL(10, 0)": [decimal.Decimal(9999999999)],
    "DECIMAL(38, 4)": [decimal.Decimal("0.0001")],
    "STRING": ["a" * 30, "5", ""],
    "VARCHAR(5)": ["abcde", "a"],
    "CHAR(3)": ["abc"],
    "CHAR(7)": ["abcdefg"],
    "BYTES": [b"\x00" * 20],
    "VARBINARY(4)": [b"abcd"],
    "BINARY(2)": [b"ab"],
    "BOOLEAN": [True, False],
    "DATE": [date(2026, 2, 28)],
    "TIMESTAMP(3)": [datetime(2026, 2, 28, 1, 2, 3, 4000)],
    "TIMESTAMP(6)": [datetime(2026, 2, 28, 1, 2, 3, 456789)],
}


def filled_with(there: str, *, key: bool) -> Catalog:
    catalog = open_catalog(f"memory://{next(_NUMBERS)}-values")
    bucket = {"options": {"bucket": "1"}, "primary_key": ("k",)} if key else {}
    made(catalog, {"k": "INT NOT NULL", "v": there}, **bucket)
    filled(catalog, *({"k": n, "v": value} for n, value in enumerate(VALUES[there])))
    return catalog


@pytest.mark.parametrize("there", VALUES)
@pytest.mark.parametrize("key", [False, True])
def test_no_stored_value_changes_by_an_apply(there: str, key: bool) -> None:
    more = "primary_key: [k]\noptions: {bucket: 1}" if key else ""
    catalog = filled_with(there, key=key)
    before = rows(catalog)
    for wanted in VALUES:
        declaration = declared(f'{{k: INT NOT NULL, v: "{wanted}"}}', more)
        plan = planned(catalog, declaration)
        if plan.action is Action.REFUSED:
            with pytest.raises(SchemaError):
                applying.apply([plan], catalog)
        elif plan.action is Action.ALTER:
            other = filled_with(there, key=key)
            applied(other, declaration)
            assert rows(other) == before, wanted
            assert type_of(other, "v") == wanted
        assert type_of(catalog, "v") == there
    assert rows(catalog) == before


@pytest.mark.parametrize(
    ("there", "wanted"),
    [
        ("BIGINT", "INT"),
        ("DECIMAL(12, 2)", "DECIMAL(4, 1)"),
        ("STRING", "INT"),
        ("STRING", "VARCHAR(10)"),
        ("DOUBLE", "BIGINT"),
        ("TIMESTAMP(3)", "DATE"),
        ("TIMESTAMP(6)", "TIMESTAMP(3)"),
        ("DECIMAL(14, 2)", "INT"),
    ],
)
def test_what_is_wider_than_declared_stays_until_a_word_narrows_it(
    catalog: Catalog, there: str, wanted: str
) -> None:
    made(catalog, {"v": there})
    declaration = declared(f'{{v: "{wanted}"}}')
    plan = applied(catalog, declaration)
    assert (plan.action, plan.refused) == (Action.NONE, ())
    assert plan.kept == (f"v: {there}, wider than {wanted} as declared",)
    assert plan.drift, "nobody but a hand can have done it"
    source = "{s: {table: a.t, sync: {kind: files, uri: x}}}"
    assert planned(catalog, declared(f'{{v: "{wanted}"}}', sources=source)).drift == ()
    assert type_of(catalog, "v") == there
    applied(catalog, declaration, "narrow")
    assert type_of(catalog, "v") == wanted


@pytest.mark.parametrize(
    ("there", "wanted", "hint"),
    [
        ("DECIMAL(12, 2)", "DECIMAL(14, 1)", "declare DECIMAL(15, 2), which holds both"),
        ("BIGINT", "DECIMAL(12, 2)", "declare DECIMAL(21, 2), which holds both"),
        ("INT", "STRING", "needs allow: [narrow]"),
        ("CHAR(3)", "CHAR(7)", "needs allow: [narrow]"),
        ("BIGINT", "DOUBLE", "needs allow: [narrow]"),
    ],
)
def test_what_would_give_values_another_meaning_needs_a_word(
    catalog: Catalog, there: str, wanted: str, hint: str
) -> None:
    made(catalog, {"v": there})
    plan = planned(catalog, declared(f'{{v: "{wanted}"}}'))
    assert plan.action is Action.REFUSED
    assert hint in plan.refused[0]
    with pytest.raises(SchemaError, match="narrow"):
        applying.apply([plan], catalog)
    applied(catalog, declared(f'{{v: "{wanted}"}}', "allow: [narrow]"))
    assert type_of(catalog, "v") == wanted


def test_a_column_that_a_sync_made_nullable_stays_so(catalog: Catalog) -> None:
    made(catalog, {"k": "INT NOT NULL", "v": "INT"})
    filled(catalog, {"k": 1, "v": None})
    source = "{s: {table: a.t, sync: {kind: files, uri: x}}}"
    plan = applied(catalog, declared("{k: INT NOT NULL, v: INT NOT NULL}", sources=source))
    assert (plan.action, plan.kept) == (
        Action.NONE,
        ("v: NULL is allowed, declared NOT NULL",),
    )
    assert plan.drift == ()
    loose = applied(catalog, declared("{k: INT, v: INT}"))
    assert loose.told == ("~ k: INT NOT NULL -> NULL allowed",)


def test_members_of_rows_lists_and_maps_are_added_and_widened(catalog: Catalog) -> None:
    old = "ROW<`x` INT, `l` ARRAY<INT>, `m` MAP<STRING, ROW<`y` INT>>>"
    new = "ROW<`x` BIGINT, `l` ARRAY<BIGINT>, `m` MAP<STRING, ROW<`y` INT, `z` DATE>>>"
    made(catalog, {"r": old})
    value = {"x": 1, "l": [2, 3], "m": [("k", {"y": 4})]}
    filled(catalog, {"r": value})
    plan = applied(catalog, declared(f'{{r: "{new}"}}'))
    assert plan.told == (
        "~ r.x: INT -> BIGINT",
        "~ r.l.element: INT -> BIGINT",
        "+ r.m.value.z DATE",
    )
    assert type_of(catalog, "r") == new
    assert rows(catalog) == [{"r": {**value, "m": [("k", {"y": 4, "z": None})]}}]
    assert applied(catalog, declared(f'{{r: "{old}"}}')).kept == (
        "r.x: BIGINT, wider than INT as declared",
        "r.l.element: BIGINT, wider than INT as declared",
        "column r.m.value.z",
    )


@pytest.mark.parametrize("around", ["{}", "ARRAY<{}>", "ROW<`m` {}>", "MAP<INT, {}>"])
def test_keys_of_maps_keep_their_type(catalog: Catalog, around: str) -> None:
    made(catalog, {"m": around.format("MAP<INT, INT>")})
    for keys in ("BIGINT", "TINYINT", "STRING"):
        plan = planned(catalog, declared(f"{{m: '{around.format(f'MAP<{keys}, INT>')}'}}"))
        assert "keys of a map keep their type" in plan.refused[0]
    assert planned(catalog, declared(f"{{m: '{around.format('MAP<INT, INT>')}'}}")).told == ()


def test_a_wider_column_that_is_hashed_is_refused(catalog: Catalog) -> None:
    made(catalog, {"k": "INT", "v": "INT"}, options={"bucket": "3", "bucket-key": "k"})
    more = "options: {bucket: 3, bucket-key: k}"
    plan = planned(catalog, declared("{k: BIGINT, v: BIGINT}", more))
    assert plan.told == ("~ v: INT -> BIGINT",)
    assert "bucket" in plan.refused[0]


def test_columns_are_added_where_they_are_declared(catalog: Catalog) -> None:
    more = "options: {bucket: 2}"
    made(catalog, {"a": "INT", "c": "INT"}, options={"bucket": "2"})
    filled(catalog, {"a": 1, "c": 3})
    plan = applied(catalog, declared("{z: INT, a: INT, b: INT, c: INT, d: INT, e: INT}", more))
    assert plan.refused == (), "the bucket-key that followed from the columns stays"
    assert catalog.table("a.t").arrow_schema.names == ["z", "a", "b", "c", "d", "e"]
    assert rows(catalog) == [{"z": None, "a": 1, "b": None, "c": 3, "d": None, "e": None}]
    kept = planned(catalog, declared("{e: INT, a: INT}", more)).kept
    assert "order of columns a, e" in kept
    applied(catalog, declared("{e: INT, a: INT}", more), "reorder")
    assert catalog.table("a.t").arrow_schema.names[:2] == ["e", "a"]


def test_options_are_compared_by_what_they_mean(catalog: Catalog) -> None:
    more = "primary_key: [k]\noptions: {bucket: 1, MERGE, snapshot.expire.limit: 7}"
    spelled = "target-file-size: 128 MB, write-buffer-spillable: TRUE, merge-engine: PARTIAL-UPDATE"
    first = declared("{k: INT, s: INT}", more.replace("MERGE", spelled))
    applied(catalog, first)
    other = (
        "target-file-size: 134217728, write-buffer-spillable: true, merge-engine: partial-update"
    )
    plan = applied(catalog, declared("{k: INT, s: INT}", more.replace("MERGE", other)))
    assert (plan.action, plan.kept) == (Action.NONE, ())


def test_aliases_settle(catalog: Catalog) -> None:
    from table_core.options.table import OPTIONS

    aliased = [(a, o) for o in OPTIONS.values() for a in o.aliases]
    alias, option = next((a, o) for a, o in aliased if type(o.default) in {int, bool})
    value = "true" if option.default in {True, False} else "1"
    for name in (alias, option.key):
        declaration = declared("{k: INT}", f"options: {{{name}: {value!r}}}")
        try:
            applied(catalog, declaration)
        except TableError as error:  # pragma: no cover - tells which alias the test chose
            pytest.fail(f"{name}: {error}")
    assert len(catalog.table("a.t").access.metadata.schema_ids()) == 1


def test_what_only_the_table_has_goes_with_a_word(catalog: Catalog) -> None:
    made(catalog, {"k": "INT", "x": "INT"}, options={"write-only": "true"}, comment="old")
    catalog.alter_table("a.t", [change.UpdateColumnComment("k", "key")])
    declaration = declared("{k: INT}")
    assert applied(catalog, declaration).kept == (
        "comment of k",
        "column x",
        "option write-only",
        "comment",
    )
    plan = applied(catalog, declaration, "drop", "unset")
    assert plan.told == ("- comment of k", "- column x", "- option write-only", "- comment")
    definition = catalog.table("a.t").definition
    assert (definition.raw_options, definition.comment) == ({}, None)
    assert [(f.name, f.description) for f in definition.fields] == [("k", None)]


def test_an_empty_table_may_still_become_another_kind(catalog: Catalog) -> None:
    more = "primary_key: [k]\noptions: {bucket: 1, merge-engine: ENGINE}"
    applied(catalog, declared("{k: INT, v: INT}", more.replace("ENGINE", "deduplicate")))
    other = declared("{k: INT, v: INT}", more.replace("ENGINE", "aggregation"))
    applied(catalog, other)
    filled(catalog, {"k": 1, "v": 1})
    back = planned(catalog, declared("{k: INT, v: INT}", more.replace("ENGINE", "first-row")))
    assert "fixed once the table has a snapshot" in back.refused[0]


def test_buckets_and_merging_of_rows_that_are_there_need_a_word(catalog: Catalog) -> None:
    more = "primary_key: [k]\noptions: {bucket: 1, merge-engine: aggregation, F}"
    old = more.replace("F", "fields.v.aggregate-function: sum")
    applied(catalog, declared("{k: INT, v: INT}", old))
    filled(catalog, {"k": 1, "v": 1})
    new = more.replace("F", "fields.v.aggregate-function: max").replace("bucket: 1", "bucket: 2")
    plan = planned(catalog, declared("{k: INT, v: INT}", new))
    assert [one.partition(": needs ")[2] for one in plan.refused] == [
        "allow: [rebucket]",
        "allow: [remerge]",
    ]
    applied(catalog, declared("{k: INT, v: INT}", new), "rebucket", "remerge")


def test_columns_and_tables_get_other_names_and_keep_their_rows(catalog: Catalog) -> None:
    made(catalog, {"k": "INT", "old": "INT"})
    filled(catalog, {"k": 1, "old": 2})
    text = (
        f"{HEAD}  b.u:\n    columns: {{k: INT, new: BIGINT}}\n    moved: [{{from: old, to: new}}]\n"
    )
    text += "moved: [{from: a.t, to: b.u}]\n"
    plan = applied(catalog, parse(text))
    assert plan.told == (
        "~ rename table a.t to b.u",
        "~ rename column old to new",
        "~ new: INT -> BIGINT",
    )
    assert catalog.table("b.u").read().to_arrow().to_pylist() == [{"k": 1, "new": 2}]
    assert catalog.tables("a") == []


def test_a_source_that_brings_the_old_name_again_stops_nothing(catalog: Catalog) -> None:
    made(catalog, {"k": "INT", "old": "INT"})
    text = "{k: INT, new: INT}"
    moved = "moved: [{from: old, to: new}]"
    assert applied(catalog, declared(text, moved)).told == ("~ rename column old to new",)
    catalog.alter_table("a.t", [change.AddColumn("old", "INT")])
    plan = applied(catalog, declared(text, moved))
    assert (plan.action, plan.kept) == (Action.NONE, ("column old",))


def test_elements_may_be_null_and_keys_of_maps_never_are(catalog: Catalog) -> None:
    made(catalog, {"l": "ARRAY<INT NOT NULL>", "m": "MAP<STRING NOT NULL, INT NOT NULL>"})
    filled(catalog, {"l": [1], "m": [("k", 1)]})
    before = rows(catalog)
    plan = applied(catalog, declared("{l: 'ARRAY<INT>', m: 'MAP<STRING, BIGINT>'}"))
    assert len(plan.told) == 3
    assert type_of(catalog, "l") == "ARRAY<INT>"
    assert type_of(catalog, "m") == "MAP<STRING NOT NULL, BIGINT>"
    assert rows(catalog) == before
    kept = planned(catalog, declared("{l: 'ARRAY<INT NOT NULL>', m: 'MAP<STRING NOT NULL, INT>'}"))
    assert kept.action is Action.NONE


def test_names_that_differ_in_case_alone_are_refused(catalog: Catalog) -> None:
    made(catalog, {"Qty": "INT"})
    assert "the table has 'Qty'" in planned(catalog, declared("{qty: INT}")).refused[0]
    (plan,) = applying.plan(parse(f"{HEAD}  a.T: {{columns: {{x: INT}}}}\n"), catalog)
    assert "the warehouse has 'a.t'" in plan.refused[0]
    with pytest.raises(SchemaError):
        applying.apply([plan], catalog)


def test_comments_defaults_and_types_with_parts_are_declared(catalog: Catalog) -> None:
    columns = "{k: {type: INT, comment: 2026, default: 07}, m: 'MAP<STRING, ARRAY<DATE>>', t: DATE}"
    applied(catalog, declared(columns, "comment: yes"))
    definition = catalog.table("a.t").definition
    assert definition.comment == "yes"
    assert (definition.fields[0].description, definition.fields[0].default) == ("2026", "07")
    changed = columns.replace("2026", "other").replace("07", "8")
    assert applied(catalog, declared(changed, "comment: no")).told == (
        "~ comment of k = 'other'",
        "~ default of k = '8'",
        "~ comment = 'no'",
    )


@pytest.mark.parametrize("comment", [2026, True, b"x", {"a": 1}, ["x"]])
def test_no_schema_is_written_that_could_not_be_read(catalog: Catalog, comment: Any) -> None:
    catalog.create_database("a")
    field = Field(0, "k", parse_type("INT"))
    with pytest.raises(SchemaError):
        catalog.create_table("a.t", [field], comment=comment)
    assert catalog.tables("a") == []
    for part in (
        Field(0, "k", parse_type("INT"), comment),
        Field(0, "k", field.type, None, comment),
    ):
        with pytest.raises(SchemaError):
            catalog.create_table("a.t", [part])
    catalog.create_table("a.t", [field])
    wrong = (
        change.UpdateComment(comment),
        change.UpdateColumnComment("k", comment),
        change.UpdateColumnDefault("k", comment),
        change.AddColumn("n", "INT", comment=comment),
        change.AddColumn("n", "INT", default=comment),
    )
    for one in wrong:
        with pytest.raises(SchemaError):
            catalog.alter_table("a.t", [one])
    assert catalog.table("a.t").definition.id == 0


class Racing:
    """A catalog in which somebody else acts just before each change of ours."""

    def __init__(self, catalog: Catalog, first: Any) -> None:
        self.catalog, self.first = catalog, first

    def __getattr__(self, name: str) -> Any:
        return getattr(self.catalog, name)

    def create_table(self, *given: Any, **more: Any) -> Any:
        first, self.first = self.first, lambda: None
        first()
        return self.catalog.create_table(*given, **more)

    def alter_table(self, *given: Any, **more: Any) -> Any:
        first, self.first = self.first, lambda: None
        first()
        return self.catalog.alter_table(*given, **more)


def test_of_two_applies_at_once_one_does_it_and_the_other_finds_it_done(catalog: Catalog) -> None:
    for declaration in (declared("{k: INT}"), declared("{k: BIGINT, x: DATE}", "comment: c")):
        plans = applying.plan(declaration, catalog)
        racing = Racing(catalog, lambda d=declaration: applied(catalog, d))
        assert applying.apply(plans, racing) == []
        assert planned(catalog, declaration).action is Action.NONE


def test_what_a_sync_widens_between_plan_and_apply_is_not_narrowed(catalog: Catalog) -> None:
    made(catalog, {"v": "INT"})
    declaration = declared("{v: BIGINT, x: DATE}")
    plans = applying.plan(declaration, catalog)

    def sync() -> None:
        catalog.alter_table("a.t", [change.UpdateColumnType("v", "DECIMAL(30, 2)")])

    (done,) = applying.apply(plans, Racing(catalog, sync))
    assert (type_of(catalog, "v"), done.told) == ("DECIMAL(30, 2)", ("+ x DATE",))


def test_a_table_that_becomes_impossible_meanwhile_is_a_conflict(catalog: Catalog) -> None:
    plans = applying.plan(declared("{v: INT}"), catalog)
    with pytest.raises(GaveUpError) as caught:
        applying.apply(plans, Racing(catalog, lambda: made(catalog, {"v": "BOOLEAN"})))
    assert caught.value.kind == "conflict"
    made_ = applying.plan(declared("{v: BOOLEAN, x: INT}"), catalog)

    def other() -> None:
        catalog.alter_table("a.t", [change.UpdateComment("mine")])

    with pytest.raises(CommitConflictError):
        applying.apply(made_, Racing(catalog, other), exactly=True)
    assert catalog.table("a.t").arrow_schema.names == ["v"]


def test_tables_that_only_the_warehouse_has_are_told(catalog: Catalog) -> None:
    made(catalog, {"v": "INT"})
    declaration = parse(f"{HEAD}  a.other: {{columns: {{x: INT}}}}\n")
    assert applying.only_there(declaration, catalog) == ["a.t"]


def test_of_two_processes_that_apply_at_once_each_ends_well(tmp_path: Path) -> None:
    """Each schema is made once, whoever makes it; nobody fails but for a conflict."""
    file = tmp_path / "shop.yaml"
    tables = "".join(f"  a.t{n}: {{columns: {{x: INT}}}}\n" for n in range(12))
    for text in (tables, tables.replace("x: INT", "w: DATE, x: BIGINT")):
        file.write_text(f"{HEAD}{text}warehouse: ./wh\n")
        command = [sys.executable, "-m", "table_core.cli.main", "apply", str(file), "--json"]
        both = [subprocess.Popen(command, stdout=-1, stderr=-1, text=True) for _ in range(2)]
        ended = [(*one.communicate(timeout=120), one.returncode) for one in both]
        assert all(code == 0 or '"conflict"' in told for _, told, code in ended), ended
        assert any(code == 0 for _, _, code in ended)
    warehouse = open_catalog(str(tmp_path / "wh"))
    for n in range(12):
        table = warehouse.table(f"a.t{n}")
        assert table.arrow_schema.names == ["w", "x"]
        assert table.access.metadata.schema_ids() == [0, 1]


def test_names_with_dots_are_added_changed_and_moved(catalog: Catalog) -> None:
    made(catalog, {"k": "INT", "v1.2": "INT"})
    columns = '{k: INT, "x.y": INT, "v1.2": BIGINT, r: "ROW<`a.b` INT>"}'
    applied(catalog, declared(columns))
    applied(catalog, declared(columns.replace("b` INT", "b` BIGINT, `c.d` INT")))
    fields = catalog.table("a.t").definition.fields
    assert [(field.name, type_text(field.type)) for field in fields] == [
        ("k", "INT"),
        ("x.y", "INT"),
        ("v1.2", "BIGINT"),
        ("r", "ROW<`a.b` BIGINT, `c.d` INT>"),
    ]
