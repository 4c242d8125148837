"""Options of a REST catalog, under Paimon's names.

Source: ``org.apache.paimon.rest.RESTCatalogOptions``, ``RESTTokenFileIO`` of 2.0.0.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from table_core.errors import OptionError, UnsupportedFeatureError
from table_core.options import parse

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["RestOptions", "is_rest_option"]

_HEADER: Final = "header."
_DLF: Final = "dlf."
_OWN: Final = frozenset({"token", "token.provider", "prefix", "data-token.enabled"})
_DLF_OWN: Final = frozenset(
    {
        "dlf.region",
        "dlf.token-path",
        "dlf.access-key-id",
        "dlf.access-key-secret",
        "dlf.security-token",
        "dlf.signing-algorithm",
    }
)
_REGION: Final = re.compile(r"(?:pre-)?([a-z]+-[a-z]+(?:-\d+)?)")


def is_rest_option(key: str) -> bool:
    """Whether ``key`` is about the server of a REST catalog, and not about the store."""
    return key in _OWN or key.startswith((_DLF, _HEADER))


@dataclass(frozen=True, slots=True, kw_only=True)
class RestOptions:
    """How the server of a REST catalog is reached."""

    uri: str
    """Without a trailing slash."""
    prefix: str | None
    token: str | None = field(repr=False)
    """Of the provider ``bear``; None: the provider is ``dlf``."""
    dlf: Mapping[str, str] = field(repr=False)
    """Options of the provider ``dlf``, without the prefix."""
    headers: Mapping[str, str] = field(repr=False)

    @classmethod
    def of(cls, options: Mapping[str, str]) -> RestOptions:
        """Read ``options``.

        Raises:
            OptionError: one is missing or wrong; values of secrets are in no message.
            UnsupportedFeatureError: a feature of Paimon's that this release has not.
        """
        _refuse_unsupported(options)
        provider = options.get("token.provider")
        if provider not in {"bear", "dlf"}:
            raise OptionError(
                "a REST catalog needs the option 'token.provider': bear or dlf",
                option="token.provider",
                value=provider,
            )
        if provider == "bear" and not options.get("token"):
            raise OptionError(
                "token.provider=bear needs the option 'token'", option="token", value=None
            )
        dlf = {k.removeprefix(_DLF): v for k, v in options.items() if k in _DLF_OWN}
        uri = _checked_uri(options.get("uri"))
        if provider == "dlf":
            dlf["region"] = dlf.get("region") or _region_of(uri)
            if "token-path" not in dlf and not {"access-key-id", "access-key-secret"} <= dlf.keys():
                raise OptionError(
                    "token.provider=dlf needs 'dlf.token-path', or 'dlf.access-key-id' with "
                    "'dlf.access-key-secret'",
                    option="dlf.token-path",
                    value=None,
                )
        return cls(
            uri=uri,
            prefix=options.get("prefix"),
            token=options["token"] if provider == "bear" else None,
            dlf=dlf,
            headers={
                k.removeprefix(_HEADER): v for k, v in options.items() if k.startswith(_HEADER)
            },
        )


def _refuse_unsupported(options: Mapping[str, str]) -> None:
    try:
        has_data_tokens = parse.boolean(options.get("data-token.enabled", "false"))
    except ValueError as error:
        raise OptionError(
            f"option 'data-token.enabled' is wrong: {error}", option="data-token.enabled"
        ) from error
    unsupported = sorted(k for k in options if k.startswith(_DLF) and k not in _DLF_OWN)
    if has_data_tokens:
        unsupported.append("data-token.enabled")
    if options.get("dlf.signing-algorithm", "default") != "default":
        unsupported.append("dlf.signing-algorithm")
    if unsupported:
        raise UnsupportedFeatureError(
            f"options of a REST catalog that are not in this release: {', '.join(unsupported)}",
            feature=unsupported[0],
        )


def _checked_uri(uri: str | None) -> str:
    parts = urlsplit(uri or "")
    if parts.scheme not in {"http", "https"} or not parts.netloc:
        raise OptionError(
            "a REST catalog needs the option 'uri', e.g. https://catalog.example.com",
            option="uri",
            value=None,
        )
    if "@" in parts.netloc or parts.query or parts.fragment:
        raise OptionError(
            "the 'uri' of a REST catalog has neither credentials nor a query: a token is an option",
            option="uri",
            value=None,
        )
    return (uri or "").rstrip("/")


def _region_of(uri: str) -> str:
    match = _REGION.search(uri)
    if match is None:
        raise OptionError(
            "token.provider=dlf needs the option 'dlf.region': the 'uri' names none",
            option="dlf.region",
            value=None,
        )
    return match[1]
