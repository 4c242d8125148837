"""What upkeep refuses: the error names what was wrong, and nothing is done."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

import table_core as tc
from table_core.errors import (
    AlreadyExistsError,
    ArgumentError,
    NotFoundError,
    UnsupportedFeatureError,
)
from tests.unit.key_tables import create, put


@pytest.fixture
def table() -> Any:
    """Snapshots 3 and 4 of four; a tag of 3; a branch that it made."""
    made = create()
    for key in range(1, 5):
        put(made, key)
    made.expire_snapshots(retain_max=2, retain_min=2)
    made.tags.create("t", snapshot=3)
    made.branches.create("b", tag="t")
    return made


REFUSED: dict[str, tuple[Callable[[Any], object], type[tc.errors.TableError], str]] = {
    "everything expires": (lambda t: t.expire_snapshots(retain_max=0), ArgumentError, "at least"),
    "fewer at most than at least": (
        lambda t: t.expire_snapshots(retain_max=1, retain_min=2),
        ArgumentError,
        "retain_min=2",
    ),
    "young orphans without the flag": (
        lambda t: t.remove_orphan_files(older_than=datetime.now(UTC)),
        ArgumentError,
        "allow_young",
    ),
    "back to what has expired": (lambda t: t.rollback_to(snapshot=1), NotFoundError, "3 to 4"),
    "back to what never was": (lambda t: t.rollback_to(snapshot=9), NotFoundError, "3 to 4"),
    "back to a tag that is not there": (lambda t: t.rollback_to(tag="x"), NotFoundError, "'x'"),
    "a tag of what has expired": (
        lambda t: t.tags.create("x", snapshot=1),
        NotFoundError,
        "3 to 4",
    ),
    "a tag of what never was": (lambda t: t.tags.create("x", snapshot=9), NotFoundError, "3 to 4"),
    "a second tag of one name": (lambda t: t.tags.create("t"), AlreadyExistsError, "'t'"),
    "a branch named by a number": (lambda t: t.branches.create("4"), ArgumentError, "number"),
    "a branch named main": (lambda t: t.branches.create("main"), ArgumentError, "main"),
    "a branch named as a path": (lambda t: t.branches.create("a/b"), ArgumentError, "a/b"),
    "a second branch of one name": (lambda t: t.branches.create("b"), AlreadyExistsError, "'b'"),
    "a branch of a tag that is not there": (
        lambda t: t.branches.create("c", tag="x"),
        NotFoundError,
        "'x'",
    ),
    "forward to a branch that is not there": (
        lambda t: t.branches.fast_forward("x"),
        NotFoundError,
        "'x'",
    ),
    "a branch of what has expired": (
        lambda t: t.branches.create("c", snapshot=1),
        NotFoundError,
        "3 to 4",
    ),
    "a consumer of what has expired": (lambda t: t.consumers.reset("c", 1), NotFoundError, "3"),
    "a consumer of what is not yet": (lambda t: t.consumers.reset("c", 9), ArgumentError, "4"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_it_is_refused_and_nothing_is_done(name: str, table: Any) -> None:
    verb, error, says = REFUSED[name]
    before = files(table)
    with pytest.raises(error, match=says):
        verb(table)
    assert files(table) == before


def test_files_outside_the_table_are_refused_by_name() -> None:
    with pytest.raises(UnsupportedFeatureError, match=r"data-file\.external-paths"):
        put(create(**{"data-file.external-paths": "memory://elsewhere"}), 1)


def test_a_table_with_files_elsewhere_does_not_begin_to_expire(table: Any) -> None:
    elsewhere = {"data-file.external-paths": "memory://elsewhere"}
    there, before = tc.Table(table.access.with_options(elsewhere)), files(table)
    for verb in (there.expire_snapshots, there.expire_changelogs):
        with pytest.raises(UnsupportedFeatureError, match=r"data-file\.external-paths"):
            verb(retain_max=1)
    assert files(table) == before


def files(table: Any) -> dict[str, bytes]:
    storage = table.access.storage
    return {info.path: storage.read(info.path) for info in storage.walk("")}
