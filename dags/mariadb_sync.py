"""Keeps a MariaDB (or MySQL) database in step: every run applies what happened since the last one.

The connection ``shop_mariadb`` names the server; its user needs SELECT, REPLICATION SLAVE and
BINLOG MONITOR.  Tables are made from the server's catalog, follow its schema changes, and keep their
position in the binary log with their own commits: a run that is killed or repeated changes nothing.

The Dag starts paused, because it needs that connection first: add it, then switch the Dag on.
"""

from __future__ import annotations

from typing import Any

from airflow.sdk import DAG, BaseHook, Param, task

DATABASES = "shop_.*"
"""Shards: tables of one name become one table."""

with DAG(
    dag_id="mariadb_sync",
    schedule="*/10 * * * *",
    catchup=False,
    max_active_runs=1,
    is_paused_upon_creation=True,
    params={"database": Param("shop", type="string")},
    default_args={"retries": 3, "retry_delay": 5},
    doc_md=__doc__,
) as dag:

    @task
    def keep_in_step(params: dict[str, Any]) -> dict[str, Any]:
        """Read the server's tables once, then its log; what each table got."""
        import table_core as tc
        from paimon_provider.hooks.paimon import PaimonHook

        server = BaseHook.get_connection("shop_mariadb")
        source = tc.MySqlSource(
            host=server.host or "localhost",
            port=server.port or 3306,
            user=server.login or "",
            password=server.password or "",
            databases=DATABASES,
        )
        result = tc.sync_database(
            PaimonHook().catalog(),
            params["database"],
            source,
            on_truncate="apply",
            metadata_columns=("database_name", "table_name"),
            dead_letter=f"{params['database']}.rejected_events",
            max_duration="9 min",
        )
        tables: Any = result.details["tables"]
        return {name: told["rows_written"] for name, told in tables.items()}

    @task
    def look_after(written: dict[str, Any], params: dict[str, Any]) -> None:
        """Compact what changed, so that readers merge little."""
        from paimon_provider.hooks.paimon import PaimonHook

        for name, rows in written.items():
            if rows:
                PaimonHook().table(f"{params['database']}.{name}").compact()

    look_after(keep_in_step())
