"""Who commits: the task run, so that every attempt of it is the same writer.

The name is drawn when the first attempt begins and kept in Airflow's task state store, which belongs
to one task instance of one Dag run: attempts share it, a run that was deleted and made again has
none, and so has each mapped index.  Airflow raises ``max_tries`` of a task when it clears *that*
task, and never else, however it is cleared: then a new name is drawn (ADR 11).
"""

from __future__ import annotations

import re
import time
import uuid
from typing import TYPE_CHECKING, Any, Final

from paimon_provider._compat import NEVER_EXPIRE, is_tasks_test, task_state
from table_core.errors import OutcomeUnknownError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = [
    "HANDLES",
    "IDENTIFIERS_PER_VERB",
    "RUN_KEY",
    "RunIdentity",
    "commit_users",
    "is_commit_of",
    "kept_user",
    "run_identity",
]

# Never change these: a retry that spans an upgrade must find the same names.
_NAMESPACE: Final = uuid.UUID("5f0d3c52-0c0e-5d0b-9a53-6a2f0c1b7e11")
RUN_KEY: Final = "paimon_task_run"
"""The key in Airflow's task state store under which a task run's name is kept."""
_BY_HAND: Final = f"{RUN_KEY}_by_hand"
"""The same, of ``airflow tasks test``, which may work on a task run of somebody else."""
_UUID: Final = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
"""Others may write what keeps a task's state, and the name becomes part of file names."""
HANDLES: Final = "handles"
"""Who commits by a handle, apart from the verbs of the operator."""
IDENTIFIERS_PER_VERB: Final = 1_000_000
"""A verb may make several commits, numbered from its own identifier on."""


class RunIdentity:
    """The commit user of one task run, and an identifier for each verb that it calls.

    Verbs are counted in the order of the calls, which is the same in every attempt.

    :param since_ms: for an attempt that is not the first, when the name was drawn, in epoch milliseconds:
        what has landed under it landed later.
    """

    def __init__(self, user: str, since_ms: int | None = None) -> None:
        self.user = user
        self.since_ms = since_ms
        self._verbs = 0

    def apart(self, name: str) -> RunIdentity:
        """Another identity of the same task run, which counts for itself."""
        return RunIdentity(str(uuid.uuid5(_NAMESPACE, f"{self.user}/{name}")), self.since_ms)

    def next_identifier(self) -> int:
        """The first identifier of the next verb: 0, then a million, then two."""
        identifier = self._verbs * IDENTIFIERS_PER_VERB
        self._verbs += 1
        return identifier

    def next_commit(self, **more: Any) -> Any:
        """The ``table_core.CommitAs`` of the next verb."""
        from table_core.table.metadata.results import CommitAs  # Arrow stays out of Dag parsing

        identifier = self.next_identifier()
        return CommitAs(user=self.user, identifier=identifier, since_ms=self.since_ms, **more)


def run_identity(
    context: Mapping[str, Any] | Any,
    *,
    resumed: bool = False,
    landed_ms: Callable[[str], list[int]] | None = None,
) -> RunIdentity:
    """Who this task run is: the same in every attempt, another one after somebody clears the task.

    A new name is kept before anything can be committed under it.  It is a UUID because Paimon puts
    the commit user into the data file names of postpone-bucket tables.

    What ``airflow tasks test`` runs is another one each time: the attempt has the number of the last one, and
    that may have done its work.

    Args:
        context: the running task's.
        resumed: whether the attempt goes on after it was deferred.
        landed_ms: when a commit user has committed to the tables of the task, in epoch milliseconds; None:
            nobody can tell, so no name of an earlier release is taken.

    Raises:
        OutcomeUnknownError: the attempt may be a retry, and may be what comes after somebody cleared the task.
    """
    ti, store = context["ti"], task_state(context)
    key = _BY_HAND if is_tasks_test() else RUN_KEY
    kept = None if is_tasks_test() and not resumed else store.get(key)
    clears = context["dag_run"].clear_number or 0
    if isinstance(kept, dict) and _UUID.fullmatch(str(kept.get("user"))) and _is_of(kept, ti):
        _refuse_lowered_retries(kept, ti, clears)
        drawn_ms = kept.get("drawn_ms")  # earlier releases did not say
        return RunIdentity(str(kept["user"]), drawn_ms if type(drawn_ms) is int else None)
    before = key == RUN_KEY and kept is None and (resumed or _is_retry(ti))  # it kept no name
    old = _name_of_old(context, landed_ms) if before and landed_ms is not None else None
    user = old or str(uuid.uuid4())
    mark = {
        "user": user,
        "max_tries": ti.max_tries,
        "retries": ti.task.retries or 0,
        "clears": clears,
        "try": ti.try_number,
        "instance": str(ti.id),
        "drawn_ms": int(time.time() * 1000),
    }
    store.set(key, mark, retention=NEVER_EXPIRE)
    return RunIdentity(user)


def kept_user(document: object) -> str | None:
    """The commit user in what is kept of a task run; None if there is none."""
    user = document.get("user") if isinstance(document, dict) else None
    return user if isinstance(user, str) and _UUID.fullmatch(user) else None


def commit_users(user: str) -> tuple[str, str]:
    """The names of the commits of the task run ``user``: of its verbs, and of the handles that it opened."""
    return user, RunIdentity(user).apart(HANDLES).user


def is_commit_of(commit_user: str, user: str) -> bool:
    """Whether a commit is one of the task run ``user``, by a verb or a handle: later ones have its name in theirs."""
    return any(
        commit_user == one or commit_user.startswith(f"{one}-") for one in commit_users(user)
    )


def _is_of(kept: Mapping[str, Any], ti: Any) -> bool:
    """Whether the name was drawn by an earlier attempt of the same run of the task.

    A task instance that was deleted inside its run begins again at the first attempt.
    """
    if kept.get("max_tries") != ti.max_tries:
        return False
    if ti.try_number == kept.get("try"):  # goes on after it was deferred
        return bool(str(ti.id) == kept.get("instance"))
    return bool(ti.try_number > kept.get("try", 0))


def _is_retry(ti: Any) -> bool:
    """Whether an attempt came before this one since the task was made or cleared."""
    return bool(ti.try_number > ti.max_tries - (ti.task.retries or 0) + 1)


def _refuse_lowered_retries(kept: Mapping[str, Any], ti: Any, clears: int) -> None:
    """Refuse an attempt that may as well come after the task was cleared.

    Clearing sets ``max_tries`` to the attempts so far and the ``retries`` that the Dag has then.  Where these
    were lowered meanwhile, that may be the number that was there before.  While nobody has cleared anything
    in the run, the attempt is a retry.

    Raises:
        OutcomeUnknownError: as said.
    """
    retries, had = ti.task.retries or 0, kept.get("retries")
    cleared_after = ti.max_tries - retries
    if type(had) is not int or retries >= had or clears == kept.get("clears"):
        return
    if kept.get("try", 0) <= cleared_after < ti.try_number:
        raise OutcomeUnknownError(
            f"task {ti.task_id!r} had {had} retries when it began and has {retries} now, and tasks of the run "
            "were cleared meanwhile: nobody can tell whether this one was, and its work is to be done again, or "
            "this is a retry. Look whether its rows are there: if they are, mark the task as done; if not, "
            "clear it, and it is done under a new name",
            user=kept["user"],
            retries_before=had,
            retries=retries,
        )


def _name_of_old(
    context: Mapping[str, Any] | Any, landed_ms: Callable[[str], list[int]]
) -> str | None:
    """The name that earlier releases gave: an attempt of theirs may have committed under it.

    None if what was committed under it is older than the run: a run of that id was there before and was
    deleted.
    """
    ti, run = context["ti"], context["dag_run"]
    map_index = -1 if ti.map_index is None else ti.map_index
    name = f"{ti.dag_id}/{ti.run_id}/{ti.task_id}/{map_index}/{run.clear_number or 0}"
    user, began = str(uuid.uuid5(_NAMESPACE, name)), run.start_date
    began_ms = 0 if began is None else int(began.timestamp() * 1000)
    return None if any(at_ms < began_ms for at_ms in landed_ms(user)) else user
