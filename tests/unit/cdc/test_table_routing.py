"""Which source tables go where."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING

import pytest

from table_core.cdc.model.record import SourceTable
from table_core.cdc.model.routing import DatabaseRoute, TableFilter, table_route, takes
from table_core.cdc.source.kafka.source import KafkaSource, topics_meant
from table_core.cdc.source.mysql.source import MySqlSource
from table_core.cdc.source.postgres.source import PostgresSource
from table_core.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.mark.parametrize(
    ("including", "excluding", "takes"),
    [
        (".*", "", True),
        ("customers", "", True),
        ("custom", "", False),
        (r"shop_\d\.customers", "", True),
        (".*", "customers", False),
        (".*", r"shop_2\..*", True),
    ],
)
def test_tables_by_expression(including: str, excluding: str, takes: bool) -> None:
    assert TableFilter(including, excluding).takes(SourceTable("shop_1", "customers")) is takes


@pytest.mark.parametrize(
    ("excluding", "is_clear"),
    [
        ("flink|paimon.+", False),
        (".*sync.*", False),
        (r"flink|paimon.*\..+", True),
        ("paimon_sync_x.t", True),
        ("paimon[^.]+", True),
        ("t|paimon.+", True),
        ("", True),
    ],
)
def test_a_database_is_left_out_by_its_name_and_not_by_a_wildcard_for_tables(
    excluding: str, is_clear: bool
) -> None:
    tables = TableFilter(excluding=excluding)
    if is_clear:
        tables.refuse_unclear(SourceTable("paimon_sync_x", "t"))
    else:
        with pytest.raises(ArgumentError, match=r"write paimon_sync_x\\.\.\* to leave out all"):
            tables.refuse_unclear(SourceTable("paimon_sync_x", "t"))
    tables.refuse_unclear(SourceTable("", "paimon_t"))
    tables.refuse_unclear(SourceTable("shop", "paimon_t"))


def test_a_bad_expression_is_refused() -> None:
    with pytest.raises(ArgumentError, match="excluding='\\('"):
        TableFilter(excluding="(")


@pytest.mark.parametrize(
    ("argument", "source"),
    [
        ("databases", lambda text: MySqlSource("h", "u", databases=text)),
        ("schemas", lambda text: PostgresSource("h", "d", "u", schemas=text)),
        ("topics", lambda text: KafkaSource("h:9092", f"^{text}")),
    ],
)
def test_what_a_source_chooses_by_expression_is_refused_before_it_is_read(
    argument: str, source: Callable[[str], object]
) -> None:
    for wrong in ("(", "[", r"(a+)+\1"):
        with pytest.raises(ArgumentError) as caught:
            source(wrong)
        assert caught.value.facts["argument"] == argument
    source(r"(?!tmp_)shop_\d+\..*")


NAME = SourceTable("a" * 60, "a" * 60 + "!")


@pytest.mark.parametrize(
    "pattern",
    [
        *("(a+)+b", "(a|aa)*b", "(a*)*b", "(?:a?){60}a{60}b", "a?" * 60 + "a" * 60 + "b"),
        *("(a|a?)+b", "(((a*)b?)*)*c", "(a{,}){,}b", "([a-z]+)*b", ".*" * 12 + "b", r"(\w+\.?)+b"),
        *("(a|ab)" * 40 + "c", "(?P<n>a*)*b", "((a{0,9}){0,9}){0,9}b", "(x|(a|aa)+)+$b"),
    ],
)
def test_no_expression_takes_long_whoever_wrote_it(pattern: str) -> None:
    started = time.perf_counter()
    for route in (table_route(pattern), json.dumps(["", pattern, ["", "", True]])):
        assert not takes(route, NAME, "t")
    assert time.perf_counter() - started < 60


@pytest.mark.parametrize(
    "pattern",
    [
        *("(?=(a+)+b)a.*", "(?!x)(a|aa)*b", r"(a+)\1+b", "(((){1000}){1000}){1000}", "(" * 60),
        *("a" * 100_001, "(?#(*)(a+)+b(?=c)", "(?x)(a+)+(?!b)"),
    ],
)
def test_an_expression_that_might_is_refused_by_name(pattern: str) -> None:
    with pytest.raises(ArgumentError, match=r"tables=|including="):
        takes(json.dumps({"tables": pattern}), NAME, "t")


@pytest.mark.parametrize(
    ("pattern", "name", "is_taken"),
    [
        ("orders|items|customers_[0-9]+", "customers_12", True),
        ("(?!tmp_).*", "tmp_x", False),
        (r"orders(_\d+)*", "orders_1_22", True),
        (r"orders(_\d+)*", "orders_1_", False),
        (r"\w+", "kunden_übersicht", True),
        (r"(?i)ORDERS_\d{4}", "orders_2026", True),
        ("|".join(f"table_{n}_of_a_shop" for n in range(1500)), "table_1499_of_a_shop", True),
        ("[^]x]+", "abc", True),
        ("a{}", "a{}", True),
    ],
)
def test_what_tables_are_called_is_taken(pattern: str, name: str, is_taken: bool) -> None:
    assert TableFilter(pattern).takes(SourceTable("", name)) is is_taken


def test_where_tables_of_a_database_go() -> None:
    table = SourceTable("shop_1", "orders")
    merged = DatabaseRoute(TableFilter(excluding="x"), prefix="ods_")
    apart = DatabaseRoute(TableFilter(), merge_shards=False, suffix="_raw")
    assert merged.target(table) == "ods_orders"
    assert apart.target(table) == "shop_1_orders_raw"
    assert merged.target(SourceTable("shop_1", "x")) is None


def test_a_pattern_of_topics_is_matched_against_whole_names_and_takes_none_of_kafkas_own() -> None:
    known = ["shop.orders", "shop.orders_old", "my.shop.orders", "shop.items", "__consumer_offsets"]
    assert topics_meant(r"^shop\.orders", known) == ["shop.orders"]
    assert topics_meant(r"^shop\.(orders|items)$", known) == ["shop.orders", "shop.items"]
    assert topics_meant("^shop.*", known) == ["shop.orders", "shop.orders_old", "shop.items"]
    assert topics_meant("^.*", known) == known[:-1]
    assert topics_meant("^__consumer.*", known) == ["__consumer_offsets"]
    assert topics_meant("^other", known) == []
    assert topics_meant("shop.orders", []) == ["shop.orders"], "one that is lacking is told later"
    assert topics_meant(["a", "b"], known) == ["a", "b"]
