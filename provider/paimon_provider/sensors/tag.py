"""Wait for a tag."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from paimon_provider.arguments.checks import with_shapes
from paimon_provider.sensors.base import PaimonSensor
from paimon_provider.waiting import wait_conditions
from table_core.shapes.texts import FILE_NAME

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["PaimonTagSensor"]


class PaimonTagSensor(PaimonSensor):
    """Wait until a table has a tag with a given name. Returns its snapshot.

    :param tag: the name, e.g. ``"{{ ds }}"``.  (templated)
    """

    template_fields: Sequence[str] = (*PaimonSensor.template_fields, "tag")
    wait = wait_conditions.TagWait
    shapes = with_shapes(tag=FILE_NAME)
    trigger = "PaimonTagTrigger"

    def __init__(self, *, tag: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.tag = tag
        self.begin_in_triggerer()
