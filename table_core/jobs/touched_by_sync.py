"""What a sync would read: files by their sizes; of a server or a broker only whether it was read before."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from table_core.cdc.apply.target import CLAIMS_PROPERTY
from table_core.cdc.model.claims import POSITION_PROPERTY
from table_core.cdc.source.files.source import FilesSource
from table_core.cdc.sync.source_kinds import SOURCE_KINDS
from table_core.errors import NotFoundError
from table_core.jobs.action import Target
from table_core.jobs.engine_choice import Touched
from table_core.jobs.registry import action_of
from table_core.position.document import Positions
from table_core.position.lines import FilesRead
from table_core.storage.stores.locate import open_storage

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from table_core.jobs.action import Job
    from table_core.table.api.table import Table

__all__ = ["touched_by_sync", "was_read"]

_PACKAGES: Final = {"kafka": "confluent_kafka", "mysql": "pymysql", "postgres": "psycopg"}
_EVENT: Final = 256
"""Bytes of a small event: there are rarely more rows than that."""
_PACKED: Final = 8
"""So many times longer is what a compressed file of events holds."""
_WINDOWS: Final = 512 << 20
"""Of a window of events, decoded, and of rows that wait for their commit."""


def touched_by_sync(job: Job) -> Touched:
    """What is ahead of the positions of the tables; a source's first run over a server goes to Spark."""
    source = job.args["source"]
    kind = str(source.get("kind", "files"))
    if kind != "files":
        package = _PACKAGES.get(kind)
        first = not was_read(job)
        why = f"nobody can tell how much {kind} has, and nothing of it was read yet"
        known = kind in SOURCE_KINDS and first
        return Touched(
            memory=_WINDOWS,
            packages=(package,) if package else (),
            spark_because=why if known else "",
        )
    sizes = _sizes(source, job.store_options)
    taken = _taken(_tables(job))
    left = {path: size - taken.get(path, 0) for path, size in sizes.items()}
    lengths = [n * _PACKED if path.endswith(".gz") else n for path, n in left.items() if n > 0]
    total = sum(lengths)
    return Touched(
        files=len(lengths), bytes=total, rows=total // _EVENT, memory=min(8 * total, _WINDOWS)
    )


def was_read(job: Job) -> bool:
    """Whether a table that the job is about has read something of such a source."""
    kind = str(job.args["source"].get("kind", "files"))
    return any(_has_position(table, kind) for table in _tables(job))


def _sizes(source: Mapping[str, Any], store_options: Mapping[str, str]) -> dict[str, int]:
    files = FilesSource(str(source["uri"]), format=str(source.get("format", "debezium-json")))
    storage = open_storage(files.folder, source.get("storage_options") or store_options)
    return {f"{storage.uri}/{info.path}": info.size for info in files.listing(storage)}


def _tables(job: Job) -> Iterator[Table]:
    """The targets that there are."""
    if action_of(job.action).target is Target.TABLE:
        names = [job.target]
    elif job.target in job.catalog.databases():
        names = [f"{job.target}.{name}" for name in job.catalog.tables(job.target)]
    else:
        names = []
    for name in names:
        try:
            yield job.catalog.table(name)
        except NotFoundError:  # not made yet, or dropped meanwhile
            continue


def _has_position(table: Table, kind: str) -> bool:
    """Whether a table has a position in a source of a kind; one that somebody has set is of any."""
    held = Positions.parse(table.position(CLAIMS_PROPERTY))
    if held is None:
        return bool(table.position(POSITION_PROPERTY))
    return any(one.source.kind == kind for one in held)


def _taken(tables: Iterator[Table]) -> dict[str, int]:
    """Bytes that were read of each file, of all tables the least."""
    taken: list[dict[str, int]] = []
    for table in tables:
        held = Positions.parse(table.position(CLAIMS_PROPERTY)) or Positions()
        places = [one.place for one in held if isinstance(one.place, FilesRead)]
        if places:
            taken.append({p: t.size for place in places for p, t in place.files.items()})
    paths = set(taken[0]).intersection(*taken[1:]) if taken else set()
    return {path: min(sizes[path] for sizes in taken) for path in paths}
