"""Goal: ``make demo-down`` stops what the demo started, whatever it became, and nothing else.

Method: real processes: a leader with children that ignore signals, orphans, and a stranger.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from demo import components
from demo.components import ComponentDiedError, Components
from tests.eventually import eventually

STUBBORN = """
import os, signal, subprocess, sys, time
child = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(1, flush=True); time.sleep(99)"
process = subprocess.Popen([sys.executable, "-c", child], stdout=subprocess.PIPE)
process.stdout.readline()
open("ready", "w").write(str(process.pid))
time.sleep(99)
"""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Components:
    monkeypatch.setattr(components, "POLITE_SECONDS", 1)
    return Components(tmp_path)


def started(home: Components, code: str) -> int:
    home.start("scheduler", [sys.executable, "-c", code], os.environ)
    leader = json.loads(home.record.read_text())["scheduler"][0]
    return int(leader)


def child_of(home: Components) -> int:
    ready = home.home / "ready"
    return int(eventually(lambda: ready.exists() and ready.read_text(), "the child is ready"))


def gone(pid: int) -> bool:
    return not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE


def test_leader_and_a_child_that_ignores_the_signal_are_stopped(home: Components) -> None:
    leader = started(home, STUBBORN)
    child = child_of(home)
    assert home.stop() == ["scheduler"]
    assert gone(leader)
    assert gone(child)
    assert home.stop() == []


def test_an_orphan_of_a_killed_leader_is_stopped_too(home: Components) -> None:
    leader = started(home, STUBBORN)
    child = child_of(home)
    psutil.Process(leader).kill()
    os.waitpid(leader, 0)
    assert not gone(child)
    home.stop()
    assert gone(child)


def test_a_stranger_that_got_the_recorded_id_is_left_alone(home: Components) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", "import time; time.sleep(99)"], start_new_session=True
    ) as stranger:
        home.record.write_text(json.dumps({"scheduler": [stranger.pid, 1.0]}))
        assert home.stop() == []
        assert stranger.poll() is None
        stranger.kill()


def test_a_component_that_ends_by_itself_is_named_with_the_end_of_its_log(home: Components) -> None:
    leader = started(home, "print('no such database')")
    os.waitpid(leader, 0)
    with pytest.raises(ComponentDiedError, match=r"scheduler ended by itself:\nno such database"):
        home.check()
