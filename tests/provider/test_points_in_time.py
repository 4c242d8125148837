"""Points in time have a zone, or are refused."""

from __future__ import annotations

from datetime import UTC, datetime

import pendulum
import pytest

from paimon_provider.arguments.timestamps import epoch_ms
from table_core.errors import ArgumentError


@pytest.mark.parametrize(
    "given",
    [
        "2026-01-01T00:00:00+00:00",
        "2026-01-01T01:00:00+01:00",
        "2026-01-01T00:00:00Z",
        datetime(2026, 1, 1, tzinfo=UTC),
        pendulum.datetime(2026, 1, 1),
        1767225600000,
        "1767225600000",
    ],
)
def test_the_same_moment_however_it_is_written(given: object) -> None:
    assert epoch_ms(given, "older_than") == 1767225600000  # type: ignore[arg-type]


@pytest.mark.parametrize("given", [None, "", "None"])
def test_nothing_stays_nothing(given: str | None) -> None:
    assert epoch_ms(given, "older_than") is None


@pytest.mark.parametrize("given", ["2026-01-01T00:00:00", "yesterday", datetime(2026, 1, 1)])
def test_what_is_no_moment_is_refused(given: object) -> None:
    with pytest.raises(ArgumentError, match="older_than="):
        epoch_ms(given, "older_than")  # type: ignore[arg-type]


@pytest.mark.parametrize("number", [20260131, "20260131", 1769817600, 2026])
def test_a_number_that_would_be_of_1970_is_refused(number: int | str) -> None:
    """What ``ds_nodash`` renders to, and seconds: a watermark is past it at once."""
    with pytest.raises(ArgumentError, match="looks like"):
        epoch_ms(number, "at")
