"""A reader by positions, as a query on Spark is: its checkpoint lies nowhere near the table."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass
from typing import Protocol, TypeVar

from table_core.errors import PositionDivergedError
from table_core.scan.stream_offset import NO_LIMIT, ReadLimit, StreamOffset
from table_core.table.files.row_form import RowForm
from table_core.table.metadata.access import TableAccess
from table_core.table.metadata.refs.consumers import delete_consumer
from table_core.table.read.split_reader import SplitReader
from table_core.table.read.stream_plan import StreamPlanner

NAME = "query"


class Version(Protocol):
    """A snapshot of the model."""

    added: frozenset[int]
    state: frozenset[int]
    overwrote: bool


V = TypeVar("V", bound=Version)


@dataclass
class Query:
    """One query, with its checkpoint and, of the model, what it has read."""

    checkpoint: str | None = None
    at: Version | None = None

    def step(self, access: TableAccess, versions: list[V], draw: random.Random) -> bool:
        """A micro-batch; False where the query is told that the table is another one by now.

        Each is planned by a process that knows nothing, as after a restart.
        """
        if not versions and self.at is None:
            return True  # there is nothing to begin with
        lost = self.at is not None and self.at not in versions
        planner = StreamPlanner.of(access, NAME)
        try:
            begin = self.stored() or planner.begun()
            end = planner.reached(begin, draw.choice((NO_LIMIT, NO_LIMIT, ReadLimit(snapshots=1))))
            found = self.read(StreamPlanner.of(access, NAME), begin, end)
        except PositionDivergedError:
            assert lost, "a query was told of another table, and it is the same"
            delete_consumer(access, NAME)
            self.checkpoint = self.at = None
            return False
        assert not lost, "a query went on in a table that is another by now"
        upto = versions[: end.snapshot - 1]
        wanted: list[int] = []
        if self.at is not None:
            first = [*versions].index(self.at) + 1  # type: ignore[arg-type]  # it is one of them
        elif begin.full is None:  # its consumer was here before
            first = begin.snapshot - 1
        else:
            first, wanted = begin.snapshot, [*versions[begin.snapshot - 1].state]
        wanted += [id for v in upto[first:] if not v.overwrote for id in v.added]
        assert sorted(found) == sorted(wanted), (begin, end)
        self.at = upto[-1] if upto else None
        self.checkpoint = json.dumps(end.to_document())
        planner.hold(end.snapshot, end.read, end.birth)
        return True

    def stored(self) -> StreamOffset | None:
        return (
            None
            if self.checkpoint is None
            else StreamOffset.from_document(json.loads(self.checkpoint))
        )

    def read(self, planner: StreamPlanner, begin: StreamOffset, end: StreamOffset) -> list[int]:
        access = planner.access
        reader = SplitReader(access=access, fields=access.schema.fields, form=RowForm.CHANGES)
        splits = planner.between(begin, end)
        return [
            id for split in splits for rows in reader.read(split) for id in rows["id"].to_pylist()
        ]
