"""Positions that people see, set and reset; and what becomes of them in a copy."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pytest
from typer.testing import CliRunner

import table_core as tc
from table_core.cli.main import app
from table_core.errors import (
    ArgumentError,
    CommitConflictError,
    NotFoundError,
    PositionDivergedError,
)
from table_core.jobs.job_spec import JobSpec
from table_core.jobs.run import run_embedded
from tests.tables import new_catalog, write_rows
from tests.unit.table.flow_house import House


@pytest.fixture
def house() -> House:
    found = House()
    for id in (1, 2, 3):
        found.put(id)
    found.run(name="f")
    return found


def diverged(house: House) -> None:
    house.catalog.table("d.src").rollback_to(snapshot=2)
    house.put(9)
    with pytest.raises(PositionDivergedError):
        house.run(name="f")


def test_a_position_is_shown_with_its_reader_source_and_place(house: House) -> None:
    [shown] = house.catalog.table("d.out").positions.list()
    src = house.catalog.table("d.src")
    assert shown == {
        "position": "tc.flow.f",
        "kind": "flow",
        "reader": "f",
        "source": src.uri,
        "place": "snapshot 3",
    }
    [whole] = house.catalog.table("d.out").positions.show("tc.flow.f")
    assert whole["place"]["mark"] == src.snapshot(3).delta_manifest_list
    [held] = src.positions.list()
    assert held["position"].startswith("consumer:flow-f-")


@pytest.mark.parametrize("with_source", [True, False])
def test_who_sets_a_position_lets_the_flow_go_on_there(house: House, with_source: bool) -> None:
    diverged(house)
    source = house.catalog.table("d.src") if with_source else None
    out = house.catalog.table("d.out")
    assert out.positions.set("tc.flow.f", snapshot=2, source=source, dry_run=True).dry_run
    out.positions.set("tc.flow.f", snapshot=2, source=source)
    house.run(name="f")
    assert house.ids() == [1, 2, 3, 9]
    house.put(10)
    house.run(name="f")
    assert house.ids() == [1, 2, 3, 9, 10]


def test_who_resets_a_position_lets_the_flow_start_again(house: House) -> None:
    diverged(house)
    out = house.catalog.table("d.out")
    out.truncate()
    out.positions.reset("tc.flow.f")
    house.run(name="f")
    assert house.ids() == [1, 2, 9]


@pytest.mark.parametrize("verb", ["set", "reset"])
def test_a_retry_finds_its_change_although_the_flow_has_gone_on(house: House, verb: str) -> None:
    out, source = house.catalog.table("d.out"), house.catalog.table("d.src")
    args = {"snapshot": 2, "source": source} if verb == "set" else {}
    commit = tc.CommitAs(user="task", identifier=0)
    first = getattr(out.positions, verb)("tc.flow.f", commit=commit, **args)
    out.truncate()
    house.put(4)
    house.run(name="f")
    taken = house.ids()
    source.expire_snapshots(retain_max=1, retain_min=1)
    again = getattr(out.positions, verb)("tc.flow.f", commit=commit, **args)
    assert again.details == {**first.details, "replayed": True}
    assert out.positions.list()[0]["place"] == "snapshot 4"
    house.run(name="f")
    assert house.ids() == taken
    with pytest.raises(ArgumentError, match="differs in"):
        out.positions.set("tc.flow.f", snapshot=3, commit=commit)


def test_a_second_flow_is_let_in_by_a_position_of_its_own(house: House) -> None:
    out, src = house.catalog.table("d.out"), house.catalog.table("d.src")
    out.positions.set("tc.flow.g", snapshot=2, source=src)
    house.run(name="g")
    assert house.ids() == [1, 2, 3, 3]
    assert len(out.positions.list()) == 2


def test_what_cannot_be_set_is_said(house: House) -> None:
    out = house.catalog.table("d.out")
    with pytest.raises(NotFoundError, match=r"tc\.flow\.f"):
        out.positions.reset("tc.flow.none")
    with pytest.raises(NotFoundError, match="no snapshot 8"):
        out.positions.set("tc.flow.f", snapshot=8, source=house.catalog.table("d.src"))
    with pytest.raises(ArgumentError, match="cannot name"):
        out.positions.set("f", snapshot=2)
    with pytest.raises(ArgumentError, match="source"):
        out.positions.set("tc.flow.none", snapshot=2)
    with pytest.raises(CommitConflictError):
        out.positions.set("tc.flow.f", snapshot=2, commit=tc.CommitAs(expect={"tc.flow.f": "x"}))


def test_a_job_sets_and_resets_positions_once(tmp_path: Any) -> None:
    def job(action: str, table: str, number: int, **args: Any) -> dict[str, Any]:
        spec = JobSpec(
            action=action,
            warehouse=f"file://{tmp_path}",
            table=table,
            args=args,
            commit_user="dag",
            commit_identifier=number,
        )
        return dict(run_embedded(spec))

    for n, name in enumerate(("d.src", "d.out")):
        job("create-table", name, n, columns={"id": "BIGINT"})
    job("write", "d.src", 2, sql="SELECT CAST(1 AS BIGINT) AS id")
    flow = {"sources": {"s": {"table": "d.src", "mode": "changes"}}, "sql": "SELECT * FROM s"}
    assert job("write", "d.out", 3, name="f", **flow)["rows_written"] == 1
    assert job("set-position", "d.out", 4, name="tc.flow.f", snapshot=0)["snapshot_after"] == 2
    assert job("write", "d.out", 5, name="f", **flow)["rows_written"] == 1
    again = job("set-position", "d.out", 4, name="tc.flow.f", snapshot=0)
    assert (again["snapshot_after"], again["details"]["replayed"]) == (2, True)  # type: ignore[index]
    job("set-position", "d.out", 6, name="tc.flow.f", source="d.src")
    assert job("write", "d.out", 7, name="f", **flow)["rows_written"] == 1


def test_the_command_line_shows_sets_and_resets_positions(tmp_path: Any) -> None:
    warehouse = f"file://{tmp_path}"
    catalog = new_catalog(warehouse)
    for name in ("d.src", "d.out"):
        write_rows(
            catalog.create_table(name, pa.schema([("id", pa.int64())])), pa.table({"id": [1]})
        )

    def run(*words: str) -> Any:
        found = CliRunner().invoke(app, ["position", *words, "-w", warehouse, "--json"])
        assert found.exit_code == 0, found.output
        return json.loads(found.output)

    done = run("set", "d.out", "tc.flow.f", "--snapshot", "1", "--source", "d.src")
    assert done["snapshot_after"] == 2
    [shown] = run("list", "d.out")
    assert (shown["position"], shown["reader"], shown["place"]) == ("tc.flow.f", "f", "snapshot 1")
    run("reset", "d.out", "tc.flow.f", "--dry-run")
    run("reset", "d.out", "tc.flow.f")
    assert run("list", "d.out")[0]["place"] == "the start"
    found = CliRunner().invoke(app, ["position", "show", "d.out", "tc.flow.f", "-w", warehouse])
    assert json.loads(found.output)[0]["place"]["id"] == 0


# ------------------------------------------------------------------------------------- copies
def test_what_feeds_a_copy_goes_on_where_the_state_that_was_copied_was(house: House) -> None:
    house.put(4)
    house.run(name="f")
    done = house.catalog.clone_table("d.out", "d.copy", snapshot=1)
    assert done.details["positions"] == ["tc.flow.f"]
    house.put(5)
    house.run(name="f", target="d.copy")
    house.run(name="f")
    assert house.ids("d.copy") == house.ids() == [1, 2, 3, 4, 5]
    house.catalog.clone_table("d.copy", "d.second")
    house.run(name="f", target="d.second")
    assert house.ids("d.second") == [1, 2, 3, 4, 5]
    assert len(house.catalog.table("d.src").consumers.list()) == 3


def test_a_copy_without_positions_is_fed_anew(house: House) -> None:
    house.catalog.clone_table("d.out", "d.copy", positions=False)
    house.run(name="f", target="d.copy")
    assert house.ids("d.copy") == [1, 1, 2, 2, 3, 3]


def test_positions_of_a_table_without_rows_are_copied_too(house: House) -> None:
    house.run("SELECT id FROM src WHERE false", name="g", target="d.other")
    house.catalog.clone_table("d.other", "d.copy")
    house.run(name="g", target="d.copy")
    assert house.ids("d.copy") == []


def test_a_copy_that_takes_the_place_of_what_was_read_is_another_table(house: House) -> None:
    house.catalog.clone_table("d.src", "d.copy")
    assert house.catalog.table("d.copy").birth != house.catalog.table("d.src").birth
    house.catalog.drop_table("d.src")
    house.catalog.rename_table("d.copy", "d.src")
    for id in range(10, 15):
        house.put(id)
    house.catalog.table("d.src").expire_snapshots(retain_max=1, retain_min=1)
    with pytest.raises(PositionDivergedError) as caught:
        house.run(name="f")
    assert json.dumps(caught.value.facts["ways_out"])
