"""Goal: the sample input is the same for a seed and holds what the demo promises to show.

Method: the real generator at full size, judged by DuckDB over the files it wrote.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import duckdb
import pytest

from demo import expected, generate

GROUPS = (range(1, 5), range(5, 8), range(8, 11))


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("input")
    generate.generate(folder)
    return folder


def digest(folder: Path) -> str:
    found = hashlib.sha256()
    for path in sorted(p for p in folder.rglob("*") if p.is_file()):
        found.update(str(path.relative_to(folder)).encode() + path.read_bytes())
    return found.hexdigest()


def test_a_seed_always_gives_the_same_files_and_another_seed_others(tmp_path: Path) -> None:
    small = {"customers": 600, "orders": 2_000}
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        generate.generate(tmp_path / name, seed=seed, **small)
    assert digest(tmp_path / "a") == digest(tmp_path / "b") != digest(tmp_path / "c")


def test_it_has_realistic_size_and_ten_days(source: Path) -> None:
    orders = f"read_parquet('{source}/orders/*/*.parquet')"
    ((total, keys, days),) = duckdb.sql(
        f"SELECT count(*), count(DISTINCT order_id), count(DISTINCT dt) FROM {orders}"
    ).fetchall()
    assert (total, keys, days) == (200_000, 200_000, 10)
    wrong = duckdb.sql(f"SELECT * FROM {orders} WHERE dt <> strftime(order_time, '%Y-%m-%d')")
    assert wrong.fetchall() == []
    assert expected.expected(source)[0].customers > 20_000


def test_events_replay_to_the_rows_they_name_as_before(source: Path) -> None:
    rows: dict[int, dict] = {}
    kinds: set[str] = set()
    for path in sorted((source / "events" / "customers").iterdir()):
        for line in path.read_text().splitlines():
            event = json.loads(line)
            before, after = event["before"], event["after"]
            row = before or after
            assert rows.get(row["id"]) == before
            kinds.add(event["op"])
            if after is None:
                del rows[row["id"]]
            else:
                rows[row["id"]] = after
    assert kinds == {"r", "c", "u", "d"}
    assert any("loyalty_tier" not in row for row in rows.values())
    assert any(row.get("loyalty_tier") for row in rows.values())


def test_the_turn_happens_however_the_rounds_are_grouped(source: Path, tmp_path: Path) -> None:
    for number, groups in enumerate(([range(n, n + 1) for n in range(1, 11)], GROUPS)):
        inbox = tmp_path / str(number)
        for group in groups:
            generate.deliver(source, inbox, group)
        states = expected.expected(inbox)
        assert [s.round for s in states] == [g[-1] for g in groups]
        seen = [{row["country"]: row for row in s.sales.to_pylist()} for s in states]
        assert seen[0][generate.VANISHING]["order_count"] > 0
        assert generate.VANISHING not in seen[-1]
        assert generate.ARRIVING not in seen[0]
        assert seen[-1][generate.ARRIVING] == {
            "country": generate.ARRIVING,
            "revenue": 0,
            "order_count": 0,
            "last_order_time": None,
        }
        assert states[0].waiting > 0
        assert states[-1].waiting == 0


def test_no_order_is_lost_or_counted_twice_by_the_expectation(source: Path) -> None:
    states = expected.expected(source)
    last = next(s for s in reversed(states) if generate.VANISHING in s.sales["country"].to_pylist())
    gone = next(r for r in last.sales.to_pylist() if r["country"] == generate.VANISHING)
    final = sum(states[-1].sales["order_count"].to_pylist())
    assert final + gone["order_count"] == 200_000
