"""Goal: whatever path writes to a table, a dict agrees with it; where the store fails, the error is clear and
nothing has changed, or nobody can say and the table is whole.  Who asks again by the same name gets it once.

Method: a handle, a stream, overwrites, statements, jobs and the command line write to one table of random
options, its columns come, go and change, it is renamed and dropped; one call of the store fails in the middle of
a verb, before it happened or after, or the process dies there.  Mutants: an error after the commit that says
nothing happened; a retry that writes again; a column that comes back; a rename that leaves half behind.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import tempfile
import uuid
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import hypothesis.strategies as st
import pyarrow as pa
from hypothesis import HealthCheck, settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from typer.testing import CliRunner

import table_core as tc
from table_core.cli.main import app
from table_core.errors import ErrorKind, NotFoundError, TableError
from table_core.jobs.job_spec import JobSpec
from table_core.jobs.run import run_embedded
from table_core.storage.stores.faults import Crash, Fault, Faults, FaultyStorage
from table_core.table.api import opening
from tests.lanes import budget
from tests.tables import write_rows

Row = dict[str, Any]
Verb = Callable[[tc.Catalog, tc.CommitAs], Any]
ARROW = {"INT": pa.int32(), "BIGINT": pa.int64(), "STRING": pa.string()}
WIDER = {"INT": "BIGINT", "BIGINT": "STRING"}
FAULTS = (Fault.ERROR_BEFORE, Fault.ERROR_AFTER, Fault.CRASH_BEFORE, Fault.CRASH_AFTER)
KINDS: dict[str, dict[str, str]] = {
    "key": {"bucket": "1"},
    "keys in two buckets": {"bucket": "2", "changelog-producer": "input"},
    "keys, dynamic": {"bucket": "-1", "dynamic-bucket.target-row-num": "2"},
    "keys, lookup": {"bucket": "1", "changelog-producer": "lookup"},
    "keys, vectors": {"bucket": "2", "deletion-vectors.enabled": "true"},
    "keys, full": {"bucket": "1", "changelog-producer": "full-compaction"},
    "keys that wait": {"bucket": "-2"},
    "append": {"bucket": "-1"},
    "append in buckets": {"bucket": "2", "bucket-key": "k"},
    "append, vectors": {"bucket": "-1", "deletion-vectors.enabled": "true"},
}

a_fault = st.none() | st.tuples(st.integers(0, 60), st.sampled_from(FAULTS))
some_rows = st.lists(
    st.tuples(st.sampled_from("ab"), st.integers(0, 4), st.integers(0, 9)), min_size=1, max_size=5
)


class EveryPath(RuleBasedStateMachine):
    """One table, a model of it, and a name for each write."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="every-path-"))
        self.uri = f"memory://{uuid.uuid4().hex}"
        self.writes = 0

    def teardown(self) -> None:
        shutil.rmtree(self.folder)

    @initialize(
        kind=st.sampled_from(sorted(KINDS)),
        partitioned=st.booleans(),
        form=st.sampled_from(["parquet", "parquet", "orc", "avro"]),
        trigger=st.integers(2, 4),
    )
    def create(self, kind: str, partitioned: bool, form: str, trigger: int) -> None:
        self.options = KINDS[kind] | {
            "file.format": form,
            "num-sorted-run.compaction-trigger": str(trigger),
            "compaction.min.file-num": str(trigger),
        }
        self.keyed = kind.startswith("key")
        self.waits = kind == "keys that wait"
        self.partitioned = partitioned
        self.name, self.others = "d.t", 0
        self.sound = tc.open_catalog(self.uri)
        self.sound.create_database("d")
        self.create_anew()

    def create_anew(self) -> None:
        self.columns = {"p": "STRING", "k": "INT", "n": "BIGINT", "c0": "INT"}
        schema = pa.schema([(name, ARROW[kind]) for name, kind in self.columns.items()])
        key = (("p", "k") if self.partitioned else ("k",)) if self.keyed else ()
        parts = ("p",) if self.partitioned else ()
        self.sound.create_table(
            self.name, schema, primary_key=key, partition_by=parts, options=self.options
        )
        self.model: list[Row] = []

    # ------------------------------------------------------------------------------- the model
    def identity(self, row: Row) -> tuple[Any, ...]:
        return (row["p"] if self.partitioned else None, row["k"])

    def merged(self, old: list[Row], new: list[Row]) -> list[Row]:
        if not self.keyed:
            return [*old, *new]
        found = {self.identity(row): row for row in old}
        for row in new:
            found[self.identity(row)] = row
        return list(found.values())

    def rows_of(self, drawn: list[tuple[str, int, int]]) -> list[Row]:
        rows = []
        for p, k, n in drawn:
            row: Row = {"p": p, "k": k, "n": n}
            for name, kind in self.columns.items():
                if name not in row:
                    row[name] = None if n == 9 else str(n) if kind == "STRING" else n
            rows.append(row)
        return rows

    def arrow(self, rows: list[Row]) -> pa.Table:
        schema = pa.schema([(name, ARROW[kind]) for name, kind in self.columns.items()])
        return pa.Table.from_pylist(rows, schema=schema)

    # ------------------------------------------------------------------------------ one attempt
    def attempt(
        self, fault: Any, verb: Verb, after: list[Row], *, named: bool, columns: Any = None
    ) -> None:
        """Do ``verb`` while the store fails, look, and with a name do it once more."""
        self.writes += 1
        who = tc.CommitAs(user="me", identifier=self.writes) if named else tc.CommitAs()
        seen = "after"
        faults = Faults.at({} if fault is None else {fault[0]: fault[1]})
        try:
            with self.failing(faults) as catalog:
                verb(catalog, who)
        except Crash:
            seen = "either"
        except TableError as error:
            assert str(error).strip()
            seen = "either" if error.kind is ErrorKind.UNKNOWN_OUTCOME else "before"
        hit = fault is not None and len(faults.calls) > fault[0]
        assert hit or seen == "after", "no call failed, and the verb did"
        states = {
            "before": [(self.model, self.columns)],
            "after": [(after, columns or self.columns)],
        }
        states["either"] = [*states["before"], *states["after"]]
        found = self.state(hit)
        shown = [(told(rows, kinds), kinds) for rows, kinds in states[seen]]
        assert found in shown, (seen, faults.calls[fault[0]] if hit else None, found, shown)
        if hit and named:
            verb(self.sound, who)
            assert self.state(hit) == (
                told(after, columns or self.columns),
                columns or self.columns,
            )
            self.model, self.columns = after, columns or self.columns
            return
        self.model, self.columns = states[seen][shown.index(found)]

    @contextlib.contextmanager
    def failing(self, faults: Faults) -> Iterator[tc.Catalog]:
        """A catalog, and all that jobs and commands open by its address, of a store that fails."""
        sound = opening.open_storage

        def failing_storage(uri: str, *args: Any, **options: Any) -> Any:
            found = sound(uri, *args, **options)
            return FaultyStorage(found, faults) if uri == self.uri else found

        with patch.object(opening, "open_storage", failing_storage):
            yield replace(self.sound, storage=FaultyStorage(self.sound.storage, faults))

    def state(self, hit: bool) -> tuple[Any, dict[str, str]]:
        table = self.sound.table(self.name)
        if self.waits or (hit and self.keyed):
            table.compact(
                "minor"
            )  # rows that wait for it: after a fault, those of a lost compaction
        rows = table.read().to_arrow()
        named = {kind: name for name, kind in ARROW.items()}
        kinds = {field.name: named[field.type] for field in table.arrow_schema}
        return told(rows.to_pylist(), kinds), kinds

    def job(self, action: str, who: tc.CommitAs, **args: Any) -> dict[str, object]:
        return run_embedded(
            JobSpec(
                action=action,
                warehouse=self.uri,
                table=self.name,
                args=args,
                commit_user=who.user,
                commit_identifier=who.identifier,
            )
        )

    # ---------------------------------------------------------------------------------- writes
    @rule(
        drawn=some_rows,
        fault=a_fault,
        named=st.booleans(),
        path=st.sampled_from(
            ["handle", "stream", "overwrite", "partitions", "merge", "sql", "files"]
        ),
    )
    def write(self, drawn: Any, fault: Any, named: bool, path: str) -> None:
        rows = self.rows_of(drawn)
        given = self.arrow(rows)
        after = self.merged(self.model, rows)
        named = named or path == "stream"

        def handle(catalog: tc.Catalog, who: tc.CommitAs) -> None:
            overwrite = {"overwrite": "table", "partitions": "partitions"}.get(path)
            who = replace(who, growing=True, user="stream") if path == "stream" else who
            write_rows(catalog.table(self.name), given, commit=who, overwrite=overwrite)

        def merge(catalog: tc.Catalog, who: tc.CommitAs) -> None:
            on = ("p", "k") if self.partitioned else ("k",)
            when = [tc.MatchedUpsert(), tc.NotMatchedInsert()]
            catalog.table(self.name).merge_into(given, on=on, when=when, commit=who)

        def files(_: tc.Catalog, who: tc.CommitAs) -> None:
            self.job("write", who, rows_uri=f"{self.inbox(rows)}/*.jsonl")

        def sql(_: tc.Catalog, who: tc.CommitAs) -> None:
            self.job("write", who, sql=self.select(rows))

        verb: Verb = {"merge": merge, "files": files, "sql": sql}.get(path, handle)
        if path == "overwrite" or (path == "partitions" and not self.partitioned):
            after = self.merged([], rows)
        elif path == "partitions":
            touched = {row["p"] for row in rows}
            after = self.merged([r for r in self.model if r["p"] not in touched], rows)
        elif path == "merge":
            if not self.keyed:
                return
            rows = self.merged([], rows)
            given = self.arrow(rows)
            if not self.partitioned:  # p is no key: the row as it is now
                after = self.merged(self.model, rows)
        self.attempt(fault, verb, after, named=named)

    def inbox(self, rows: list[Row]) -> Path:
        folder = self.folder / str(self.writes)
        folder.mkdir(exist_ok=True)
        (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        return folder

    def select(self, rows: list[Row]) -> str:
        def literal(name: str, value: Any) -> str:
            kind = {"STRING": "VARCHAR"}.get(self.columns[name], self.columns[name])
            return f"CAST({'NULL' if value is None else repr(value)} AS {kind}) AS {name}"

        selects = [
            "SELECT " + ", ".join(literal(name, row[name]) for name in self.columns) for row in rows
        ]
        return " UNION ALL ".join(selects)

    @rule(key=st.integers(0, 4), fault=a_fault, named=st.booleans(), by_job=st.booleans())
    def update(self, key: int, fault: Any, named: bool, by_job: bool) -> None:
        args: dict[str, Any] = {"values": {"n": "n + 1"}, "where": f"k >= {key}"}
        after = [row | ({"n": row["n"] + 1} if row["k"] >= key else {}) for row in self.model]

        def verb(catalog: tc.Catalog, who: tc.CommitAs) -> None:
            if by_job:
                self.job("update", who, **args)
            else:
                catalog.table(self.name).update(**args, commit=who)

        self.attempt(fault, verb, after, named=named)

    @rule(key=st.integers(0, 4), fault=a_fault, named=st.booleans(), by_job=st.booleans())
    def delete(self, key: int, fault: Any, named: bool, by_job: bool) -> None:
        def verb(catalog: tc.Catalog, who: tc.CommitAs) -> None:
            if by_job:
                self.job("delete", who, where=f"k = {key}")
            else:
                catalog.table(self.name).delete(f"k = {key}", commit=who)

        self.attempt(fault, verb, [r for r in self.model if r["k"] != key], named=named)

    @rule(
        fault=a_fault,
        command=st.sampled_from(
            ["truncate", "compact", "compact minor", "rewrite-manifests", "drop"]
        ),
    )
    def command_line(self, fault: Any, command: str) -> None:
        after, words = self.model, [*command.split(" ")]
        if command == "truncate":
            after = []
        if command == "drop":
            if not self.partitioned or not any(row["p"] == "a" for row in self.model):
                return
            words = ["drop-partitions"]
            after = [row for row in self.model if row["p"] != "a"]
        args = [words[0], "--warehouse", self.uri, self.name]
        args += ["--partition", "p=a"] if command == "drop" else []
        args += ["--strategy", "minor"] if words[1:] else []

        def verb(_: tc.Catalog, __: tc.CommitAs) -> None:
            done = CliRunner().invoke(app, args, catch_exceptions=False)
            assert done.exit_code == 0, done.output

        self.attempt(fault, verb, after, named=False)

    @rule(
        fault=a_fault,
        verb=st.sampled_from(["expire", "rescale", "analyze", "orphans", "tag"]),
    )
    def upkeep(self, fault: Any, verb: str) -> None:
        buckets = 1 + self.writes % 3

        def keep(catalog: tc.Catalog, _: tc.CommitAs) -> None:
            table = catalog.table(self.name)
            if verb == "expire":
                table.expire_snapshots(retain_max=2)
            elif verb == "rescale" and int(self.options["bucket"]) > 0:
                table.rescale(buckets=buckets)
            elif verb == "analyze":
                table.analyze()
            elif verb == "orphans":
                table.remove_orphan_files()
            elif verb == "tag" and table.latest_snapshot() is not None:
                table.tags.create(f"t{self.writes}")

        self.attempt(fault, keep, self.model, named=False)
        if verb == "rescale" and fault and int(self.options["bucket"]) > 0:
            # An option and the files: until it is called again, writes say that it is to be.
            self.sound.table(self.name).rescale(buckets=buckets)

    # --------------------------------------------------------------------------------- schemas
    @rule(
        fault=a_fault,
        change=st.sampled_from(["add", "drop", "rename", "retype"]),
        by_job=st.booleans(),
    )
    def alter(self, fault: Any, change: str, by_job: bool) -> None:
        free = [name for name in self.columns if name.startswith("c")]
        if (change != "add" and not free) or (change == "add" and len(free) > 3):
            return
        columns, name = dict(self.columns), free[-1] if free else ""
        if change == "retype" and self.columns[name] not in WIDER:
            return
        self.others += 1
        new = f"c{self.others % 3 + 1}"  # names come back, and are other columns then
        if change in ("add", "rename") and new in columns:
            return
        if change == "add":
            asked: dict[str, Any] = {"change": "AddColumn", "name": new, "type": "INT"}
            columns[new] = "INT"
            after = [row | {new: None} for row in self.model]
        elif change == "drop":
            asked = {"change": "DropColumn", "name": name}
            del columns[name]
            after = [{k: v for k, v in row.items() if k != name} for row in self.model]
        elif change == "rename":
            asked = {"change": "RenameColumn", "name": name, "new_name": new}
            columns = {new if k == name else k: v for k, v in columns.items()}
            after = [{new if k == name else k: v for k, v in row.items()} for row in self.model]
        else:
            wider = columns[name] = WIDER[columns[name]]
            asked = {"change": "UpdateColumnType", "name": name, "type": wider}
            text = wider == "STRING"
            after = [
                row | {name: str(row[name]) if text and row[name] is not None else row[name]}
                for row in self.model
            ]

        def verb(catalog: tc.Catalog, who: tc.CommitAs) -> None:
            if by_job:
                self.job("alter-table", who, changes=[asked])
                return
            members = {k: v for k, v in asked.items() if k != "change"}
            catalog.alter_table(self.name, [getattr(tc, asked["change"])(**members)])

        self.attempt(fault, verb, after, named=False, columns=columns)

    @rule(fault=a_fault)
    def rename(self, fault: Any) -> None:
        old, new = self.name, "d.u" if self.name == "d.t" else "d.t"
        self.try_twice(fault, lambda catalog: catalog.rename_table(old, new))
        self.name = new
        assert self.state(hit=False)[0] == told(self.model, self.columns)
        assert [f"d.{name}" for name in self.sound.tables("d")] == [new]

    @rule(fault=a_fault)
    def drop_and_create(self, fault: Any) -> None:
        self.try_twice(fault, lambda catalog: catalog.drop_table(self.name))
        assert self.sound.tables("d") == []
        self.create_anew()
        assert self.state(hit=False)[0] == []

    def try_twice(self, fault: Any, verb: Callable[[tc.Catalog], None]) -> None:
        """A verb without a name of its own that is called again until it says that it is done."""
        faults = Faults.at({} if fault is None else {fault[0]: fault[1]})
        try:
            with self.failing(faults) as catalog:
                verb(catalog)
            return
        except (TableError, Crash):
            assert len(faults.calls) > fault[0]
        with contextlib.suppress(NotFoundError):  # it is done already
            verb(self.sound)

    @invariant()
    def the_model_agrees(self) -> None:
        if hasattr(self, "model"):
            assert self.state(hit=False) == (told(self.model, self.columns), self.columns)


def told(rows: list[Row], columns: dict[str, str]) -> list[str]:
    """Rows in one order."""
    return sorted(repr([row[name] for name in columns]) for row in rows)


TestEveryPath = EveryPath.TestCase
TestEveryPath.settings = settings(
    max_examples=budget("EVERY_PATH_EXAMPLES", ci=10, nightly=400),
    stateful_step_count=int(os.environ.get("EVERY_PATH_STEPS", "12")),
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
