"""One bounded sync in a process of its own, so that it can be killed: ``python worker.py ARGS``."""

from __future__ import annotations

import json
import sys

import table_core as tc


def main(document: str) -> None:
    given = json.loads(document)
    source = {"mysql": tc.MySqlSource, "postgres": tc.PostgresSource}[given["kind"]](
        **given["source"]
    )
    catalog = tc.open_catalog(given["warehouse"])
    result = tc.sync_database(catalog, "lake", source, **given["more"])
    print(json.dumps({"rows": result.rows_written, "events": result.details["events"]}))


if __name__ == "__main__":
    main(sys.argv[1])
