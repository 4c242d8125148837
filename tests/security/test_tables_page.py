"""Attack: documents and events of others behind the tables page.  Goal: a page that breaks, grows, or names a connection."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from paimon_provider.pages import table_answers as of_table
from paimon_provider.pages.answers import (
    Asker,
    ListQuery,
    collected_at,
    line_answer,
    require_line,
    tables_answer,
)
from paimon_provider.pages.cache import packed, reading, writing
from paimon_provider.pages.lines import count_events, make_lines
from paimon_provider.pages.read_it import read_it
from paimon_provider.pages.work_answers import collected_columns, maintenance_answer, quality_answer
from table_core.errors import TableError
from table_core.history.kinds import Kind
from tests.security.evil import EVIL

URI = "paimon://c/d/t"
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9) | st.just(EVIL) | st.just(10**30),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)  # fmt: skip
NAMES = (
    *("version", "uri", "table", "kind", "rows", "bytes", "updated_ms", "user", "health", "badges"),
    *(
        "next_maintenance",
        "cut",
        "comment",
        "fields",
        "options",
        "columns",
        "buckets",
        "partitions",
    ),
    *(
        "total",
        "schemas",
        "changes",
        "tags",
        "branches",
        "consumers",
        "name",
        "written_ms",
        "at_ms",
    ),
    *("action", "details", "checks", "columns_from", "values", "lag_ms", "primary_key"),
)
MEMBERS = st.dictionaries(st.sampled_from(NAMES), JSON, max_size=6)
HOSTILE = st.dictionaries(
    st.sampled_from(NAMES), JSON | MEMBERS | st.lists(MEMBERS, max_size=3), max_size=12
)
SNAPSHOTS = st.fixed_dictionaries(
    {
        "columns": st.lists(
            st.sampled_from(["id", "at_ms", "kind", "user", "by_bucket", "x"]), max_size=6
        ),
        "rows": st.lists(st.lists(JSON, max_size=6), max_size=3),
    }
)


@pytest.fixture
def db(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.setenv("AIRFLOW__PAIMON__CACHE_FOLDER", str(tmp_path))
    with closing(writing()) as found:
        yield found


def keep(db: Any, kind: str, document: Any, part: str = "") -> None:
    body = packed(json.dumps(document))
    db.execute("INSERT OR REPLACE INTO document VALUES (?, ?, ?, 0, ?)", (kind, URI, part, body))


def answers(asker: Asker) -> Iterator[Any]:
    line, events = require_line(asker, URI)
    yield line_answer(asker, line, events, collected_at(asker))
    yield tables_answer(asker, ListQuery())
    detail = of_table.detail_answer(asker, URI)
    yield detail
    yield read_it(line, detail)
    for one in (
        "levels_answer",
        "partitions_answer",
        "schemas_answer",
        "options_answer",
        "refs_answer",
    ):
        more = {"levels_answer": ("",), "partitions_answer": ("-bytes", 0, 100)}.get(one, ())
        yield getattr(of_table, one)(asker, URI, *more)
    yield of_table.snapshots_answer(asker, URI, None, 100)
    yield of_table.history_answer(asker, URI, 10)
    yield maintenance_answer(asker, URI, 100)
    yield quality_answer(asker, URI)
    yield collected_columns(asker, URI)
    for ask in (of_table.snapshot_answer, of_table.compare_answer):
        try:
            yield ask(asker, URI, *((1,) if ask is of_table.snapshot_answer else (1, 2)))
        except TableError:
            continue


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(document=HOSTILE, snapshots=SNAPSHOTS | HOSTILE)
def test_whatever_is_collected_the_page_answers(db: Any, document: Any, snapshots: Any) -> None:
    for kind in Kind:
        keep(db, kind.value, snapshots if kind in {Kind.OPEN, Kind.SNAPSHOTS} else document)
    db.execute("DELETE FROM run")
    for at, action in enumerate(("check", "collect-metadata")):
        db.execute(
            "INSERT INTO run VALUES (?, ?, 'dag', 't', 'r', -1, ?, ?)",
            (URI, at, action, json.dumps(document)),
        )
    make_lines(db, [URI])
    count_events(db, 10**12)
    asker = Asker(db, {"dag"}, int(time.time() * 1000))
    for answer in answers(asker):
        text = json.dumps(answer, allow_nan=False)
        assert len(text) < 400_000
        assert "\\u001b" not in text


def test_a_document_names_no_other_table_and_no_connection(db: Any) -> None:
    evil = {
        "uri": "paimon://x/y/z",
        "table": "../../etc.passwd",
        "catalog": "x",
        "health": EVIL,
        "kind": EVIL,
    }
    keep(db, "line", evil)
    make_lines(db, [URI])
    line, _ = require_line(Asker(db, set(), 0), URI)
    assert (line["uri"], line["table"], line["catalog"]) == (URI, "d.t", "c")
    assert (line["health"], line["kind"]) == ("unknown", "unknown")
    keep(db, "line", {"table": "D.T"})
    make_lines(db, [URI])
    assert require_line(Asker(db, set(), 0), URI)[0]["table"] == "D.T"


def test_a_body_that_bursts_is_cut(db: Any, tmp_path: Path) -> None:
    import zlib

    bomb = zlib.compress(b" " * (200 << 20))
    db.execute("INSERT INTO document VALUES ('line', ?, '', 0, ?)", (URI, bomb))
    db.execute("INSERT INTO document VALUES ('open', ?, '', 0, ?)", (URI, b"no zlib"))
    db.execute("INSERT INTO asset VALUES (1, ?, ?, '', 5)", (URI, URI))
    make_lines(db, [URI])
    with reading() as read:
        assert read is not None
        assert of_table.snapshots_answer(Asker(read, set(), 0), URI, None, 10)["snapshots"] == []


def test_a_query_is_no_sql(db: Any) -> None:
    db.execute("INSERT INTO asset VALUES (1, ?, ?, '', 5)", (URI, URI))
    make_lines(db, [URI])
    asker = Asker(db, set(), 0)
    for search in ("'", '"; DROP TABLE line; --', "%", "_", "\\", "\x00"):
        assert tables_answer(asker, ListQuery(search=search, database=search))["total"] == 0
    assert tables_answer(asker, ListQuery(search="D.T"))["total"] == 1
    for sort in ("line", "1; --", "-", ""):
        with pytest.raises(TableError):
            tables_answer(asker, ListQuery(sort=sort))
