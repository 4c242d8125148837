"""One table, one asset: everybody gets the same name and URI."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

import pytest

from paimon_provider.assets import (
    TableIdentity,
    create_asset,
    filters_of,
    normalize_uri,
    table_asset,
    watched_table,
)
from paimon_provider.message_queue import PaimonMessageQueue
from table_core.errors import ArgumentError


def test_all_ways_to_an_asset_agree() -> None:
    made = [
        table_asset("Shop.Orders", paimon_conn_id="Wh"),
        table_asset("shop.orders", paimon_conn_id="other", catalog="wh"),
        create_asset(catalog="WH", database="shop", table="orders"),
    ]
    assert {(asset.name, asset.uri) for asset in made} == {
        ("paimon://wh/shop/orders", "paimon://wh/shop/orders")
    }


def test_a_table_can_have_the_name_that_an_asset_of_airflow_gave_it() -> None:
    asset = table_asset("shop.orders", catalog="wh", name="orders")
    assert (asset.name, asset.uri) == ("orders", "paimon://wh/shop/orders")


def test_what_a_watcher_sees_is_an_asset_of_its_own() -> None:
    """A file that names an asset without watchers takes away those that another file gave it."""
    watched = watched_table("shop.orders", paimon_conn_id="wh")
    assert watched.name == watched.uri == "paimon://wh/shop/orders?on=changes"
    assert watched.uri != table_asset("shop.orders", paimon_conn_id="wh").uri


def test_the_watcher_of_two_assets_differs() -> None:
    """Airflow keeps one watermark for each set of arguments."""
    (one,), (two,) = (
        watched_table("a.b", catalog=name, paimon_conn_id="c").watchers for name in ("x", "y")
    )
    assert one.trigger.serialize() != two.trigger.serialize()


@pytest.mark.parametrize("table", ["{{ params.t }}", "orders", ".orders", "shop.", "a/b.c"])
def test_what_is_no_fixed_table_is_refused(table: str) -> None:
    with pytest.raises(ArgumentError):
        TableIdentity.of(table, catalog="c")


def test_uris_are_lower_cased() -> None:
    uri = normalize_uri(urlsplit("paimon://Wh/Shop/Orders"))
    assert uri.geturl() == "paimon://wh/shop/orders"


@pytest.mark.parametrize(
    "uri", ["paimon://wh/shop", "paimon://wh/a/b/c", "paimon:///a/b", "paimon://wh/a/b?x=1"]
)
def test_other_uris_are_refused(uri: str) -> None:
    with pytest.raises(ValueError, match="expected paimon://<catalog>/<database>/<table>"):
        normalize_uri(urlsplit(uri))


def test_a_message_queue_is_the_same_watcher() -> None:
    queue = PaimonMessageQueue()
    assert [queue.scheme_matches(scheme) for scheme in ("paimon", "kafka")] == [True, False]
    uri = "paimon://Wh/shop/orders"
    assert [queue.queue_matches(uri), queue.queue_matches("kafka://b/t")] == [True, False]
    made = queue.trigger_class()(**queue.trigger_kwargs(uri))
    (watcher,) = watched_table("shop.orders", paimon_conn_id="Wh").watchers
    assert made.serialize() == watcher.trigger.serialize()
    asset = {"asset_uri": "paimon://wh/shop/orders?on=any"}
    assert queue.trigger_kwargs(uri, **asset) == {"table": "shop.orders", "paimon_conn_id": "Wh"}


def test_filters_that_differ_are_assets_that_differ_and_can_be_read() -> None:
    filters: list[list[dict[str, Any]]] = [
        [{"a": "1,b=2"}],
        [{"a": "1", "b": "2"}],
        [{"a": None}],
        [{"a": ""}],
        [{"a": "None"}],
        [{"a": "x;a=y"}],
        [{"a": "x"}, {"a": "y"}],
        [{"a": "%2C"}],
    ]
    uris = [watched_table("shop.t", partitions=one).uri for one in filters]
    assert len(set(uris)) == len(filters)
    for uri, given in zip(uris, filters, strict=True):
        assert filters_of(urlsplit(uri).query)["partitions"] == given
    assert watched_table("shop.t", partitions=[{"hh": 5}]).uri.endswith("partitions=hh%3D5")
