"""What of PySpark is there in one supported version and not in the other, found out once."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Final

__all__ = ["STREAM_ADMISSION"]

STREAM_ADMISSION: Final = find_spec("pyspark.sql.streaming.datasource") is not None
"""Whether Spark lets a Python source limit what a micro-batch reads (4.2), and tells it of
``Trigger.AvailableNow``."""
