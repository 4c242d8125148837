"""Every option of Apache Paimon has one class, and what it says is so.

Method: a table is made, then a foreign writer stores one more schema with the option in it.  A harmless
one leaves rows, writes and compactions as they were; a refused one stops what it says, by its name, and
nothing of the table changes; an honoured one is looked at by some code outside the definitions of options.
Mutants: a verb that does not ask; an option taken from the list of refused ones; a class given twice.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import table_core as tc
from table_core.errors import OptionError, SchemaError, UnsupportedFeatureError
from table_core.options.classes import OptionClass, class_of
from table_core.options.harmless import HARMLESS
from table_core.options.old_names import OLD_NAMES
from table_core.options.refused import REFUSED, Act
from table_core.options.table import OPTIONS
from tests.option_keys import ASKING
from tests.tables import new_catalog, write_rows

SCHEMA = pa.schema([pa.field("k", pa.int64(), nullable=False), ("v", pa.int64())])
PACKAGE = Path(tc.__file__).parent
OTHERS = {"metadata.iceberg.storage": "hadoop-catalog"}
"""Options of the table that are declared elsewhere than in ``CoreOptions``."""
SIX = (
    "metadata.iceberg.storage",
    "commit.callbacks",
    "tag.callbacks",
    "query-auth.enabled",
    "metastore.partitioned-table",
    "pk-vector.index.columns",
)
REFUSING = {**{key: ASKING[key] for key in ASKING if key in REFUSED}, **OTHERS}
KNOWN_BY_PATTERN = ("parquet.enable.dictionary",)


def rows(*keys: int) -> pa.Table:
    return pa.table({"k": keys, "v": keys}, schema=SCHEMA)


def put(table: Any, data: pa.Table, **more: Any) -> None:
    write_rows(table, data, **more)


def found(table: Any) -> list[int]:
    return sorted(table.read().to_arrow()["k"].to_pylist())


def made(**more: str) -> tuple[Any, Any]:
    """A catalog and a table of two snapshots, a tag and a branch."""
    catalog = new_catalog()
    options = {"bucket": "1", "write-only": "true"} | more
    table = catalog.create_table("d.t", SCHEMA, primary_key=("k",), options=options)
    put(table, rows(1, 2))
    table.tags.create("first")
    table.branches.create("b", tag="first")
    put(table, rows(2, 3))
    return catalog, table


def stored(catalog: Any, **options: str) -> Any:
    """The table after somebody else stored ``options`` in it."""
    table = catalog.table("d.t")
    storage, newest = table.access.storage, table.definition.id
    document = json.loads(storage.read(f"schema/schema-{newest}"))
    document["id"] = newest + 1
    document["options"] |= options
    storage.write(f"schema/schema-{newest + 1}", json.dumps(document).encode())
    return catalog.table("d.t")


def content(table: Any) -> dict[str, bytes]:
    storage = table.access.storage
    return {info.path: storage.read(info.path) for info in storage.walk("")}


def test_every_option_has_one_class() -> None:
    assert len(ASKING) == 332
    assert [key for key in ASKING if class_of(key) is None] == []
    assert set(REFUSED).isdisjoint(HARMLESS)
    assert set(OLD_NAMES).isdisjoint(ASKING)
    assert [key for key in (*REFUSED, *HARMLESS) if key not in {*ASKING, *OPTIONS, *OTHERS}] == []


@cache
def _source() -> str:
    files = (p for p in PACKAGE.rglob("*.py") if p.parent.name != "options")
    return "\n".join(path.read_text() for path in files)


HONOURED = [key for key in ASKING if class_of(key) is OptionClass.HONOURED]


@pytest.mark.parametrize("key", [key for key in HONOURED if key not in KNOWN_BY_PATTERN])
def test_an_honoured_option_is_looked_at(key: str) -> None:
    modules = [
        import_module(f"table_core.options.{p.stem}")
        for p in (PACKAGE / "options").glob("keys_*.py")
    ]
    names = [n for m in modules for n in m.__all__ if getattr(m, n) is OPTIONS[key]]
    assert re.search(rf"\b{names[0]}\b|[\"']{re.escape(key)}[\"']", _source())


@pytest.mark.parametrize("key", [key for key in ASKING if class_of(key) is OptionClass.HARMLESS])
def test_a_harmless_option_changes_nothing(key: str) -> None:
    name = key.replace("#", "com.acme.Call")
    catalog, plain = made(**{"write-only": "false", "num-sorted-run.compaction-trigger": "9"})
    table = stored(catalog, **{name: ASKING[key]})
    assert found(table) == found(plain) == [1, 2, 3]
    put(table, rows(3, 4))
    assert table.compact().files_after == 1
    table.tags.create("later")
    table.delete("k = 1")
    assert found(catalog.table("d.t")) == [2, 3, 4]
    assert table.options[name] == ASKING[key]


VERBS: dict[str, Callable[[Any], object]] = {
    "write": lambda t: put(t, rows(9)),
    "overwrite": lambda t: put(t, rows(9), overwrite="table"),
    "delete": lambda t: t.delete("k = 1"),
    "update": lambda t: t.update({"v": "7"}, "k = 1"),
    "merge": lambda t: t.merge_into(rows(1), on=["k"], when=[tc.MatchedDelete()]),
    "truncate": lambda t: t.truncate(),
    "compact": lambda t: t.compact(),
    "rescale": lambda t: t.rescale(2),
    "analyze": lambda t: t.analyze(),
    "rewrite manifests": lambda t: t.rewrite_manifests(),
    "expire snapshots": lambda t: t.expire_snapshots(retain_max=1, retain_min=1),
    "expire changelogs": lambda t: t.expire_changelogs(retain_max=1, retain_min=1),
    "remove orphan files": lambda t: t.remove_orphan_files(),
    "roll back": lambda t: t.rollback_to(snapshot=1),
    "fast forward": lambda t: t.branches.fast_forward("b"),
    "delete a tag": lambda t: t.delete_tags(["first"]),
    "replace a tag": lambda t: t.tags.replace("first", snapshot=2),
}
TAG_VERBS: dict[str, Callable[[Any], object]] = {
    "make a tag": lambda t: t.tags.create("x"),
    "rename a tag": lambda t: t.tags.rename("first", "x"),
}


@pytest.mark.parametrize("key", REFUSING)
def test_a_refused_option_stops_what_it_says_by_its_name_and_nothing_changes(key: str) -> None:
    catalog, table = made()
    table.compact()  # files sorted by other columns are read one by one only
    table = stored(catalog, **{key: REFUSING[key]})
    before, stops = content(table), REFUSED[key].stops
    verbs: dict[str, Callable[[Any], object]] = {}
    if Act.READ in stops:
        verbs |= {"read": found, "changes": lambda t: t.changes(after=0)}
    else:
        assert found(table) == [1, 2, 3]
        assert key == "pk-clustering-override" or table.changes(after=0).to_arrow().num_rows
    if Act.COMMIT in stops:
        verbs |= VERBS
    if Act.TAG in stops:
        verbs |= TAG_VERBS
    for name, verb in verbs.items():
        with pytest.raises(UnsupportedFeatureError, match=re.escape(key)) as told:
            verb(table)
        assert told.value.facts["feature"] == key, name
        assert "Apache Paimon" in str(told.value), name
        assert content(table) == before, name


@pytest.mark.parametrize("key", SIX)
def test_a_table_goes_on_when_the_option_is_taken_away_or_done_without(key: str) -> None:
    catalog, _ = made()
    table = stored(catalog, **{key: REFUSING[key]})
    assert Act.COMMIT in REFUSED[key].stops
    with pytest.raises(UnsupportedFeatureError, match=re.escape(key)):
        put(table, rows(4))
    put(catalog.table("d.t", options={key: ""}), rows(4))
    catalog.alter_table("d.t", [tc.RemoveOption(key)])
    put(catalog.table("d.t"), rows(5))
    assert found(catalog.table("d.t")) == [1, 2, 3, 4, 5]


@pytest.mark.parametrize("key", REFUSING)
def test_a_refused_option_without_a_request_stops_nothing(key: str) -> None:
    catalog, _ = made()
    idle = REFUSED[key].idle[-1]
    if not idle and key in OPTIONS and key != "data-file.external-paths":
        return
    table = stored(catalog, **{key: idle.upper()})
    put(table, rows(4))
    table.tags.create("x")
    assert found(table) == [1, 2, 3, 4]


def test_the_branch_and_the_path_of_a_table_may_be_stored_in_it() -> None:
    catalog, table = made()
    table = stored(catalog, path=f"s3://elsewhere/{'/'.join(table.uri.split('/')[-2:])}/")
    put(table, rows(4))
    assert found(table) == [1, 2, 3, 4]
    with pytest.raises(UnsupportedFeatureError, match="path"):
        found(stored(catalog, path="s3://elsewhere/d.db/other"))


@pytest.mark.parametrize("key", [*OLD_NAMES, "log.system"])
def test_an_option_of_an_older_release_says_what_replaced_it(key: str) -> None:
    catalog, _ = made()
    with pytest.raises((OptionError, SchemaError), match="of an older release"):
        catalog.alter_table("d.t", [tc.SetOption(key, "x")])
    table = stored(catalog, **{key: "x"})
    put(table, rows(4))
    assert found(table) == [1, 2, 3, 4]
