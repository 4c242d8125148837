"""Audited tables of a declaration: a bad day stays on its branch, and nothing of it is lost or counted twice."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from paimon_provider.declaration import PaimonTaskGroup, load_dags
from table_core.declaration.dags import dags_of
from table_core.declaration.document import faults_of, parse
from table_core.declaration.graph import chosen
from table_core.declaration.manifest import compiled, head_of
from table_core.errors import ArgumentError
from table_core.table.api.catalog import Catalog
from tests.provider.dag_files import DECLARED
from tests.provider.dag_runs import events_of, run_text, states
from tests.provider.declared_wide import WIDE
from tests.unit.declaration.documents import CHAIN

pytestmark = [pytest.mark.airflow, pytest.mark.filterwarnings("default")]

SHOP = """\
version: 1
name: shop
pipeline: {{engine: local, retries: 0}}
tables:
  shop.orders: {{columns: {{id: BIGINT NOT NULL, n: BIGINT}}, primary_key: [id], options: {{bucket: 1, changelog-producer: input}}}}
  shop.sums: {{audit: true, columns: {{id: BIGINT NOT NULL, n: BIGINT}}, primary_key: [id], options: {{bucket: 1}}}}
  shop.late: {{columns: {{id: BIGINT NOT NULL, n: BIGINT}}, options: {{bucket: -1}}}}
  shop.copy: {{columns: {{id: BIGINT, n: BIGINT}}, options: {{bucket: -1}}}}
sources:
  load: {{table: shop.orders, rows_uri: "{rows}/*.parquet", rows_position: tc.files.orders}}
flows:
  sums:
    table: shop.sums
    reads: {{o: {{table: shop.orders, mode: changes}}, s: shop.sums}}
    pending: {{table: shop.late, sql: "SELECT id, n FROM (SELECT id, n FROM o UNION ALL SELECT id, n FROM late) WHERE n = 7"}}
    sql: >-
      SELECT d.id, d.n + coalesce(s.n, 0) AS n
      FROM (SELECT id % 10 AS id, sum(n) AS n FROM o GROUP BY id % 10) d LEFT JOIN s ON s.id = d.id
  tidy: {{table: shop.sums, run: compact, with: {{strategy: full}}}}
  none_left: {{table: shop.sums, run: delete, with: {{where: n = 0}}}}
  copy: {{table: shop.copy, reads: {{s: shop.sums}}, sql: "SELECT id, n FROM s", overwrite: table}}
checks:
  sums: {{table: shop.sums, range: {{n: [0, 1000]}}}}
  ids: {{table: shop.sums, unique: [id], rows: [1, null]}}
  seldom: {{table: shop.sums, range: {{n: [0, 5]}}, severity: warn}}
  steady: {{table: shop.sums, change: [0.5, null]}}
"""
INSIDE = {"sums", "none_left"}
CHECKS = {"check_sums", "check_ids", "check_seldom", "check_steady"}
G = "audit_shop_sums"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "rows").mkdir()
    path = tmp_path / "shop.yaml"
    path.write_text(SHOP.format(rows=f"file://{tmp_path}/rows"))
    return path


@pytest.fixture
def day(file: Path, airflow_home: Path, warehouse: Catalog) -> Callable[..., Any]:
    """Bring a day's rows, and run the pipeline as it is declared by then."""

    def run(name: str, *rows: tuple[int, int], text: str | None = None) -> Any:
        if text is not None:
            file.write_text(text)
        table = pa.table(
            {
                "id": pa.array([r[0] for r in rows], pa.int64()),
                "n": pa.array([r[1] for r in rows], pa.int64()),
            }
        )
        pq.write_table(table, file.parent / "rows" / f"{name}.parquet")
        body = (
            "from airflow.sdk import DAG\n"
            f"from paimon_provider.declaration import load_dags\nglobals().update(load_dags({str(file)!r}))\n"
        )
        return run_text(airflow_home, body, "shop")

    return run


def rows(warehouse: Catalog, name: str) -> list[tuple[Any, ...]]:
    return sorted(tuple(r.values()) for r in warehouse.table(name).read().to_arrow().to_pylist())


def consumers(warehouse: Catalog, name: str) -> dict[str, int]:
    return warehouse.table(name).consumers.list()


def test_a_bad_day_is_stopped_before_it_is_seen_and_is_counted_once_when_it_is_mended(
    day: Callable[..., Any], warehouse: Catalog, airflow_home: Path, file: Path
) -> None:
    done = day("monday", (1, 1), (2, 7))
    assert set(states(done).values()) == {"success"}, states(done)
    assert rows(warehouse, "shop.sums") == rows(warehouse, "shop.copy") == [(1, 1), (2, 7)]
    assert rows(warehouse, "shop.late") == [(2, 7)]
    announced = [(task, uri.rpartition("/")[2]) for task, uri, _ in events_of(done)]
    assert (f"{G}_publish", "sums") in announced
    assert not {task for task, _ in announced} & INSIDE
    table = warehouse.table("shop.sums")
    assert (table.branches.list(), table.tags.list()) == ([], [])

    bad = day("tuesday", (11, 5000), (13, 7))
    told = states(bad)
    assert {
        name: told[name]
        for name in ("sums", "check_sums", "check_ids", f"{G}_publish", "copy", "tidy")
    } == {
        "sums": "success",
        "check_sums": "failed",
        "check_ids": "success",
        f"{G}_publish": "upstream_failed",
        "copy": "upstream_failed",
        "tidy": "upstream_failed",
    }
    assert rows(warehouse, "shop.sums") == rows(warehouse, "shop.copy") == [(1, 1), (2, 7)]
    (branch,) = warehouse.table("shop.sums").branches.list()
    assert (1, 5001) in rows(warehouse, f"shop.sums$branch_{branch}"), "left for a look"

    wider = file.read_text().replace("[0, 1000]", "[0, 9000]")
    mended = day("wednesday", (21, 1), text=wider)
    assert set(states(mended).values()) == {"success"}, states(mended)
    assert rows(warehouse, "shop.sums") == [(1, 5002), (2, 7), (3, 7)]
    assert rows(warehouse, "shop.copy") == rows(warehouse, "shop.sums")
    assert rows(warehouse, "shop.late") == [(2, 7), (13, 7)], (
        "what waited is as if Tuesday had not run"
    )


def test_what_no_run_has_published_is_kept_for_the_next_and_no_more(
    day: Callable[..., Any], warehouse: Catalog, file: Path
) -> None:
    day("a", (1, 1))
    (name,) = consumers(warehouse, "shop.orders")
    day("b", (2, 1))
    for number in range(2):
        assert states(day(f"bad{number}", (11 + number, 5000)))["check_sums"] == "failed"
    orders = warehouse.table("shop.orders")
    assert consumers(warehouse, "shop.orders") == {name: 2}, "where main stands, for all branches"
    assert len(consumers(warehouse, "shop.late")) == 1
    orders.expire_snapshots(retain_max=1, retain_min=1)
    warehouse.table("shop.late").expire_snapshots(retain_max=1, retain_min=1)
    done = day("good", (3, 1), text=file.read_text().replace("[0, 1000]", "[0, 9000]"))
    assert set(states(done).values()) == {"success"}, states(done)
    assert rows(warehouse, "shop.sums") == [(1, 5001), (2, 5001), (3, 1)]


def test_what_waits_for_one_writer_of_an_audited_table_waits_for_its_publishing(file: Path) -> None:
    dag = load_dags(file)["shop"]

    def before(name: str) -> set[str]:
        return set(dag.get_task(name).upstream_task_ids)

    assert before(f"{G}_branch") == {"load"}
    assert before("sums") == {f"{G}_branch"}
    assert before("none_left") == {"sums"}, "rows are taken away before they are seen"
    for check in CHECKS:
        assert before(check) == {f"{G}_branch", "none_left"}
    assert before(f"{G}_publish") == CHECKS
    assert before("tidy") == before("copy") - {"tidy"} == {f"{G}_publish"}


def test_a_manifest_a_target_and_a_group_keep_the_audit(file: Path) -> None:
    from airflow.sdk import DAG

    text = file.read_text() + "prefix: dev_\n"
    head = head_of(compiled(parse(text), "x").partition("\n")[0], "x")
    assert head is not None
    assert head.audited == ("dev_shop.sums",)
    with DAG("mine") as mine:
        PaimonTaskGroup.from_file(file, group_id="g", flows=["none_left", "copy"])
    assert set(mine.task_ids) == {
        f"g.{name}"
        for name in (
            "apply_declaration",
            "none_left",
            "copy",
            *CHECKS,
            f"{G}_branch",
            f"{G}_publish",
            f"{G}_clean_up",
        )
    }
    assert mine.get_task("g.copy").upstream_task_ids == {f"g.{G}_publish"}
    assert mine.get_task(f"g.{G}_branch").upstream_task_ids == {"g.apply_declaration"}


def test_a_trigger_that_writes_an_audited_table_checks_it_too(file: Path) -> None:
    file.write_text(file.read_text() + "triggers: {fill: {table: shop.orders, flows: [sums]}}\n")
    dag = load_dags(file)["shop_fill"]
    assert set(dag.task_ids) == {"sums", *CHECKS, f"{G}_branch", f"{G}_publish", f"{G}_clean_up"}


def told(text: str) -> Iterator[str]:
    return (str(fault) for fault in faults_of(text, "f"))


def test_what_cannot_be_kept_back_is_refused() -> None:
    text = SHOP.format(rows="file:///rows")
    assert list(told(text)) == []
    only_warns = "".join(
        line + "\n"
        for line in text.splitlines()
        if not line.startswith(("  ids:", "  sums: {table", "  steady:"))
    )
    (found,) = told(only_warns)
    assert found.startswith("f:6:15: ")
    assert "nothing would be kept back" in found
    sync = text.replace(
        "flows:\n",
        '  follow: {table: shop.sums, sync: {kind: files, uri: "file:///e", format: debezium-json}}\nflows:\n',
    )
    (found,) = told(sync)
    assert "a sync tells its source" in found
    own = text.replace(
        "s: shop.sums}\n    pending", "s: {table: shop.sums, mode: changes}}\n    pending"
    )
    (found,) = told(own)
    assert "reads the changes of the audited table" in found
    between = text.replace("none_left: {", "none_left: {after: [copy], ")
    (found,) = told(between)
    assert "wait for each other" in found
    assert "seen at once" in found
    wait_conditions = text.replace("shop.late: {{", "shop.late: {").replace(
        "shop.late: {columns", "shop.late: {audit: true, columns"
    )
    found = list(told(wait_conditions + "  late: {table: shop.late, rows: [0, null]}\n"))
    assert len(found) == 1
    assert "written past an audit" in found[0]
    taken = text.replace("  copy: {table", f"  {G}_publish: {{table")
    (found,) = told(taken)
    assert f"it makes '{G}_publish', as does a flow" in found


@pytest.mark.parametrize(
    "text",
    [SHOP.format(rows="file:///rows"), CHAIN, WIDE, (DECLARED / "streamhouse.yaml").read_text()],
)
def test_what_the_command_line_tells_of_dags_is_what_airflow_gets(
    text: str, tmp_path: Path
) -> None:
    (tmp_path / "d.yaml").write_text(text)
    made = {
        dag_id: {task.task_id: sorted(task.upstream_task_ids) for task in dag.tasks}
        for dag_id, dag in load_dags(tmp_path / "d.yaml").items()
    }
    assert {dag.id: dag.tasks for dag in dags_of(parse(text))} == made


def test_a_group_takes_what_is_chosen_and_tells_what_it_needs(tmp_path: Path) -> None:
    from airflow.sdk import DAG

    (tmp_path / "d.yaml").write_text(CHAIN)
    part = chosen(parse(CHAIN), ["tag:daily,s.c", "source:load_a"])
    (told, *_) = dags_of(parse(CHAIN), part)
    with DAG("mine") as mine:
        group = PaimonTaskGroup.from_file(
            tmp_path / "d.yaml",
            group_id="g",
            select=["tag:daily,s.c source:load_a"],
            tooltip="Mine.",
        )
        whole = PaimonTaskGroup.from_file(tmp_path / "d.yaml", group_id="whole")
    made = {
        task.task_id: task.upstream_task_ids for task in mine.tasks if task.task_id.startswith("g.")
    }
    assert made == {
        f"g.{name}": {f"g.{one}" for one in after} for name, after in told.tasks.items()
    }
    assert [(one.table, one.made_by) for one in group.needs] == [
        ("ref.x", ()),
        ("s.b", ("make_b",)),
    ]
    assert (
        group.tooltip
        == "Mine.\nNeeds: ref.x, kept by others, for make_c; s.b, written by make_b, for make_c"
    )
    assert (whole.needs, whole.tooltip) == ((), "")
    assert load_dags(tmp_path / "d.yaml")["chain_wake"].tags == {"daily", "paimon"}
    with pytest.raises(ArgumentError, match="did you mean 'daily'"):
        PaimonTaskGroup.from_file(tmp_path / "d.yaml", select="tag:dayly")
