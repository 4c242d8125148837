"""Writes what MariaDB reads from bytes in each of its character sets: ``python -m tests.cdc.make_charsets``.

Of sets with characters of several bytes what Python's codec reads likewise is left out.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.cdc.servers import MariaDb

FILE = Path(__file__).parents[2] / "table_core/cdc/source/mysql/charsets.json"
WIDE = {
    "big5": "big5",
    "cp932": "cp932",
    "eucjpms": "euc_jp",
    "euckr": "cp949",
    "gb2312": "gb2312",
    "gbk": "gbk",
    "sjis": "shift_jis",
    "ujis": "euc_jp",
}
UNICODE = {"utf8mb3", "utf8mb4", "ucs2", "utf16", "utf16le", "utf32", "binary"}


def sequences(name: str) -> Iterator[bytes]:
    """What may be a character of several bytes."""
    yield from (bytes([a, b]) for a in range(0x80, 0x100) for b in range(0x40, 0x100))
    yield from (bytes([a, b]) for a in range(0x80, 0x100) for b in range(0x30, 0x40))
    if name in {"ujis", "eucjpms"}:
        yield from (bytes([0x8F, a, b]) for a in range(0xA1, 0x100) for b in range(0xA1, 0x100))


def read_by(server: MariaDb, charset: str, many: list[bytes]) -> list[str]:
    """What the server reads from bytes, each in a row of a column with the character set."""
    connection = server.connect()
    with connection.cursor() as cursor:
        cursor.execute("CREATE DATABASE IF NOT EXISTS sets")
        cursor.execute("SET sql_mode = ''")
        cursor.execute("CREATE OR REPLACE TABLE sets.b (n INT PRIMARY KEY, b VARBINARY(4))")
        for start in range(0, len(many), 5000):
            rows = ", ".join(
                f"({start + n}, x'{one.hex()}')" for n, one in enumerate(many[start : start + 5000])
            )
            cursor.execute(f"INSERT INTO sets.b VALUES {rows}")
        cursor.execute(
            f"CREATE OR REPLACE TABLE sets.c (n INT PRIMARY KEY, c VARCHAR(4) CHARACTER SET {charset}) "
            "SELECT n, b AS c FROM sets.b"
        )
        cursor.execute("SELECT n, HEX(c), c FROM sets.c ORDER BY n")
        found = cursor.fetchall()
    connection.close()
    return [
        text if hexed == one.hex().upper() else ""
        for (_, hexed, text), one in zip(found, many, strict=True)
    ]


def tables(server: MariaDb) -> dict[str, Any]:
    single, wide = {}, {}
    names = [
        row[0]
        for row in server.sql("SELECT character_set_name FROM information_schema.character_sets")
    ]
    for name in sorted(set(names) - UNICODE):
        bytes_ = read_by(server, name, [bytes([n]) for n in range(256)])
        if name not in WIDE:
            single[name] = "".join(text or "?" for text in bytes_)
            continue
        many = list(sequences(name))
        differs = {}
        for one, text in zip(
            [*(bytes([n]) for n in range(256)), *many],
            [*bytes_, *read_by(server, name, many)],
            strict=True,
        ):
            try:
                by_python = one.decode(WIDE[name])
            except UnicodeDecodeError:
                by_python = ""
            here = text if len(text) == 1 else ""
            if here != (by_python if len(by_python) == 1 else ""):
                differs[one.hex()] = here
        wide[name] = {"codec": WIDE[name], "differs": differs}
    collations = {
        str(id): charset
        for id, charset in server.sql(
            "SELECT id, character_set_name FROM information_schema.collation_character_set_applicability "
            "ORDER BY id"
        )
    }
    return {"collations": collations, "single": single, "wide": wide}


if __name__ == "__main__":
    with MariaDb() as server:
        FILE.write_text(json.dumps(tables(server), separators=(",", ":"), sort_keys=True) + "\n")
