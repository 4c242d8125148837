"""The command that runs a pipeline until it is stopped."""

from __future__ import annotations

import json
import signal
import threading
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from table_core.cli import output
from table_core.cli.arguments import AsJson, Warehouse  # noqa: TC001 - typer reads them
from table_core.cli.catalog_file import open_warehouse
from table_core.cli.commands import Entry
from table_core.errors import ArgumentError
from table_core.jobs.action import Heading, Job

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["ENTRIES"]


def pipeline(
    warehouse: Warehouse,
    database: Annotated[str, typer.Argument(help="The database of its tables.")],
    hops: Annotated[
        str,
        typer.Option(
            help="A file with JSON: a list of {'name': …, 'action': 'sync-database', 'target': …, 'args': {…}}."
        ),
    ],
    name: Annotated[str, typer.Option(help="The pipeline: two of one name exclude each other.")],
    interval: Annotated[str, typer.Option(help="Sources commit at most this often.")] = "1 s",
    upkeep: Annotated[str, typer.Option(help="How often small files are merged.")] = "1 min",
    max_lifetime: Annotated[
        str | None, typer.Option(help="End behind a batch after e.g. '1 h'.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Carry changes from sources through flows, batch after batch, until it is stopped.

    Ctrl-C or SIGTERM ends it behind a batch. If it is killed, the next run goes on where the tables are.
    """
    from table_core.jobs.embedded import EmbeddedEngine
    from table_core.jobs.pipeline import run_pipeline
    from table_core.jobs.registry import action_of
    from table_core.table.metadata.results import CommitAs

    action = action_of("pipeline")
    args = {
        "name": name,
        "hops": _read(hops),
        "interval": interval,
        "upkeep": upkeep,
        "max_lifetime": max_lifetime,
    }
    job = Job(
        action=action.name,
        catalog=open_warehouse(warehouse),
        target=database,
        args=action.checked(args),
        commit=CommitAs(),
        engine=EmbeddedEngine(_told),
    )
    with _stopped_by_signals() as stop:
        result = run_pipeline(job, stop)
    output.show_result(result, as_json=as_json)


def _read(path: str) -> Any:
    try:
        return json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise ArgumentError(f"--hops {path}: {error}", argument="hops") from error
    except ValueError as error:
        raise ArgumentError(f"--hops {path} is no JSON: {error}", argument="hops") from error


def _told(stage: str, **facts: Any) -> None:
    """A line for what somebody may want to mend."""
    if stage in {"stopped", "tried-again", "upkeep-failed"}:
        typer.echo(f"{stage}: {' '.join(str(value) for value in facts.values())}", err=True)


@contextmanager
def _stopped_by_signals() -> Iterator[threading.Event]:
    """What is set when the process is told to end; the second time it ends at once."""
    stop = threading.Event()
    before: dict[int, Any] = {}

    def end(number: int, _: Any) -> None:
        signal.signal(number, before[number])
        stop.set()

    for one in (signal.SIGINT, signal.SIGTERM):
        before[one] = signal.signal(one, end)
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


ENTRIES: Final[Sequence[Entry]] = (
    Entry(
        ("pipeline",),
        Heading.FEEDS,
        pipeline,
        "lake --name sales --hops sales.json --max-lifetime '1 s'",
    ),
)
