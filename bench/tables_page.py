"""How long the routes of the tables page take, and how late the live view is.

    python -m bench.tables_page --home /tmp/page --port 18100 live --viewers 20 --commits 40
    python -m bench.tables_page --home /tmp/page --port 18100 fill --tables 10000 --snapshots 5000
    python -m bench.tables_page --home /tmp/page --port 18100 routes

``fill`` puts made-up histories into the cache of the API server, as if they had been copied from the
collector's table; the server of ``bench.page_home`` on that home is then asked.  Times are those of the
client on the same machine.  ``live`` comes first: made-up histories take the place of the real table's.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import threading
import time
import urllib.parse
import urllib.request
from pathlib import Path
from typing import Any

from bench.page_home import CATALOG, META, _chunks, _documents, fill
from demo.servers.machine import await_answer
from table_core.history.kinds import Kind
from table_core.table.api.opening import open_catalog

OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))
LIVE = f"paimon://{CATALOG}/shop/country_sales"


def fill_cache(home: Path, tables: int, snapshots: int) -> None:
    """Made-up documents of ``tables``, and their lines."""
    os.environ["AIRFLOW_HOME"] = str(home)
    from paimon_provider.pages.cache import packed, set_meta, transaction, writing
    from paimon_provider.pages.lines import make_lines

    now_ms = int(time.time() * 1000)
    chunks = _chunks(snapshots, now_ms)
    bodies = {text: packed(text) for _, text in chunks}
    handle = open_catalog((home / "warehouse").as_uri()).table(META)
    head = handle.latest_snapshot()
    assert head is not None
    db = writing()
    for first in range(0, tables, 500):
        uris = []
        with transaction(db):
            for number in range(first, min(first + 500, tables)):
                rows = _documents(number, snapshots, now_ms, chunks)
                uris.append(rows[0][1])
                db.executemany(
                    "INSERT OR REPLACE INTO document VALUES (?, ?, ?, ?, ?)",
                    [
                        (kind, uri, part, now_ms, bodies.get(text) or packed(text))
                        for kind, uri, part, text in rows
                        if kind != Kind.STATE.value
                    ],
                )
            make_lines(db, uris)
    mark = {"birth": handle.birth, "head": head.id, "mark": head.delta_manifest_list}
    set_meta(db, "collected", {**mark, "at_ms": head.time_millis})
    set_meta(db, "airflow_ms", now_ms)
    pages = db.execute("PRAGMA page_count").fetchone()[0] * 4096
    print(f"{tables:,} tables x {snapshots:,} snapshots: {pages / 2**20:,.0f} MB")
    db.close()


def token(base: str) -> str:
    """Of the user ``ada``."""
    login = json.dumps({"username": "ada", "password": "ada-1815"}).encode()
    request = urllib.request.Request(
        f"{base}/auth/token", login, {"Content-Type": "application/json"}
    )
    return str(json.load(OPENER.open(request))["access_token"])


def routes(base: str, times: int) -> None:
    """Each route some times, on other tables each time."""
    bearer = {"Authorization": f"Bearer {token(base)}"}

    def ask(path: str, **query: Any) -> tuple[float, int]:
        url = f"{base}/paimon/api{path}?{urllib.parse.urlencode(query)}"
        begin = time.perf_counter()
        with OPENER.open(urllib.request.Request(url, headers=bearer)) as answer:
            size = len(answer.read())
        return (time.perf_counter() - begin) * 1000, size

    def uri(at: int) -> str:
        number = at * 97 % 10_000
        return f"paimon://{CATALOG}/team_{number % 40:02d}/table_{number:05d}"

    asked: dict[str, Any] = {
        "tables": lambda at: ask("/tables", offset=at * 100 % 9_900),
        "tables, search and sort": lambda at: ask(
            "/tables", search=f"table_0{at % 10}", sort="-bytes"
        ),
        "overview": lambda _: ask("/overview"),
        "table": lambda at: ask("/table", uri=uri(at)),
        "snapshots": lambda at: ask("/table/snapshots", uri=uri(at), before=5001 - at * 100),
        "history": lambda at: ask("/table/history", uri=uri(at)),
        "snapshot": lambda at: ask("/table/snapshot", uri=uri(at), id=1 + at),
        "compare": lambda at: ask("/table/compare", uri=uri(at), **{"from": 100, "to": 4_000}),
        **{
            name: (lambda at, name=name: ask(f"/table/{name}", uri=uri(at)))
            for name in (
                "levels",
                "partitions",
                "schemas",
                "options",
                "refs",
                "maintenance",
                "actions",
            )
        },
    }
    print(f"load average {os.getloadavg()[0]:.1f}")
    print(f"{'route':26}{'median ms':>10}{'p95 ms':>10}{'max ms':>10}{'bytes':>10}")
    for name, call in asked.items():
        found = [call(at) for at in range(times)]
        took = sorted(ms for ms, _ in found)
        p95 = took[int(len(took) * 0.95) - 1]
        print(
            f"{name:26}{statistics.median(took):10.1f}{p95:10.1f}{took[-1]:10.1f}{found[-1][1]:10}"
        )


def live(base: str, home: Path, viewers: int, commits: int) -> None:
    """Commits, and when each of the viewers was told."""
    bearer = {"Authorization": f"Bearer {token(base)}"}
    query = urllib.parse.urlencode({"uri": LIVE, "by": "country", "value": "revenue", "agg": "sum"})
    known = f"{base}/paimon/api/table?{urllib.parse.urlencode({'uri': LIVE})}"

    def ask() -> None:
        OPENER.open(urllib.request.Request(known, headers=bearer), timeout=60).close()

    # the page reads what was collected at its first request
    await_answer(ask, seconds=120, alive=lambda: None)
    told: list[tuple[int, float]] = []
    begun = threading.Barrier(viewers + 1)

    def look() -> None:
        request = urllib.request.Request(f"{base}/paimon/api/table/live?{query}", headers=bearer)
        with OPENER.open(request, timeout=600) as answer:
            event, is_first = "", True
            for raw in answer:
                line = raw.decode().strip()
                if line.startswith("event: "):
                    event = line[7:]
                elif line.startswith("data: ") and event == "state":
                    told.append((json.loads(line[6:])["snapshot_id"], time.time()))
                    if is_first:
                        is_first = False
                        begun.wait()

    for _ in range(viewers):
        threading.Thread(target=look, daemon=True).start()
    begun.wait(120)
    table = open_catalog((home / "warehouse").as_uri()).table("shop.country_sales")
    made: dict[int, float] = {}
    for at in range(commits):
        fill(table, {"country": ["Peru", "Kenya"], "revenue": [float(at), 1.0]})
        head = table.latest_snapshot()
        assert head is not None
        made[head.id] = head.time_millis / 1000
        time.sleep(1.3)
    time.sleep(6)
    late = sorted(at - made[id] for id, at in told if id in made)
    print(
        f"load average {os.getloadavg()[0]:.1f}; {viewers} viewers, {commits} commits, {len(late)} events of {viewers * commits}"
    )
    print(
        f"median {statistics.median(late):.2f} s, p95 {late[int(len(late) * 0.95) - 1]:.2f} s, max {late[-1]:.2f} s"
    )


def main(arguments: list[str]) -> int:
    """See the module."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--home", type=Path, required=True)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("what", choices=("fill", "routes", "live"))
    parser.add_argument("--tables", type=int, default=10_000)
    parser.add_argument("--snapshots", type=int, default=5_000)
    parser.add_argument("--times", type=int, default=30)
    parser.add_argument("--viewers", type=int, default=20)
    parser.add_argument("--commits", type=int, default=40)
    wish = parser.parse_args(arguments)
    base = f"http://127.0.0.1:{wish.port}"
    if wish.what == "fill":
        fill_cache(wish.home, wish.tables, wish.snapshots)
    elif wish.what == "routes":
        routes(base, wish.times)
    else:
        live(base, wish.home, wish.viewers, wish.commits)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
