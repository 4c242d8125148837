"""Storage on an object store, through fsspec.

A snapshot is created with a conditional put (``If-None-Match: *`` or generation 0), which exactly
one of several writers wins.  A put whose answer is lost, or that the client library repeated, is
read back and decided: our bytes are ours, other bytes are somebody else's, and nothing there means
that the put may still arrive (``OutcomeUnknownError``).  Folders are only names; an empty one is
kept by a marker, an object called ``<folder>/``.
"""

from __future__ import annotations

import logging
import random
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Final

from table_core.errors import (
    AccessDeniedError,
    AlreadyExistsError,
    CorruptFileError,
    NotFoundError,
    OutcomeUnknownError,
    StorageUnavailableError,
)
from table_core.options.budgets import DOCUMENT_BYTES
from table_core.ports import FileInfo
from table_core.storage.stores.os_errors import in_place_of
from table_core.storage.stores.paths import inside, joined
from table_core.storage.stores.remote_errors import (
    is_beyond_end,
    is_refusal,
    library_errors,
    lost_the_race,
    met_another,
    remote_error,
)
from table_core.storage.stores.remote_file import RangedFile, RemoteInput, RemoteOutput

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from table_core.errors import TableError

__all__ = ["ObjectStorage"]

_log: Final = logging.getLogger(__name__)
_PAUSES_MS: Final = (20, 60, 200, 600, 2000)
"""Before a conditional put that met another one is tried again; shortened by chance."""
_S3: Final = frozenset({"s3", "s3a", "s3n"})
_SHORT_READS: Final = 2
_DELETES_AT_ONCE: Final = 1000
_PATTERN: Final = frozenset("*?[")
"""Names with these stand for others to fsspec."""
_MISSING: Final = frozenset({"NoSuchKey", "NoSuchVersion"})
_LIST_FROM: Final = 20
"""From so many files of one folder on, listing it is cheaper than asking for each."""
_SCHEMAS: Final = "/schema/"
_SMALL_FILE: Final = 8 * 2**20
"""Files up to this size are fetched whole: one request instead of several."""


@dataclass(frozen=True, slots=True)
class ObjectStorage:
    """Objects below ``prefix`` (bucket and folder) of the fsspec file system ``fs``."""

    fs: Any
    scheme: str
    prefix: str
    has_folders: ClassVar[bool] = False
    """Whether a file cannot be called as a folder is."""

    @property
    def uri(self) -> str:
        """``<scheme>://<bucket>/<folder>``; credentials are never part of it."""
        return f"{self.scheme}://{self.prefix}"

    def within(self, path: str) -> ObjectStorage:
        """The same store with the folder ``path`` as root."""
        return ObjectStorage(self.fs, self.scheme, joined(self.prefix, path))

    def create(self, path: str, body: bytes) -> bool:
        """Put ``body`` only if nothing is at ``path``; see the module for lost answers."""
        for pause_ms in (*_PAUSES_MS, None):
            try:
                self.fs.pipe_file(self._at(path), body, mode="create")
            except library_errors() as error:
                explained = self._error(error, path, "create")
                lost = lost_the_race(error)
                unanswered = getattr(error, "unanswered", False)
                if not lost and not unanswered and is_refusal(error) and not met_another(error):
                    raise explained from error
                if not met_another(error) or self.exists(path) or pause_ms is None:
                    return self._read_back(path, body, explained, lost=lost)
            else:
                return True
            # Two puts met and the store took neither (409): nobody has won yet.
            time.sleep(pause_ms / 1000 * (0.5 + random.random() / 2))
        raise AssertionError(path)

    def _read_back(self, path: str, body: bytes, reason: TableError, *, lost: bool) -> bool:
        """Whether the put of ``body``, which was answered with ``reason``, is what is stored."""
        try:
            return self.read(path) == body
        except NotFoundError as error:
            # A winner that is deleted already, or a put that is still on its way.
            if lost:
                return False
            raise self._unknown(path, reason) from error
        except (AccessDeniedError, StorageUnavailableError) as error:
            if lost and isinstance(error, AccessDeniedError):  # who may not read knows no more
                return False
            raise self._unknown(path, reason) from error

    def _unknown(self, path: str, reason: TableError) -> OutcomeUnknownError:
        return OutcomeUnknownError(
            f"creating {self.uri}/{path} was not answered ({reason}); it may still appear: "
            "read it back before doing anything else",
            path=path,
            reason=str(reason),
        )

    def write(self, path: str, body: bytes, *, durable: bool = True) -> None:  # noqa: ARG002
        """Put ``body`` at ``path``."""
        with self._explained(path, "write"):
            self.fs.pipe_file(self._at(path), body)

    def read(self, path: str) -> bytes:
        """The bytes at ``path``."""
        with self._explained(path, "read"):
            return self._body(self._at(path))

    def exists(self, path: str) -> bool:
        """Whether an object or a folder is at ``path``."""
        try:
            with self._explained(path, "read"):
                self.fs.info(self._at(path), refresh=True)
        except NotFoundError:
            # S3's client has looked for a folder of that name already.
            return self.scheme not in _S3 and any(True for _ in self.list(path))
        return True

    def list(self, folder: str) -> Iterator[FileInfo]:
        """Entries directly in ``folder``.

        Raises:
            CorruptFileError: the store has folders, and a file is in place of this one.
        """
        base = self._at(folder)
        try:
            with self._explained(folder, "list"):
                if self.scheme in _S3:
                    entries = self.fs.entries(base)
                else:
                    entries = self.fs.ls(base, detail=True, refresh=True)
        except NotFoundError:
            return
        for entry in entries:
            info = self._info(entry)
            if info is None:
                continue
            if info.path.strip("/") != inside(folder):
                yield info
            elif self.has_folders and not info.is_dir and info.path:
                raise in_place_of(f"{self.uri}/{info.path}", "file", "folder")

    def walk(self, folder: str) -> Iterator[FileInfo]:
        """Every object below ``folder``: of S3 a thousand a request, else folder by folder."""
        if self.scheme in _S3:
            yield from self._walk_s3(folder)
            return
        for info in self.list(folder):
            if info.is_dir:
                yield from self.walk(info.path)
            else:
                yield info

    def _walk_s3(self, folder: str) -> Iterator[FileInfo]:
        token: str | None = None
        while True:
            try:
                with self._explained(folder, "list"):
                    entries, token = self.fs.page_below(self._at(folder), token)
            except NotFoundError:
                return
            yield from (info for entry in entries if (info := self._info(entry)) is not None)
            if token is None:
                return

    def delete(self, paths: Iterable[str]) -> int:
        """Delete objects, many with one request.  S3 does not tell which were there: all count."""
        if self.scheme in _S3:
            return self._delete_keys([self._at(path) for path in dict.fromkeys(map(inside, paths))])
        present = [self._at(path) for path in self._present(paths)]
        there = [name for name in present if not _PATTERN.intersection(name)]
        for name in (name for name in present if _PATTERN.intersection(name)):
            with self._explained("", "delete"):
                self.fs.rm_file(name)
        for start in range(0, len(there), _DELETES_AT_ONCE):
            with self._explained("", "delete"):
                self.fs.rm(there[start : start + _DELETES_AT_ONCE])
        return len(present)

    def _delete_keys(self, names: Sequence[str]) -> int:
        """Delete objects of S3 by their very names: its client would take some for patterns."""
        from botocore.exceptions import ClientError

        for start in range(0, len(names), _DELETES_AT_ONCE):
            parts = [self.fs.split_path(name) for name in names[start : start + _DELETES_AT_ONCE]]
            wanted = {"Objects": [{"Key": key} for _, key, _ in parts], "Quiet": True}
            with self._explained("", "delete"):
                answer = self.fs.call_s3("delete_objects", Bucket=parts[0][0], Delete=wanted)
                for error in answer.get("Errors", ()):
                    if error.get("Code") not in _MISSING:
                        raise ClientError({"Error": error}, "DeleteObjects")
        return len(names)

    def delete_tree(self, folder: str) -> None:
        """Delete everything below ``folder``."""
        try:
            with self._explained(folder, "delete"):
                self.fs.rm(self._at(folder), recursive=True)
        except NotFoundError:
            return
        if self.scheme not in _S3 and self.exists(folder):  # Azure's client leaves the marker
            with self._explained(folder, "delete"):
                self.fs.rm_file(self._at(folder) + "/")

    def delete_empty_folder(self, folder: str) -> bool:
        """Delete the marker of ``folder`` if nothing else is in it."""
        marker = self._at(folder) + "/"
        if any(True for _ in self.list(folder)) or not self.fs.exists(marker):
            return False
        with self._explained(folder, "delete"):
            self.fs.rm_file(marker)
        return True

    def make_folder(self, folder: str) -> None:
        """Leave a marker, so that ``folder`` is listed though empty."""
        with self._explained(folder, "create"):
            self.fs.pipe_file(self._at(folder) + "/", b"")

    def move(self, source: str, target: str) -> None:
        """Copy and delete, object by object: not atomic, for nobody who looks meanwhile.

        A folder with a schema is a table.  So schemas are copied last and deleted first: half a move
        is no second table.  One that died while it copied goes on when it is called again: what is
        at the target is at the source too.
        """
        pairs = [(source, target)] if self._is_file(source) else []
        root, sizes = inside(source), {i.path: i.size for i in self.walk(source)}
        pairs += [(path, inside(target) + path[len(root) :]) for path in sizes]
        copies = {end: sizes.get(start) for start, end in pairs if _SCHEMAS not in f"/{start}"}
        there = [i for i in self.walk(target) if copies.get(i.path) != i.size]
        if there or self._is_file(target):
            raise AlreadyExistsError(
                f"cannot move {source} to {target}: it exists already", name=target
            )
        if not pairs:
            raise NotFoundError(
                f"cannot move {self.uri}/{source}: there is no such file",
                name=f"{self.uri}/{source}",
                path=source,
                available=[],
            )
        schemas = [pair for pair in pairs if _SCHEMAS in f"/{pair[0]}"]
        rest = [pair for pair in pairs if _SCHEMAS not in f"/{pair[0]}"]
        with self._explained(source, "move"):
            for start, end in (*rest, *schemas):
                self.fs.cp_file(self._at(start), self._at(end))
        self.delete(start for start, _ in schemas)
        self.delete(start for start, _ in rest)

    def refuse_links(self, path: str) -> None:
        """There are none."""

    def open_input(self, path: str, size: int | None = None) -> Any:
        """A seekable file; small ones are fetched at once."""
        with self._explained(path, "read"):
            at = self._at(path)
            if size is None or size > _SMALL_FILE:
                size = self.fs.info(at)["size"]
            if size <= _SMALL_FILE:
                return RemoteInput.of_bytes(self._whole(at, size))
            if self.scheme in _S3:
                return RemoteInput(RangedFile(self.fs, at, size), self, path)
            return RemoteInput(self.fs.open(at, "rb", cache_type="none"), self, path)

    def _whole(self, at: str, size: int) -> bytes:
        """The object ``at``; read again if it is shorter than it should be, as a proxy may cut it."""
        body = self._body(at)
        for _ in range(_SHORT_READS):
            if len(body) >= size:
                break
            _log.warning("%s: %d bytes of %s came instead of %d", self.uri, len(body), at, size)
            body = self._body(at)
        return body

    def _body(self, at: str) -> bytes:
        """All bytes of the object ``at``, with one request: no more of them come than a document may have.

        Raises:
            CorruptFileError: there are more.
        """
        if (
            self.scheme in _S3
        ):  # its client bounds the answer, and would ask for the size first to fetch parts
            return bytes(self.fs.cat_file(at, max_concurrency=1))
        most = DOCUMENT_BYTES.most
        try:
            body: bytes = self.fs.cat_file(at, start=0, end=most + 1)
        except library_errors() as error:
            if is_beyond_end(error):  # no range is within an empty object
                return b""
            raise
        if len(body) > most:
            what = DOCUMENT_BYTES.told(f"it has {len(body):,} bytes or more")
            raise CorruptFileError(f"{self.scheme}://{at}: {what}", path=at, problems=[what])
        return body

    def open_output(self, path: str) -> Any:
        """A file whose object appears when it is closed."""
        with self._explained(path, "create"):
            return RemoteOutput(self.fs.open(self._at(path), "wb"), self, path)

    def sync(self, paths: Iterable[str]) -> None:
        """An object store keeps what it has acknowledged."""

    def explained(self, error: BaseException, path: str, action: str) -> TableError:
        """What ``error`` of the client library means."""
        return self._error(error, path, action)

    def _error(self, error: BaseException, path: str, action: str) -> TableError:
        return remote_error(error, root=self.uri, path=path, action=action)

    def _explained(self, path: str, action: str) -> _Explained:
        return _Explained(self, path, action)

    def _at(self, path: str) -> str:
        return joined(self.prefix, path)

    def _is_file(self, path: str) -> bool:
        try:
            with self._explained(path, "read"):
                return bool(self.fs.info(self._at(path), refresh=True)["type"] == "file")
        except NotFoundError:
            return False

    def _present(self, paths: Iterable[str]) -> Iterator[str]:
        """Those of ``paths`` that are objects: one request a file, or one a folder."""
        folders: dict[str, list[str]] = {}
        for path in paths:
            folders.setdefault(inside(path).rpartition("/")[0], []).append(inside(path))
        for folder, files in folders.items():
            if len(files) < _LIST_FROM:
                yield from (path for path in files if self._is_file(path))
            else:
                there = {info.path for info in self.list(folder) if not info.is_dir}
                yield from (path for path in dict.fromkeys(files) if path in there)

    def _info(self, entry: dict[str, Any]) -> FileInfo | None:
        name = entry["name"].rstrip("/")
        if entry["type"] == "file" and entry["name"].endswith("/"):
            return None  # a marker says only that its folder is there
        modified = next(
            (entry[k] for k in ("LastModified", "last_modified", "mtime", "updated") if k in entry),
            None,
        )
        return FileInfo(
            path=name[len(self.prefix) :].strip("/"),
            size=entry.get("size") or 0,
            modified_ms=_milliseconds(modified),
            is_dir=entry["type"] == "directory",
            tag=str(entry.get("ETag") or entry.get("etag") or ""),
        )


@dataclass(frozen=True, slots=True)
class _Explained:
    """Raise errors of the client library as what they mean."""

    storage: ObjectStorage
    path: str
    action: str

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if error is not None and isinstance(error, library_errors()):
            raise self.storage.explained(error, self.path, self.action) from error


def _milliseconds(modified: Any) -> int:
    """A time as clients of stores give it: aware datetime, seconds or ISO text."""
    if modified is None:
        return 0
    if isinstance(modified, str):
        import datetime as dt

        modified = dt.datetime.fromisoformat(modified)
    if isinstance(modified, int | float):
        return int(modified * 1000)
    return int(modified.timestamp() * 1000)
