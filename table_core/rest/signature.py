"""Signature version 4 of DLF: who signs a request knows the secret, and sends it nowhere.

Source: ``org.apache.paimon.rest.auth.DLFDefaultSigner`` of 2.0.0.
"""

from __future__ import annotations

import base64
import datetime as dt
import hashlib
import hmac
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final
from urllib.parse import quote_plus

from table_core.options.stored_json import json_object
from table_core.validation_errors import ValidationErrors

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["DlfToken", "signed_headers"]

_ALGORITHM: Final = "DLF4-HMAC-SHA256"
_SCOPE: Final = ("DlfNext", "aliyun_v4_request")
_UNSIGNED: Final = "UNSIGNED-PAYLOAD"
_EXPIRATION: Final = "%Y-%m-%dT%H:%M:%SZ"
_MEMBERS: Final = ("AccessKeyId", "AccessKeySecret", "SecurityToken", "Expiration")
_SAFE_MS: Final = 3_600_000
"""So long before it expires a token is read again, as Paimon does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DlfToken:
    """A key, perhaps for a while only."""

    access_key_id: str = field(repr=False)
    access_key_secret: str = field(repr=False)
    security_token: str | None = field(default=None, repr=False)
    expires_at_ms: int | None = None
    """None: it does not expire."""

    @classmethod
    def from_json(cls, body: bytes, *, path: str) -> DlfToken:
        """Read a token file.

        Raises:
            CorruptFileError: a member is missing or of a wrong type; its values are in no message.
        """
        document = json_object(body, path=path)
        problems = ValidationErrors(path)
        texts = {name: _text(document, name, problems) for name in _MEMBERS}
        problems.messages += [f"{name}: missing" for name in _MEMBERS[:2] if texts[name] is None]
        expires_at_ms = None
        if (expiration := texts["Expiration"]) is not None:
            try:
                at = dt.datetime.strptime(expiration, _EXPIRATION).replace(tzinfo=dt.UTC)
                expires_at_ms = int(at.timestamp() * 1000)
            except ValueError:
                problems.add("Expiration", "expected a time such as 2026-01-31T23:59:59Z")
        problems.raise_if_any()
        return cls(
            access_key_id=texts["AccessKeyId"] or "",
            access_key_secret=texts["AccessKeySecret"] or "",
            security_token=texts["SecurityToken"],
            expires_at_ms=expires_at_ms,
        )

    def needs_renewal(self, now_ms: int) -> bool:
        """Whether it expires soon."""
        return self.expires_at_ms is not None and self.expires_at_ms - now_ms < _SAFE_MS


def _text(document: Mapping[str, object], name: str, problems: ValidationErrors) -> str | None:
    """A member that is text, if it is there; what else it is, is not repeated."""
    value = document.get(name)
    if value is None or isinstance(value, str):
        return value
    problems.add(name, f"expected text, got {type(value).__name__}")
    return None


def signed_headers(
    token: DlfToken,
    region: str,
    now_ms: int,
    *,
    method: str,
    path: str,
    parameters: Mapping[str, str],
    body: bytes,
) -> dict[str, str]:
    """The headers of a request with its signature."""
    at = dt.datetime.fromtimestamp(now_ms // 1000, dt.UTC).strftime("%Y%m%dT%H%M%SZ")
    headers = {
        "x-dlf-date": at,
        "x-dlf-content-sha256": _UNSIGNED,
        "x-dlf-version": "v1",
    }
    if body:
        headers["Content-Type"] = "application/json"
        digest = hashlib.md5(body, usedforsecurity=False).digest()
        headers["Content-MD5"] = base64.b64encode(digest).decode()
    if token.security_token is not None:
        headers["x-dlf-security-token"] = token.security_token
    query = "&".join(
        f"{name}={quote_plus(value, safe='*')}" if value else name
        for name, value in sorted(parameters.items())
    )
    canonical = "\n".join(
        (
            method,
            path,
            query,
            *sorted(f"{name.lower()}:{value.strip()}" for name, value in headers.items()),
            _UNSIGNED,
        )
    )
    scope = "/".join((at[:8], region, *_SCOPE))
    to_sign = "\n".join((_ALGORITHM, at, scope, hashlib.sha256(canonical.encode()).hexdigest()))
    key = f"aliyun_v4{token.access_key_secret}".encode()
    for part in (at[:8], region, *_SCOPE):
        key = hmac.digest(key, part.encode(), "sha256")
    signature = hmac.digest(key, to_sign.encode(), "sha256").hex()
    headers["Authorization"] = (
        f"{_ALGORITHM} Credential={token.access_key_id}/{scope},Signature={signature}"
    )
    return headers
