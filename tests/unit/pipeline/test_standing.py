"""Whose claim holds: a clock of one's own, what is heard, and whether the process is there."""

from __future__ import annotations

import pytest

from table_core.errors import CorruptFileError
from table_core.ondisk.pipeline_claim import PipelineClaim, claim_path
from table_core.pipeline.standing import SILENT_MAX_MS, Standing, standing

CLAIM = PipelineClaim(pipeline="sales", token="t", machine="m", process=7, beats=3)
GOLDEN = (
    b'{"pipeline": "sales", "token": "t", "machine": "m", "process": 7, "beats": 3, "ended": false}'
)


def seen(now: PipelineClaim | None, *, runs: bool | None = None, waited_ms: int = 1000) -> Standing:
    return standing(CLAIM, now, runs=runs, waited_ms=waited_ms)


def test_a_claim_that_is_gone_or_ended_or_of_a_process_that_is_gone_holds_nobody_up() -> None:
    assert seen(None) is Standing.FREE
    assert seen(CLAIM.beat(ended=True), runs=True) is Standing.FREE
    assert seen(CLAIM, runs=False) is Standing.FREE


@pytest.mark.parametrize("runs", [True, None])
def test_one_that_was_heard_of_again_holds_and_one_that_is_silent_for_long_does_not(
    runs: bool | None,
) -> None:
    assert seen(CLAIM, runs=runs) is Standing.SILENT
    assert seen(CLAIM.beat(), runs=runs) is Standing.HELD
    assert seen(CLAIM, runs=runs, waited_ms=SILENT_MAX_MS - 1) is Standing.SILENT
    assert seen(CLAIM, runs=runs, waited_ms=SILENT_MAX_MS) is Standing.FREE


def test_another_run_that_came_meanwhile_holds() -> None:
    other = PipelineClaim(pipeline="sales", token="u", machine="m", process=8)
    assert seen(other) is Standing.HELD


def test_the_document_is_read_as_it_was_written_and_what_is_none_says_where() -> None:
    assert CLAIM.to_json() == GOLDEN
    assert PipelineClaim.from_json(GOLDEN, path="x") == CLAIM
    with pytest.raises(CorruptFileError, match="pipeline/claim-1"):
        PipelineClaim.from_json(b'{"pipeline": "sales"}', path=claim_path(1))
