"""Catalogs: databases, tables, their names, what a table is created with, and what cannot be created.

Facts from ``CatalogTestBase``, ``FileSystemCatalogTest``, ``IdentifierTest``, ``SchemaTest``, ``SchemaManagerTest`` and pypaimon's
``filesystem_catalog_test`` and ``identifier_test``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import table_core as tc
from tests.upstream.catalog_steps import calls, creates, lists, opened, reads, writes
from tests.upstream.play import NAME, area, case, shape, unmade
from tests.upstream.shapes import AP, KV
from tests.upstream.steps import columns, do, gives, put, refused, rows

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tests.upstream.play import Case, Shape

__all__ = ["CASES"]

N = None

DATABASES = (
    case("databases are listed by name", N, calls("create_database", "z"), calls("create_database", "a"), lists("databases", expected=("a", "d", "z"))),
    case("a database is created once", N, refused(calls("create_database", "d"), "'d'")),
    case("a database that may be there", N, calls("create_database", "d", if_not_exists=True), lists("databases", expected=("d",))),
    case("an empty database is dropped", N, calls("create_database", "e"), calls("drop_database", "e"), lists("databases", expected=("d",))),
    case("a database that is not there is not dropped", N, refused(calls("drop_database", "nope"), "nope")),
    case("a database with tables is not dropped", KV, refused(calls("drop_database", "d"), "t"), lists("tables", "d", expected=("t",))),
    case("a database is dropped with its tables, if told to", KV, put((1, "a")), calls("drop_database", "d", cascade=True), lists("databases", expected=())),
    case("a database that is made anew is empty", KV, put((1, "a")), calls("drop_database", "d", cascade=True), calls("create_database", "d"), lists("tables", "d", expected=())),
    case("sys is no name of a database", N, refused(calls("create_database", "sys"), "sys")),
    case("a database has no blank name", N, refused(calls("create_database", ""), "name")),
    case("a database's name has no slash", N, refused(calls("create_database", "a/b"), "a/b")),
    case("a database's name can have letters of any script", N, calls("create_database", "größe_数"), lists("databases", expected=("d", "größe_数"))),
    case("names of databases are told apart by case", N, calls("create_database", "D"), lists("databases", expected=("D", "d"))),
    case("tables of a database that is not there are an error", N, refused(calls("tables", "nope"), "nope")),
)  # fmt: skip

TABLES = (
    case("tables are listed by name", KV, creates("d.b", AP), creates("d.a", AP), lists("tables", "d", expected=("a", "b", "t"))),
    case("a table is created once", KV, refused(creates(NAME, AP), "'d.t'")),
    case("a table that may be there is left as it is", KV, put((1, "a")), creates(NAME, AP, if_not_exists=True), opened(NAME, "primary_key", ("k",)), rows((1, "a"))),
    case("a table needs its database", N, refused(creates("nope.t", AP), "nope")),
    case("a table needs a database in its name", N, refused(creates("t", AP), "t")),
    case("a table that is not there is an error", N, refused(calls("table", "d.nope"), "nope")),
    case("a table in a database that is not there is an error", N, refused(calls("table", "nope.t"), "nope")),
    case("a table is dropped", KV, put((1, "a")), calls("drop_table", NAME), lists("tables", "d", expected=()), refused(calls("table", NAME), "d.t")),
    case("a table that is not there is not dropped", N, refused(calls("drop_table", "d.nope"), "nope")),
    case("a table that may be gone is dropped", N, calls("drop_table", "d.nope", if_exists=True)),
    case("a table that is made anew is empty", KV, put((1, "a")), calls("drop_table", NAME), creates(NAME, KV), rows()),
    case("a table is renamed with its rows", KV, put((1, "a")), calls("rename_table", NAME, "d.u"), lists("tables", "d", expected=("u",)), reads("d.u", (1, "a"))),
    case("a renamed table goes on", KV, put((1, "a")), calls("rename_table", NAME, "d.u"), writes("d.u", k=[1, 2], v=["b", "c"]), reads("d.u", (1, "b"), (2, "c"))),
    case("a table is renamed into another database", KV, put((1, "a")), calls("create_database", "e"), calls("rename_table", NAME, "e.t"), lists("tables", "d", expected=()), reads("e.t", (1, "a"))),
    case("a table is not renamed to one that is there", KV, creates("d.u", AP), refused(calls("rename_table", NAME, "d.u"), "d.u"), lists("tables", "d", expected=("t", "u"))),
    case("a table that is not there is not renamed", N, refused(calls("rename_table", "d.nope", "d.u"), "nope")),
    case("a table is not renamed into a database that is not there", KV, refused(calls("rename_table", NAME, "nope.u"), "nope"), lists("tables", "d", expected=("t",))),
    case("the old name of a renamed table is free", KV, put((1, "a")), calls("rename_table", NAME, "d.u"), creates(NAME, AP), rows(), reads("d.u", (1, "a"))),
    case("tables are independent", KV, put((1, "a")), creates("d.u", KV), writes("d.u", k=[2], v=["b"]), rows((1, "a")), reads("d.u", (2, "b"))),
    case("a table that is not there is not altered", N, refused(calls("alter_table", "d.nope", [tc.AddColumn("x", "INT")]), "nope")),
    case("an alteration without a change changes nothing", KV, calls("alter_table", NAME, []), columns("k INT NOT NULL, v STRING")),
    case("a system table is read by its name", KV, put((1, "a")), reads("d.t$snapshots", (1,), columns="snapshot_id")),
    case("a system table that is not there is an error", KV, refused(calls("table", "d.t$nope"), "nope")),
    case("a system table of a table that is not there is an error", N, refused(calls("table", "d.nope$files"), "nope")),
    case("a system table is not written", KV, refused(writes("d.t$snapshots", snapshot_id=[1]), "snapshots")),
    case("a system table is not dropped", KV, refused(calls("drop_table", "d.t$snapshots"), "$")),
    case("a system table is not created", KV, refused(creates("d.t$files", AP), "$")),
    case("a branch is opened by its name", KV, put((1, "a")), do("tags.create", "x"), do("branches.create", "b", tag="x"), put((2, "z"), branch="b"), reads("d.t$branch_b", (1, "a"), (2, "z"))),
    case("a system table of a branch is read by its name", KV, put((1, "a")), do("tags.create", "x"), do("branches.create", "b", tag="x"), put((2, "z"), branch="b"), reads("d.t$branch_b$snapshots", (1,), (2,), columns="snapshot_id")),
    case("the tables' options are in sys", KV, reads("sys.all_table_options", ("d", "t", "bucket"), ("d", "t", "path"), columns="database_name, table_name, key")),
    case("sys is only read", N, refused(creates("sys.t", AP), "sys")),
)  # fmt: skip


def _names() -> Iterator[Case]:
    for promise, name in (
        ("letters of any script", "größe_数"),
        ("a blank inside", "my table"),
        ("an apostrophe", "it's"),
        ("a percent sign", "100%"),
        ("a number sign", "a#b"),
        ("a plus and an equals sign", "a+b=c"),
        ("a number alone", "2024"),
        ("a word of SQL", "select"),
        ("capitals", "Orders"),
        ("a dash", "a-b"),
        ("eighty letters", "n" * 80),
    ):
        yield case(f"a table's name can have {promise}", N, creates(f"d.{name}", KV), writes(f"d.{name}", k=[1], v=["a"]), lists("tables", "d", expected=(name,)), reads(f"d.{name}", (1, "a")), calls("drop_table", f"d.{name}"), lists("tables", "d", expected=()))  # fmt: skip
    for promise, name in (
        ("a slash", "a/b"),
        ("a backslash alone is none, but a slash is", "../t"),
        ("a blank name", ""),
        ("two dots", ".."),
        ("a blank before", " t"),
        ("a blank behind", "t "),
        ("a new line", "a\nb"),
        ("a dollar sign", "a$b"),
    ):
        yield case(f"a table's name cannot have {promise}", N, refused(creates(f"d.{name}", KV), "name"))  # fmt: skip


def _columns() -> Iterator[Case]:
    for promise, name in (
        ("letters of any script", "größe"),
        ("a blank", "my column"),
        ("a quote", "it's"),
        ("a double quote", 'a"b'),
        ("a back quote", "a`b"),
        ("a word of SQL", "order"),
        ("a percent sign", "a%b"),
        ("a number in front", "1st"),
        ("capitals", "ID"),
        ("a dash", "a-b"),
        ("a slash", "a/b"),
        ("an emoji", "\U0001f600"),
    ):
        table = shape("k INT, v STRING", key="k", bucket="1")
        renamed = calls("alter_table", NAME, [tc.RenameColumn("v", name)])
        quoted = "`" + name.replace("`", "``") + "`"
        yield case(f"a column's name can have {promise}", table, put((1, "a")), renamed, put((2, "b")), rows((1, "a"), (2, "b")), rows(("b",), columns=[name], where="k = 2"), rows((2, "b"), where=f"{quoted} = 'b'"), do("compact"), rows((1, "a"), (2, "b")))  # fmt: skip
    for promise, name in (
        ("that of a key in files", "_KEY_v"),
        ("that of the sequence in files", "_SEQUENCE_NUMBER"),
        ("that of the kind in files", "_VALUE_KIND"),
    ):
        yield case(f"a column's name is not {promise}", KV, refused(calls("alter_table", NAME, [tc.RenameColumn("v", name)]), name))  # fmt: skip
    cased = shape("a INT, A INT")
    yield case("two columns differ by case alone", cased, put((1, 2)), rows((1, 2)), rows((2,), columns=["A"]), rows((1,), columns=["a"]))  # fmt: skip


MADE: tuple[tuple[str, Shape, str], ...] = (
    ("columns of one name", shape("k INT, k STRING"), "k"),
    ("a key that is no column", shape("k INT", key="x"), "x"),
    ("a partition that is no column", shape("k INT", partition="x"), "x"),
    ("a key with a column twice", shape("k INT, v INT", key="k, k"), "k"),
    ("a partition column twice", shape("k INT, v INT", partition="k, k"), "k"),
    ("a key that is the partition alone", shape("k INT, v INT", key="k", partition="k"), "k"),
    ("a MAP as partition", shape("k INT, m MAP<STRING, INT>", partition="m"), "m"),
    ("an ARRAY as partition", shape("k INT, l ARRAY<INT>", partition="l"), "l"),
    ("a ROW as partition", shape("k INT, r ROW<a INT>", partition="r"), "r"),
    ("a MAP as key", shape("m MAP<STRING, INT>, v INT", key="m"), "m"),
    ("an ARRAY as key", shape("l ARRAY<INT>, v INT", key="l"), "l"),
    ("a ROW as key", shape("r ROW<a INT>, v INT", key="r"), "r"),
    ("a MULTISET as key", shape("s MULTISET<INT>, v INT", key="s"), "s"),
)  # fmt: skip


def _created() -> Iterator[Case]:
    for promise, table, words in MADE:
        yield case(f"no table is made with {promise}", table, unmade(words))
    many: Mapping[str, str] = {"snapshot.time-retained": "2 h", "snapshot.num-retained.min": "3"}
    yield case("a key's columns become NOT NULL", KV, columns("k INT NOT NULL, v STRING"))
    yield case("columns keep their order", shape("b INT, a STRING, c DOUBLE"), columns("b INT, a STRING, c DOUBLE"))  # fmt: skip
    yield case("options are kept", KV.with_options(many), opened(NAME, "options", {"bucket": "1", **many}))  # fmt: skip
    yield case("a key and a partition are kept in their order", shape("a INT, b INT, c INT", key="b, a, c", partition="c"), opened(NAME, "primary_key", ("b", "a", "c")), opened(NAME, "partition_by", ("c",)))  # fmt: skip
    yield case("an option can be a key", shape("k INT, v INT").with_options({"primary-key": "k", "bucket": "1"}), opened(NAME, "primary_key", ("k",)), put((1, 1)), put((1, 2)), rows((1, 2)))  # fmt: skip
    yield case("an option can be the partition", shape("k INT, p STRING").with_options({"partition": "p"}), opened(NAME, "partition_by", ("p",)))  # fmt: skip
    yield case("a table can have a comment", N, creates("d.c", AP, comment="what it is"), opened("d.c", "definition.comment", "what it is"))  # fmt: skip
    yield case("a comment can be changed", N, creates("d.c", AP, comment="old"), calls("alter_table", "d.c", [tc.UpdateComment("new")]), opened("d.c", "definition.comment", "new"))  # fmt: skip
    yield case("an option is set and taken away", KV, calls("alter_table", NAME, [tc.SetOption("snapshot.num-retained.min", "3")]), calls("alter_table", NAME, [tc.RemoveOption("snapshot.num-retained.min")]), opened(NAME, "options", {"bucket": "1"}))  # fmt: skip
    yield case("a new table has no snapshot", KV, do("latest_snapshot"), lists("tables", "d", expected=("t",)), rows())  # fmt: skip
    yield case("a table of one column", shape("k INT"), put((1,), (1,)), rows((1,), (1,)))  # fmt: skip
    yield case("a table whose key is every column", shape("a INT, b INT", key="a, b", bucket="1"), put((1, 2)), put((1, 2), (1, 3)), rows((1, 2), (1, 3)))  # fmt: skip
    wide = ", ".join(f"c{number} INT" for number in range(300))
    yield case("a table of three hundred columns", shape(wide), put(tuple(range(300))), rows((0, 299), columns=["c0", "c299"]))  # fmt: skip
    yield case("a write says which snapshot it made", KV, put((1, "a")), gives("snapshot_id", 1))  # fmt: skip


CASES = (
    *area("Databases", DATABASES),
    *area("Tables of a catalog", TABLES),
    *area("Names", _names(), _columns()),
    *area("What a table is made of", _created()),
)
