"""How a connection to a server is encrypted, and whether the server has to prove who it is.

Five modes, by the names of MySQL and PostgreSQL.  Where the server is on another machine and nothing is
said, it is the strictest one: a password never goes out in clear because nobody said a word.
"""

from __future__ import annotations

import ipaddress
import ssl
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from table_core.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "MODES",
    "default_mode",
    "is_loopback",
    "mode_of",
    "mysql_source_tls",
    "mysql_tls",
    "system_context",
]

MODES: Final = ("disable", "prefer", "require", "verify-ca", "verify-full")
"""No TLS; where the server offers it; always; with a trusted certificate; that names the host."""
_ALIASES: Final[Mapping[str, str]] = {
    **{mode: mode for mode in MODES},
    "allow": "prefer",
    "disabled": "disable",
    "preferred": "prefer",
    "required": "require",
    "trust": "require",
    "verify_ca": "verify-ca",
    "verify_identity": "verify-full",
    "verify-identity": "verify-full",
    "verify_full": "verify-full",
}


_MEMBERS: Final = frozenset(
    {"mode", "ca", "capath", "cert", "key", "password", "cipher", "check_hostname"}
)


def mode_of(text: str) -> str:
    """One of ``MODES``, by its name here, in MySQL, MariaDB or PostgreSQL.

    Raises:
        ValueError: no mode is called so.
    """
    mode = _ALIASES.get(text.strip().lower())
    if mode is None:
        raise ValueError(f"{text!r} is no mode of TLS; there are {', '.join(MODES)}")
    return mode


def is_loopback(host: str | None) -> bool:
    """Whether nothing leaves the machine: a loopback address, ``localhost``, a socket's folder."""
    name = (host or "localhost").strip().rstrip(".").lower()
    if name.startswith(("/", "@")) or name == "localhost":
        return True
    try:
        return ipaddress.ip_address(name.strip("[]").partition("%")[0]).is_loopback
    except ValueError:
        return False


def default_mode(host: str | None) -> str:
    """``prefer`` on this machine, ``verify-full`` to any other; ``host`` may be several by commas."""
    return "prefer" if all(map(is_loopback, (host or "").split(","))) else "verify-full"


def mysql_tls(mode: str, settings: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Arguments of ``pymysql.connect`` for ``mode``; ``settings``: ``ca``, ``capath``, ``cert``, ``key``, ``password``.

    Raises:
        OSError: a file of certificates cannot be read.
    """
    settings = settings or {}
    if mode == "disable":
        return {"ssl_disabled": True}
    if mode == "prefer" and not settings:
        return {"ssl": None}  # what the driver does by itself
    if not settings:
        return {"ssl": system_context(mode)}
    context = _context(mode, settings)
    if settings.get("cert"):
        context.load_cert_chain(settings["cert"], settings.get("key"), settings.get("password"))
    if settings.get("cipher"):
        context.set_ciphers(settings["cipher"])
    return {"ssl": context}


def system_context(mode: str) -> ssl.SSLContext:
    """A context for ``mode`` with the system's certificates, which a process loads once; a changed ``SSL_CERT_FILE`` counts."""
    return _loaded(mode, ssl.get_default_verify_paths())


@lru_cache(maxsize=8)
def _loaded(mode: str, _paths: ssl.DefaultVerifyPaths) -> ssl.SSLContext:
    return _context(mode, {})


def _context(mode: str, settings: Mapping[str, Any]) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=settings.get("ca"), capath=settings.get("capath"))
    # A certificate of MySQL's own making is no strict one; since Python 3.13 that is asked for.
    context.verify_flags &= ~getattr(ssl, "VERIFY_X509_STRICT", 0)
    context.check_hostname = mode == "verify-full"
    context.verify_mode = (
        ssl.CERT_REQUIRED if mode in ("verify-ca", "verify-full") else ssl.CERT_NONE
    )
    return context


def mysql_source_tls(settings: Mapping[str, Any] | None, host: str) -> dict[str, Any]:
    """Arguments of ``pymysql.connect`` for what a source says; the strictest mode unless it says less.

    Raises:
        ArgumentError: no such member or mode, or a file of certificates cannot be read.
    """
    members = dict(settings or {})
    unknown = sorted(set(members) - _MEMBERS)
    try:
        if unknown:
            raise ValueError(f"unknown {', '.join(unknown)}; known: {', '.join(sorted(_MEMBERS))}")
        said = members.pop("mode", None)
        mode = mode_of(str(said)) if said else "verify-full" if members else default_mode(host)
        if members.pop("check_hostname", True) is False and mode == "verify-full":
            mode = "verify-ca"
        return mysql_tls(mode, members)
    except (ValueError, OSError) as error:
        raise ArgumentError(f"ssl: {error}", argument="ssl") from error
