"""Two hundred actions of a random user, on an Airflow whose processes run: nothing is lost, doubled or unaudited.

``SEED`` says which they are, ``ACTIONS`` how many.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import pyarrow as pa
import pytest

from tests.live.airflows import KILLED_OFTEN, Live, running
from tests.live.random_user import User
from tests.live.user_dags import DAGS, TABLES, Names, dag_file
from tests.live.user_looks import settle
from tests.tables import write_rows

pytestmark = [pytest.mark.airflow, pytest.mark.heavy, pytest.mark.timeout(5400)]

ACTIONS = int(os.environ.get("ACTIONS") or 200)
SEED = int(os.environ.get("SEED") or 1)
LOOKS_EVERY = 25


@pytest.fixture
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    files = {"user.py": dag_file(Names())}
    folder = tmp_path_factory.mktemp("user")
    with running(folder, files, dags=DAGS, environment=KILLED_OFTEN) as live:
        yield live


def make_tables(live: Live) -> None:
    live.catalog.create_database("u")
    for name, given in TABLES.items():
        live.catalog.create_table(name, **given)
    counters = live.catalog.table("u.counters")
    write_rows(counters, pa.table({"id": [1], "times": [0]}, schema=TABLES["u.counters"]["schema"]))


def test_whatever_a_user_does_every_row_is_there_once_and_every_event_told(live: Live) -> None:
    make_tables(live)
    user = User(live, SEED)
    user.screen.connect(new=True, host=live.catalog.warehouse)
    user.begin_loads("loads-0", fails=0)
    settle(user)
    for number in range(1, ACTIONS + 1):
        user.act(number)
        if number % LOOKS_EVERY == 0:
            settle(user)
    settle(user)
