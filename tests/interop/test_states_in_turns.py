"""Goal: whoever writes, compacts and expires a table, in whatever order, it is what a dict says.

Method: the state machine of ``tests/property/table_states.py``, in which Apache Paimon takes
turns with us.  ``STATES`` chooses how many runs.
"""

from __future__ import annotations

import os
import uuid
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import invariant, precondition, rule, run_state_machine_as_test
from judge import Judge, agree_rows, judged

import table_core as tc
from tests.lanes import budget
from tests.property.table_states import Row, TableStates, as_arrow, rows_of

pytestmark = pytest.mark.interop

RUNS = budget("STATES", ci=3, nightly=60)
STEPS = int(os.environ.get("STATES_STEPS", "12"))


def test_both_in_turns_make_what_a_dict_says(paimon: Judge, tmp_path: Path) -> None:
    class InTurns(TableStates):
        def warehouse(self) -> str:
            self.folder = tmp_path / uuid.uuid4().hex
            self.theirs = paimon.table(self.folder, "d.t")
            return self.folder.as_uri()

        def now(self) -> None:
            """Open the table anew: others have changed it."""
            self.table = tc.open_catalog(self.folder.as_uri()).table("d.t")

        @rule(rows=st.deferred(lambda: rows_of(["+I", "+U", "-D"])))
        def they_write(self, rows: list[Row]) -> None:
            rows = self.fit(rows)
            self.theirs.write(judged(as_arrow(rows)))
            self.now()
            for row in rows:
                self._apply(row)
            self._follow()

        @precondition(lambda self: self.table.latest_snapshot() is not None)
        @rule(minor=st.booleans())
        def they_compact(self, minor: bool) -> None:
            self.theirs.compact(minor=minor)
            self.now()
            self._follow()

        @precondition(lambda self: self.table.latest_snapshot() is not None)
        @rule(retain=st.integers(1, 3))
        def they_expire(self, retain: int) -> None:
            self.theirs.expire(retain)
            self.now()

        @invariant()
        def they_read_the_same(self) -> None:
            if hasattr(self, "table"):
                agree_rows(
                    [["+I", *row[1:]] for row in self.theirs.read()],
                    [["+I", key, *value] for key, value in self.model.items()],
                )

    run_state_machine_as_test(  # type: ignore[no-untyped-call]  # Hypothesis says nothing of it
        InTurns,
        settings=settings(
            max_examples=RUNS,
            stateful_step_count=STEPS,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
