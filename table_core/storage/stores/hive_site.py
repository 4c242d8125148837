"""Settings of ``hive-site.xml``, as Hadoop writes them: ``<property><name>…</name><value>…</value></property>``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final
from xml.etree import ElementTree as ET

from table_core.errors import OptionError
from table_core.options.hive import addresses, refuse_unsupported_settings
from table_core.storage.stores.os_errors import explained

if TYPE_CHECKING:
    from table_core.options.hive import HiveOptions

__all__ = ["hive_site", "metastore_uri"]

_FILE: Final = "hive-site.xml"
_OPTION: Final = "hive-conf-dir"


def hive_site(folder: str) -> dict[str, str]:
    """The settings in ``folder``; a value that refers to another one (``${…}``) stays as it is written.

    Raises:
        NotFoundError, AccessDeniedError: the file cannot be read.
        OptionError: it is no such file.
    """
    path = Path(folder) / _FILE
    with explained(f"file://{path.parent}", path.name, "read"):
        body = path.read_bytes()
    try:
        root = ET.fromstring(body)
    except ET.ParseError as error:
        raise OptionError(
            f"{path} of {_OPTION} is no XML: {error}", option=_OPTION, value=folder
        ) from error
    settings = {}
    for entry in root.iter("property"):
        name, value = entry.findtext("name"), entry.findtext("value")
        if name and value is not None:
            settings[name.strip()] = value.strip()
    return settings


def metastore_uri(options: HiveOptions) -> str:
    """Where the metastore is: as an option says, else as ``hive-site.xml`` does.

    Raises:
        OptionError: nobody says it, or the file is none.
        NotFoundError, AccessDeniedError: the file cannot be read.
        UnsupportedFeatureError: the file asks for Kerberos, TLS or framed messages.
    """
    settings = {} if options.conf_dir is None else hive_site(options.conf_dir)
    refuse_unsupported_settings(settings)
    uri = options.uri or settings.get("hive.metastore.uris")
    if not uri:
        raise OptionError(
            f"{options.conf_dir}/{_FILE} has no hive.metastore.uris: set it, or the option 'uri'",
            option="uri",
            value=None,
        )
    addresses(uri)
    return uri
