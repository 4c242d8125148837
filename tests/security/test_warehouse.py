"""Attack: whoever may write metadata into a shared warehouse.  Goal: files of other tables and of the machine."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

import table_core as tc
from table_core.errors import TableError
from table_core.ondisk.manifest import decode_manifest, encode_manifest
from table_core.ondisk.manifest_list import decode_manifest_list, encode_manifest_list
from table_core.table.api.catalog import Catalog
from tests.tables import write_rows

ROWS = pa.table({"id": [1, 2], "s": ["a", "b"]})


@pytest.fixture
def catalog(tmp_path: Path) -> Catalog:
    found = tc.open_catalog((tmp_path / "wh").as_uri())
    found.create_database("d")
    for name in ("t", "victim"):
        found.create_table(
            f"d.{name}", ROWS.schema, options={"bucket": "-1", "manifest.compression": "none"}
        )
        for _ in range(3):
            write_rows(found.table(f"d.{name}"), ROWS, overwrite="table")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/data").write_text("precious")
    return found


def rewritten(tmp_path: Path, name: str, external: str | None = None) -> None:
    """Every data file of ``d.t`` is called ``name`` now, in every manifest."""
    folder = tmp_path / "wh/d.db/t/manifest"
    sizes: dict[str, int] = {}
    for path in folder.glob("manifest-*"):
        if path.name.startswith("manifest-list"):
            continue
        entries = [
            replace(e, file=replace(e.file, file_name=name, external_path=external))
            for e in decode_manifest(path.read_bytes(), path="x")
        ]
        path.write_bytes(encode_manifest(entries))
        sizes[path.name] = path.stat().st_size
    for path in folder.glob("manifest-list-*"):
        metas = decode_manifest_list(path.read_bytes(), path="x")
        metas = [replace(m, file_size=sizes.get(m.file_name, m.file_size)) for m in metas]
        path.write_bytes(encode_manifest_list(metas))
    for path in (tmp_path / "wh/d.db/t/snapshot").glob("snapshot-*"):
        document = json.loads(path.read_text())
        for member in [m for m in document if m.endswith("ManifestListSize")]:
            del document[member]
        path.write_text(json.dumps(document))


VERBS: dict[str, Callable[[Catalog], object]] = {
    "read": lambda c: c.table("d.t").read().to_arrow(),
    "expire": lambda c: c.table("d.t").expire_snapshots(retain_max=1, retain_min=1),
    "orphans": lambda c: c.table("d.t").remove_orphan_files(
        older_than=4_000_000_000_000, allow_young=True
    ),
    "clone": lambda c: c.clone_table("d.t", "d.copy"),
    "compact": lambda c: c.table("d.t").compact(strategy="full"),
    "delete": lambda c: c.table("d.t").delete(where="id = 1"),
    "truncate": lambda c: c.table("d.t").truncate(),
}
NAMES = [
    "../../victim/bucket-0/x", "../../../../outside/data", "/etc/hostname", "..", "a/../../../victim/schema/schema-0",
    "./x", "",
]  # fmt: skip


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("name", NAMES)
def test_a_name_in_a_manifest_leads_nowhere_else(
    catalog: Catalog, tmp_path: Path, verb: str, name: str
) -> None:
    rewritten(tmp_path, name)
    before = everything(tmp_path)
    with contextlib.suppress(TableError):
        VERBS[verb](catalog)
    after = everything(tmp_path)
    assert before.items() <= after.items()


@pytest.mark.parametrize("verb", VERBS)
def test_an_external_path_in_a_manifest_is_refused_by_name(
    catalog: Catalog, tmp_path: Path, verb: str
) -> None:
    rewritten(tmp_path, "x", external=(tmp_path / "outside/data").as_uri())
    before = everything(tmp_path)
    try:
        VERBS[verb](catalog)
    except TableError as error:
        assert "outside" in str(error) or verb in ("compact", "delete", "truncate")
    assert before.items() <= everything(tmp_path).items()


def in_snapshots(tmp_path: Path, member: str, name: str) -> None:
    document: dict[str, object] = {}
    for path in (tmp_path / "wh/d.db/t/snapshot").glob("snapshot-*"):
        document = json.loads(path.read_text())
        document = {k: v for k, v in document.items() if not k.endswith("Size")} | {member: name}
        path.write_text(json.dumps(document))
    tags = tmp_path / "wh/d.db/t/tag"
    tags.mkdir(exist_ok=True)
    (tags / "tag-evil").write_text(json.dumps(document))


def in_options(tmp_path: Path, option: str, name: str) -> None:
    for path in (tmp_path / "wh/d.db/t/schema").glob("schema-*"):
        document = json.loads(path.read_text())
        document["options"][option] = name
        path.write_text(json.dumps(document))


def in_companions(tmp_path: Path, _: str, name: str) -> None:
    folder = tmp_path / "wh/d.db/t/manifest"
    for path in set(folder.glob("manifest-*")) - set(folder.glob("manifest-list-*")):
        entries = [
            replace(e, file=replace(e.file, extra_files=(name,)))
            for e in decode_manifest(path.read_bytes(), path="x")
        ]
        path.write_bytes(encode_manifest(entries))


PLACES = [
    *((in_snapshots, member) for member in ("baseManifestList", "deltaManifestList", "changelogManifestList")),
    *((in_snapshots, member) for member in ("indexManifest", "statistics")),
    *((in_options, option) for option in ("path", "data-file.path-directory", "branch", "consumer-id")),
    *((in_options, option) for option in ("scan.fallback-branch", "scan.tag-name", "data-file.external-paths")),
    (in_companions, ""),
]  # fmt: skip
MORE_VERBS: dict[str, Callable[[Catalog], object]] = {
    **{verb: VERBS[verb] for verb in ("expire", "orphans", "clone")},
    "drop": lambda c: c.drop_table("d.t"),
    "untag": lambda c: c.table("d.t").tags.delete("evil"),
}


@pytest.mark.parametrize("verb", MORE_VERBS)
@pytest.mark.parametrize(("where", "member"), PLACES)
def test_a_name_in_any_other_document_leads_nowhere_else(
    catalog: Catalog, tmp_path: Path, where: Callable[..., None], member: str, verb: str
) -> None:
    where(tmp_path, member, "../../../../outside/data")
    before = everything(tmp_path)
    with contextlib.suppress(TableError):
        MORE_VERBS[verb](tc.open_catalog((tmp_path / "wh").as_uri()))
    assert everything(tmp_path) == before


def everything(tmp_path: Path) -> dict[str, bytes]:
    """All files but those of the table itself and of its copy."""
    found = {}
    for path in tmp_path.rglob("*"):
        name = str(path.relative_to(tmp_path))
        if path.is_file() and not name.startswith(("wh/d.db/t/", "wh/d.db/copy")):
            found[name] = path.read_bytes()
    return found


@pytest.mark.parametrize(
    "name", ["../x.t", "d.../x", "d./etc", "d/../d.t", "d.t/../victim", "..", "d.a\\b", ". .t"]
)
def test_names_of_tables_are_no_paths(catalog: Catalog, tmp_path: Path, name: str) -> None:
    before = everything(tmp_path)
    for act in (
        lambda: catalog.table(name),
        lambda: catalog.create_table(name, ROWS.schema),
        lambda: catalog.drop_table(name, if_exists=False),
        lambda: catalog.clone_table("d.t", name),
        lambda: catalog.rename_table("d.t", name),
    ):
        with pytest.raises(TableError):
            act()
    assert everything(tmp_path) == before
