"""A task run is one writer, whichever attempt of it works."""

from __future__ import annotations

from types import SimpleNamespace as Box
from typing import Any

from paimon_provider.run_identity import IDENTIFIERS_PER_VERB, RunIdentity, commit_user


def user(*, map_index: int | None = -1, clear_number: int | None = 0, **ti: Any) -> str:
    instance = Box(**{"dag_id": "d", "run_id": "r", "task_id": "t", "map_index": map_index} | ti)
    return commit_user({"ti": instance, "dag_run": Box(clear_number=clear_number)})


def test_a_retry_keeps_the_name() -> None:
    assert user(try_number=1) == user(try_number=2)


def test_everything_else_changes_it() -> None:
    names = [
        user(),
        user(clear_number=1),
        user(map_index=0),
        user(dag_id="e"),
        user(run_id="s"),
        user(task_id="u"),
    ]
    assert len(set(names)) == len(names)


def test_an_absent_number_is_the_default() -> None:
    assert user(map_index=None, clear_number=None) == user()


def test_the_name_never_changes() -> None:
    """A retry that spans an upgrade must find what the first attempt committed."""
    assert user() == "294e0a29-aa51-5dce-b2db-b1c3fee724ec"


def test_each_verb_has_room_for_several_commits() -> None:
    identity = RunIdentity("u")
    assert [identity.next_identifier() for _ in range(3)] == [
        0,
        IDENTIFIERS_PER_VERB,
        2 * IDENTIFIERS_PER_VERB,
    ]
