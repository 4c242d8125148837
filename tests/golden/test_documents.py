"""Every metadata file of tables by other writers: decoded, encoded, decoded again, and used.

Then what we derive from them must be what is there: paths, buckets, statistics, summaries.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from table_core.bucketing.fixed import bucket_ids
from table_core.bucketing.hash import row_hash
from table_core.datatypes.arrow import arrow_type
from table_core.datatypes.kinds import Root
from table_core.ondisk import layout
from table_core.ondisk.avro import open_container
from table_core.ondisk.avro_schemas import INDEX_MANIFEST, MANIFEST, MANIFEST_LIST
from table_core.ondisk.binary_row import decode_row, encode_row, encode_rows
from table_core.ondisk.deletion_vector import decode_index_file, encode_index_file
from table_core.ondisk.hints import decode_hint, encode_hint
from table_core.ondisk.index_manifest import (
    DELETION_VECTORS,
    HASH,
    decode_index_manifest,
    encode_index_manifest,
)
from table_core.ondisk.manifest import decode_manifest, encode_manifest, fold_entries
from table_core.ondisk.manifest_list import (
    decode_manifest_list,
    encode_manifest_list,
    summarize,
)
from table_core.ondisk.snapshot import Snapshot
from table_core.ondisk.stats import StatsBuilder, covered_fields, decode_stats, modes_for
from table_core.ondisk.tag import Tag
from table_core.options import keys_identity
from table_core.schema.document import schema_from_json
from table_core.schema.table_schema import TableSchema

OWN = Path(__file__).parent / "documents"
ROOT = Path(os.environ.get("GOLDEN_TABLES", OWN))
TABLES = sorted(
    {p.parent.parent for p in ROOT.rglob("schema/schema-0") if "/branch/" not in str(p)}
)
OTHER_ROWS = {"row-tracking", "data-evolution", "blob"}
"""Features whose files hold columns beyond the schema."""


def named(table: Path) -> str:
    return str(table.relative_to(ROOT)).split("/")[0]


every_table = pytest.mark.parametrize("table", TABLES, ids=named)


def schemas_of(table: Path) -> dict[int, TableSchema]:
    found = {}
    for path in [*table.glob("branch/*/schema/schema-*"), *table.glob("schema/schema-*")]:
        schema = schema_from_json(path.read_bytes(), path=str(path))
        found[schema.id] = schema
    return found


def snapshots_of(table: Path) -> list[Snapshot]:
    paths = [p for p in table.glob("snapshot/snapshot-*") if p.suffix != ".tmp"]
    return [Snapshot.from_json(p.read_bytes(), path=str(p)) for p in sorted(paths)]


def metas_of(table: Path, name: str):
    path = table / layout.manifest_path(name)
    return decode_manifest_list(path.read_bytes(), path=str(path))


def entries_of(table: Path, metas):
    for meta in metas:
        path = table / layout.manifest_path(meta.file_name)
        yield from decode_manifest(path.read_bytes(), path=str(path))


def live_of(table: Path, snapshot: Snapshot):
    metas = metas_of(table, snapshot.base_manifest_list)
    metas += metas_of(table, snapshot.delta_manifest_list)
    folded = fold_entries(entries_of(table, metas))
    assert not folded.deletes
    return list(folded.live.values())


def test_there_is_something_to_look_at() -> None:
    assert len(TABLES) >= 8


@every_table
def test_manifests_come_back(table: Path) -> None:
    for path in table.glob("manifest/manifest-*"):
        body = path.read_bytes()
        if path.name.startswith("manifest-list-"):
            metas = decode_manifest_list(body, path=str(path))
            again = encode_manifest_list(metas)
            decoded = decode_manifest_list(again, path="again")
            assert decoded == metas
            assert [m.extra for m in decoded] == [m.extra for m in metas]
        else:
            entries = decode_manifest(body, path=str(path))
            again = encode_manifest(entries)
            assert decode_manifest(again, path="again") == entries


@every_table
def test_what_java_writes_has_our_schemas(table: Path) -> None:
    for path in table.glob("manifest/*"):
        schema = open_container(path.read_bytes(), path=str(path)).schema
        if schema["name"] == "record":  # pypaimon has other names
            kind = path.name.partition("manifest-list")[1] or path.name.partition("index")[1]
            ours = {"manifest-list": MANIFEST_LIST, "index": INDEX_MANIFEST}.get(kind, MANIFEST)
            if kind or len(schema["fields"][-1]["type"]["fields"]) == 20:
                assert schema == ours


@every_table
def test_snapshots_and_tags_come_back(table: Path) -> None:
    for path in [*table.rglob("snapshot/snapshot-*"), *table.rglob("changelog/changelog-*")]:
        body = path.read_bytes()
        assert json.loads(Snapshot.from_json(body, path="s").to_json()) == json.loads(body)
    for path in table.rglob("tag/tag-*"):
        tag = Tag.from_json(path.read_bytes(), path=str(path))
        assert json.loads(tag.to_json()) == json.loads(path.read_bytes())
    for path in [*table.rglob("LATEST"), *table.rglob("EARLIEST")]:
        hint = decode_hint(path.read_bytes())
        assert hint is not None
        assert encode_hint(hint) == path.read_bytes()


@every_table
def test_every_live_file_is_where_we_say(table: Path) -> None:
    schemas = schemas_of(table)
    for snapshot in snapshots_of(table):
        for entry in live_of(table, snapshot):
            schema = schemas[entry.file.schema_id]
            path = layout.data_file_path(schema, entry.partition, entry.bucket, entry.file)
            assert (table / path).stat().st_size == entry.file.file_size
            extras = layout.extra_file_paths(schema, entry.partition, entry.bucket, entry.file)
            assert all((table / extra).exists() for extra in extras)


@every_table
def test_partitions_and_keys_have_the_same_bytes_again(table: Path) -> None:
    schemas = schemas_of(table)
    for snapshot in snapshots_of(table):
        for entry in live_of(table, snapshot):
            schema = schemas[entry.file.schema_id]
            types = [f.type for f in schema.partition_fields]
            assert encode_row(types, decode_row(types, entry.partition)) == entry.partition
            keys = [f.type for f in schema.trimmed_key_fields]
            for key in (entry.file.min_key, entry.file.max_key):
                assert encode_row(keys, decode_row(keys, key)) == key


@every_table
def test_summaries_of_manifests_are_those_in_the_lists(table: Path) -> None:
    types = [f.type for f in schemas_of(table)[0].partition_fields]
    for path in table.glob("manifest/manifest-list-*"):
        for meta in decode_manifest_list(path.read_bytes(), path=str(path)):
            manifest = table / layout.manifest_path(meta.file_name)
            if manifest.exists():
                entries = list(entries_of(table, [meta]))
                found = summarize(entries, meta.file_name, meta.file_size, types)
                assert manifest.stat().st_size == meta.file_size
                assert found == meta


@every_table
def test_index_files_come_back(table: Path) -> None:
    for path in table.glob("manifest/index-manifest-*"):
        entries = decode_index_manifest(path.read_bytes(), path=str(path))
        assert decode_index_manifest(encode_index_manifest(entries), path="again") == entries
        for entry in entries:
            body = (table / layout.index_path(entry.file_name)).read_bytes()
            assert len(body) == entry.file_size
            if entry.index_type == DELETION_VECTORS:
                ranges = sorted(entry.ranges, key=lambda r: r.offset)
                vectors = decode_index_file(body, ranges, path=entry.file_name)
                wide = body[5:9].hex() == "d1d33964"
                assert encode_index_file(vectors, bitmap64=wide) == (body, tuple(ranges))


def table_rows(table: Path, schema: TableSchema, entry, names) -> pa.Table | None:
    path = table / layout.data_file_path(schema, entry.partition, entry.bucket, entry.file)
    if path.suffix != ".parquet" or not path.exists():
        return None
    rows = pq.read_table(path, partitioning=None)
    if not set(names) <= set(rows.column_names):
        return None
    fields = schema.select(names)
    columns = [rows[f.name].combine_chunks().cast(arrow_type(f.type)) for f in fields]
    return pa.table(columns, names=list(names))


@every_table
def test_rows_hash_to_the_bucket_that_they_are_in(table: Path) -> None:
    schemas = schemas_of(table)
    for snapshot in snapshots_of(table)[-1:]:
        for entry in live_of(table, snapshot):
            schema = schemas[entry.file.schema_id]
            if entry.total_buckets < 1 or not schema.bucket_keys:
                continue
            rows = table_rows(table, schema, entry, schema.bucket_keys)
            if rows is not None:
                types = [f.type for f in schema.select(schema.bucket_keys)]
                function = schema.options.get(keys_identity.BUCKET_FUNCTION_TYPE)
                ids = bucket_ids(rows.columns, types, entry.total_buckets, function)
                assert set(ids.tolist()) <= {entry.bucket}


@every_table
def test_hash_index_files_hold_the_hashes_of_the_keys(table: Path) -> None:
    snapshot = snapshots_of(table)[-1]
    if snapshot.index_manifest is None:
        return
    schemas = schemas_of(table)
    body = (table / layout.manifest_path(snapshot.index_manifest)).read_bytes()
    live = live_of(table, snapshot)
    for index in decode_index_manifest(body, path="index manifest"):
        if index.index_type != HASH:
            continue
        raw = (table / layout.index_path(index.file_name)).read_bytes()
        stored = {
            int.from_bytes(raw[at : at + 4], "big", signed=True) for at in range(0, len(raw), 4)
        }
        for entry in live:
            if (entry.partition, entry.bucket) == (index.partition, index.bucket):
                schema = schemas[entry.file.schema_id]
                rows = table_rows(table, schema, entry, schema.trimmed_primary_keys)
                if rows is not None:
                    types = [f.type for f in schema.trimmed_key_fields]
                    assert set(row_hash(rows.columns, types).tolist()) <= stored


@every_table
def test_statistics_are_those_that_paimon_wrote(table: Path) -> None:
    schemas = schemas_of(table)
    for snapshot in snapshots_of(table)[-1:]:
        for entry in live_of(table, snapshot):
            file, schema = entry.file, schemas[entry.file.schema_id]
            if file.write_cols is not None or named(table) in OTHER_ROWS:
                continue
            fields = covered_fields(schema.fields, file.value_stats_cols)
            rows = table_rows(table, schema, entry, [f.name for f in fields])
            theirs = decode_stats(file.value_stats, fields, path=file.file_name)
            if rows is None or not theirs:
                continue
            builder = StatsBuilder(fields, modes_for(schema.options, [f.name for f in fields]))
            half = rows.num_rows // 2
            builder.add(rows.slice(0, half))
            builder.add(rows.slice(half))
            ours = decode_stats(builder.finish()[0], fields)
            for field in fields:
                name = field.name
                if is_known_to_differ(field, rows[name]):
                    assert ours[name][2] == theirs[name][2]
                else:
                    assert ours[name] == theirs[name]


def is_known_to_differ(field, column) -> bool:
    """Where Paimon has no bounds (INT96 timestamps), or ones that a NaN made."""
    root = getattr(field.type, "root", None)
    if root in {Root.TIMESTAMP, Root.TIMESTAMP_LTZ}:
        return field.type.precision > 6
    return root in {Root.FLOAT, Root.DOUBLE} and pc.any(pc.is_nan(column)).as_py()


@every_table
def test_smallest_and_largest_keys_are_the_first_and_last_rows(table: Path) -> None:
    schemas = schemas_of(table)
    for snapshot in snapshots_of(table)[-1:]:
        for entry in live_of(table, snapshot):
            schema = schemas[entry.file.schema_id]
            if not schema.trimmed_primary_keys:
                continue
            rows = table_rows(table, schema, entry, schema.trimmed_primary_keys)
            if rows is not None:
                ends = rows.take([0, rows.num_rows - 1]).combine_chunks()
                types = [f.type for f in schema.trimmed_key_fields]
                columns = [column.chunk(0) for column in ends.columns]
                assert encode_rows(columns, types) == [entry.file.min_key, entry.file.max_key]
