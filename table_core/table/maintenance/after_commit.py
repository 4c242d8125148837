"""What follows a commit: tags that are due, then what may expire (format 11).

Only tables that are not ``write-only``, as in Paimon.  A fault is logged and the commit stands: the next
commit tries again.  With ``snapshot.expire.execution-mode=async`` a thread of its own does it.

Source: ``org.apache.paimon.table.sink.TableCommitImpl.maintain``.
"""

from __future__ import annotations

import logging
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, Final, TypeAlias

from table_core.commit.protocol import drive
from table_core.errors import NotFoundError, TableError
from table_core.expire.changelogs import expire_changelogs as changelog_steps_of
from table_core.expire.partitions import PartitionExpiry
from table_core.expire.plan import Bounds
from table_core.expire.protocol import expire_snapshots as steps_of
from table_core.expire.snapshots import are_few, may_expire
from table_core.ondisk import layout
from table_core.ondisk.hints import EARLIEST, encode_hint
from table_core.ondisk.snapshot import FIRST_ID
from table_core.options import keys_commit, keys_retention, keys_scan
from table_core.table.maintenance.auto_tags import make_batch_tag, make_due_tags
from table_core.table.maintenance.expire_effects import ExpiryEffects
from table_core.table.maintenance.expire_tags import expired_tags, next_tag_expiry_ms
from table_core.table.maintenance.expirer import changelog_retention, snapshot_retention
from table_core.table.maintenance.mark_done import mark_published, mark_written
from table_core.table.maintenance.tag_deletion import forget_tags
from table_core.table.metadata.refs.consumers import Consumers, idle_consumers
from table_core.table.metadata.refs.turns import expiring

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from table_core.ondisk.snapshot import Snapshot
    from table_core.table.metadata.access import TableAccess

__all__ = ["finish_maintenance", "follow_publishing", "run_maintenance"]

_Listed: TypeAlias = "tuple[str, tuple[int, int, str]]"
"""The path and the stamp of a file."""
_log = logging.getLogger(__name__)
_CHECKED: Final[dict[tuple[str, str], int]] = {}
"""When partitions of a table (URI, branch) were last looked at, epoch ms."""
_CHECKED_MAX: Final = 10_000
_TAGS_DUE: Final[dict[tuple[str, str], tuple[frozenset[_Listed], int | None]]] = {}
"""The tags of a table that were read last, and when the first of them expires, epoch ms."""
_ASYNC: Final = ThreadPoolExecutor(1, thread_name_prefix="table-maintenance")
_RUNNING: Final[set[tuple[str, str]]] = set()
_LOCK: Final = threading.Lock()


def run_maintenance(
    access: TableAccess, newest: int, written: frozenset[bytes] = frozenset()
) -> None:
    """Do what is due after the commit of snapshot ``newest``, with rows in partitions ``written``."""
    if access.options.get(keys_retention.PARTITION_END_INPUT_TO_DONE) and written:
        _try(access, "marking partitions done", lambda of: mark_written(of, written))
    if access.options.get(keys_commit.WRITE_ONLY):
        return
    if access.options.get(keys_retention.SNAPSHOT_EXPIRE_EXECUTION_MODE) == "sync":
        _run_maintenance(access, newest)
        return
    key = (access.storage.uri, access.branch)
    with _LOCK:
        if key in _RUNNING:
            return  # what this commit left, the next one finds
        _RUNNING.add(key)
    _ASYNC.submit(_run_maintenance_later, access, newest, key)


def follow_publishing(access: TableAccess, snapshots: Sequence[Snapshot]) -> None:
    """Do what writing ``snapshots`` to a branch has left to the moment when main takes them over."""
    _try(access, "marking partitions done", lambda of: mark_published(of, snapshots))


def finish_maintenance() -> None:
    """Wait until what ``async`` tables began is done."""
    _ASYNC.submit(int).result()


def _run_maintenance_later(access: TableAccess, newest: int, key: tuple[str, str]) -> None:
    try:
        _run_maintenance(access, newest)
    except Exception:  # nobody asks the future for it
        _log.exception("%s: the commit stands, and what follows it has a fault", access.name)
        raise
    finally:
        with _LOCK:
            _RUNNING.discard(key)


def _run_maintenance(access: TableAccess, newest: int) -> None:
    steps: tuple[tuple[str, Callable[[TableAccess], object]], ...] = (
        ("making tags", make_due_tags),
        ("tagging the write", make_batch_tag),
        ("expiring tags", _expire_tags),
        ("expiring partitions", _expire_partitions),
        ("expiring consumers", _expire_consumers),
        ("expiring snapshots", partial(_expire_snapshots, newest=newest)),
        ("expiring changelogs", _expire_changelogs),
    )
    for what, step in steps:
        _try(access, what, step)


def _try(access: TableAccess, what: str, step: Callable[[TableAccess], object]) -> None:
    try:
        step(access)
    except TableError as error:
        _log.warning(
            "%s: the commit stands, but %s after it failed and is left to the next commit: %s",
            access.name,
            what,
            error,
        )


def _expire_tags(access: TableAccess) -> None:
    """Expire tags; they are read again only when one changed or the first of them is due."""
    if not access.options.get(keys_retention.TAG_TIME_EXPIRE_ENABLED):
        return
    key, listed = (access.storage.uri, access.branch), _listed_tags(access)
    seen, due_ms = _TAGS_DUE.get(key, (frozenset(), None))
    if listed == seen and (due_ms is None or access.clock.now_ms() < due_ms):
        return
    forget_tags(access, expired_tags(access))
    _TAGS_DUE[key] = (_listed_tags(access), next_tag_expiry_ms(access))
    while len(_TAGS_DUE) > _CHECKED_MAX:
        del _TAGS_DUE[next(iter(_TAGS_DUE))]


def _listed_tags(access: TableAccess) -> frozenset[_Listed]:
    folder = access.storage.list(layout.tag_folder(access.branch))
    return frozenset((i.path, i.stamp) for i in folder if not i.is_dir)


def _expire_consumers(access: TableAccess) -> None:
    age_ms = access.options.get(keys_scan.CONSUMER_EXPIRATION_TIME)
    if age_ms is not None:
        older_than_ms = access.clock.now_ms() - age_ms
        Consumers(access).forget(idle_consumers(access, older_than_ms=older_than_ms))


def _expire_snapshots(access: TableAccess, newest: int) -> None:
    metadata = access.metadata
    # The commit has read it just now; if it is late, the snapshot after it is gone, and it is read again.
    floor = metadata.hinted_floor() if metadata.floor_seen is None else metadata.floor_seen
    if floor is not None and floor <= newest:
        now_ms = access.clock.now_ms()
        seen = Bounds(earliest=floor, latest=newest, leftovers=(), now_ms=now_ms)
        if _may_expire(access, seen) is False:
            return
    bounds = ExpiryEffects(access, by_hints=True).bounds()
    if bounds is None:
        return
    if floor is None and bounds.earliest == FIRST_ID:  # so that nobody has to list the folder again
        hint = layout.hint_path("snapshot", EARLIEST, access.branch)
        metadata.storage.create(hint, encode_hint(FIRST_ID))
    # Not for leftovers alone: Paimon's fast-forward puts the hint above snapshots that are still to be read.
    if _may_expire(access, bounds):
        with expiring(access) as mark:
            effects = ExpiryEffects(access, by_hints=True, mark=mark)
            drive(steps_of(snapshot_retention(access)), effects.perform)


def _may_expire(access: TableAccess, bounds: Bounds) -> bool | None:
    """Whether the earliest snapshot may go; None: somebody else expires it."""
    retention = snapshot_retention(access)
    if are_few(bounds, retention):
        return False  # most small tables end here, and nothing is read
    try:
        successor = access.metadata.snapshot(min(bounds.earliest + 1, bounds.latest))
    except NotFoundError:
        return None
    return may_expire(bounds, retention, successor)


def _expire_changelogs(access: TableAccess) -> None:
    if snapshot_retention(access).changelog_decoupled:
        drive(changelog_steps_of(changelog_retention(access)), ExpiryEffects(access).perform)


def _expire_partitions(access: TableAccess) -> None:
    """Drop partitions past their time, if it is long enough since they were looked at.

    The first look of a process is due at a random time, so that short-lived ones look too.
    """
    from table_core.table.maintenance.expire_partitions import expire_partitions
    from table_core.table.metadata.results import CommitAs

    options = access.options
    if not access.schema.partition_keys or PartitionExpiry.of(options) is None:
        return
    key, now_ms = (access.storage.uri, access.branch), access.clock.now_ms()
    interval_ms = options.get(keys_retention.PARTITION_EXPIRATION_CHECK_INTERVAL)
    checked_ms = _CHECKED.setdefault(key, now_ms - int(interval_ms * access.ids.jitter()))
    always = options.get(keys_retention.END_INPUT_CHECK_PARTITION_EXPIRE)
    if not always and interval_ms and now_ms <= checked_ms + interval_ms:
        return
    _CHECKED[key] = now_ms
    while len(_CHECKED) > _CHECKED_MAX:
        del _CHECKED[next(iter(_CHECKED))]
    expire_partitions(access, None, dry_run=False, commit=CommitAs())
