"""Every operator and sensor of the tour, and every kind of watcher, in an Airflow whose processes run.

On PostgreSQL; the Dags of ``dags/tour.py`` run beside each other.  Watchers see commits that come from
here, go on through a pause, and beside a store that never answers.  Airflow's metrics come to us.
"""

from __future__ import annotations

import json
import socket
import threading
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pyarrow as pa
import pytest

from demo.airflow_home import LOCAL
from table_core.table.api.table import Table
from table_core.table.metadata.results import CommitAs
from tests.live.airflows import Live, running
from tests.provider.tour import BASES, DECLARED, TOUR, offered
from tests.tables import write_rows

pytestmark = [pytest.mark.airflow, pytest.mark.heavy, pytest.mark.timeout(1200)]

WATCHES: dict[str, dict[str, Any]] = {
    "together": {},
    "each": {"on": "any", "events": "snapshot"},
    "many": {"min_rows": 100},
    "iceland": {"partitions": [{"country": "is"}]},
    "tidied": {"on": "compact"},
}
WATCHING = f"""
from datetime import timedelta
from airflow.providers.standard.operators.empty import EmptyOperator
from airflow.sdk import DAG, AsyncCallback
from paimon_provider.assets import watched_table
from paimon_provider.freshness import freshness_deadline
from paimon_provider.notifier import PaimonNotifier
from paimon_provider.sensors.tag import PaimonTagSensor

def woken(name, **watch):
    with DAG(name, schedule=[watched_table("live.orders", **watch)], catchup=False):
        EmptyOperator(task_id="nothing")

woken("hanging", paimon_conn_id="hanging")
for name, watch in {WATCHES}.items():
    woken(name, catalog="demo", poll_seconds=0.5, **watch)

told = AsyncCallback(PaimonNotifier, kwargs={{"table": "live.told"}})
late = freshness_deadline("live.late", within=timedelta(seconds=1), callback=told, catalog="demo")
with DAG("late", schedule=None, deadline=late):
    PaimonTagSensor(task_id="wait", table="live.late", tag="at-last", poke_interval=0.5,
                    deferrable=True, start_from_trigger=True)
"""
MARKS = """
SELECT a.uri FROM asset_state_store s JOIN asset a ON a.id = s.asset_id
WHERE a.uri LIKE 'paimon://demo/live/orders%%'
"""
SEEN = MARKS.replace("a.uri", "s.value::json", 1)
"""How far each has come; the one that waits for more rows stays where it is."""
TRIGGERS = """
SELECT t.id FROM trigger t JOIN asset_watcher w ON w.trigger_id = t.id JOIN asset a ON a.id = w.asset_id
WHERE a.uri LIKE 'paimon://demo/live/orders%%'
"""
EVENTS = """
SELECT e.extra->'payload' FROM asset_event e
JOIN dag_schedule_asset_reference r ON r.asset_id = e.asset_id WHERE r.dag_id = %s ORDER BY e.id
"""


@dataclass(frozen=True)
class Outside:
    """What an Airflow talks to: a store that takes connections and never answers, a collector."""

    store: socket.socket
    collector: ThreadingHTTPServer
    connected: list[socket.socket] = field(default_factory=list)
    metrics: list[bytes] = field(default_factory=list)

    def serve(self) -> None:
        def accept() -> None:
            while True:
                try:
                    self.connected.append(self.store.accept()[0])
                except OSError:
                    return

        for work in (accept, self.collector.serve_forever):
            threading.Thread(target=work, daemon=True).start()

    @property
    def environment(self) -> dict[str, str]:
        """For an Airflow that knows both."""
        port, collector = self.store.getsockname()[1], self.collector.server_port
        silent = {"client_kwargs": {"endpoint_url": f"http://127.0.0.1:{port}"}, "use_ssl": False}
        options = {**silent, "key": "k", "secret": "s", "config_kwargs": {"read_timeout": 600}}
        extra = {"storage_options": options}
        connection = {"conn_type": "paimon", "host": "s3://hanging/wh", "extra": extra}
        return {
            "AIRFLOW_CONN_HANGING": json.dumps(connection),
            "AIRFLOW__METRICS__OTEL_ON": "True",
            "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT": f"http://127.0.0.1:{collector}/v1/metrics",
            "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf",
            "OTEL_METRIC_EXPORT_INTERVAL": "1000",
            "AIRFLOW__DAG_PROCESSOR__MIN_FILE_PROCESS_INTERVAL": "5",
        }


@pytest.fixture(scope="module")
def outside() -> Iterator[Outside]:
    class Collector(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            found.metrics.append(self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            """Keep silent."""

    with (
        socket.create_server(("127.0.0.1", 0)) as store,
        ThreadingHTTPServer(("127.0.0.1", 0), Collector) as collector,
    ):
        found = Outside(store, collector)
        found.serve()
        yield found
        collector.shutdown()
        for connection in found.connected:
            connection.close()


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory, outside: Outside) -> Iterator[Live]:
    files = {"tour.py": TOUR.read_text(), "watching.py": WATCHING}
    folder = tmp_path_factory.mktemp("tour")
    with running(folder, files, dags=13, environment=outside.environment) as live:
        yield live


def approve(live: Live, run: str) -> None:
    """Say yes when somebody has asked.

    Not before Airflow's scheduler has heard of the question, which it takes for a fault otherwise.
    """
    heard = "for task instance TaskInstanceKey(dag_id='tour_upkeep', task_id='approve'"
    log = live.airflow.home / "logs" / "scheduler.log"
    live.wait("somebody asks", lambda: heard in log.read_text())
    path = f"/dags/tour_upkeep/dagRuns/{run}/taskInstances/approve/-1/hitlDetails"
    yes = {"chosen_options": ["Approve"], "params_input": {}}
    live.airflow.send("PATCH", path, yes)


def test_every_operator_and_sensor_runs(live: Live, tmp_path_factory: Any) -> None:
    airflow, folder = live.airflow, tmp_path_factory.mktemp("events")
    for table in ("x", "y"):
        source = {"db": "d", "table": table}
        events = [{"before": None, "after": {"id": n}, "op": "c", "source": source} for n in (1, 2)]
        (folder / f"{table}.jsonl").write_text("".join(json.dumps(e) + "\n" for e in events))
    runs = {
        dag: airflow.trigger(dag, {"folder": folder.as_uri()} if dag == "tour_copies" else {})
        for dag in ("tour_rows", "tour_history", "tour_copies", "tour_upkeep")
    }
    approve(live, runs["tour_upkeep"])
    for dag, run in runs.items():
        unneeded = {"tags", "analyze"} if dag == "tour_upkeep" else set()
        live.well(dag, run, frozenset(unneeded))
    live.wait("the watcher woke the relay", lambda: airflow.runs("tour_relay"))

    def partitions() -> set[str]:
        return {str(run["partition_key"]) for run in airflow.runs("tour_partition")}

    live.wait("each partition has a run", lambda: partitions() >= {"dt=a", "dt=b", "dt=d"})
    waiting = {
        task["state"]
        for run in airflow.runs("tour_partition")
        for task in airflow.tasks("tour_partition", run["dag_run_id"])
    }
    assert waiting <= {"scheduled", "queued", "deferred", None}, "nobody has set a watermark"
    rows = live.catalog.table("tour.rows")
    write_rows(
        rows,
        pa.table({"dt": ["d"], "id": [9], "n": [9]}),
        commit=CommitAs(watermark=1_800_000_000_000),
    )
    for dag in ("tour_relay", "tour_partition"):
        for run in airflow.runs(dag):
            live.well(dag, run["dag_run_id"])
    done = {
        task["operator"]
        for dag in (*runs, "tour_relay", "tour_partition")
        for run in airflow.runs(dag)
        for task in airflow.tasks(dag, run["dag_run_id"])
        if task["state"] == "success"
    }
    assert set(offered()) - BASES - DECLARED - done == set()


def test_the_connection_has_a_form_and_a_test_button(live: Live) -> None:
    token = live.airflow._login()
    url = f"{live.airflow.url}/ui/connections/hook_meta"
    request = urllib.request.Request(url, headers={"Authorization": f"Bearer {token}"})
    with LOCAL.open(request, timeout=30) as answer:
        forms = {form["connection_type"]: form for form in json.load(answer)}
    form = forms["paimon"]
    assert form["standard_fields"]["host"]["title"] == "Warehouse"
    assert set(form["extra_fields"]) >= {"warehouse", "storage_options", "metastore", "spark_conf"}
    assert form["extra_fields"]["spark_backend"]["schema"]["enum"][0] == "local"

    def tried(host: str) -> dict[str, Any]:
        given = {"connection_id": "tried", "conn_type": "paimon", "host": host}
        return live.airflow.send("POST", "/connections/test", given)

    good = tried(live.catalog.warehouse)
    assert good["status"]
    assert good["message"].startswith(live.catalog.warehouse)
    bad = tried("sftp://nowhere/wh")
    assert (bad["status"], "[unsupported] sftp://" in bad["message"]) == (False, True)


def orders(live: Live) -> Table:
    live.catalog.create_database("live", if_not_exists=True)
    schema = pa.schema([("country", pa.string()), ("n", pa.int64())])
    options = {"bucket": "-1", "write-only": "true"}
    return live.catalog.create_table(
        "live.orders", schema, partition_by=("country",), options=options
    )


def append(table: Table, country: str, rows: int = 1) -> None:
    write_rows(table, pa.table({"country": [country] * rows, "n": range(rows)}))


def test_watchers_hear_of_what_counts_for_them_also_after_a_pause(
    live: Live, outside: Outside
) -> None:
    def told(dag: str) -> list[tuple[int, int]]:
        """The first and last snapshot of each event; one event of several has several."""
        found = [payload["snapshots"] for (payload,) in live.rows(EVENTS, dag)]
        return [(one["first"], one["last"]) for one in found]

    def until(wanted: dict[str, list[tuple[int, int]]]) -> None:
        live.wait(f"events {wanted}", lambda: {dag: told(dag) for dag in wanted} == wanted)

    def pause(*, paused: bool) -> None:
        for dag in WATCHES:
            live.airflow.send("PATCH", f"/dags/{dag}", {"is_paused": paused})

    live.wait("all have looked", lambda: len(live.rows(MARKS)) == len(WATCHES))
    table = orders(live)
    append(table, "is")
    until({"together": [(1, 1)], "each": [(1, 1)], "iceland": [(1, 1)]})
    append(table, "dk")
    until({"together": [(1, 1), (2, 2)], "each": [(1, 1), (2, 2)], "iceland": [(1, 1)]})

    seen = lambda: [mark["snapshot_id"] for (mark,) in live.rows(SEEN)]  # noqa: E731
    live.wait("what was told has settled", lambda: seen().count(2) == len(WATCHES) - 1)
    pause(paused=True)
    live.wait("Airflow has taken the watchers away", lambda: not live.rows(TRIGGERS))
    append(table, "is")
    append(table, "dk")
    append(table, "dk", rows=100)
    table.compact()
    assert live.rows(TRIGGERS) == []
    assert told("each") == [(1, 1), (2, 2)]
    pause(paused=False)
    until(
        {
            "together": [(1, 1), (2, 2), (3, 5)],
            "each": [(n, n) for n in range(1, 7)],
            "many": [(1, 5)],
            "iceland": [(1, 1), (3, 3)],
            "tidied": [(6, 6)],
        }
    )
    append(table, "is")
    until(
        {
            "together": [(1, 1), (2, 2), (3, 5), (7, 7)],
            "each": [(n, n) for n in range(1, 8)],
            "many": [(1, 5)],
            "iceland": [(1, 1), (3, 3), (7, 7)],
            "tidied": [(6, 6)],
        }
    )
    assert outside.connected, "all the while somebody asked a store that does not answer"
    assert live.rows(EVENTS, "hanging") == []


def test_a_table_that_is_not_fresh_is_told_and_waited_for(live: Live) -> None:
    run = live.airflow.trigger("late", {})
    live.wait("the deadline was missed", lambda: "told" in live.catalog.tables("live"))
    told = live.catalog.table("live.told")
    live.wait("and kept", told.latest_snapshot)
    (row,) = told.read().to_arrow().to_pylist()
    assert (row["dag_id"], row["run_id"]) == ("late", run)
    assert row["message"].startswith("missed the deadline 20")
    late = live.catalog.create_table("live.late", pa.schema([("n", pa.int64())]))
    write_rows(late, pa.table({"n": [1]}))
    late.tags.create("at-last")
    live.well("late", run)


def test_airflows_metrics_have_the_numbers_of_tasks_and_watchers(
    live: Live, outside: Outside
) -> None:
    names = ("rows_written", "seconds", "files_deleted", "looks", "events", "event_delay")

    def missing() -> list[str]:
        told = b"".join(outside.metrics)
        return [name for name in names if f"airflow.paimon.{name}".encode() not in told]

    live.wait(f"metrics {names}", lambda: not missing())
