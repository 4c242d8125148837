"""The hops of a pipeline, read off the arguments of its job."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from table_core.errors import ArgumentError, UnsupportedFeatureError
from table_core.pipeline.hop import Hop, in_order
from table_core.table.metadata.results import CommitAs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from table_core.jobs.action import Action, Job
    from table_core.table.metadata.results import ResultDocument

__all__ = ["HOP_ACTIONS", "PlannedHop", "PlannedHops", "planned"]

_SYNCS: Final = ("sync-table", "sync-database")
_FLOWS: Final = ("write", "merge-into")
HOP_ACTIONS: Final = (*_SYNCS, *_FLOWS)
"""What a hop may do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedHop:
    """A hop, and what carries it out."""

    hop: Hop
    action: Action
    args: Mapping[str, Any]

    def batch(self, job: Job) -> ResultDocument:
        """One batch of a flow."""
        one = replace(
            job,
            action=self.action.name,
            target=self.hop.target,
            args=self.args,
            commit=CommitAs(user=job.commit.user),
        )
        result = self.action.run(one)
        assert not hasattr(result, "findings")  # of a check alone
        return result  # type: ignore[return-value]  # a flow gives a result document

    def follow(
        self, job: Job, progress: Callable[..., None], stops: Callable[[], bool]
    ) -> ResultDocument:
        """Follow a source until ``stops``."""
        from table_core.cdc.sync.sync import sync_database, sync_from_spec, sync_table
        from table_core.jobs.first_look import look_first

        look_first(replace(job, action=self.action.name, target=self.hop.target, args=self.args))
        verb = sync_table if self.action.name == "sync-table" else sync_database
        args = {"interval": job.args["interval"], **self.args, "until": "forever"}
        commit = CommitAs(user=job.commit.user)
        return sync_from_spec(
            verb, job.catalog, self.hop.target, args, commit, progress=progress, stops=stops
        )


@dataclass(frozen=True, slots=True)
class PlannedHops:
    """All hops, in their order."""

    by_name: dict[str, PlannedHop]

    @property
    def flows(self) -> list[PlannedHop]:
        """Those that compute tables."""
        return [one for one in self.by_name.values() if not one.hop.is_source]


def planned(job: Job) -> PlannedHops:
    """The hops of ``job``, each checked as a job of its own would be.

    Raises:
        ArgumentError: a hop is malformed, or they wake each other in a circle.
        UnsupportedFeatureError: a hop is to do what no hop does.
    """
    hops = [_planned(number, document) for number, document in enumerate(job.args["hops"])]
    ordered = in_order([one.hop for one in hops])
    named = {one.hop.name: one for one in hops}
    if all(hop.is_source for hop in ordered):
        raise ArgumentError(
            "hops: there is no flow among them: a source alone is a sync with until: forever",
            argument="hops",
            value=[hop.name for hop in ordered],
        )
    return PlannedHops({hop.name: named[hop.name] for hop in ordered})


def _planned(number: int, document: Mapping[str, Any]) -> PlannedHop:
    from table_core.jobs.registry import action_of

    name, target = str(document["name"]), str(document["target"])
    kind = str(document["action"])
    if kind not in HOP_ACTIONS:
        raise UnsupportedFeatureError(
            f"hops[{number}] {name!r}: {kind!r} in a pipeline is not in this release; there are "
            f"{', '.join(HOP_ACTIONS)}",
            feature=f"{kind} in a pipeline",
        )
    action = action_of(kind)
    said = dict(document.get("args") or {})
    if kind == "write" and said.get("sql"):
        said.setdefault("name", name)
    try:
        args = action.checked(said)
        _refuse(kind, said)
    except ArgumentError as error:
        raise ArgumentError(f"hops[{number}] {name!r}: {error}", **error.facts) from error
    hop = Hop(
        name=name,
        target=target,
        woken_by=frozenset(_waking(kind, args, target)),
        is_source=kind in _SYNCS,
    )
    return PlannedHop(hop=hop, action=action, args=args)


def _refuse(kind: str, said: Mapping[str, Any]) -> None:
    """Refuse what has no meaning batch after batch."""
    if kind in _SYNCS:
        for name in ("until", "interval", "max_duration", "max_rows"):
            if name in said:
                raise ArgumentError(
                    f"{name} is the pipeline's own: leave it out", argument=name, value=said[name]
                )
    elif said.get("dry_run"):
        raise ArgumentError("dry_run: a pipeline writes", argument="dry_run", value=True)
    elif kind == "write" and not said.get("sql"):
        raise ArgumentError("a write in a pipeline has sql", argument="sql")


def _waking(kind: str, args: Mapping[str, Any], target: str) -> Iterator[str]:
    """Tables whose commits give a flow something to do.

    Those whose changes it reads; where rows wait for others, or it reads states alone, those too that it looks up.
    """
    if kind == "write":
        sources = args.get("sources") or {}
        changes = [s["table"] for s in sources.values() if s.get("mode") == "changes"]
        yield from changes
        if args.get("pending") or not changes:
            yield from (s["table"] for s in sources.values() if s["table"] != target)
    elif kind == "merge-into":
        source = args["source"]
        tables = [s["table"] for s in (source.get("sources") or {}).values()]
        yield from (t for t in [*tables, source.get("table")] if t and t != target)
