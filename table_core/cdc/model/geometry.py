"""Geometries of MySQL and of Debezium's events as GeoJSON text, as Paimon writes them.

Source: ``org.apache.paimon.flink.action.cdc.source.mysql.MySqlTypeUtils#convertWkbArray``.
"""

from __future__ import annotations

import base64
import json
import struct
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["geometry_text", "shape_text"]

_NAMES: Final = (
    "",
    "Point",
    "LineString",
    "Polygon",
    "MultiPoint",
    "MultiLineString",
    "MultiPolygon",
    "GeometryCollection",
)
_COLLECTION: Final = 7
_MEMBERS: Final = frozenset({"x", "y", "wkb", "srid"})
"""Of ``io.debezium.data.geometry``; only points have ``x`` and ``y``."""


def geometry_text(value: bytes) -> str:
    """GeoJSON of MySQL's own form: four bytes of the reference system, then well-known binary."""
    srid = int.from_bytes(value[:4], "little")
    shape, _ = _shape(value, 4)
    return json.dumps({**shape, "srid": srid}, separators=(",", ":"))


def shape_text(value: Mapping[str, Any]) -> str | None:
    """GeoJSON of a structure with well-known binary, as Debezium writes it; None if it is none.

    Forms that GeoJSON does not have (extended ones, with heights or measures) are none.
    """
    body = value.get("wkb")
    if not isinstance(body, str) or not value.keys() <= _MEMBERS:
        return None
    try:
        shape, _ = _shape(base64.b64decode(body, validate=True), 0)
    except (ValueError, IndexError, struct.error):
        return None
    return json.dumps({**shape, "srid": value.get("srid") or 0}, separators=(",", ":"))


def _shape(body: bytes, at: int) -> tuple[dict[str, Any], int]:
    order = "<" if body[at] else ">"
    (kind,) = struct.unpack_from(f"{order}I", body, at + 1)
    at += 5
    if kind == _COLLECTION:
        (count,) = struct.unpack_from(f"{order}I", body, at)
        at, parts = at + 4, []
        for _ in range(count):
            part, at = _shape(body, at)
            parts.append(part)
        return {"geometries": parts, "type": _NAMES[kind]}, at
    coordinates, at = _coordinates(body, at, order, kind)
    return {"coordinates": coordinates, "type": _NAMES[kind]}, at


def _coordinates(body: bytes, at: int, order: str, kind: int) -> tuple[Any, int]:
    if kind == 1:
        point = struct.unpack_from(f"{order}dd", body, at)
        return [_number(value) for value in point], at + 16
    (count,) = struct.unpack_from(f"{order}I", body, at)
    at, coordinates = at + 4, []
    for _ in range(count):
        if kind in {2, 3}:  # points, or rings of points
            element, at = _coordinates(body, at, order, kind - 1)
        else:  # whole shapes with a header of their own
            shape, at = _shape(body, at)
            element = shape["coordinates"]
        coordinates.append(element)
    return coordinates, at


def _number(value: float) -> float | int:
    return int(value) if value.is_integer() else value
