"""One bounded sync in a process of its own, so that it can be killed: ``python worker.py ARGS``."""

from __future__ import annotations

import json
import os
import sys
from typing import Any

import table_core as tc


def sync(catalog: tc.Catalog, source: Any, **more: Any) -> Any:
    """By this process, or by Spark where its jars are told."""
    jars = os.environ.get("CDC_SPARK_JARS")
    if jars is None:
        return tc.sync_database(catalog, "lake", source, **more)
    import table_core.spark
    from table_core.spark.session.create import open_session

    session = open_session({"spark.master": "local[2]", "spark.jars": jars})
    return table_core.spark.sync(session, catalog, "lake", source, **more)


def main(document: str) -> None:
    given = json.loads(document)
    kinds = {"mysql": tc.MySqlSource, "postgres": tc.PostgresSource, "kafka": tc.KafkaSource}
    source = kinds[given["kind"]](**given["source"])
    catalog = tc.open_catalog(given["warehouse"])
    result = sync(catalog, source, **given["more"])
    print(json.dumps({"rows": result.rows_written, "events": result.details["events"]}))


if __name__ == "__main__":
    main(sys.argv[1])
