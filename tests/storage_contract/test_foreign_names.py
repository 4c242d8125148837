"""Goal: names that are not ASCII mean the same in every store, and on the command line.

Method: one table, called so from its database to its partitions, through every verb that has a name.
"""

from __future__ import annotations

import json
import uuid
from typing import TYPE_CHECKING, Any

import pytest
from typer.testing import CliRunner

import table_core as tc
from table_core.cli.main import app
from tests.foreign_names import (
    BRANCH,
    DATABASE,
    KEY,
    PLACE,
    PLACES,
    TABLE,
    TAG,
    VALUE,
    fill,
    plain,
    rows,
)
from tests.lanes import sampled
from tests.tables import write_rows

if TYPE_CHECKING:
    from pathlib import Path

    from tests.servers import S3


@pytest.fixture(params=sampled(["s3", "memory", "file"], 3))
def catalog(request: pytest.FixtureRequest, tmp_path: Path) -> tc.Catalog:
    if request.param == "s3":
        server: S3 = request.getfixturevalue("s3_server")
        bucket = f"names-{uuid.uuid4().hex[:12]}"
        server.make_bucket(bucket)
        return tc.open_catalog(f"s3://{bucket}/weiß/склад", server.options())
    if request.param == "memory":
        return tc.open_catalog(f"memory://names/{uuid.uuid4().hex}/weiß")
    return tc.open_catalog(str(tmp_path / "weiß" / "склад"))


@pytest.mark.parametrize("keyed", [True, False])
def test_every_verb_finds_what_it_is_told(catalog: tc.Catalog, keyed: bool) -> None:
    table = fill(catalog, keyed=keyed)
    assert catalog.databases() == [DATABASE]
    assert catalog.tables(DATABASE) == [TABLE.partition(".")[2]]
    whole = plain(rows())
    assert plain(catalog.table(TABLE).read().to_arrow()) == whole
    for place in PLACES:
        where = f"`{PLACE}` = '{place}'"
        [found] = plain(table.read(where=where).to_arrow())
        assert found[1:] == (place, f"ñ {place}")
        files = table.read(where=where).splits()
        assert len(files) == 1, "the partition is told from those that look like it"
    assert plain(table.read(tag=TAG).to_arrow()) == whole
    assert plain(catalog.table(f"{TABLE}$branch_{BRANCH}").read().to_arrow()) == whole
    told = {row["partition"] for row in table.system("files").to_arrow().to_pylist()}
    assert len(told) == len(PLACES)
    if keyed:
        table.compact()
    table.delete(f"`{VALUE}` LIKE 'ñ 東%'")
    table.drop_partitions([{PLACE: "é"}])
    write_rows(table, rows("new").slice(PLACES.index("%C3%A9"), 1), overwrite={PLACE: "%C3%A9"})
    left = {place: "new" if place == "%C3%A9" else "ñ" for place in PLACES}
    del left["東京"], left["é"]
    found = plain(table.read().to_arrow())
    assert {(row[1], row[2]) for row in found} == {(p, f"{v} {p}") for p, v in left.items()}
    assert len(found) == len(left)
    assert table.remove_orphan_files().files_deleted == 0
    assert catalog.table(TABLE).read(tag=TAG).to_arrow().num_rows == len(PLACES)


def test_a_table_is_opened_by_the_address_that_it_tells(catalog: tc.Catalog, request: Any) -> None:
    table = fill(catalog)
    options = (
        request.getfixturevalue("s3_server").options() if table.uri.startswith("s3:") else None
    )
    again = tc.open_table(table.uri, storage_options=options)
    assert plain(again.read().to_arrow()) == plain(rows())
    branch = tc.open_table(f"{table.uri}$branch_{BRANCH}$snapshots", storage_options=options)
    assert branch.read().to_arrow().num_rows == 1
    assert again.name == TABLE


def test_the_command_line_takes_them_and_prints_them(tmp_path: Path) -> None:
    warehouse = str(tmp_path / "weiß")
    fill(tc.open_catalog(warehouse))

    def run(*words: str) -> str:
        call = [words[0], "-w", warehouse, *words[1:]]
        return CliRunner().invoke(app, call, catch_exceptions=False).stdout

    for place in PLACES:
        found = run("read", TABLE, "--json", "--where", f"`{PLACE}` = '{place}'")
        assert json.loads(found)[VALUE] == f"ñ {place}"
    found = run("read", TABLE, "--json", "--columns", f"{KEY},{VALUE}", "--tag", TAG)
    assert len(found.splitlines()) == len(PLACES)
    assert json.loads(found.splitlines()[0]) == {KEY: 0, VALUE: "ñ Köln"}
    assert json.loads(run("read", f"{TABLE}$branches", "--json"))["branch_name"] == BRANCH
    assert VALUE in run("read", TABLE, "--format", "csv").splitlines()[0]
    assert "東京" in run("read", TABLE)
