"""What a JDBC address says of TLS, for the drivers of Python.  What we cannot do is refused."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from table_core.errors import OptionError
from table_core.options.tls import mode_of, mysql_tls

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["mysql_settings", "postgres_settings"]

_TRUE: Final = {"true": True, "": True, "1": True, "yes": True, "on": True}
_FALSE: Final = {"false": False, "0": False, "no": False, "off": False}
_SWITCHES: Final = ("ssl", "usessl", "requiressl", "verifyservercertificate", "disablesslhostnameverification",
                    "trustservercertificate")  # fmt: skip
_FILES: Final = {
    **dict.fromkeys(("serversslcert", "sslca", "ssl_ca", "sslrootcert"), "ca"),
    **dict.fromkeys(("sslcert", "ssl_cert"), "cert"),
    **dict.fromkeys(("sslkey", "ssl_key"), "key"),
}
_POSTGRES: Final = ("sslrootcert", "sslcert", "sslkey", "sslpassword", "sslcrl")


def mysql_settings(properties: dict[str, Any], shown: str) -> dict[str, Any]:
    """Arguments of pymysql for the settings of TLS in ``properties``, which are taken out.

    MySQL's ``sslMode`` wins over MariaDB's names and the older switches.  ``useSSL=true`` is at least
    ``require``, with ``verifyServerCertificate=true`` ``verify-ca``.

    Raises:
        OptionError: a value is none, or a file cannot be read.
    """
    mode: str | None = None
    switches: dict[str, bool] = {}
    files: dict[str, str] = {}
    for key in list(properties):
        name = key.lower()
        if name in ("sslmode", "ssl_mode"):
            mode = _mode(key, properties.pop(key), shown)
        elif name in _SWITCHES:
            switches[name] = _switch(key, properties.pop(key), shown)
        elif name in _FILES:
            files[_FILES[name]] = str(properties.pop(key)).removeprefix("file:")
    try:
        return mysql_tls(mode or _by_switches(switches, files), files)
    except OSError as error:
        raise OptionError(
            f"{shown}: a file of certificates cannot be read: {error}", option="ssl", value=None
        ) from error


def _by_switches(switches: Mapping[str, bool], files: Mapping[str, str]) -> str:
    if switches.get("verifyservercertificate"):
        return "verify-ca"
    if switches.get("trustservercertificate"):
        return "require"
    if "ca" in files:
        return "verify-ca" if switches.get("disablesslhostnameverification") else "verify-full"
    if any(switches.get(name) for name in ("ssl", "usessl", "requiressl")) or files:
        return "require"
    return "disable" if False in (switches.get("ssl"), switches.get("usessl")) else "prefer"


def postgres_settings(properties: dict[str, Any], shown: str) -> dict[str, Any]:
    """Arguments of libpq for the settings of TLS in ``properties``, which are taken out.

    ``ssl=true`` without ``sslmode`` is ``verify-full``, as for Java's driver.

    Raises:
        OptionError: a value is none.
    """
    arguments: dict[str, Any] = {key: properties.pop(key) for key in _POSTGRES if key in properties}
    switch = _switch("ssl", properties.pop("ssl"), shown) if "ssl" in properties else None
    if "sslmode" in properties:
        text = str(properties.pop("sslmode"))
        _mode("sslmode", text, shown)
        arguments["sslmode"] = text.lower()
        if switch and mode_of(text) in ("disable", "prefer"):
            raise OptionError(
                f"{shown}: ssl=true and sslmode={text} say two things", option="sslmode", value=text
            )
    elif switch:
        arguments["sslmode"] = "verify-full"
        arguments.setdefault("sslrootcert", "system")
    return arguments


def _mode(key: str, text: object, shown: str) -> str:
    try:
        return mode_of(str(text))
    except ValueError as error:
        raise OptionError(f"{shown}: {key}: {error}", option=key, value=str(text)) from error


def _switch(key: str, text: object, shown: str) -> bool:
    switch = {**_TRUE, **_FALSE}.get(str(text).strip().lower())
    if switch is None:
        raise OptionError(
            f"{shown}: {key}={text!r} is neither true nor false", option=key, value=str(text)
        )
    return switch
