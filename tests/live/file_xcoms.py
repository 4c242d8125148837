"""An XCom backend that keeps values in files of a folder; Airflow's database has their names."""

from __future__ import annotations

import json
import os
import uuid
from pathlib import Path
from typing import Any

from airflow.sdk.bases.xcom import BaseXCom

__all__ = ["FOLDER", "FileXCom"]

FOLDER = "TEST_XCOM_FOLDER"
"""Variable that says where the files are."""


class FileXCom(BaseXCom):
    """Set by ``AIRFLOW__CORE__XCOM_BACKEND``."""

    @staticmethod
    def serialize_value(value: Any, **_: Any) -> str:
        path = Path(os.environ[FOLDER]) / uuid.uuid4().hex
        path.write_text(json.dumps(value))
        return str(path)

    @staticmethod
    def deserialize_value(result: Any) -> Any:
        return json.loads(Path(result.value).read_text())
