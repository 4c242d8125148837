"""The changelogs of a branch that outlive their snapshots, for who takes history back (format 11.3)."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from table_core.errors import NotFoundError
from table_core.ondisk import layout
from table_core.ondisk.hints import EARLIEST, LATEST
from table_core.ondisk.snapshot import Snapshot

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from table_core.table.metadata.access import TableAccess

__all__ = ["changelog_ids", "changelogs_of", "forget_changelogs"]


def changelog_ids(access: TableAccess) -> list[int]:
    """Their numbers, ascending."""
    listed = access.storage.list(layout.changelog_folder(access.branch))
    names = (info.path.rpartition("/")[2] for info in listed)
    return sorted(id for name in names if (id := layout.numbered(name, "changelog-")) is not None)


def changelogs_of(access: TableAccess, ids: Iterable[int]) -> Iterator[Snapshot]:
    """The documents of ``ids`` that are there."""
    for id in ids:
        path = layout.changelog_path(id, access.branch)
        with suppress(NotFoundError):
            yield Snapshot.from_json(access.storage.read(path), path=path)


def forget_changelogs(access: TableAccess, ids: Collection[int], *, keeps_earlier: bool) -> None:
    """Delete the changelogs ``ids``, the newest there are; first the hints that would point past the end.

    Readers list the folder without them.  Who is cut short in between finds the changelogs again, and not the hints
    of none.  ``keeps_earlier``: there are some before ``ids``.
    """
    if not ids:
        return
    storage, branch = access.storage, access.branch
    hints = (LATEST,) if keeps_earlier else (LATEST, EARLIEST)
    storage.delete([layout.hint_path("changelog", which, branch) for which in hints])
    storage.delete([layout.changelog_path(id, branch) for id in ids])
