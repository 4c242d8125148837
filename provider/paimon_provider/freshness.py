"""A deadline that moves with a table: an alert when nothing has happened to it for too long."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from paimon_provider._compat import BaseDeadlineReference, DeadlineAlert, Feature, require
from paimon_provider.arguments.table_identity import TableIdentity

if TYPE_CHECKING:
    from datetime import datetime, timedelta

__all__ = ["TableUpdated", "freshness_deadline"]


class TableUpdated(BaseDeadlineReference):
    """When Airflow last heard of a commit to a table, from a task or a watcher.

    Read from Airflow's own events when a run is made: no warehouse is asked.  A table that Airflow
    has never heard of counts from the moment that the run is made.
    """

    def __init__(self, asset_uri: str = "") -> None:
        self.asset_uri = asset_uri

    def serialize_reference(self) -> dict[str, Any]:
        """The asset's URI."""
        return {"reference_type": self.reference_name, "asset_uri": self.asset_uri}

    @classmethod
    def deserialize_reference(cls, reference_data: dict[str, Any]) -> TableUpdated:
        """Read what ``serialize_reference`` made."""
        return cls(str(reference_data["asset_uri"]))

    def _evaluate_with(self, *, session: Any, **_: Any) -> datetime:
        """The time of the newest event: of the table itself, or of what a watcher sees of it."""
        from datetime import UTC, datetime

        import sqlalchemy as sa
        from airflow.models.asset import AssetEvent, AssetModel

        watched = AssetModel.uri.startswith(f"{self.asset_uri}?", autoescape=True)
        newest = session.scalar(
            sa.select(sa.func.max(AssetEvent.timestamp))
            .join(AssetModel, AssetModel.id == AssetEvent.asset_id)
            .where(sa.or_(AssetModel.uri == self.asset_uri, watched))
        )
        if newest is None:
            return datetime.now(UTC)
        moment: datetime = newest
        return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def freshness_deadline(
    table: str,
    *,
    within: timedelta,
    callback: Any,
    paimon_conn_id: str = "paimon_default",
    catalog: str | None = None,
) -> DeadlineAlert:
    """An alert when a run has not ended ``within`` that time after the table's newest commit.

    For a Dag that waits until the table is fresh, on a clock::

        with DAG(
            "orders_are_fresh",
            schedule="*/30 * * * *",
            deadline=freshness_deadline(
                "shop.orders", within=timedelta(hours=2), callback=AsyncCallback(tell_somebody)
            ),
        ):
            PaimonFreshnessSensor(
                task_id="fresh", table="shop.orders", within="2 h", deferrable=True
            )

    Args:
        table: ``database.table``.
        within: how old its newest commit may be.
        callback: Airflow's ``AsyncCallback`` or ``SyncCallback``.
        paimon_conn_id: the connection; its id is the catalog unless ``catalog`` is given.
        catalog: the connection's ``catalog_name``, where it has one.
    """
    require(Feature.DEADLINE_REFERENCES, "freshness_deadline", "use PaimonFreshnessSensor")
    uri = TableIdentity.of(table, catalog=catalog or paimon_conn_id).uri
    return DeadlineAlert(
        reference=TableUpdated(uri), interval=within, callback=callback, name=f"{table} is fresh"
    )
