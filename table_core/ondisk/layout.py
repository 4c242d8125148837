"""Where every file of a table is, relative to the table's root and '/'-separated.

Manifests and index files are shared by all branches; schemas, snapshots, changelogs, tags and
consumers belong to one branch.  Data files lie in the same folders whatever the branch.

Source: ``org.apache.paimon.utils.FileStorePathFactory``, ``PartitionPathUtils``; format 1.
"""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING, Final

from table_core.ondisk.partition_text import partition_text

if TYPE_CHECKING:
    from table_core.ondisk.data_file import DataFile
    from table_core.schema.table_schema import TableSchema

from table_core.options import keys_files

__all__ = [
    "BRANCH_FOLDER",
    "INDEX_FOLDER",
    "LINE_FOLDER",
    "MAIN",
    "MANIFEST_FOLDER",
    "NOTE_FOLDERS",
    "POSTPONE_BUCKET",
    "RECOVERED_FOLDER",
    "ROLLBACK_NOTES",
    "STAGING",
    "STATISTICS_FOLDER",
    "STREAM_NOTES",
    "branch_folder",
    "bucket_path",
    "changelog_folder",
    "changelog_path",
    "consumer_folder",
    "consumer_path",
    "data_file_path",
    "draft_path",
    "escape",
    "expiring_path",
    "extra_file_paths",
    "hint_path",
    "index_file_path",
    "index_path",
    "line_folder",
    "manifest_path",
    "note_path",
    "numbered",
    "partition_path",
    "partition_text",
    "recovered_path",
    "schema_folder",
    "schema_path",
    "snapshot_folder",
    "snapshot_path",
    "staging_folder",
    "statistics_path",
    "stray_path",
    "tag_folder",
    "tag_path",
    "tag_success_path",
    "turn_path",
]

MAIN: Final = "main"
"""The branch that is no branch: its metadata lies in the table's root."""
POSTPONE_BUCKET: Final = -2
MANIFEST_FOLDER: Final = "manifest"
INDEX_FOLDER: Final = "index"
STATISTICS_FOLDER: Final = "statistics"
BRANCH_FOLDER: Final = "branch"
ROLLBACK_NOTES: Final = "rollback"
STREAM_NOTES: Final = "stream"
LINE_FOLDER: Final = "line"
"""Of ours too: changes of direction, and what was moved out of the line (``ondisk.line``)."""
RECOVERED_FOLDER: Final = "recovered"
"""Broken documents that ``recover`` has moved away, each run in a folder of its own; Paimon does not know it."""
NOTE_FOLDERS: Final = (ROLLBACK_NOTES, STREAM_NOTES)
"""Folders of ours, which Paimon does not know: see ``note_path``."""
STAGING: Final = re.compile(r"\.spark\.[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\.tmp")
"""A folder in which Spark writes files before they are renamed into their buckets; named like a draft."""
_ESCAPED: Final = re.compile("[\x00-\x1f\"#%'*/:=?\\\\\x7f{}\\[\\]^]")


def branch_folder(branch: str) -> str:
    """Folder with the metadata of ``branch``; '' for main."""
    return "" if branch == MAIN else f"{BRANCH_FOLDER}/branch-{branch}"


def _in_branch(branch: str, folder: str) -> str:
    return folder if branch == MAIN else f"{branch_folder(branch)}/{folder}"


def schema_folder(branch: str = MAIN) -> str:
    """Folder of ``schema-<id>`` files."""
    return _in_branch(branch, "schema")


def snapshot_folder(branch: str = MAIN) -> str:
    """Folder of ``snapshot-<id>`` files and their hints."""
    return _in_branch(branch, "snapshot")


def changelog_folder(branch: str = MAIN) -> str:
    """Folder of changelogs that outlive their snapshots, and their hints."""
    return _in_branch(branch, "changelog")


def tag_folder(branch: str = MAIN) -> str:
    """Folder of ``tag-<name>`` files."""
    return _in_branch(branch, "tag")


def consumer_folder(branch: str = MAIN) -> str:
    """Folder of ``consumer-<id>`` files."""
    return _in_branch(branch, "consumer")


def schema_path(id: int, branch: str = MAIN) -> str:
    """One version of the schema."""
    return f"{schema_folder(branch)}/schema-{id}"


def snapshot_path(id: int, branch: str = MAIN) -> str:
    """One snapshot."""
    return f"{snapshot_folder(branch)}/snapshot-{id}"


def changelog_path(id: int, branch: str = MAIN) -> str:
    """The changelog that outlives snapshot ``id``."""
    return f"{changelog_folder(branch)}/changelog-{id}"


def hint_path(folder: str, which: str, branch: str = MAIN) -> str:
    """The hint ``which`` (``EARLIEST`` or ``LATEST``) of ``folder`` (``snapshot``, ``changelog``)."""
    return f"{_in_branch(branch, folder)}/{which}"


def tag_path(name: str, branch: str = MAIN) -> str:
    """The tag ``name``."""
    return f"{tag_folder(branch)}/tag-{name}"


def tag_success_path(name: str, branch: str = MAIN) -> str:
    """The mark that the tag ``name`` was made (``tag.create-success-file``)."""
    return f"{tag_folder(branch)}/tag-success-file/{name}_SUCCESS"


def consumer_path(id: str, branch: str = MAIN) -> str:
    """The progress of consumer ``id``."""
    return f"{consumer_folder(branch)}/consumer-{id}"


def note_path(folder: str, name: str, branch: str = MAIN) -> str:
    """What is noted of ``name`` in one of ``NOTE_FOLDERS``: no rollback takes it back."""
    mark = hashlib.sha256(name.encode()).hexdigest()[:32]
    return f"{_in_branch(branch, folder)}/{mark}"


def line_folder(branch: str = MAIN) -> str:
    """Folder of what is noted of the line of snapshots."""
    return _in_branch(branch, LINE_FOLDER)


def turn_path(number: int, branch: str = MAIN) -> str:
    """The change of direction ``number``."""
    return f"{line_folder(branch)}/turn-{number}"


def stray_path(id: int, name: str, branch: str = MAIN) -> str:
    """A snapshot ``id`` of another line; ``name`` tells it from others of that number."""
    mark = hashlib.sha256(name.encode()).hexdigest()[:32]
    return f"{line_folder(branch)}/stray-{id}-{mark}"


def expiring_path(uuid: str, branch: str = MAIN) -> str:
    """The mark of an expiry that is under way."""
    return f"{line_folder(branch)}/expiring-{uuid}"


def manifest_path(name: str) -> str:
    """A manifest, manifest list or index manifest."""
    return f"{MANIFEST_FOLDER}/{name}"


def recovered_path(path: str, run: str) -> str:
    """Where the ``run`` of ``recover`` keeps what it took from ``path``."""
    return f"{RECOVERED_FOLDER}/{run}/{path}"


def staging_folder(uuid: str) -> str:
    """The folder of one write by Spark; see ``STAGING``."""
    return f".spark.{uuid}.tmp"


def draft_path(path: str, uuid: str) -> str:
    """A file in the making that will be renamed to ``path``."""
    folder, slash, name = path.rpartition("/")
    return f"{folder}{slash}.{name}.{uuid}.tmp"


def index_path(name: str) -> str:
    """An index file (deletion vectors, key hashes) in its usual folder."""
    return f"{INDEX_FOLDER}/{name}"


def statistics_path(name: str) -> str:
    """A table statistics file."""
    return f"{STATISTICS_FOLDER}/{name}"


def numbered(file_name: str, prefix: str) -> int | None:
    """The number of ``<prefix><number>``; None for hints, temporary and foreign files.

    Only the canonical text counts: ``snapshot-07`` is not snapshot 7.
    """
    text = file_name.removeprefix(prefix)
    if not file_name.startswith(prefix) or not text.isascii() or not text.isdigit():
        return None
    # Longer than a Java long is no number of Paimon's, and int() of megabytes is slow.
    return int(text) if len(text) <= 19 and text == str(int(text)) else None


def escape(text: str) -> str:
    """``text`` as a folder name: what file systems or parsers trip over becomes ``%XX``."""
    return _ESCAPED.sub(lambda match: f"%{ord(match[0]):02X}", text)


def partition_path(schema: TableSchema, partition: bytes) -> str:
    """``k1=v1/k2=v2``, escaped; '' for an unpartitioned table.

    Two partitions may share one folder: NULL and blank text have the same name (format 1.4).
    """
    texts = partition_text(schema, partition)
    return "/".join(f"{escape(key)}={escape(value)}" for key, value in texts.items())


def bucket_path(schema: TableSchema, partition: bytes, bucket: int) -> str:
    """The folder of one bucket's data files."""
    name = "bucket-postpone" if bucket == POSTPONE_BUCKET else f"bucket-{bucket}"
    above = (schema.options.get(keys_files.DATA_FILE_PATH_DIRECTORY) or "").strip("/")
    return "/".join(part for part in (above, partition_path(schema, partition), name) if part)


def data_file_path(schema: TableSchema, partition: bytes, bucket: int, file: DataFile) -> str:
    """Path of a data or changelog file; an absolute URI if it was written outside the table."""
    if file.external_path is not None:
        return file.external_path
    return f"{bucket_path(schema, partition, bucket)}/{file.file_name}"


def extra_file_paths(
    schema: TableSchema, partition: bytes, bucket: int, file: DataFile
) -> tuple[str, ...]:
    """Paths of the companions of ``file`` (file indexes); they lie beside it."""
    folder = data_file_path(schema, partition, bucket, file).rpartition("/")[0]
    return tuple(f"{folder}/{name}" for name in file.extra_files)


def index_file_path(
    schema: TableSchema, partition: bytes, bucket: int, name: str, external_path: str | None = None
) -> str:
    """Path of an index file, wherever ``index-file-in-data-file-dir`` puts it."""
    if external_path is not None:
        return external_path
    if schema.options.get(keys_files.INDEX_FILE_IN_DATA_FILE_DIR):
        return f"{bucket_path(schema, partition, bucket)}/{name}"
    return index_path(name)
