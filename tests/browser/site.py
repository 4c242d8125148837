"""What the browser tests need of their Airflow: its users, its Dags, and what is asked of it."""

from __future__ import annotations

import json
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from demo.airflow_home import LOCAL, AirflowHome
from table_core.table.api.catalog import Catalog
from tests.tables import write_rows

__all__ = ["DAGS", "SALES", "USERS", "Site"]

USERS: Mapping[str, str] = {"admin": "admin", "uma": "user", "vera": "viewer"}
SALES = "paimon://demo/shop/country_sales"
DAGS: Mapping[str, str] = {
    "sell.py": """
from airflow.sdk import DAG
from paimon_provider.operators.write import PaimonWriteOperator

with DAG(dag_id="sell", schedule=None):
    PaimonWriteOperator(task_id="lemuria", table="shop.country_sales", catalog="demo", engine="local",
        sql="SELECT 'Lemuria' AS country, 1.0 AS revenue")
""",
    "collect.py": """
from airflow.sdk import DAG
from paimon_provider.operators.collect import PaimonCollectMetadataOperator

with DAG(dag_id="collect", schedule=None):
    PaimonCollectMetadataOperator(task_id="shop", database="shop")
""",
    "actions.py": """
# a Dag of Airflow
from paimon_provider.table_actions import table_actions_dag

actions = table_actions_dag(databases=["shop"], catalog="demo")
""",
}


@dataclass
class Site:
    """The Airflow, and the tables that it shows."""

    airflow: AirflowHome
    catalog: Catalog
    _tokens: dict[str, str] = field(default_factory=dict)

    @property
    def url(self) -> str:
        """Where Airflow is, with its path."""
        return self.airflow.url

    def token(self, user: str) -> str:
        """What the browser's cookie holds after the user's log-in."""
        if user not in self._tokens:
            password = json.loads(self.airflow.passwords.read_text())[user]
            body = json.dumps({"username": user, "password": password}).encode()
            request = urllib.request.Request(
                f"{self.url}/auth/token", body, {"Content-Type": "application/json"}
            )
            with LOCAL.open(request, timeout=60) as answer:
                self._tokens[user] = str(json.load(answer)["access_token"])
        return self._tokens[user]

    def ask(self, path: str, *, user: str | None = None, **query: Any) -> tuple[int, Any]:
        """Status and document of one of the plugin's routes."""
        url = f"{self.url}/paimon/{path}?{urllib.parse.urlencode(query)}"
        headers = {} if user is None else {"Authorization": f"Bearer {self.token(user)}"}
        try:
            with LOCAL.open(urllib.request.Request(url, headers=headers), timeout=60) as answer:
                text = answer.read().decode()
                is_json = answer.headers["content-type"].startswith("application/json")
                return answer.status, json.loads(text) if is_json else text
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode(errors="replace")

    def wait_for_tables(self) -> None:
        """Until the page has read what was collected."""

        def there() -> bool:
            status, document = self.ask("api/table", user="admin", uri=SALES)
            return status == 200 and document["rows"] is not None

        self.airflow.wait("the page knows its tables", there)

    def run(self, dag_id: str) -> str:
        """Run a Dag to its end; the id of the run."""
        run_id = self.airflow.trigger(dag_id, {})

        def ended() -> bool:
            states = {run["dag_run_id"]: run["state"] for run in self.airflow.runs(dag_id)}
            return states.get(run_id) in {"success", "failed"}

        self.airflow.wait(f"a run of {dag_id} ends", ended, 300)
        return run_id

    def sell(self, country: str, revenue: float) -> None:
        """One commit to the table of sales."""
        import pyarrow as pa

        write_rows(
            self.catalog.table("shop.country_sales"),
            pa.table({"country": [country], "revenue": [revenue]}),
        )
