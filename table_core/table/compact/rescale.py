"""Another number of buckets: partitions that still have the old number are written anew.

Source: format 6.1; ``org.apache.paimon.flink.action.RescaleAction``.
"""

from __future__ import annotations

from contextlib import contextmanager, nullcontext, suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final

from table_core.commit.basis import AsOf, Basis
from table_core.commit.overwrite import Selection
from table_core.errors import (
    ArgumentError,
    CommitConflictError,
    NotFoundError,
    TableError,
)
from table_core.lsm.triggers import number_of_levels
from table_core.ondisk.properties import ROWS_KEPT_PROPERTY
from table_core.options import keys_scan
from table_core.scan.split import hides_level0
from table_core.schema.change import SetOption
from table_core.table.commit_io.committer import find_commit
from table_core.table.commit_io.prepared import WriteResult
from table_core.table.commit_io.replacing import commit_replacing
from table_core.table.commit_io.uncommitted import is_certain
from table_core.table.commit_io.until_compacted import until_compacted
from table_core.table.compact.compact import compact
from table_core.table.compact.inline_compaction import InlineCompaction
from table_core.table.metadata.alter import alter
from table_core.table.metadata.describing import committed, foretold
from table_core.table.metadata.partition_spec import partition_matcher, partition_row
from table_core.table.metadata.results import CommitAs, ResultDocument
from table_core.table.read.split_reader import SplitReader
from table_core.table.read.state_plan import StatePlanner
from table_core.table.write.writer import TableWriter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import TypeAlias

    from table_core.ondisk.snapshot import Snapshot
    from table_core.table.metadata.access import TableAccess
    from table_core.table.metadata.results import Commit

    Rewrite: TypeAlias = Callable[
        [TableAccess, Snapshot | None, frozenset[bytes], CommitAs], Commit
    ]

__all__ = ["basis_of", "rescale"]

_TRIES: Final = 3


def rescale(
    access: TableAccess,
    buckets: int | None,
    partitions: Sequence[Mapping[str, object]] | None,
    commit: CommitAs,
    rewrite: Rewrite | None = None,
    *,
    dry_run: bool = False,
) -> ResultDocument:
    """See ``Table.rescale``.  ``rewrite`` moves the rows, by default in this process."""
    started_ms = access.clock.now_ms()
    before = access.schema.bucket
    wanted = before if buckets is None else buckets
    if wanted < 1 or before < 1:
        raise ArgumentError(
            f"{access.name} has bucket = {before} and is to have {wanted}: only tables with a fixed "
            "number of buckets are rescaled, to another",
            argument="buckets",
            value=buckets,
        )
    access.require_same()
    selected = partition_matcher(access, partitions) if partitions else None
    commit = commit.with_request("rescale", access.branch, buckets=buckets, partitions=partitions)
    done = find_commit(access, commit)  # first: others may have rescaled since
    option = access.metadata.latest_schema().bucket
    sets_option = done is None and wanted != option and not dry_run
    if sets_option:
        wanted = alter(access, (SetOption("bucket", str(wanted)),), commit).bucket
    with _gone_along(access, wanted) if sets_option else nullcontext():
        access = access.with_schema(access.metadata.latest_schema()).with_options(
            {"bucket": str(wanted)}
        )
        head = access.head()
        old = {} if done is not None else _with_another_count(access, selected)
        since = None
        if old and not dry_run:
            kept = {**commit.properties, ROWS_KEPT_PROPERTY: "true"}
            commit_as = replace(commit, properties=kept)
            with _option_kept(access, option, commit):
                moved = _moved(access, selected, commit_as, rewrite or _written_anew)
                done, head, since, old = moved
    details = {"buckets": wanted, "partitions": len(old)}
    if dry_run and done is None:
        gone = access.metadata.live_files(head).of_partitions(old.__contains__).size.tolist()
        told = {**details, "replayed": False}
        return foretold(access, "rescale", head, gone, told, started_ms=started_ms, instead=True)
    return committed(access, "rescale", done, head, details, started_ms=started_ms, since=since)


def _moved(
    access: TableAccess,
    selected: Callable[[bytes], bool] | None,
    commit: CommitAs,
    rewrite: Rewrite,
) -> tuple[Commit | None, Snapshot | None, Snapshot | None, dict[bytes, int]]:
    """Write anew what has another number of buckets, on newer heads where others were first.

    The commit, the head that it began with, the same if that was compacted first, and what was moved.  No commit:
    others have moved all of it meanwhile.

    Raises:
        CommitConflictError: others were first every time.
    """
    for attempt in range(1, _TRIES + 1):
        head = access.head()
        old = _with_another_count(access, selected)
        if not old:
            return None, head, None, old
        try:
            now = _compacted(access, head, old)
            done = rewrite(access, now, frozenset(old), commit)
            return done, head, None if now == head else head, old
        except CommitConflictError:
            if attempt == _TRIES:
                raise
    raise AssertionError(attempt)


@contextmanager
def _gone_along(access: TableAccess, wanted: int) -> Iterator[None]:
    """Within, the option is ``wanted`` already: a table that is renamed now takes it along without its rows.

    Raises:
        OutcomeUnknownError: the table was dropped or renamed meanwhile.
    """
    try:
        yield
    except TableError as error:
        if is_certain(error):
            access.require_stayed(
                f"its option 'bucket' was {wanted} and its rows were not written anew: rescale it again there"
            )
        raise


@contextmanager
def _option_kept(access: TableAccess, before: int, commit: CommitAs) -> Iterator[None]:
    """Let the option be ``before`` again if nothing is rewritten inside; it is that of ``access`` if something was.

    Two may rescale to one number.  Who fails sets the option back, then looks for files of the other; who has
    committed files looks for the option then.
    """
    wanted = access.schema.bucket
    try:
        yield
    except TableError as error:
        if is_certain(error) and wanted != before:
            with suppress(CommitConflictError, NotFoundError):  # others changed it, or it is gone
                _set_option(access, before, commit, instead_of=wanted, undoes=True)
                if any(e.total_buckets == wanted for e in access.live_entries(access.head())):
                    _set_option(access, wanted, CommitAs(), instead_of=before)
        raise
    if wanted == before:
        _set_option(access, wanted, CommitAs())


def _set_option(
    access: TableAccess,
    buckets: int,
    commit: CommitAs,
    *,
    instead_of: int | None = None,
    undoes: bool = False,
) -> None:
    newest = access.metadata.latest_schema()
    if newest.bucket != buckets and instead_of in {None, newest.bucket}:
        change = SetOption("bucket", str(buckets))
        expect = None if instead_of is None else newest.id
        alter(access, (change,), commit, expect=expect, undoes=undoes)


def _with_another_count(
    access: TableAccess, selected: Callable[[bytes], bool] | None
) -> dict[bytes, int]:
    """The partitions to write anew, and how many buckets they have."""
    return {
        entry.partition: entry.total_buckets
        for entry in access.live_entries(access.head())
        if entry.total_buckets not in (access.schema.bucket, -1, -2)
        and (selected is None or selected(entry.partition))
    }


def _compacted(
    access: TableAccess, head: Snapshot | None, partitions: Mapping[bytes, int]
) -> Snapshot | None:
    """``head``, or a later one in which nothing of ``partitions`` waits for a compaction.

    What waits is hidden from every read, or no reader was told of its changes. It would go with the old files.

    Raises:
        CommitConflictError: other writers were first every time.
    """
    below = _told_from(access)

    def waiting(head: Snapshot | None) -> dict[bytes, int]:
        return {
            entry.partition: partitions[entry.partition]
            for entry in access.live_entries(head)
            if entry.partition in partitions and entry.file.level < below
        }

    return until_compacted(access, head, waiting, partial(_compact, access), then="rescale again")


def _told_from(access: TableAccess) -> int:
    """The lowest level whose rows every read sees, and whose changes readers were told."""
    if not access.schema.is_key_table:
        return 0
    producer = access.options.get(keys_scan.CHANGELOG_PRODUCER)
    if producer == "full-compaction":
        return number_of_levels(access.options) - 1
    return int(producer == "lookup" or hides_level0(access.schema, access.options))


def _compact(access: TableAccess, partitions: Mapping[bytes, int]) -> None:
    """Compact ``partitions``, each with its own number of buckets."""
    for partition, count in partitions.items():
        row = partition_row(access, partition)
        compact(
            access.with_options({"bucket": str(count)}),
            strategy="full",
            partitions=[row] if row else None,
            where=None,
            order_by=None,
            dry_run=False,
            commit=CommitAs(),
        )


def basis_of(head: Snapshot | None) -> WriteResult:
    """What a commit says that writes the rows of ``head`` anew: rows that came since would be overwritten.

    And rows that were taken back since, by a rollback below ``head``, would be there again.
    """
    return WriteResult(basis=Basis(idle=frozenset({AsOf.of(head)})))


def _written_anew(
    access: TableAccess, head: Snapshot | None, partitions: frozenset[bytes], commit: CommitAs
) -> Commit:
    selection = Selection.rescaled(partitions.__contains__)

    def replaced(result: WriteResult) -> Commit:
        return commit_replacing(access, (result, basis_of(head)), commit, selection)

    plan = StatePlanner(access=access, keeps_partition=partitions.__contains__).plan(head)
    reader = SplitReader(access=access, fields=access.schema.fields)
    whole = access.for_whole_rows()
    inline = partial(InlineCompaction, whole, replaces=True)
    with TableWriter(whole, replaced, compaction=inline, replaces=True) as writer:
        for split in plan.splits:
            for rows in reader.read(split):
                writer.write(rows)
        return writer.commit()
