"""Whatever is done to tasks while their rows are computed: one commit, and nothing left running.

Every kill, on all backends at once.  Process table, Spark master, Spark Connect server and job files
are searched after each.  Secrets of the connection are searched for where anybody can look while
jobs run, Spark's own pages too, and in all that is left at the end.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.live.backends import PLANTED, WITHOUT_UI, House, Write, house
from tests.live.kills import KILLS
from tests.live.slow_writes import LONG

pytestmark = [pytest.mark.airflow, pytest.mark.heavy, pytest.mark.timeout(1500)]


@pytest.fixture(scope="module")
def everything(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    with house(tmp_path_factory.mktemp("backends") / "house") as found:
        yield found


@pytest.mark.parametrize("kill", KILLS)
def test_one_commit_and_nothing_left_on_each_backend(everything: House, kill: str) -> None:
    KILLS[kill](everything)


def test_running_jobs_have_buttons_and_show_no_secret(everything: House) -> None:
    searched: dict[str, str] = {}
    buttons: dict[str, str] = {}

    def look(write: Write) -> None:
        searched.update(everything.shown(write.backend))
        everything.wait("the button", lambda: write.backend in WITHOUT_UI or write.spark_ui())
        buttons[write.backend] = write.spark_ui()

    writes = everything.begin("shown", LONG)
    writes.each_when_computing(look)
    writes.end("success")
    for backend in set(everything.backends) - set(WITHOUT_UI):
        assert "spark.hadoop.a.secret.key" in searched[f"environment page of {backend}"]
        assert '"action": "write"' in searched[f"job specs during {backend}"]
        assert buttons[backend].endswith(everything.pages[backend].rpartition(":")[2])
    searched |= everything.kept()
    assert "write" in searched["table task_instance"]
    assert [shown for where, text in searched.items() for shown in secrets_in(where, text)] == []


def secrets_in(where: str, text: str) -> list[str]:
    """What stands before each secret in ``text``."""
    found = [(text.index(secret), secret) for secret in PLANTED if secret in text]
    return [f"{where}: {text[max(0, at - 400) : at]}{secret}" for at, secret in found]
