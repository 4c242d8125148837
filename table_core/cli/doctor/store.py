"""The warehouse: whether it is there, may be read and written, and keeps what a commit relies on.

It writes a folder of its own into the warehouse, and takes it away again.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Final

from table_core.cli.doctor.finding import Finding, State
from table_core.errors import (
    AccessDeniedError,
    MissingPackageError,
    NotFoundError,
    StorageUnavailableError,
    TableError,
    UnsupportedFeatureError,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from table_core.ports import Clock, Storage
    from table_core.table.api.catalog import Catalog

__all__ = ["refused", "store_findings"]

_WRITERS: Final = 8
_SKEW_MS: Final = 60_000
_REMEDIES: Final[tuple[tuple[type[TableError], str], ...]] = (
    (AccessDeniedError, "Ask for the right to list, read, write and delete below the warehouse."),
    (MissingPackageError, "Install the extra that is named."),
    (UnsupportedFeatureError, "Use a store of docs/stores.md, or give all writers one lock."),
    (StorageUnavailableError, "Check address, network and credentials, then try again."),
    (NotFoundError, "Check the URI, or make the warehouse: table-core create."),
    (TableError, "See docs/errors.md for this kind of error."),
)


def store_findings(catalog: Catalog, clock: Clock, *, write: bool) -> Iterator[Finding]:
    """How the store of ``catalog`` behaves; without ``write`` only what can be read."""
    yield from _probed("warehouse", lambda: _warehouse(catalog))
    if not write:
        yield Finding("store", State.SKIPPED, "nothing was written: --read-only")
        return
    if catalog.directory.makes_tables:
        yield Finding(
            "store", State.SKIPPED, "the server of the catalog says where each table lies"
        )
        return
    folder = f"_doctor-{catalog.ids.uuid()}"
    try:
        yield from _probed("create if absent", lambda: _creates(catalog.storage, folder))
        yield from _probed("listing", lambda: _lists(catalog.storage, folder))
        yield from _probed("clock", lambda: _clock(catalog.storage, folder, clock))
    finally:
        yield from _probed("delete", lambda: _deletes(catalog.storage, folder))


def refused(check: str, error: TableError) -> Finding:
    """An error as a finding."""
    remedy = next(text for cls, text in _REMEDIES if isinstance(error, cls))
    return Finding(check, State.FAULT, f"{error.kind}: {error}", remedy)


def _probed(check: str, look: Callable[[], Finding]) -> Iterator[Finding]:
    try:
        yield look()
    except TableError as error:
        yield refused(check, error)


def _warehouse(catalog: Catalog) -> Finding:
    names = catalog.databases()
    if not names and not catalog.storage.exists(""):
        raise NotFoundError(f"there is nothing at {catalog.warehouse}", name=catalog.warehouse)
    count = sum(len(catalog.tables(name)) for name in names)
    text = f"{catalog.warehouse}; databases: {len(names)}, tables: {count}"
    return Finding("warehouse", State.OK, text)


def _creates(storage: Storage, folder: str) -> Finding:
    """Of writers that create one file at the same moment, one wins, and its bytes stay."""
    path, bodies = f"{folder}/snapshot", [str(n).encode() for n in range(_WRITERS)]
    with ThreadPoolExecutor(_WRITERS) as pool:
        won = list(pool.map(lambda body: storage.create(path, body), bodies))
    late = storage.create(path, b"late")
    there = storage.read(path)
    if sum(won) == 1 and not late and there == bodies[won.index(True)]:
        text = f"one of {_WRITERS} writers that create a file at once wins"
        return Finding("create if absent", State.OK, text)
    return Finding(
        "create if absent",
        State.FAULT,
        f"{sum(won) + late} of {_WRITERS + 1} writers were told that they created one file, which holds "
        f"{there!r}: commits could be lost",
        "Give all writers one lock (lock.type), or move the warehouse to a store of docs/stores.md.",
    )


def _lists(storage: Storage, folder: str) -> Finding:
    """A new file is listed at once, a deleted one no more."""
    path = f"{folder}/listed"
    storage.write(path, b"x")
    shown = path in {info.path for info in storage.list(folder)}
    storage.delete([path])
    gone = path not in {info.path for info in storage.list(folder)}
    if shown and gone:
        return Finding("listing", State.OK, "shows new files at once, and deleted ones no more")
    what = "a new file late" if not shown else "a file that is deleted"
    return Finding(
        "listing",
        State.FAULT,
        f"the listing shows {what}: readers could miss commits",
        "Turn off what caches listings between here and the store.",
    )


def _clock(storage: Storage, folder: str, clock: Clock) -> Finding:
    """The store's clock stamps files, this machine's clock decides what is old."""
    path = f"{folder}/clock"
    storage.write(path, b"x")
    now_ms = clock.now_ms()
    stamped = {info.path: info.modified_ms for info in storage.list(folder)}
    if path not in stamped:
        return Finding("clock", State.SKIPPED, "the listing does not show when a file was written")
    skew_ms = stamped[path] - now_ms
    if abs(skew_ms) < _SKEW_MS:
        return Finding("clock", State.OK, "within a minute of the store's")
    side = "behind" if skew_ms > 0 else "ahead of"
    return Finding(
        "clock",
        State.FAULT,
        f"this machine's clock is {abs(skew_ms) // 1000} s {side} the store's: expiry and orphan removal "
        "go by age",
        "Let a time service (NTP) set the clock of this machine.",
    )


def _deletes(storage: Storage, folder: str) -> Finding:
    storage.delete_tree(folder)
    return Finding("delete", State.OK, "what was written for these checks is deleted")
