"""The store that a URI names."""

from __future__ import annotations

import contextlib
import json
import os
import re
import threading
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from table_core.errors import (
    ArgumentError,
    MissingPackageError,
    OptionError,
    UnsupportedFeatureError,
)
from table_core.options.budgets import take_budgets
from table_core.options.nearest import nearest
from table_core.storage.stores.local import LocalStorage
from table_core.storage.stores.memory import MemoryStorage
from table_core.storage.stores.typed_place import is_file, local_path, place_text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from table_core.ports import Storage
    from table_core.storage.stores.object_store import ObjectStorage
    from table_core.storage.stores.prefixed import PrefixedStorage

__all__ = ["is_on_disk", "open_storage"]

_URI: Final = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]+):(?://)?(?P<rest>.*)", re.DOTALL)
_PROTOCOLS: Final[Mapping[str, tuple[str, str]]] = {
    "s3": ("s3", "s3"),
    "s3a": ("s3", "s3"),
    "s3n": ("s3", "s3"),
    "gs": ("gs", "gcs"),
    "gcs": ("gs", "gcs"),
    "abfs": ("abfs", "azure"),
    "abfss": ("abfs", "azure"),
    "az": ("abfs", "azure"),
}
"""Schemes whose fsspec class puts conditionally: the class's name, and the extra that installs it."""
_memory: Final[dict[str, MemoryStorage]] = {}
_memory_lock: Final = threading.Lock()


def is_on_disk(uri: str) -> bool:
    """Whether ``uri`` names a folder of this machine: a ``file:`` URI, or a plain path."""
    match = _URI.fullmatch(uri)
    return match is None or match["scheme"].lower() == "file"


def open_storage(
    uri: str | os.PathLike[str],
    storage_options: Mapping[str, Any] | None = None,
    *,
    locked: bool = False,
    warehouse: bool = False,
) -> Storage:
    """The store at ``uri``: a path, ``file://``, ``memory://``, ``s3://``, ``gs://`` or ``abfs://``.

    A ``file:`` URI names the folder that is there: as it is written, or with ``%20`` for a blank.

    ``storage_options`` go to the fsspec class; those that had to be written as text, ``"false"`` or
    a JSON object, become what they say.  Memory stores of one name are one store within a
    process.  ``locked``: the caller creates under a lock, so any file system of fsspec will do.
    ``warehouse``: others may write there too, so links below it are refused; in a folder of sources
    they are followed.

    Raises:
        UnsupportedFeatureError: the store has no atomic create-if-absent, so that two writers
            could both win; the message says what to do.
        ArgumentError: no URI, a scheme that nobody knows, or credentials in it; a ``file:`` URI that means two
            folders; a file in place of a warehouse.
    """
    take_budgets(os.environ)
    uri = place_text(uri, "warehouse" if warehouse else "uri")
    match = _URI.fullmatch(uri)
    if match is None or is_on_disk(uri):
        return _local(uri if match is None else local_path(match["rest"]), warehouse=warehouse)
    scheme, rest = match["scheme"].lower(), match["rest"].strip("/")
    if scheme == "memory":
        return _in_memory(rest)
    if scheme not in _PROTOCOLS:
        _require_known(scheme)
    if scheme not in _PROTOCOLS and not locked:
        raise UnsupportedFeatureError(
            f"{scheme}:// has no atomic create-if-absent that this release can use: two writers "
            "could both win a snapshot. Use file://, s3://, gs:// or abfs://, or give all writers "
            "one lock: lock.type=jdbc with uri=jdbc:..., or lock.type=file with lock.path, in "
            "storage_options",
            feature=f"atomic create on {scheme}://",
        )
    if "@" in rest.partition("/")[0] and scheme not in {"abfs", "abfss", "az"}:
        raise ArgumentError(
            "credentials do not belong into a URI: give them in storage_options",
            argument="uri",
            value=f"{scheme}://…",
        )
    if scheme not in _PROTOCOLS:
        return _prefixed(uri, scheme, _values(storage_options or {}))
    return _remote(scheme, rest, _values(storage_options or {}))


def _require_known(scheme: str) -> None:
    """Refuse a scheme that nobody knows, which is a slip and no store that lacks something."""
    from fsspec.registry import known_implementations, registry

    if scheme in known_implementations or scheme in registry:
        return
    near = nearest(scheme, ["file", *_PROTOCOLS])
    meant = "" if near is None else f" (did you mean {near}://?)"
    raise ArgumentError(
        f"{scheme}:// is no kind of store{meant}: use file://, s3://, gs:// or abfs://",
        argument="warehouse",
        value=scheme,
    )


def _values(options: Mapping[str, Any]) -> dict[str, Any]:
    """Options as fsspec wants them: a job's spec and Spark's options carry texts only.

    Numbers stay texts: a key of an account may look like one.
    """
    typed = dict(options)
    for name, value in options.items():
        if isinstance(value, str) and (value in {"true", "false"} or value[:1] in {"{", "["}):
            with contextlib.suppress(ValueError, RecursionError):
                typed[name] = json.loads(value)
    return typed


def _local(path: str, *, warehouse: bool) -> LocalStorage:
    if not path:
        raise ArgumentError("an empty path names no storage", argument="uri", value=path)
    if warehouse and is_file(path):
        raise ArgumentError(
            f"{path} is a file, and a warehouse or a table is a folder: name the folder",
            argument="warehouse",
            value=path,
        )
    return LocalStorage(Path(path).absolute(), follows=not warehouse)


def _in_memory(rest: str) -> MemoryStorage:
    name, _, folder = rest.partition("/")
    with _memory_lock:
        disk = _memory.setdefault(name, MemoryStorage(name))
    return disk.within(folder) if folder else disk


def _remote(scheme: str, rest: str, options: dict[str, Any]) -> ObjectStorage:
    import fsspec  # takes longer to import than a small table to read

    from table_core.storage.stores.object_store import ObjectStorage

    protocol, extra = _PROTOCOLS[scheme]
    try:
        cls = fsspec.get_filesystem_class(protocol)
    except ImportError as error:
        raise MissingPackageError.of(f"{scheme}://", extra, error) from error
    path = str(cls._strip_protocol(f"{scheme}://{rest}"))
    # Listings are never cached: other processes commit meanwhile.
    options = {"use_listings_cache": False} | options
    if protocol == "s3":
        from table_core.storage.stores.retries import Retries
        from table_core.storage.stores.s3_client import BoundedS3

        bounds, options = Retries.of(options)
        cls = partial(BoundedS3, bounds=bounds)
    return ObjectStorage(_opened(cls, scheme, options), scheme, path)


def _opened(cls: Any, scheme: str, options: dict[str, Any]) -> Any:
    """The file system, with a client: options that the library does not know show only there.

    Raises:
        OptionError: they cannot be used.
    """
    try:
        fs = cls(**options)
        if scheme == "s3":
            fs.connect()
    except (TypeError, AttributeError, ValueError) as error:
        raise OptionError(
            f"the library of {scheme}:// cannot use storage_options {sorted(options)}: {error}. "
            "Look for a name or a value that it does not know",
            option="storage_options",
            value=sorted(options),
        ) from error
    except Exception:  # noqa: BLE001 - a profile or a key that is missing: the first request tells it
        return cls(**options)
    return fs


def _prefixed(uri: str, scheme: str, options: dict[str, Any]) -> PrefixedStorage:
    import fsspec

    from table_core.storage.stores.prefixed import PrefixedStorage

    try:
        fs, path = fsspec.core.url_to_fs(uri, **options)
    except (ImportError, ValueError) as error:
        raise UnsupportedFeatureError(
            f"{scheme}:// is no file system that fsspec can open here: {error}",
            feature=f"{scheme}:// storage",
        ) from error
    authority = uri.partition("://")[2].partition("/")[0]
    return PrefixedStorage(fs, scheme, str(path).rstrip("/"), authority)
