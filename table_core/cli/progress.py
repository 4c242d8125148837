"""How far long work is: bars with rate and remaining time on a terminal, and nothing elsewhere.

What a program reads, ``--json`` or a pipe, gets no byte of it.
"""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from rich.console import Console
from rich.filesize import decimal
from rich.progress import BarColumn, Progress, ProgressColumn, SpinnerColumn, Task, TextColumn
from rich.text import Text

from table_core.options.shown import shown
from table_core.table.metadata.progress import watched

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from table_core.table.metadata.progress import Step

__all__ = ["progress_of_sync", "progress_shown"]

_MINUTE: Final = 60


@contextmanager
def progress_shown(*, as_json: bool) -> Iterator[None]:
    """Bars for what the verbs that are called inside tell of themselves."""
    with _bars(as_json=as_json) as bars:
        if bars is None:
            yield
            return
        of: dict[str, Any] = {}

        def watch(step: Step) -> None:
            if step.stage not in of:
                of[step.stage] = bars.add_task(step.stage, total=step.total, unit=step.unit)
            bars.update(of[step.stage], completed=step.done, total=step.total)

        with watched(watch):
            yield


@contextmanager
def progress_of_sync(*, as_json: bool) -> Iterator[Callable[..., None]]:
    """What a sync calls with its stages: a bar for each table that is read, a line for each commit."""
    with _bars(as_json=as_json) as bars:
        if bars is None:
            yield lambda *_, **__: None
            return
        of: dict[str, Any] = {}

        def tell(stage: str, **facts: Any) -> None:
            if stage == "committed":
                line = f"{facts['table']}: snapshot {facts['snapshot']}"
                bars.console.print(shown(line), markup=False)
                return
            name = facts.get("table", "events")
            if name not in of:
                unit = "rows" if "rows" in facts else "events"
                of[name] = bars.add_task(shown(name), total=None, unit=unit)
            done = facts.get("rows", facts.get("events"))
            bars.update(of[name], completed=done, total=facts.get("of"))

        yield tell


@contextmanager
def _bars(*, as_json: bool) -> Iterator[Progress | None]:
    """None where nobody looks."""
    console = Console(stderr=True)
    if as_json or not console.is_terminal or not sys.stdout.isatty():
        yield None
        return
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=None),
        _Done(),
        _Rate(),
        _Left(),
    )
    with Progress(*columns, console=console, transient=True, expand=True) as bars:
        yield bars


class _Done(ProgressColumn):
    """``1.2 MB of 3.4 MB``."""

    def render(self, task: Task) -> Text:
        if task.total is None and not task.completed:
            return Text("")
        done = _amount(task.completed, task)
        return Text(done if task.total is None else f"{done} of {_amount(task.total, task)}")


class _Rate(ProgressColumn):
    """``0.5 MB/s``."""

    def render(self, task: Task) -> Text:
        speed = task.finished_speed or task.speed
        return Text("" if speed is None else f"{_amount(speed, task)}/s")


class _Left(ProgressColumn):
    """``2:05 left``; nothing while nobody can know."""

    max_refresh = 0.5

    def render(self, task: Task) -> Text:
        seconds = task.time_remaining
        if seconds is None or task.finished:
            return Text("")
        minutes, rest = divmod(int(seconds), _MINUTE)
        return Text(f"{minutes}:{rest:02} left")


def _amount(number: float, task: Task) -> str:
    if task.fields["unit"] == "bytes":
        return decimal(int(number))
    return f"{int(number):,} {task.fields['unit']}"
