"""The golden tables: unpack one, say what a read of it must give, and compare.

Rules of the comparison: rows have no order; physical variants of a type count as that type, and
times may be finer than expected, in which case they are cut to the expected unit; elements of maps,
and of arrays that are known to come in any order, have none either; CHAR columns may be padded.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import json
import tarfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

import table_core as tc

HERE = Path(__file__).parent
ARCHIVES = HERE / "cases"
MODES = {"changelog": "changelog", "delta": "delta", "diff": "diff"}
FAMILIES = (
    (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view),
    (
        pa.types.is_binary,
        pa.types.is_large_binary,
        pa.types.is_fixed_size_binary,
        pa.types.is_binary_view,
    ),
    (pa.types.is_time,),
)


@dataclass(frozen=True)
class Case:
    """One unpacked table with the rows that Apache Paimon reads from it."""

    folder: Path
    about: dict[str, Any]
    digest: str

    def check(self, read: dict[str, Any]) -> None:
        """Assert that we read what Paimon reads, and touch no file.

        Raises:
            AssertionError: what differs.
        """
        want = pq.read_table(self.folder / read["expected"])
        loose = read.get("spark_expressions")
        if loose:
            want = want.select([name for name in want.column_names if name in loose])
        try:
            have = self._scan(read).to_arrow()
        except tc.errors.UnsupportedFeatureError:
            if not (read.get("refuse") or loose):
                raise
            return
        if read["kind"] == "batch" and not loose:
            assert have.column_names == want.column_names
            for field in want.schema:
                found = have.schema.field(field.name).type
                assert stands_for(found, field.type), f"{field.name}: {found} for {field.type}"
        unordered = frozenset(read.get("unordered_elements") or ())
        left, right = (_rows(t, want.schema, unordered, self._blanks()) for t in (have, want))
        assert (left - right, right - left) == (Counter(), Counter())  # only ours, only Paimon's
        assert digest(self.folder / "warehouse") == self.digest, "reading changed a file"

    def _scan(self, read: dict[str, Any]) -> Any:
        catalog = tc.open_catalog((self.folder / "warehouse").as_uri())
        table = catalog.table(self.about["table"], branch=read.get("branch"))
        wish = {"columns": read.get("columns"), "where": read.get("where")}
        match read["kind"]:
            case "system_table":
                return table.system(read["system_table"])
            case "batch":
                millis = read.get("timestamp_millis")
                moment = (
                    None if millis is None else dt.datetime.fromtimestamp(millis / 1000, dt.UTC)
                )
                return table.read(
                    snapshot=read.get("snapshot"), tag=read.get("tag"), timestamp=moment, **wish
                )
            case "changes" | "incremental_diff" as kind:
                usual = "auto" if kind == "changes" else "diff"
                mode = MODES.get(read.get("scan_mode") or "", usual)
                return table.changes(after=read["after"], to=read["to"], mode=mode, **wish)
            case other:
                raise AssertionError(f"unknown kind of read: {other}")

    def _blanks(self) -> frozenset[str]:
        database, _, name = self.about["table"].partition(".")
        schemas = self.folder.joinpath("warehouse", f"{database}.db", name, "schema")
        newest = max(schemas.glob("schema-*"), key=lambda path: int(path.name.rpartition("-")[2]))
        fields = json.loads(newest.read_text())["fields"]
        return frozenset(f["name"] for f in fields if str(f["type"]).startswith("CHAR("))


def unpack(name: str, into: Path) -> Case:
    """Unpack a case."""
    with tarfile.open(ARCHIVES / f"{name}.tar.xz") as archive:
        archive.extraction_filter = getattr(tarfile, "data_filter", None)  # from 3.11.4 on
        archive.extractall(into)
    folder = into / name
    return Case(folder, describe(name), digest(folder / "warehouse"))


@cache
def describe(name: str) -> dict[str, Any]:
    """``case.json`` of a case, which comes first in its archive."""
    with tarfile.open(ARCHIVES / f"{name}.tar.xz", "r|xz") as archive:
        for member in archive:
            if member.name == f"{name}/case.json":
                body = archive.extractfile(member)
                assert body is not None
                return dict(json.load(body))
    raise AssertionError(f"{name} has no case.json")


def reads() -> Iterator[tuple[str, dict[str, Any]]]:
    """Every (case, read) there is."""
    for path in sorted(ARCHIVES.glob("*.tar.xz")):
        name = path.name.removesuffix(".tar.xz")
        for read in describe(name)["reads"]:
            yield name, read


def digest(folder: Path) -> str:
    """A fingerprint of all files below ``folder``."""
    found = hashlib.sha256()
    for path in sorted(p for p in folder.rglob("*") if p.is_file()):
        found.update(str(path.relative_to(folder)).encode() + path.read_bytes())
    return found.hexdigest()


def stands_for(have: pa.DataType, want: pa.DataType) -> bool:
    """Whether a column of type ``have`` may come where ``want`` is expected."""
    if pa.types.is_dictionary(have):
        have = have.value_type
    if pa.types.is_timestamp(want):
        return pa.types.is_timestamp(have) and (have.tz is None) == (want.tz is None)
    if pa.types.is_decimal(want):
        same = pa.types.is_decimal(have)
        return same and (have.precision, have.scale) == (want.precision, want.scale)
    if pa.types.is_struct(want):
        names = pa.types.is_struct(have) and [f.name for f in have] == [f.name for f in want]
        return bool(names) and all(
            stands_for(h.type, w.type) for h, w in zip(have, want, strict=True)
        )
    if pa.types.is_map(want):
        return (
            pa.types.is_map(have)
            and stands_for(have.key_type, want.key_type)
            and stands_for(have.item_type, want.item_type)
        )
    if pa.types.is_list(want):
        is_list = pa.types.is_list(have) or pa.types.is_large_list(have)
        return is_list and stands_for(have.value_type, want.value_type)
    for family in FAMILIES:
        if any(member(want) for member in family):
            return any(member(have) for member in family)
    return bool(have == want)


def _rows(
    table: pa.Table, like: pa.Schema, unordered: frozenset[str], blanks: frozenset[str]
) -> Counter[tuple[Any, ...]]:
    columns = []
    for field in like:
        column = table[field.name].cast(field.type, safe=False)
        if pa.types.is_timestamp(field.type):
            column = column.cast(pa.int64())
        cells = [_plain(v, field.type, field.name in unordered) for v in column.to_pylist()]
        if field.name in blanks:
            cells = [cell if cell is None else cell.rstrip(" ") for cell in cells]
        columns.append(cells)
    return Counter(zip(*columns, strict=True))


def _plain(value: Any, kind: pa.DataType, unordered: bool) -> Any:
    """A value that can be counted, and where 0.0 is not -0.0 and NaN is NaN."""
    if value is None:
        return None
    if isinstance(value, float):
        return repr(value)
    if pa.types.is_struct(kind):
        return tuple(_plain(value[f.name], f.type, unordered) for f in kind)
    if pa.types.is_map(kind):
        pairs = [
            (_plain(k, kind.key_type, False), _plain(v, kind.item_type, False)) for k, v in value
        ]
        return tuple(sorted(pairs, key=repr))
    if pa.types.is_list(kind):
        items = [_plain(v, kind.value_type, unordered) for v in value]
        return tuple(sorted(items, key=repr) if unordered else items)
    return value
