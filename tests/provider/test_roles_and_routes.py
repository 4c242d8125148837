"""Roles, verbs and routes: what each of them is answered, by a live server over HTTP."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from table_core.table.api.opening import open_catalog
from tests.eventually import eventually
from tests.provider.dag_runs import run_text
from tests.provider.team_roles import ROLES
from tests.tables import write_rows

pytestmark = pytest.mark.filterwarnings("default")
DAGS = {
    "payroll": """
from airflow.sdk import DAG
from paimon_provider.operators.table import PaimonCreateTableOperator
from paimon_provider.operators.write import PaimonWriteOperator

with DAG("payroll"):
    for name in ("salaries", "claimed", "named", "older"):
        PaimonCreateTableOperator(task_id=f"create_{name}", table=f"hr.{name}", primary_key=["id"],
            columns={"id": "BIGINT NOT NULL"}, options={"bucket": "1"}
        ) >> PaimonWriteOperator(task_id=f"fill_{name}", table=f"hr.{name}", engine="local", sql="SELECT 1 AS id")
""",
    "paimon_table_actions": """
from airflow.sdk import DAG
from paimon_provider.operators.compact import PaimonCompactOperator

with DAG("paimon_table_actions"):
    PaimonCompactOperator(task_id="act", table="hr.salaries", engine="local", strategy="full", events="any")
""",
    "of_ben": """
from airflow.sdk import DAG, Asset, task
from paimon_provider.links import TableLink
from paimon_provider.operators.table import PaimonCreateTableOperator

with DAG("of_ben"):
    @task(outlets=[Asset("paimon://paimon_default/hr/salaries?on=changes"), Asset("paimon://paimon_default/hr/salaries")])
    def claims_an_event(): pass

    @task
    def claims_the_creation(name, ti=None):
        uri = f"paimon%3A%2F%2Fpaimon_default%2Fhr%2F{name}"
        ti.xcom_push(key=TableLink().xcom_key, value=f"/plugin/paimon-tables?table={uri}")
        return {"version": 1, "action": "create-table", "table": f"hr.{name}", "details": {"created": True}}

    @task
    def breaks_the_page(ti=None):
        ti.xcom_push(key=TableLink().xcom_key, value=f"/plugin/paimon-tables?table=paimon://[/a/b")
        return {"version": 1, "action": "create-table", "details": {"created": True}}

    claims_an_event(); breaks_the_page()
    claims_the_creation.override(task_id="claimed")("claimed")
    claims_the_creation.override(task_id="nobodys")("nobodys")
    claims_the_creation.override(task_id="older")("older")
    PaimonCreateTableOperator(task_id="again", table="hr.salaries", primary_key=["id"], columns={"id": "BIGINT NOT NULL"})
""",
    "notes": "from airflow.sdk import DAG\nwith DAG('notes'): pass\n",
}
URI = "paimon://paimon_default/hr/{}"
SEE_ROWS = {
    "salaries": {"ada", "ann", "both"},
    "claimed": {"ada", "both"},
    "named": {"ada", "ben", "both"},
    "nobodys": {"ada"},
    "older": {"ada"},
}
"""Who may see rows: of its creator, of two that ran when it was made and claim it, as the configuration says; of
one that no task created and one that was there before those who say that they created it."""
SOURCES = {
    "salaries": "creation",
    "claimed": "several",
    "named": "configuration",
    "nobodys": "every",
    "older": "every",
}
FORETOLD = {"nobodys": "creation", "older": "several"}
"""What the page says of a table while nobody has collected when it was made."""
OF_TABLE = (
    *("", "/snapshots", "/history", "/levels", "/partitions", "/schemas", "/options", "/refs"),
    *("/maintenance", "/actions"),
)
OTHERS = ("/tables", "/overview")
Ask = Callable[..., tuple[int, Any]]


@pytest.fixture(scope="module")
def ask(airflow_home: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ask]:
    folder = tmp_path_factory.mktemp("roles")
    wanted = {
        "AIRFLOW_CONN_PAIMON_DEFAULT": json.dumps({"conn_type": "paimon", "host": f"file://{folder}/wh"}),
        "AIRFLOW__PAIMON__ROWS_OF": '{"HR.named": "of_ben", "hr.salarie": "of_ben"}',
        "AIRFLOW__PAIMON__CACHE_FOLDER": str(folder / "cache"),
        "AIRFLOW__CORE__AUTH_MANAGER": "tests.provider.team_auth.TeamAuthManager",
        "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_USERS": ",".join(map(":".join, ROLES.items())),
        "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_PASSWORDS_FILE": str(folder / "passwords.json"),
    }  # fmt: skip
    (folder / "passwords.json").write_text(json.dumps({name: f"{name}-1815" for name in ROLES}))
    log = (folder / "server.log").open("w+")
    with pytest.MonkeyPatch.context() as patch:
        for name, value in wanted.items():
            patch.setenv(name, value)
        server = subprocess.Popen(
            [*(sys.executable, "-m", "uvicorn", "--factory", "airflow.api_fastapi.app:create_app"),
             *("--host", "127.0.0.1", "--port", "0")],
            stdout=log, stderr=subprocess.STDOUT, env=os.environ,
        )  # fmt: skip
        try:
            for dag_id, text in DAGS.items():
                assert str(run_text(airflow_home, text, dag_id).state) in {"success", "running"}
            made_by_a_program(folder)
            ran_meanwhile("of_ben", "claimed")
            for name in ("nobodys", "older"):
                was_made_before(Path(f"{folder}/wh/hr.db/{name}/schema/schema-0"))
            url = eventually(lambda: running_at(server, folder / "server.log"), "the server runs")
            asked = asker(str(url))
            for name, source in SOURCES.items():
                eventually(
                    lambda: asked("ada", "/table", uri=URI.format(name))[1].get("rows_right", {}).get("source") == FORETOLD.get(name, source),  # noqa: B023
                    f"{name} is known",
                )  # fmt: skip
            yield asked
        finally:
            server.terminate()
            server.wait(60)
            log.close()


def made_by_a_program(folder: Path) -> None:
    """A table that no task created, with an asset and an event of a Dag that claims it."""
    from airflow.models.asset import AssetEvent, AssetModel
    from airflow.utils.session import create_session

    catalog = open_catalog(f"file://{folder}/wh")
    table = catalog.create_table("hr.nobodys", pa.schema([("id", pa.int64())]))
    write_rows(table, pa.table({"id": [1]}))
    with create_session() as session:
        uri = URI.format("nobodys")
        session.add(AssetModel(name=uri, uri=uri))
        session.flush()
        asset = session.query(AssetModel).filter_by(uri=uri).one()
        session.add(AssetEvent(asset_id=asset.id, source_dag_id="of_ben", source_task_id="t", source_run_id="r", extra={}))  # fmt: skip


def ran_meanwhile(dag_id: str, task_id: str) -> None:
    """As if the task had run while the other one created the table."""
    from airflow.models.taskinstance import TaskInstance
    from airflow.utils.session import create_session

    with create_session() as session:
        task = session.query(TaskInstance).filter_by(dag_id=dag_id, task_id=task_id).one()
        task.start_date -= timedelta(minutes=30)


def was_made_before(schema: Path) -> None:
    """As if the table had been there for a day."""
    document = json.loads(schema.read_text())
    schema.write_text(json.dumps(document | {"timeMillis": document["timeMillis"] - 86_400_000}))


def running_at(server: subprocess.Popen[bytes], log: Path) -> str | None:
    told = log.read_text()
    assert server.poll() is None, told
    found = re.search(r"running on (http://127.0.0.1:\d+)", told)
    return found[1] if found else None


def asker(url: str) -> Ask:
    """Asks a route as somebody; a status and a document."""
    tokens: dict[str, str] = {}
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))

    def send(path: str, verb: str, headers: dict[str, str], body: Any = None) -> tuple[int, Any]:
        data = None if body is None else json.dumps(body).encode()
        headers = headers | ({"Content-Type": "application/json"} if data else {})
        request = urllib.request.Request(url + path, data, headers, method=verb)
        try:
            with opener.open(request, timeout=120) as answer:
                text = b"" if "stream" in answer.headers["content-type"] else answer.read()
                return answer.status, json.loads(text or b"null")
        except urllib.error.HTTPError as error:
            return error.code, json.loads(error.read() or b"null")

    def ask(who: str | None, path: str, verb: str = "GET", **query: Any) -> tuple[int, Any]:
        if who is not None and who not in tokens:
            login = {"username": who, "password": f"{who}-1815"}
            tokens[who] = send("/auth/token", "POST", {}, login)[1]["access_token"]
        headers = {} if who is None else {"Authorization": f"Bearer {tokens[who]}"}
        return send(f"/paimon/api{path}?{urllib.parse.urlencode(query)}", verb, headers)

    return ask


@pytest.mark.parametrize("name", SEE_ROWS)
def test_rows_are_seen_as_promised_by_every_role(ask: Ask, name: str) -> None:
    uri = URI.format(name)
    for who in ROLES:
        may = who in SEE_ROWS[name]
        told = ask(who, "/table", uri=uri)[1]
        if name not in FORETOLD:
            assert told["may_read_rows"] is may, who
            assert told["rows_right"]["source"] == SOURCES[name]
        assert set(told["rows_right"]["dags"]) <= {"payroll", "of_ben"}
        assert ask(who, "/table/live", uri=uri)[0] == (200 if may else 403), who
        status, sample = ask(who, "/table/sample", uri=uri)
        assert status == (200 if may else 403), who
        if may:
            assert sample["rows"] == [["1"]]


def test_a_right_names_no_dag_that_who_asks_may_not_read(ask: Ask) -> None:
    told = {who: ask(who, "/table", uri=URI.format("salaries"))[1] for who in ("ann", "ben")}
    assert told["ann"]["rows_right"]["dags"] == ["payroll"]
    assert told["ben"]["rows_right"]["dags"] == []
    assert "payroll" not in json.dumps(told["ben"])
    assert "payroll" not in json.dumps(ask("ben", "/table/sample", uri=URI.format("salaries"))[1])


def test_what_is_told_of_tables_needs_a_log_in_and_no_other_verb_works(ask: Ask) -> None:
    uri = URI.format("salaries")
    for path in (*OTHERS, *(f"/table{one}" for one in (*OF_TABLE, "/sample", "/live"))):
        for verb in ("GET", "POST", "PUT", "PATCH", "DELETE"):
            status = ask(None, path, verb, uri=uri)[0]
            assert status == 401 or (status == 405 and verb != "GET"), (verb, path)
            if verb != "GET":
                assert ask("ada", path, verb, uri=uri)[0] == 405, (verb, path)
    for path in (*OTHERS, *(f"/table{one}" for one in OF_TABLE)):
        for who in ROLES:
            assert ask(who, path, uri=uri)[0] == 200, (who, path)


def test_runs_are_told_to_who_may_read_their_dags(ask: Ask) -> None:
    for who in ROLES:
        told = ask(who, "/table/maintenance", uri=URI.format("salaries"))[1]["runs"]
        assert bool(told) is (who in {"ada", "user", "op"}), who
        status = ask(who, "/work", dag_id="payroll")[0]
        assert status == (200 if who in {"ada", "ann", "both"} else 404), who
