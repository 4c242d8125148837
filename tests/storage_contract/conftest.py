"""The S3 server, started once."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.servers import S3, s3


@pytest.fixture(scope="session")
def s3_server() -> Iterator[S3]:
    with s3() as server:
        yield server
