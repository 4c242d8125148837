"""What people type into the search of the site, and the page that they mean."""

from __future__ import annotations

__all__ = ["SEARCHES"]

_PAGES = {
    "dataframes.html": ("duckdb", "polars", "pandas", "dataframe", "read with pandas"),
    "how-to/13-export-rows.html": ("export", "export csv", "export to parquet", "excel", "unload"),
    "how-to/14-time-travel.html": (
        "time travel",
        "older version",
        "read old snapshot version",
    ),
    "how-to/15-schema-evolution.html": (
        "schema evolution",
        "add column",
        "rename column",
        "alter table",
        "change type",
    ),
    "scenarios/right-to-be-forgotten.html": (
        "gdpr",
        "delete person",
        "right to be forgotten",
        "erasure",
    ),
    "api.html": ("python api", "api reference", "api"),
    "install.html": ("install", "installation", "pip", "extras", "offline"),
    "concepts.html": ("concepts", "snapshot concepts", "glossary"),
    "conditions.html": ("conditions", "condition functions", "where clause", "filter", "predicate"),
    "credentials.html": ("credentials", "cloud credentials", "secret key", "s3 credentials", "iam"),
    "upgrade.html": ("upgrade", "uninstall"),
    "other-engines.html": ("trino", "starrocks", "flink and spark", "integrations"),
    "retention.html": ("retention", "ttl", "vacuum", "how long snapshots stay"),
    "scenarios/backfill.html": ("backfill", "reprocess"),
    "test-a-dag.html": ("test dag", "unit test", "pytest", "test without server"),
    "choose/6-merge-engine.html": ("merge engine", "partial update", "aggregation", "deduplicate"),
    "start/five-minutes.html": ("quickstart", "tutorial", "getting started", "start"),
    "start/airflow.html": ("start airflow",),
    "sql.html": ("sql", "select"),
    "how-to/04-compact.html": ("compact", "small files"),
    "compatibility.html": ("compatibility",),
    "errors.html": ("errors", "exception"),
    "scenarios/late-data.html": ("late data",),
    "how-to/07-tags-branches-rollback.html": ("rollback", "roll back", "tag", "undo"),
    "how-to/02-load-files-and-queries.html": ("load csv", "import", "ingest files"),
    "kubernetes.html": ("kubernetes",),
}
SEARCHES = {search: page for page, searches in _PAGES.items() for search in searches}
"""By what is typed: the page that comes first."""
