"""Attack: a task of another team, who may write an XCom, and who may start a compaction.  Goal: the rows of a table on the tables page."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from paimon_provider.pages.answers import Asker
from paimon_provider.pages.cache import packed, writing
from paimon_provider.pages.lines import make_lines
from paimon_provider.pages.rows_right import named_dags, rows_right
from table_core.errors import AccessDeniedError, ArgumentError

URI = "paimon://c/hr/salaries"
MADE_MS = 1_800_000_000_000
EVERY = ("payroll", "of_ben", "actions")


class Dags:
    """Airflow's session, as far as it is asked: which Dags there are."""

    def scalars(self, _: Any) -> Any:
        return self

    def all(self) -> list[str]:
        return [*EVERY]


@pytest.fixture
def db(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.setenv("AIRFLOW__PAIMON__CACHE_FOLDER", str(tmp_path))
    with closing(writing()) as found:
        says_created(found, "payroll")
        yield found


def says_created(
    db: Any, dag_id: str, since: int = MADE_MS - 5_000, until: int = MADE_MS + 900
) -> None:
    """A task of ``dag_id`` ran then, and says that it created the table."""
    db.execute("INSERT INTO creation VALUES (?, ?, ?, ?)", (URI, dag_id, since, until))


def may(db: Any, *dags: str, made_ms: int | None = MADE_MS) -> bool:
    return rows_right(Dags(), Asker(db, set(dags), 0), URI, made_ms).may  # type: ignore[arg-type]


def claims(db: Any) -> None:
    """What a writer of another Dag can leave: a snapshot, the name of a commit, an event, a run."""
    line = json.dumps({"uri": URI, "table": "hr.salaries", "user": "forged"})
    db.execute(
        "INSERT INTO line (uri, catalog, database, name, health, health_rank, due, line) "
        "VALUES (?, 'c', 'hr', 'salaries', 'ok', 0, 0, ?)",
        (URI, line),
    )
    db.execute("INSERT INTO commit_user VALUES ('forged', 'of_ben', 't', 'r', -1)")
    db.execute("INSERT INTO asset VALUES (1, ?, ?, '', 5)", (URI, URI))
    db.execute("INSERT INTO event VALUES (9, ?, 9, 'of_ben', 't', 'r', -1, '{}')", (URI,))
    db.execute("INSERT INTO run VALUES (?, 9, 'actions', 'act', 'r', -1, 'compact', '{}')", (URI,))


def test_no_writer_moves_the_right(db: Any) -> None:
    claims(db)
    assert may(db, "payroll")
    assert not may(db, "of_ben")
    assert not may(db, "actions")
    assert not may(db, "of_ben", "actions")
    assert may(db, *EVERY)


def test_a_second_creator_takes_rights_and_gives_none(db: Any) -> None:
    says_created(db, "of_ben")
    assert not may(db, "of_ben")
    assert not may(db, "payroll")
    assert may(db, "payroll", "of_ben")


@pytest.mark.parametrize("apart_ms", [20_000, 86_400_000])
@pytest.mark.parametrize("honest", [True, False])
def test_who_says_so_of_a_table_that_was_there_takes_no_rows(
    db: Any, apart_ms: int, honest: bool
) -> None:
    """A sync, or the task of another Dag, made it.  Any task may say the same, and any user who may write an XCom."""
    if not honest:
        db.execute("DELETE FROM creation")
    says_created(db, "of_ben", MADE_MS + apart_ms, MADE_MS + apart_ms + 60_000)
    says_created(db, "of_ben", MADE_MS - apart_ms - 60_000, MADE_MS - apart_ms)
    assert not may(db, "of_ben")
    assert may(db, "payroll") is honest
    assert may(db, *EVERY)


def test_a_table_that_was_made_again_is_not_of_who_made_the_first(db: Any) -> None:
    assert not may(db, "payroll", made_ms=MADE_MS + 3_600_000)
    says_created(db, "payroll", MADE_MS + 3_599_000, MADE_MS + 3_601_000)
    assert may(db, "payroll", made_ms=MADE_MS + 3_600_000)
    for never in (-1, 0, 2**63, 10**30):
        assert not may(db, "payroll", made_ms=never)


def test_rows_of_no_known_creator_are_for_who_may_read_every_dag(db: Any) -> None:
    claims(db)
    db.execute("DELETE FROM creation")
    assert not may(db, "of_ben", "actions")
    assert not may(db)
    assert may(db, *EVERY)


@pytest.mark.parametrize(
    ("option", "dags"),
    [
        ('{"hr.salaries": "a"}', ("a",)), ('{"HR.*": ["a", "b"]}', ("a", "b")), ('{"*.*": []}', ()),
        ('{"paimon://c/hr/*": "a"}', ("a",)), ('{"paimon://*/hr/salaries": "a"}', ("a",)),
        ('{"hr.salaries": "a", "*.*": "b"}', ("a",)), ("", None), ("{}", None), ('{"hr.salarie": "a"}', None),
        ('{"r.salaries": "a"}', None), ('{"paimon://d/hr/salaries": "a"}', None), ('{"paimon://c/*": "a"}', None),
        ('{"hr.salaries.x": "a"}', "unread"), ('{"hr.sal[a-z]ries": "a"}', None), ('{"hr.salaries": 5}', "unread"),
        ("[]", "unread"), ("{", "unread"), ('{"hr.salaries": [null]}', "unread"), ("[" * 100_000, "unread"),
        ('{"salaries": "a"}', "unread"),
    ],
)  # fmt: skip
def test_the_configuration_names_tables_and_what_cannot_be_read_shows_nothing(
    monkeypatch: pytest.MonkeyPatch, option: str, dags: Any
) -> None:
    monkeypatch.setenv("AIRFLOW__PAIMON__ROWS_OF", option)
    if dags == "unread":
        with pytest.raises(ArgumentError, match="nobody sees rows"):
            named_dags(URI)
    else:
        assert named_dags(URI) == dags


@pytest.mark.parametrize(
    "uri",
    [
        "paimon://c/hr/salaries$audit_log", "paimon://c/hr/salaries$branch_b", "paimon://c/hr/%73alaries",
        "paimon://c/hr/salaries%24audit_log", "paimon://C/hr/salaries", "paimon://c/HR/salaries",
        "paimon://c/hr/salaries/", "paimon://c/hr//salaries", "paimon://c/hr/salaries#x",
        "paimon://c/hr/salaries?on=changes", "paimon://c/hr$x/salaries", "PAIMON://c/hr/salaries",
    ],
)  # fmt: skip
def test_another_name_of_a_table_gives_no_right_to_its_rows(
    db: Any, monkeypatch: pytest.MonkeyPatch, uri: str
) -> None:
    """A branch and a system table have the rows of their table, and another spelling is the table itself."""
    db.execute("INSERT INTO creation VALUES (?, 'of_ben', 0, ?)", (uri, 2 * MADE_MS))
    document = packed(json.dumps({"table": "hr.salaries"}))
    db.execute("INSERT INTO document VALUES ('line', ?, '', 0, ?)", (uri, document))
    make_lines(db, [uri])
    assert db.execute("SELECT count(*) FROM line").fetchone() == (0,)
    for option in ("", '{"hr.salaries": "payroll", "*.*": "of_ben", "paimon://*/*/*": "of_ben"}'):
        monkeypatch.setenv("AIRFLOW__PAIMON__ROWS_OF", option)
        assert not rows_right(Dags(), Asker(db, {"of_ben"}, 0), uri, MADE_MS).may  # type: ignore[arg-type]


def test_the_configuration_comes_before_the_creator(
    db: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AIRFLOW__PAIMON__ROWS_OF", '{"hr.*": "of_ben"}')
    assert may(db, "of_ben")
    assert not may(db, "payroll")
    with pytest.raises(AccessDeniedError, match="rows_of"):
        rows_right(Dags(), Asker(db, {"payroll"}, 0), URI, MADE_MS).require(URI)  # type: ignore[arg-type]
