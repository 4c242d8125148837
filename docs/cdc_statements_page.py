"""Writes cdc-mariadb.md and cdc-postgresql.md from the tests: ``python docs/cdc_statements_page.py``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from generated import foot

from tests.cdc import test_live_mariadb_ways_out as refused
from tests.cdc import test_live_postgres_rewritten as postgres
from tests.cdc import test_live_rewritten as mariadb

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

FOLDER = Path(__file__).parent
HEAD = """\
# What {server} does, and what its tables here do

After each of these, a table here equals its source: a test runs them all on a real {server} {version}. `t` is a table with a primary key and rows. *From the log*: the sync takes its rows from the log alone. *Read again*: the log does not have them
all, so the sync reads the table again, or fails if you say `on_rewrite="fail"`. *Refused*: the sync fails. Drop the table here, and the next sync reads it anew.
[Tables that are read again](cdc-changes.md#tables-that-are-read-again) says how.

| what happens | statements | the table here |
|---|---|---|
"""
FOOT = foot("cdc_statements_page.py", "the statements of that test")
PAGES = {
    "cdc-mariadb.md": ("MariaDB", "10.11", mariadb.CASES, mariadb.FROM_THE_LOG, refused.KEYS),
    "cdc-postgresql.md": ("PostgreSQL", "15", postgres.CASES, postgres.FROM_THE_LOG, postgres.KEYS),
}


def shown(statements: Iterable[str]) -> str:
    """As one cell: names without their database."""
    texts = [
        " ".join(one.replace("{0}.", "").replace('"{0}".', "").replace("{0}", "shop").split())
        for one in statements
        if not one.startswith("-- ")
    ]
    return "<br>".join(f"`{text}`".replace("|", "\\|") for text in texts)


def page(
    server: str,
    version: str,
    cases: Mapping[str, Sequence[str]],
    from_the_log: set[str],
    refused: Mapping[str, Sequence[str]],
) -> str:
    rows = [
        f"| {case[0].upper()}{case[1:]} | {shown(statements)} | "
        f"{'from the log' if case in from_the_log else 'refused' if case in refused else 'read again'} |"
        for case, statements in {**cases, **refused}.items()
    ]
    return HEAD.format(server=server, version=version) + "\n".join(rows) + "\n" + FOOT


def pages() -> dict[Path, str]:
    return {FOLDER / name: page(*parts) for name, parts in PAGES.items()}


if __name__ == "__main__":
    for path, text in pages().items():
        path.write_text(text)
