"""The verbs that meet: each is one call on a catalog, with a name of its own where a retry could repeat it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa

import table_core as tc
from table_core.errors import NotFoundError
from table_core.jobs.embedded import EmbeddedEngine, view_rows
from table_core.jobs.flow import run_flow
from tests.clocks import Impatient, WouldWaitError
from tests.interleave.lake import BEGUN_MS, SCHEMA, Kind, row
from tests.tables import write_rows

__all__ = ["VERBS", "Verb", "fit"]

Call = Callable[[tc.Catalog, tc.CommitAs], object]


@dataclass(frozen=True)
class Verb:
    """One verb.  ``who`` carries it out under a name that a retry repeats."""

    name: str
    call: Call
    goes_back: bool = False
    """It takes history back, replaces it, or deletes."""
    names: bool = False
    """It makes a tag, a branch or an option that another verb may want at the same time."""
    steps: tuple[Call, ...] = ()
    """What it does one after the other, if each could be seen alone."""
    halves: tuple[Call, ...] = ()
    """What may be there of it where its outcome is unknown."""
    keys_only: bool = False
    partitions_only: bool = False
    by_hand: bool = False
    """Under one name it is not the same when it is done again: it is never retried."""
    not_on: frozenset[str] = frozenset()
    """Kinds of tables that refuse it."""

    def __str__(self) -> str:
        return self.name


def _branch_of_head(table: tc.Table, _: object) -> None:
    head = table.latest_snapshot()
    if head is None:  # half dropped
        raise NotFoundError("no snapshot", name="d.t", available=[])
    table.branches.create("made", snapshot=head.id)


def _put(*rows: tuple[str, int, int | None], **how: Any) -> Call:
    def call(catalog: tc.Catalog, who: tc.CommitAs) -> object:
        table = catalog.table("d.t")
        arrow = pa.concat_tables([row(*one) for one in rows])
        known = set(table.arrow_schema.names)
        return write_rows(
            table, arrow.select([n for n in SCHEMA.names if n in known]), commit=who, **how
        )

    return call


def _on(do: Callable[[tc.Table, tc.CommitAs], object], name: str = "d.t") -> Call:
    return lambda catalog, who: do(catalog.table(name), who)


def _delete_row(catalog: tc.Catalog, who: tc.CommitAs) -> object:
    rows = row("a", 2, None).append_column("_ROW_KIND", pa.array(["-D"]))
    return write_rows(catalog.table("d.t"), rows, commit=who)


def _merge(table: tc.Table, who: tc.CommitAs) -> object:
    source = pa.concat_tables([row("a", 1, 7), row("a", 70, 7)])
    clauses = [tc.MatchedUpsert(values={"v": "source.v"}), tc.NotMatchedInsert()]
    return table.merge_into(source, ["p", "k"], clauses, commit=who)


_ASKED: Final[dict[tuple[str, str | None, int], int]] = {}
"""Which snapshot somebody goes back to, by the table and his name: whoever asks again asks for the same."""
_ASKED_MAX: Final = 1_000


def _to(table: tc.Table, who: tc.CommitAs, *, tag: str | None = None, back: int = 0) -> object:
    if tag is not None:
        return table.rollback_to(tag=tag, commit=who)
    asked = table.uri, who.user, back
    if asked not in _ASKED:
        ids = [s.id for s in table.snapshots() if s.time_millis < BEGUN_MS]
        _ASKED[asked] = ids[max(0, len(ids) - 1 - back)] if ids else 1
        while len(_ASKED) > _ASKED_MAX:
            del _ASKED[next(iter(_ASKED))]
    return table.rollback_to(snapshot=_ASKED[asked], commit=who)


def _earlier(table: tc.Table, who: tc.CommitAs) -> object:
    """To the time of a tag: which time is asked for does not depend on how far an expiry is."""
    moment = table.tags.get("mid").snapshot.time_millis if "mid" in table.tags else 1
    return table.rollback_to(timestamp=moment, commit=who)


def _create(catalog: tc.Catalog, who: tc.CommitAs, name: str = "d.t") -> object:
    return catalog.create_table(name, SCHEMA, options={"bucket": "-1"}, if_not_exists=True)


def _drop(catalog: tc.Catalog, who: tc.CommitAs) -> object:
    return catalog.drop_table("d.t", if_exists=True)


def _anew(catalog: tc.Catalog, who: tc.CommitAs) -> object:
    _drop(catalog, who)
    return _create(catalog, who)


def _follow(catalog: tc.Catalog, who: tc.CommitAs) -> object:
    access = catalog.table("d.t").access
    from dataclasses import replace

    handle = tc.Table(replace(access, clock=Impatient(access.clock)))
    try:
        return sum(rows.num_rows for rows in handle.follow(consumer="reader"))
    except WouldWaitError:
        return None


class _Told(EmbeddedEngine):
    """One row that says what is in the views: no process for SQL."""

    def query(self, sql: str, views: Any, parameters: Any = None) -> pa.Table:
        rows = pa.concat_tables([view_rows(v).read_all().select(["v"]) for v in views.values()])
        values = [v or 0 for v in rows["v"].to_pylist()]
        return row("flow", len(values), sum(values)) if sql else row("a", 30, 3)


def _flow(source: str, target: str, mode: str, *, tells: bool = True) -> Call:
    """A job: its source is pinned, and its position goes with the row, which ``tells`` of the source."""
    sources = {"s": {"table": source, "mode": mode}}
    args = {"sql": "told" if tells else "", "sources": sources, "name": mode}
    return lambda catalog, who: run_flow(catalog, catalog.table(target), args, who, _Told())


def _branch_write(catalog: tc.Catalog, who: tc.CommitAs) -> object:
    return write_rows(catalog.table("d.t$branch_side"), row("a", 60, 60), commit=who)


_both_names: Final = _on(
    lambda t, who: t.tags.create("older", snapshot=t.tags.get("old").snapshot.id)
)
_base_of_made: Final = _on(lambda t, who: t.tags.create("made-base"))


def _three_buckets(catalog: tc.Catalog, who: tc.CommitAs) -> object:
    """What a rescale begins with."""
    return catalog.alter_table("d.t", [tc.SetOption("bucket", "3")])


_NO_CHANGES: Final = frozenset(
    {
        "key",
        "key in buckets",
        "key, vectors",
        "dynamic",
        "postponed",
        "partial-update",
        "aggregation",
        "key, expired",
    }
)
"""Keys without a changelog."""
_NO_DELETES: Final = frozenset({"first-row"})
_ALL: Final = (
    Verb("flow", _flow("d.s", "d.t", "snapshot", tells=False)),
    Verb("flow by states", _flow("d.t", "d.s", "snapshot")),
    Verb("flow by changes", _flow("d.t", "d.s", "changes"), not_on=_NO_CHANGES),
    Verb("append", _put(("a", 10, 1), ("b", 11, 2))),
    Verb("upsert", _put(("a", 1, 5), ("b", 1, 6))),
    Verb("delete row", _delete_row, keys_only=True, not_on=_NO_DELETES),
    Verb("overwrite table", _put(("a", 20, 1), overwrite="table")),
    Verb("overwrite partition", _put(("a", 21, 1), overwrite={"p": "a"}), partitions_only=True),
    Verb("overwrite partitions", _put(("b", 22, 1), overwrite="partitions"), partitions_only=True),
    Verb("update", _on(lambda t, who: t.update({"v": "v + 1000"}, "k < 3", commit=who)), not_on=_NO_DELETES),
    Verb("update one", _on(lambda t, who: t.update({"v": "v + 5"}, "k = 1 AND p = 'a'", commit=who)), not_on=_NO_DELETES),
    Verb("delete", _on(lambda t, who: t.delete("k = 2", commit=who)), not_on=_NO_DELETES),
    Verb("merge", _on(_merge), not_on=_NO_DELETES),
    Verb("truncate", _on(lambda t, who: t.truncate(commit=who))),
    Verb("drop partition", _on(lambda t, who: t.drop_partitions([{"p": "a"}], commit=who)), partitions_only=True),
    Verb("compact", _on(lambda t, who: t.compact(commit=who))),
    Verb("compact minor", _on(lambda t, who: t.compact(strategy="minor", commit=who))),
    Verb("rescale", _on(lambda t, who: t.rescale(3, commit=who)), names=True, halves=(_three_buckets,)),
    Verb("expire to one", _on(lambda t, who: t.expire_snapshots(retain_max=1, retain_min=1)), goes_back=True),
    Verb("expire to three", _on(lambda t, who: t.expire_snapshots(retain_max=3, retain_min=1)), goes_back=True),
    Verb("expire changelogs", _on(lambda t, who: t.expire_changelogs(retain_max=1)), goes_back=True),
    Verb("remove orphans", _on(lambda t, who: t.remove_orphan_files())),
    Verb("analyze", _on(lambda t, who: t.analyze(commit=who))),
    Verb("rewrite manifests", _on(lambda t, who: t.rewrite_manifests(commit=who))),
    Verb("tag head", _on(lambda t, who: t.tags.create("new")), names=True),
    Verb("tag a snapshot", _on(lambda t, who: t.tags.create("first", snapshot=1)), names=True),
    Verb("replace tag", _on(lambda t, who: t.tags.replace("old")), goes_back=True),
    Verb("rename tag", _on(lambda t, who: t.tags.rename("old", "older")), goes_back=True, halves=(_both_names,)),
    Verb("delete tag", _on(lambda t, who: t.tags.delete("mid", if_exists=True)), goes_back=True),
    Verb("branch of head", _on(_branch_of_head), names=True, halves=(_base_of_made,)),
    Verb("branch of tag", _on(lambda t, who: t.branches.create("made", tag="old")), names=True),
    Verb("rename branch", _on(lambda t, who: t.branches.rename("side", "aside")), goes_back=True),
    Verb("delete branch", _on(lambda t, who: t.branches.delete("side", if_exists=True)), goes_back=True),
    Verb("fast-forward", _on(lambda t, who: t.branches.fast_forward("side")), goes_back=True),
    Verb("write to branch", _branch_write),
    Verb("delete in branch", _on(lambda t, who: t.delete("k = 50", commit=who), "d.t$branch_side"), not_on=_NO_DELETES),
    Verb("compact branch", _on(lambda t, who: t.compact(commit=who), "d.t$branch_side")),
    Verb("tag in branch", _on(lambda t, who: t.tags.create("within"), "d.t$branch_side"), names=True),
    Verb("roll back branch", _on(lambda t, who: t.rollback_to(tag="old", commit=who), "d.t$branch_side"), goes_back=True),
    Verb("set option of branch", lambda c, who: c.alter_table("d.t$branch_side", [tc.SetOption("snapshot.num-retained.max", "98")], commit=who)),
    Verb("expire branch", _on(lambda t, who: t.expire_snapshots(retain_max=1, retain_min=1), "d.t$branch_side"), goes_back=True),
    Verb("roll back one", _on(lambda t, who: _to(t, who, back=1)), goes_back=True),
    Verb("roll back three", _on(lambda t, who: _to(t, who, back=3)), goes_back=True),
    Verb("roll back to tag", _on(lambda t, who: _to(t, who, tag="old")), goes_back=True),
    Verb("roll back to time", _on(_earlier), goes_back=True),
    Verb("move consumer", _on(lambda t, who: t.consumers.reset("reader", next_snapshot=t.latest_snapshot().id + 1))),
    Verb("delete consumer", _on(lambda t, who: t.consumers.delete("reader", if_exists=True)), goes_back=True),
    Verb("follow", _follow),
    Verb("read", _on(lambda t, who: t.read().to_arrow())),
    Verb("health", _on(lambda t, who: t.health())),
    Verb("add column", lambda c, who: c.alter_table("d.t", [tc.AddColumn("more", "INT")], commit=who)),
    Verb("set option", lambda c, who: c.alter_table("d.t", [tc.SetOption("snapshot.num-retained.max", "99")], commit=who)),
    Verb("comment", lambda c, who: c.alter_table("d.t", [tc.UpdateComment("rows of today")], commit=who)),
    Verb("drop", _drop, goes_back=True),
    Verb("create", _create),
    Verb("drop and create", _anew, goes_back=True, steps=(_drop, _create)),
    Verb("rename", lambda c, who: c.rename_table("d.t", "d.u"), goes_back=True),
    Verb("rename onto", lambda c, who: c.rename_table("d.s", "d.u"), goes_back=True),
    Verb("clone", lambda c, who: c.clone_table("d.t", "d.u", commit=who), goes_back=True),
    Verb("clone another", lambda c, who: c.clone_table("d.s", "d.u", commit=who), goes_back=True),
)  # fmt: skip
VERBS: Final = {verb.name: verb for verb in _ALL}


def fit(verb: Verb, kind: Kind) -> bool:
    """Whether ``kind`` of table has the verb."""
    if kind.name in verb.not_on:
        return False
    if verb.keys_only and not kind.is_key_table:
        return False
    return bool(kind.partition_by) or not verb.partitions_only
