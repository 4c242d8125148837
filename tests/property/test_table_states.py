"""A key table against a plain dict, under any sequence of writes, compactions and expiry.

Goal: whatever happens to the files, the rows are those of the model, and the changes that were
delivered, applied from nothing, give the rows as of the newest delivering snapshot.

Method: a Hypothesis state machine over the public names, on a memory store.  The model knows
nothing of files: a dict whose values are replaced, summed, filled up or kept as the merge engine says.
"""

from __future__ import annotations

from hypothesis import HealthCheck, settings

from tests.property.table_states import TableStates

TestTableStates = TableStates.TestCase
TestTableStates.settings = settings(
    settings.default,
    max_examples=max(10, settings.default.max_examples // 5),
    stateful_step_count=25,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
