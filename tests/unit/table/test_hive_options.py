"""What a Hive catalog's options may say, and what its metastore's objects mean; no metastore is asked."""

from __future__ import annotations

from pathlib import Path

import pytest

import table_core as tc
from table_core.errors import NotFoundError, OptionError, UnsupportedFeatureError
from table_core.hive.objects import HiveTable
from table_core.hive.places import below
from table_core.hive.tables import what_it_is
from table_core.options.catalog import CatalogOptions
from table_core.options.hive import HiveOptions
from table_core.storage.stores.hive_site import metastore_uri

URI = "thrift://127.0.0.1:9083"
SITE = "<configuration><property><name>{}</name><value>{}</value></property></configuration>"


def options(warehouse: str = "/wh", **more: str) -> CatalogOptions:
    named = {key.replace("_", "-"): value for key, value in more.items()}
    return CatalogOptions.of(warehouse, {"metastore": "hive", "uri": URI, **named})


@pytest.mark.parametrize(
    ("setting", "value", "names"),
    [
        ("hive.metastore.sasl.enabled", "true", "Kerberos"),
        ("hive.metastore.use.SSL", "TRUE", "TLS"),
        ("hive.metastore.thrift.framed.transport.enabled", "true", "framed"),
        ("metastore.client.class", "com.amazonaws.glue.Client", "Glue"),
        ("metastore.client.class", "x.Y", "class of Java"),
        ("location-in-properties", "true", "location-in-properties"),
        ("sync-all-properties", "false", "sync-all-properties"),
        ("hadoop-conf-dir", "/etc/hadoop", "fsspec"),
    ],
)
def test_what_is_not_done_is_refused_by_name(setting: str, value: str, names: str) -> None:
    with pytest.raises(UnsupportedFeatureError, match=names):
        tc.open_catalog("/wh", {"metastore": "hive", "uri": URI, setting: value})


@pytest.mark.parametrize(
    "uri", ["thrift://h", "h:9083", "thrift://u@h:9083", "thrift://h:99999", "thrift://a:1,b:2"]
)
def test_an_address_that_is_none_is_refused(uri: str) -> None:
    with pytest.raises(OptionError, match="thrift://host:port"):
        tc.open_catalog("/wh", {"metastore": "hive", "uri": uri})


def test_nothing_that_says_where_the_metastore_is() -> None:
    with pytest.raises(OptionError, match="hive-conf-dir"):
        tc.open_catalog("/wh", {"metastore": "hive"})


def test_hive_site_says_where_the_metastore_is(tmp_path: Path) -> None:
    asked = HiveOptions.of({"hive-conf-dir": str(tmp_path)})
    with pytest.raises(NotFoundError, match=r"hive-site\.xml"):
        metastore_uri(asked)
    site = tmp_path / "hive-site.xml"
    site.write_text(SITE.format("hive.metastore.uris", f"{URI},thrift://b:1"))
    assert metastore_uri(asked) == f"{URI},thrift://b:1"
    assert metastore_uri(HiveOptions.of({"hive-conf-dir": str(tmp_path), "uri": URI})) == URI
    site.write_text(SITE.format("hive.metastore.sasl.enabled", "true"))
    with pytest.raises(UnsupportedFeatureError, match="Kerberos"):
        metastore_uri(HiveOptions.of({"hive-conf-dir": str(tmp_path), "uri": URI}))
    site.write_text(SITE.format("x", "y"))
    with pytest.raises(OptionError, match=r"hive\.metastore\.uris"):
        metastore_uri(asked)
    site.write_text("<configuration>")
    with pytest.raises(OptionError, match="no XML"):
        metastore_uri(asked)


def test_the_lock_is_taken_unasked_where_paimon_takes_it() -> None:
    assert options().lock_type is None
    assert options("s3://lake/wh").lock_type == "hive"
    assert options("s3://lake/wh", **{"lock.enabled": "false"}).lock_type is None
    assert options(**{"lock.enabled": "true"}).lock_type == "hive"
    with pytest.raises(OptionError, match=r"lock\.type=jdbc"):
        options(**{"lock.type": "jdbc"})
    with pytest.raises(OptionError, match=r"lock\.type=hive"):
        CatalogOptions.of("/wh", {"lock.type": "hive"})


def test_options_of_the_metastore_do_not_go_to_the_store() -> None:
    asked = options(**{"hive-conf-dir": "/c", "client-pool-size": "2", "hive.x": "y", "key": "k"})
    assert dict(asked.storage) == {"key": "k"}
    assert asked.hive["hive.x"] == "y"


@pytest.mark.parametrize(
    ("warehouse", "location", "path"),
    [
        ("file:///data/wh", "file:/data/wh/shop.db/orders", "shop.db/orders"),
        ("file:///data/wh", "/data/wh/shop.db/orders", "shop.db/orders"),
        ("/data/wh", "file:///data/wh/a", "a"),
        ("s3://lake/wh", "s3a://lake/wh/a", "a"),
        ("s3://lake", "s3://lake/a", "a"),
        ("s3://lake/wh", "s3://other/wh/a", None),
        ("s3://lake/wh", "s3://lake/wh2/a", None),
        ("file:///data/wh", "file:/data/wh", None),
        ("file:///data/wh", "file:/data/wh/../secret", None),
    ],
)
def test_where_a_table_lies(warehouse: str, location: str, path: str | None) -> None:
    assert below(warehouse, location) == path


@pytest.mark.parametrize(
    ("serde", "input_format", "kind", "words"),
    [
        ("org.apache.hadoop.hive.ql.io.parquet.serde.ParquetHiveSerDe", "", "", "Parquet"),
        ("org.apache.hadoop.hive.ql.io.orc.OrcSerde", "", "", "ORC"),
        ("org.apache.iceberg.mr.hive.HiveIcebergSerDe", "", "", "Iceberg"),
        ("LazySimpleSerDe", "org.apache.hadoop.mapred.TextInputFormat", "", "text files"),
        ("", "", "VIRTUAL_VIEW", "a view"),
        ("x.Y", "", "", "x.Y"),
    ],
)
def test_what_is_no_table_of_paimon_is_called_what_it_is(
    serde: str, input_format: str, kind: str, words: str
) -> None:
    table = HiveTable(
        database="d",
        name="t",
        location=None,
        serde=serde,
        input_format=input_format,
        table_type=kind,
    )
    assert words in what_it_is(table)
