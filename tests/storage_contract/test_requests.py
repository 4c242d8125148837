"""How often and how long an S3 request is tried, and what its failure is called."""

from __future__ import annotations

import logging
import time
import uuid
from collections.abc import Iterator

import pytest

from table_core.errors import (
    ErrorKind,
    OptionError,
    OutcomeUnknownError,
    StorageUnavailableError,
    TableError,
)
from table_core.ports import Storage
from table_core.storage.stores.locate import open_storage
from table_core.storage.stores.retries import Retries
from tests.servers import S3
from tests.storage_contract.proxy import Plan, Proxy

FOREVER = 10**9
QUICK = {
    "request.attempts": "3",
    "request.read-timeout": "300 ms",
    "request.max-pause": "50 ms",
}


@pytest.fixture(scope="module")
def proxy(s3_server: S3) -> Iterator[Proxy]:
    with Proxy(s3_server.endpoint) as found:
        yield found


@pytest.fixture
def storage(s3_server: S3, proxy: Proxy) -> Iterator[Storage]:
    """With one object, ``x``, through the proxy."""
    name = f"requests-{uuid.uuid4().hex[:12]}"
    s3_server.make_bucket(name)
    made = open_storage(f"s3://{name}/wh", s3_server.options(proxy.endpoint) | QUICK)
    proxy.plan = None
    made.write("x", b"body of x")
    yield made
    proxy.plan = None


def is_get(method: str, path: str) -> bool:
    return method == "GET"


def is_put(method: str, path: str) -> bool:
    return method == "PUT"


def failed(storage: Storage) -> TableError:
    with pytest.raises(TableError) as caught:
        storage.read("x")
    return caught.value


def test_a_silent_request_is_tried_as_often_as_the_option_says_and_each_time_is_logged(
    storage: Storage, proxy: Proxy, caplog: pytest.LogCaptureFixture
) -> None:
    proxy.plan = Plan(is_get, hang=True, times=FOREVER)
    with caplog.at_level(logging.WARNING):
        assert failed(storage).kind is ErrorKind.UNAVAILABLE
    assert len(proxy.plan.seen) == 3
    told = [record.getMessage() for record in caplog.records if "get_object" in record.getMessage()]
    assert len(told) == 3
    assert all("imeout" in text for text in told)
    assert "attempt 2 of 3" in told[0]
    assert "for good, after 3 of 3" in told[2]


def test_all_attempts_together_end_with_the_total_time(s3_server: S3, proxy: Proxy) -> None:
    more = {**QUICK, "request.attempts": "1000", "request.total-timeout": "1 s"}
    storage = open_storage("s3://anything/wh", s3_server.options(proxy.endpoint) | more)
    proxy.plan = Plan(is_get, hang=True, times=FOREVER)
    started = time.monotonic()
    assert failed(storage).kind is ErrorKind.UNAVAILABLE
    assert time.monotonic() - started < 20
    assert len(proxy.plan.seen) < 20
    proxy.plan = None


def test_without_options_a_silent_request_ends_within_two_minutes() -> None:
    usual = Retries()
    pauses = sum(usual.pause_seconds(number, 1.0) for number in range(1, usual.attempts))
    each = usual.connect_seconds + usual.read_seconds
    assert usual.attempts * each + pauses <= usual.total_seconds == 120


@pytest.mark.parametrize("key", ["request.attempts", "request.total-timeout"])
@pytest.mark.parametrize("value", ["0", "often"])
def test_a_bound_that_is_none_is_refused(s3_server: S3, key: str, value: str) -> None:
    with pytest.raises(OptionError, match=key):
        open_storage("s3://b/wh", s3_server.options() | {key: value})


@pytest.mark.parametrize(
    ("status", "code", "said"),
    [
        (503, "SlowDown", "takes no more requests"),
        (429, "TooManyRequests", "takes no more requests"),
        (429, "Anything", "takes no more requests"),
        (403, "ExpiredToken", "credentials have expired"),
        (403, "RequestTimeTooSkewed", "clock"),
    ],
)
@pytest.mark.parametrize("action", ["read", "create"])
def test_what_passes_is_unavailable_and_named(
    storage: Storage, proxy: Proxy, status: int, code: str, said: str, action: str
) -> None:
    proxy.plan = Plan(lambda method, path: True, status=status, code=code, times=FOREVER)
    with pytest.raises((StorageUnavailableError, OutcomeUnknownError), match=said) as caught:
        storage.read("x") if action == "read" else storage.create("y", b"1")
    assert "device" not in str(caught.value).lower()
    if action == "read" or status == 403:
        assert caught.value.kind is ErrorKind.UNAVAILABLE


def test_a_put_whose_answer_was_lost_before_the_token_expired_is_not_called_refused(
    storage: Storage, proxy: Proxy
) -> None:
    expired = Plan(lambda method, path: True, status=403, code="AccessDenied", times=FOREVER)
    proxy.plan = Plan(is_put, lose_answer=True, then=expired)
    with pytest.raises(OutcomeUnknownError):
        storage.create("y", b"1")
    proxy.plan = None
    assert storage.read("y") == b"1"


def test_a_body_that_came_short_is_read_again(storage: Storage, proxy: Proxy) -> None:
    for _ in range(2):
        proxy.plan = Plan(is_get, cut=True)
        with storage.open_input("x", 9) as file:
            assert file.read() == b"body of x"
        assert proxy.plan.seen


def test_a_range_that_came_short_is_read_again(storage: Storage, proxy: Proxy) -> None:
    body = bytes(range(256)) * (9 << 12)
    storage.write("large", body)
    proxy.plan = Plan(is_get, cut=True)
    with storage.open_input("large", len(body)) as file:
        file.seek(1000)
        assert file.read(500) == body[1000:1500]
        file.seek(-10, 2)
        assert file.read() == body[-10:]
    assert proxy.plan.seen


def test_parts_of_a_large_object_are_sent_again(storage: Storage, proxy: Proxy) -> None:
    body = b"x" * (11 << 20)
    proxy.plan = Plan(
        lambda m, p: m == "PUT" and "partNumber=" in p, status=500, code="InternalError"
    )
    with storage.fs.open(f"{storage.prefix}/parts", "wb", block_size=5 << 20) as file:
        file.write(body)
    assert proxy.plan.seen
    assert storage.read("parts") == body
