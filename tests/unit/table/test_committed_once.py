"""What a writer prepared is committed once: a second time is refused, and the first stays whole.

Mutants: no memory of it, or none of what a refused commit has deleted.  Then the table cannot be read, or
its files are deleted as those of a commit that did not land.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import table_core as tc
from table_core import errors
from tests.tables import new_catalog

SCHEMA = pa.schema([pa.field("k", pa.int32(), nullable=False), ("v", pa.int64())])
KINDS: dict[str, dict[str, Any]] = {
    "append": {"options": {"bucket": "-1"}},
    "key": {"primary_key": ["k"], "options": {"bucket": "1"}},
}


@pytest.fixture(params=KINDS)
def table(request: pytest.FixtureRequest) -> tc.Table:
    return new_catalog().create_table("d.t", SCHEMA, **KINDS[request.param])


def prepared(table: tc.Table) -> Any:
    with table.write() as writer:
        writer.write(pa.table({"k": [1], "v": [7]}, schema=SCHEMA))
        return writer.prepare()


def found(table: tc.Table) -> list[dict[str, int]]:
    return table.read().to_arrow().to_pylist()


@pytest.mark.parametrize("overwrite", [None, "table"])
def test_the_second_commit_of_a_file_is_refused(table: tc.Table, overwrite: str | None) -> None:
    result = prepared(table)
    table.commit([result])
    with pytest.raises(errors.ArgumentError, match="committed by this process before"):
        table.commit([result], overwrite=overwrite)
    with pytest.raises(errors.ArgumentError, match="committed by this process before"):
        table.commit([result], tc.CommitAs(user="u", identifier=1), overwrite=overwrite)
    assert found(table) == [{"k": 1, "v": 7}]
    assert len(table.snapshots()) == 1


def test_a_second_commit_that_fails_deletes_no_file_of_the_first(table: tc.Table) -> None:
    result, name = prepared(table), tc.CommitAs(expect={"tc.at": None}, properties={"tc.at": "1"})
    table.commit([result], name)
    with pytest.raises(errors.TableError) as told:
        table.commit([result], name)
    assert told.value.kind is errors.ErrorKind.INVALID
    assert found(table) == [{"k": 1, "v": 7}]


def test_files_that_went_with_a_refused_commit_are_not_committed(table: tc.Table) -> None:
    """Its caller tries again without what was refused: the files are gone by then."""
    result = prepared(table)
    with pytest.raises(errors.CommitConflictError):
        table.commit([result], tc.CommitAs(expect={"tc.at": "1"}))
    for name in (None, tc.CommitAs(user="u", identifier=1)):
        with pytest.raises(errors.ArgumentError, match="write its rows again"):
            table.commit([result], name)
    assert (table.snapshots(), found(table)) == ([], [])
    table.commit([prepared(table)])
    assert found(table) == [{"k": 1, "v": 7}]


def test_a_file_that_is_there_twice_is_refused(table: tc.Table) -> None:
    result = prepared(table)
    with pytest.raises(errors.ArgumentError, match="named twice"):
        table.commit([result, result])
    assert table.snapshots() == []
    table.commit([result])
    assert found(table) == [{"k": 1, "v": 7}]


def test_a_named_commit_may_be_asked_for_again(table: tc.Table) -> None:
    result, name = prepared(table), tc.CommitAs(user="u", identifier=1)
    assert [table.commit([result], name).replayed for _ in range(2)] == [False, True]
    assert found(table) == [{"k": 1, "v": 7}]
