"""Take partitions out, or say that they are complete."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any, Final

from paimon_provider._compat import Feature, require
from paimon_provider.operators.base import PaimonTableOperator
from paimon_provider.watching.events import EVENT_VERSION, PARTITIONS_MAX, bounded_result

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = [
    "PaimonDropPartitionOperator",
    "PaimonMarkPartitionDoneOperator",
    "asset_partitions",
    "digest",
    "partitions_extra",
]

_KEY_MAX: Final = 250


class PaimonDropPartitionOperator(PaimonTableOperator):
    """Drop whole partitions, in one commit.

    :param partitions: e.g. ``[{"dt": "{{ ds }}"}]``; if only some partition columns are named,
        every matching partition is dropped. (templated)
    :param dry_run: only report what would be dropped.
    """

    action = "drop-partitions"

    def __init__(
        self,
        *,
        partitions: Sequence[Mapping[str, Any]],
        dry_run: bool = False,
        engine: str = "local",
        **kwargs: Any,
    ) -> None:
        super().__init__(engine=engine, **kwargs)
        self._take_arguments(locals())


class PaimonMarkPartitionDoneOperator(PaimonTableOperator):
    """Mark partitions as complete, with a ``_SUCCESS`` file in each.

    ``PaimonPartitionSensor(done=True)`` waits for this mark. The asset's event names the
    partitions, unless ``events`` is ``none``. With ``announce_partitions`` they also become Airflow
    asset partitions, which start Dags with a ``PartitionedAssetTimetable``.

    :param partitions: e.g. ``[{"dt": "{{ ds }}"}]``. Each must name every partition column.
        (templated)
    :param announce_partitions: emit an Airflow asset partition for each, such as
        ``dt=2026-01-01/hh=01``. These events do not start Dags that wait for the plain asset.
    """

    action = "mark-done"
    announce_partitions: bool

    def __init__(
        self,
        *,
        partitions: Sequence[Mapping[str, Any]],
        announce_partitions: bool = False,
        engine: str = "local",
        **kwargs: Any,
    ) -> None:
        super().__init__(engine=engine, **kwargs)
        self._take_arguments(locals())
        if announce_partitions:
            require(
                Feature.ASSET_PARTITIONS, "announce_partitions=True", "one event names them all"
            )

    def _announce(self, context: Any, result: Mapping[str, Any], user: str) -> None:  # noqa: ARG002
        """One event for each partition, or one for all."""
        asset = self._own_outlet()
        if asset is None:
            return
        if self.events == "none":
            self._keep_silent(asset)
            return
        done, keys = result["details"]["partitions"], result["details"]["keys"]
        extra = partitions_extra(self.table, done, apart=self.announce_partitions)
        context["outlet_events"][asset].extra = extra | {"result": bounded_result(result)}
        if self.announce_partitions:
            context["outlet_events"][asset].add_partitions(asset_partitions(keys))


def partitions_extra(
    table: str, partitions: Sequence[Mapping[str, str | None]], *, apart: bool
) -> dict[str, Any]:
    """What an event about ``partitions`` says; ``apart``: each is an event, and says its own key.

    Its size does not grow with them: many are counted, and one that is told apart is told once.
    """
    few = not apart and len(partitions) <= PARTITIONS_MAX
    return {
        "version": EVENT_VERSION,
        "table": table,
        "partitions": list(map(dict, partitions)) if few else None,
        "partitions_total": len(partitions),
    }


def asset_partitions(keys: Sequence[str]) -> list[str]:
    """Keys of the core as Airflow's partition keys, which have at most 250 characters.

    A longer one is cut, with a digest of all of it at its end.
    """
    return [
        key if len(key) <= _KEY_MAX else f"{key[: _KEY_MAX - 17]}~{digest(key)[:16]}"
        for key in keys
    ]


def digest(text: str) -> str:
    """A digest, the same everywhere."""
    return hashlib.sha256(text.encode()).hexdigest()
