"""Each byte in each of MariaDB's character sets: text out of the log is what the server shows."""

from __future__ import annotations

from pathlib import Path

import pytest

import table_core as tc
from tests.cdc.make_charsets import UNICODE, WIDE, sequences
from tests.cdc.mariadb_log import Log
from tests.cdc.servers import MariaDb

WORDS = {
    "utf8mb3": "aÄ你",
    "utf8mb4": "aÄ你🙂",
    "ucs2": "aÄ你",
    "utf16": "aÄ你🙂",
    "utf16le": "aÄ你🙂",
    "utf32": "aÄ你🙂",
}


def synced(server: MariaDb, folder: Path) -> dict[int, dict[str, str]]:
    catalog = tc.open_catalog(f"file://{folder}")
    source = tc.MySqlSource("127.0.0.1", "root", port=server.port, databases="letters")
    tc.sync_database(catalog, "lake", source)
    return {row.pop("n"): row for row in catalog.table("lake.t").read().to_arrow().to_pylist()}


@pytest.mark.parametrize("kind", ["single", "wide", "unicode"])
def test_text_is_what_the_server_shows(mariadb: MariaDb, tmp_path: Path, kind: str) -> None:
    query = "SELECT character_set_name FROM information_schema.character_sets"
    names = sorted(row[0] for row in mariadb.sql(query))
    if kind == "single":
        sets = [name for name in names if name not in UNICODE and name not in WIDE]
        values = {name: [bytes([n]) for n in range(256)] for name in sets}
    elif kind == "wide":
        sets = [name for name in names if name in WIDE]
        values = {
            name: [*([bytes([n]) for n in range(256)]), *sequences(name)][:24_000] for name in sets
        }
    else:
        sets = list(WORDS)
        codecs = {
            "ucs2": "utf-16-be",
            "utf16": "utf-16-be",
            "utf16le": "utf-16-le",
            "utf32": "utf-32-be",
        }
        values = {name: [WORDS[name].encode(codecs.get(name, "utf-8"))] for name in sets}
    columns = ", ".join(f"`{name}` VARCHAR(9) CHARACTER SET {name}" for name in sets)
    mariadb.sql(
        "CREATE OR REPLACE DATABASE letters",
        f"CREATE TABLE letters.t (n INT PRIMARY KEY, {columns})",
        "INSERT INTO letters.t (n) VALUES (-1)",
    )
    synced(mariadb, tmp_path / "log")
    most = max(map(len, values.values()))
    rows = [
        ", ".join(
            f"x'{values[name][n].hex()}'" if n < len(values[name]) else "NULL" for name in sets
        )
        for n in range(most)
    ]
    connection = mariadb.connect()
    with connection.cursor() as cursor:
        cursor.execute("SET sql_mode = ''")
        for start in range(0, most, 1000):
            part = ", ".join(
                f"({start + n}, {row})" for n, row in enumerate(rows[start : start + 1000])
            )
            cursor.execute(f"INSERT INTO letters.t VALUES {part}")
        cursor.execute(f"SELECT n, {', '.join(f'`{name}`' for name in sets)} FROM letters.t")
        there = {row[0]: dict(zip(sets, row[1:], strict=True)) for row in cursor.fetchall()}
    connection.close()
    by_log, by_snapshot = synced(mariadb, tmp_path / "log"), synced(mariadb, tmp_path / "snapshot")
    assert by_log.keys() == by_snapshot.keys() == there.keys()
    differ = {
        (name, n, row[name], by_log[n][name])
        for n, row in there.items()
        for name in sets
        if not row[name] == by_log[n][name] == by_snapshot[n][name]
    }
    assert not differ


def test_text_behind_a_geometry_has_its_own_charset(mariadb: MariaDb, tmp_path: Path) -> None:
    """The log names a charset for geometries too."""
    log = Log(mariadb, tmp_path, "behind_a_geometry")
    mariadb.sql(
        "CREATE TABLE behind_a_geometry.g (id INT PRIMARY KEY, p POINT, b BLOB, v VARCHAR(9), "
        "w VARCHAR(9) CHARACTER SET latin1, q POINT, x VARCHAR(9) CHARACTER SET gbk)",
        "CREATE TABLE behind_a_geometry.one (id INT PRIMARY KEY, p POINT, v VARCHAR(9), w TEXT)",
    )
    for id in (1, 2):  # by a snapshot, and by the log
        mariadb.sql(
            f"INSERT INTO behind_a_geometry.g VALUES ({id}, NULL, x'c3', 'é', 'é', NULL, '中')",
            f"INSERT INTO behind_a_geometry.one VALUES ({id}, NULL, 'é', 'ü')",
        )
        log.sync()
    assert log.rows("g") == [(id, None, b"\xc3", "é", "é", None, "中") for id in (1, 2)]
    assert log.rows("one") == [(id, None, "é", "ü") for id in (1, 2)]
