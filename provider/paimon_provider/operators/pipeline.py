"""Run a pipeline that goes on: from sources through flows, batch after batch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from paimon_provider.connections.source import source_with
from paimon_provider.operators.base import PaimonDatabaseOperator

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["PaimonPipelineOperator"]


class PaimonPipelineOperator(PaimonDatabaseOperator):
    """Carry changes from sources through flows in one task that runs on.

    Each source is followed without an end, and a flow takes the changes of the one before as soon as
    they are committed. Give the Dag ``schedule="@continuous"`` and ``max_active_runs=1``:
    Airflow then begins the next run when ``max_lifetime`` has ended this one behind a batch. Positions
    are those of the same syncs and flows by a schedule. So a task that is killed, and whatever runs
    next, goes on with nothing lost or doubled. Two runs of one pipeline exclude each other.

    A hop that fails stops, with what only it feeds. The others go on; the log says it once, and the
    task fails when it ends. The task emits no events of the tables' assets; use watchers for them.

    :param pipeline_name: the name of the pipeline.
    :param hops: the steps, ``{"name", "action", "target", "args"}`` each. ``action`` is
        ``sync-table``, ``sync-database``, ``write`` or ``merge-into``, and ``args`` are those of the
        job. A source may have ``source_conn_id`` among them, as the operators of syncs. (templated)
    :param interval: sources commit at most this often.
    :param upkeep: how often small files of a table that was written to are merged.
    :param max_lifetime: end behind a batch after this time. Without it the task runs until it is
        stopped.
    """

    action = "pipeline"
    rendered_too: ClassVar = {}
    hops: Sequence[Mapping[str, Any]]

    def __init__(
        self,
        *,
        pipeline_name: str,
        hops: Sequence[Mapping[str, Any]],
        interval: str = "1 s",
        upkeep: str = "1 min",
        max_lifetime: str | None = None,
        engine: str = "local",
        **kwargs: Any,
    ) -> None:
        super().__init__(engine=engine, **kwargs)
        self._take_arguments(locals())

    def arguments(self) -> dict[str, Any]:
        """Those of the action; sources have what their connections say."""
        return {**super().arguments(), "hops": [_with_source(hop) for hop in self.hops]}


def _with_source(hop: Mapping[str, Any]) -> dict[str, Any]:
    """A hop whose source is completed by its connection; the password is there only now."""
    args = dict(hop.get("args") or {})
    conn_id = args.pop("source_conn_id", None)
    if conn_id is not None:
        args["source"] = source_with(args.get("source") or {}, str(conn_id))
    return {**hop, "args": args}
