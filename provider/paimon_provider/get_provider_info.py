"""Provider metadata, read by Airflow at start-up.  Imports nothing of Airflow on purpose."""

from __future__ import annotations

import pkgutil
from pathlib import Path
from typing import Any, Final

from paimon_provider import __version__

__all__ = ["OPERATORS", "SENSORS", "get_provider_info"]

_NAME: Final = "Apache Paimon"
_TEXT: Final[dict[str, Any]] = {"type": ["string", "null"]}
_JSON: Final[dict[str, Any]] = {"type": ["object", "null"]}
"""An object, as the docs write it: Airflow edits it as JSON, and masks what its keys say is secret."""
_BASE: Final = "base"


def _modules_of(room: str) -> tuple[str, ...]:
    """The modules of a room of ours, without its base: the folder is the list."""
    modules = pkgutil.iter_modules([str(Path(__file__).parent / room)])
    return tuple(sorted(module.name for module in modules if module.name != _BASE))


OPERATORS: Final = _modules_of("operators")
SENSORS: Final = _modules_of("sensors")


def get_provider_info() -> dict[str, Any]:
    """Describe this provider.  Airflow checks the shape and refuses to start on a bad one."""
    return {
        "package-name": "airflow-provider-paimon",
        "name": _NAME,
        "description": "Apache Paimon tables created, fed, merged, compacted and expired.",
        "versions": [__version__],
        "integrations": [
            {
                "integration-name": _NAME,
                "external-doc-url": "https://paimon.apache.org/",
                "tags": ["apache"],
            }
        ],
        "operators": [_modules(*(f"operators.{name}" for name in OPERATORS))],
        "sensors": [_modules(*(f"sensors.{name}" for name in SENSORS))],
        "hooks": [_modules("hooks.paimon")],
        "triggers": [_modules("triggers.snapshot", "triggers.wait", "triggers.spark_job")],
        "connection-types": [_connection_type()],
        "extra-links": [
            "paimon_provider.links.ChangeReportLink",
            "paimon_provider.links.SparkUILink",
            "paimon_provider.links.TableLink",
        ],
        "asset-uris": [
            {
                "schemes": ["paimon"],
                "handler": "paimon_provider.assets.normalize_uri",
                "factory": "paimon_provider.assets.create_asset",
                "to_openlineage_converter": "paimon_provider.lineage.openlineage.to_openlineage",
            }
        ],
        "task-decorators": [
            {"name": "paimon", "class-name": "paimon_provider.decorators.paimon_task"}
        ],
        "queues": ["paimon_provider.message_queue.PaimonMessageQueue"],
        "notifications": ["paimon_provider.notifier.PaimonNotifier"],
        "config": _config(),
    }


def _modules(*names: str) -> dict[str, Any]:
    return {
        "integration-name": _NAME,
        "python-modules": [f"paimon_provider.{name}" for name in names],
    }


def _connection_type() -> dict[str, Any]:
    return {
        "connection-type": "paimon",
        "hook-class-name": "paimon_provider.hooks.paimon.PaimonHook",
        "hook-name": _NAME,
        "ui-field-behaviour": {
            # Airflow's Test sends port 0 for a field that is hidden, and then finds that the server differs
            "hidden-fields": ["schema"],
            "relabeling": {
                "host": "Warehouse",
                "port": "Port: none is used; 0 lets Airflow's Test run",
                "login": "User of the JDBC catalog",
                "password": "Secret storage options (JSON), or the token of a REST catalog",
            },
            "placeholders": {
                "host": "file:///data/wh, s3://bucket/wh, …; of a REST catalog its name there",
                "password": '{"key": "…", "secret": "…", "jdbc.password": "…"}',
            },
        },
        "conn-fields": {
            "warehouse": {
                "label": "Warehouse, instead of the one above",
                "description": "URI of the warehouse; wins over the host.",
                "schema": _TEXT,
            },
            "catalog_name": {
                "label": "Catalog name",
                "description": "First part of asset URIs; default is the connection's id.",
                "schema": _TEXT,
            },
            "storage_options": {
                "label": "Storage options",
                "description": 'JSON object, e.g. {"endpoint_url": "http://minio:9000"}; secret '
                "ones go into the password. {{ conn.NAME.password }} takes one from another connection.",
                "schema": _JSON,
            },
            **_catalog_fields(),
            **_spark_fields(),
            "env": {
                "label": "Environment of jobs",
                "description": 'JSON object, e.g. {"HTTPS_PROXY": "http://p:3128"}: what a job has besides '
                "the usual of Java, Spark and Hadoop; null takes the worker's.",
                "schema": _JSON,
            },
            "sql_limits": {
                "label": "Limits of SQL in the worker",
                "description": 'JSON object, e.g. {"memory-limit": "1 gb", "disk-limit": "16 gb", '
                '"time-limit": "10 min", "threads": "4"}',
                "schema": _JSON,
            },
            **_engine_fields(),
        },
    }


def _engine_fields() -> dict[str, Any]:
    return {
        "engine": {
            "label": "Engine",
            "description": "What runs a job whose task does not say. spark: a Spark session. local: the worker. "
            "auto: the worker if the job is small. Empty: as [paimon] engine says.",
            "schema": {"type": ["string", "null"], "enum": ["spark", "local", "auto", None]},
        },
        "auto_limits": {
            "label": "Limits of engine auto",
            "description": 'JSON object, e.g. {"bytes": "256 mb", "rows": "5000000"}: a task with '
            "engine auto that touches more goes to Spark.",
            "schema": _JSON,
        },
    }


def _catalog_fields() -> dict[str, Any]:
    return {
        "metastore": {
            "label": "Catalog",
            "description": "filesystem: the warehouse's folders. jdbc: a database that Paimon's JDBC "
            "catalog keeps, shared with Flink and Spark. rest: a server of Paimon's REST protocol. "
            "hive: a Hive metastore.",
            "schema": {
                "type": "string",
                "default": "filesystem",
                "enum": ["filesystem", "jdbc", "rest", "hive"],
            },
        },
        "metastore_uri": {
            "label": "URI of the catalog",
            "description": "jdbc:postgresql://host:5432/db, jdbc:mysql://host:3306/db, …; user and "
            "password go into the fields above. rest: https://catalog.example.com; its token is the password. "
            "hive: thrift://metastore:9083.",
            "schema": _TEXT,
        },
        "catalog_key": {
            "label": "Key of the JDBC catalog",
            "description": "Tells catalogs apart that share a database; default is jdbc.",
            "schema": _TEXT,
        },
        "lock_enabled": {
            "label": "Take the catalog's lock for each commit",
            "description": "For a JDBC catalog that Java clients write to as well.",
            "schema": {"type": "boolean", "default": False},
        },
    }


def _spark_fields() -> dict[str, Any]:
    return {
        "spark_backend": {
            "label": "Spark backend",
            "description": "local: beside the worker. spark-submit: client mode on a master. "
            "standalone: the driver on the cluster, by REST. connect: a Spark Connect server.",
            "schema": {
                "type": "string",
                "default": "local",
                "enum": ["local", "spark-submit", "standalone", "connect"],
            },
        },
        "spark_master": {
            "label": "Spark master",
            "description": "local[*], spark://host:7077, yarn, k8s://…, sc://host:15002",
            "schema": {"type": ["string", "null"], "default": "local[*]"},
        },
        "spark_conf": {
            "label": "Spark configuration",
            "description": 'JSON object, e.g. {"spark.executor.memory": "4g"}; secret ones go '
            "into the password.",
            "schema": _JSON,
        },
        "spark_job_folder": {
            "label": "Spark job folder",
            "description": "For standalone: a folder that Airflow and the cluster both see.",
            "schema": _TEXT,
        },
        "spark_rest_port": {
            "label": "Spark REST port",
            "description": "For standalone: of the master's REST server.",
            "schema": {"type": ["integer", "null"], "default": 6066},
        },
    }


def _config() -> dict[str, Any]:
    return {
        "paimon": {
            "description": "Settings of the Apache Paimon provider.",
            "options": {**_engine_options(), **_report_options(), **_page_options()},
        }
    }


def _option(description: str, example: str, default: str, kind: str = "string") -> dict[str, Any]:
    return {
        "description": description,
        "version_added": "0.1.0",
        "type": kind,
        "example": example,
        "default": default,
    }


def _engine_options() -> dict[str, Any]:
    return {
        "engine": _option(
            "What runs a job where neither the task nor its connection says: spark, local, or auto, which is the worker if the job is small.",
            "auto",
            "spark",
        )
    }


def _report_options() -> dict[str, Any]:
    return {
        "reports_folder": _option(
            "Where change reports are written by tasks and read by the API server: a folder that both see. Empty: paimon-reports in the Airflow home.",
            "/opt/airflow/paimon-reports",
            "",
        ),
        "reports_kept": _option(
            "How long a change report is kept. Older ones go when a report is written, and with the upkeep of a declaration.",
            "7 d",
            "30 d",
        ),
    }


def _page_options() -> dict[str, Any]:
    return {
        "metadata_table": _option(
            "The table that PaimonCollectMetadataOperator keeps metadata history in, as database.table: the tables page shows it.",
            "airflow.table_metadata",
            "airflow.table_metadata",
        ),
        "metadata_conn_id": _option(
            "The connection with the warehouse of that table.", "paimon_default", "paimon_default"
        ),
        "page_conn_ids": _option(
            "Connections, separated by commas, by which the API server may read rows of tables for a sample and the live view.",
            "paimon_default,paimon_sales",
            "paimon_default",
        ),
        "rows_of": _option(
            "Whose rows: a JSON object of tables, as database.table or as the URI of an asset, each with a * where anything fits, and the Dag or the Dags whose readers may see rows of it. The first that fits counts. An empty list: who may read every Dag. Tables that it does not name are for who may read the Dag that created them.",
            '{"hr.*": "payroll", "shop.orders": ["orders", "returns"]}',
            "",
        ),
        "actions_dag_id": _option(
            "The Dag that the tables page starts to compact, expire, tag or roll back a table: see paimon_provider.table_actions.",
            "paimon_table_actions",
            "paimon_table_actions",
        ),
        "live_rows_max": _option(
            "A table with more rows has no bars in the live view: they begin with its whole state.",
            "1000000",
            "5000000",
            "integer",
        ),
        "asset_links": _option(
            "Whether Airflow's page of an asset has a line that leads to its table. It needs Airflow 3.2.",
            "False",
            "True",
            "boolean",
        ),
        "cache_folder": _option(
            "Where the API server keeps a copy of what the tables page shows: a folder on its own disk. Empty: paimon-cache in the Airflow home.",
            "/var/cache/airflow/paimon",
            "",
        ),
        "cache_max": _option(
            "How large that copy may become. The oldest snapshots are left out first.",
            "1 gb",
            "4 gb",
        ),
    }
