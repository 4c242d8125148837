"""A deadline that moves with a table's newest commit, as Airflow's scheduler works it out."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

pytestmark = [pytest.mark.airflow, pytest.mark.filterwarnings("default")]

WITHIN = timedelta(hours=2)
COMMIT = datetime(2026, 1, 1, 12, tzinfo=UTC)


async def tell() -> None:
    """What a missed deadline would call."""


def test_it_moves_with_the_newest_event_of_the_table(airflow_home: Path) -> None:
    from airflow.models.asset import AssetEvent, AssetModel
    from airflow.sdk.definitions.callback import AsyncCallback
    from airflow.serialization.decoders import decode_deadline_alert
    from airflow.serialization.encoders import encode_deadline_alert
    from airflow.utils.session import create_session

    from paimon_provider.freshness import freshness_deadline

    alert = freshness_deadline(
        "Late.Orders", within=WITHIN, callback=AsyncCallback(tell), catalog="Shop"
    )
    # as it is stored with the Dag, and read by the scheduler
    stored = decode_deadline_alert(encode_deadline_alert(alert))
    assert stored.interval == WITHIN

    with create_session() as session:

        def due() -> datetime:
            found = stored.reference.evaluate_with(session=session, interval=WITHIN)
            assert found is not None
            return found

        assert abs(due() - (datetime.now(UTC) + WITHIN)) < timedelta(minutes=10)
        uris = ("late/orders", "late/orders?on=changes", "late/orders2")
        for uri, hour in zip(uris, (0, 1, 5), strict=True):
            asset = AssetModel(name=f"paimon://shop/{uri}", uri=f"paimon://shop/{uri}", group="a")
            session.add(asset)
            session.flush()
            at = COMMIT + timedelta(hours=hour)
            session.add(AssetEvent(asset_id=asset.id, timestamp=at, extra={}))
            session.flush()
        assert due() == COMMIT + timedelta(hours=1) + WITHIN
        session.rollback()
