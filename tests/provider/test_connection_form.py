"""The form of the connection: it takes what the documents write, shows no secret again, and can be tried."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from paimon_provider.connections.warehouse import Warehouse
from paimon_provider.get_provider_info import get_provider_info
from tests.examples import EXAMPLES, named
from tests.provider.logged_in import token

pytestmark = [pytest.mark.airflow, pytest.mark.filterwarnings("default")]

SECRETS = {
    "storage_options": {"secret": "PLANTED-1", "client_kwargs": {"aws_session_token": "PLANTED-2"}},
    "spark_conf": {"spark.hadoop.fs.s3a.secret.key": "PLANTED-3"},
    "env": {"LAKE_PASSWORD": "PLANTED-4"},
}


def documented() -> Iterator[tuple[str, dict[str, Any]]]:
    """Each connection that a page writes as a dict."""
    for path, _, code in EXAMPLES:
        for node in ast.walk(ast.parse(code)):
            if isinstance(node, ast.Dict) and '"conn_type"' in (
                ast.get_source_segment(code, node) or ""
            ):
                text = ast.unparse(node)
                yield named(path), eval(text, {"json": json})


CONNECTIONS = list(documented())


@pytest.fixture(scope="module")
def ask(airflow_home: Path) -> Iterator[Any]:
    """Ask Airflow's own API as ada."""
    from airflow.api_fastapi.app import create_app
    from fastapi.testclient import TestClient

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AIRFLOW__CORE__TEST_CONNECTION", "Enabled")
        with TestClient(create_app()) as client:

            def ask(method: str, path: str, **body: Any) -> Any:
                answer = client.request(
                    method, f"/api/v2{path}", json=body or None, headers=token(client, "ada")
                )
                assert answer.status_code < 300, answer.text
                return answer.json() if answer.content else None

            yield ask


def kept(ask: Any, **members: Any) -> dict[str, Any]:
    """What the API shows of a connection that was made of ``members``; it is gone afterwards."""
    extra = json.dumps(members.pop("extra", {}))
    ask("POST", "/connections", connection_id="form", extra=extra, **members)
    shown = ask("GET", "/connections/form")
    ask("DELETE", "/connections/form")
    return dict(shown)


def test_pages_write_connections() -> None:
    assert len(CONNECTIONS) >= 3


@pytest.mark.parametrize(("page", "given"), CONNECTIONS)
def test_the_form_takes_what_the_documents_write(
    ask: Any, page: str, given: dict[str, Any]
) -> None:
    (form,) = get_provider_info()["connection-types"]
    extra = given.get("extra", {})
    for name, value in extra.items():
        jsonschema.validate(value, form["conn-fields"][name]["schema"])
    shown = kept(ask, **given)
    found = {**shown, "extra": json.loads(shown["extra"] or "{}")}
    assert found["extra"] == extra, page
    members = {key: given.get(key) for key in ("conn_type", "host", "login")}
    assert {key: shown[key] for key in members} == members
    if "password" in given:
        assert given["password"] not in json.dumps(shown)


def test_no_secret_is_shown_again_wherever_it_was_typed(ask: Any) -> None:
    password = json.dumps({"jdbc.password": "PLANTED-5", "sas": "PLANTED-6"})
    shown = kept(ask, conn_type="paimon", host="file:///wh", password=password, extra=SECRETS)
    assert "PLANTED" not in json.dumps(shown)
    assert json.loads(shown["extra"])["storage_options"]["client_kwargs"].keys() == {
        "aws_session_token"
    }


def test_the_button_of_the_list_can_try_it(ask: Any, tmp_path: Path) -> None:
    """Airflow's page sends port 0 where a form has none, and takes that for another server: ours has one."""
    (form,) = get_provider_info()["connection-types"]
    assert "port" not in form["ui-field-behaviour"]["hidden-fields"]
    given = {"conn_type": "paimon", "host": tmp_path.as_uri(), "port": 0}
    ask("POST", "/connections", connection_id="listed", **given)
    tried = ask("POST", "/connections/test", connection_id="listed", **given)
    ask("DELETE", "/connections/listed")
    assert (tried["status"], tried["message"].split(":")[0]) == (True, "file"), tried


def test_a_port_changes_nothing() -> None:
    from airflow.sdk import Connection

    made = [
        Connection(conn_id="wh", conn_type="paimon", host="s3://lake/wh", port=port)
        for port in (None, 0)
    ]
    assert Warehouse.of(made[0]) == Warehouse.of(made[1])
