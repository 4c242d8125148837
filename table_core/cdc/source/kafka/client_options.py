"""What a source may tell a Kafka client: how to get at the brokers, and not which code to run.

Both clients have options that start a program, load a library or make an object of a class by its name.
A source can be put together from what a run was told, so they are refused by name wherever it is used.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from table_core.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["require_client_options"]

_CODE: Final = re.compile(
    r"""(?ix) ^(?:kafka\.)?(?:
      plugin\.library\.paths | ssl\.engine\.location | sasl\.kerberos\.kinit\.cmd | sasl\.kerberos\.kinit\.path
    | .*(?:classes|reporters|providers|serializer)
    | ssl\.providers? | partition\.assignment\.strategy
    )$"""
)
_KERBEROS: Final = re.compile(r"(?i)^sasl\.kerberos\.(principal|service\.name|keytab)$")
_WORD: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/@:-]*|/[A-Za-z0-9._/-]+")
_MODULE: Final = re.compile(r"(?:^|;)\s*([\w.$]+)(?=\s|;|$)")
_MODULES: Final = frozenset(
    {
        "org.apache.kafka.common.security.plain.PlainLoginModule",
        "org.apache.kafka.common.security.scram.ScramLoginModule",
        "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule",
        "com.sun.security.auth.module.Krb5LoginModule",
        "software.amazon.msk.auth.iam.IAMLoginModule",
    }
)
"""Who may log in: other modules look up objects at an address, or run what they are told."""
_CLASS: Final = re.compile(r"(?i).*\.class")
_CLASSES: Final = frozenset(
    {
        "software.amazon.msk.auth.iam.IAMClientCallbackHandler",
        "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginCallbackHandler",
        "org.apache.kafka.common.security.oauthbearer.secured.OAuthBearerLoginCallbackHandler",
    }
)
"""What those modules ask for a name and a token: any other class would be made, whatever it does."""
_NAME: Final = re.compile(r"[A-Za-z0-9._-]+")
_ADDRESS: Final = re.compile(r"(?i).*\.url")
_QUOTED: Final = re.compile(r"\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'")


def require_client_options(options: Mapping[str, Any], argument: str) -> None:
    """Refuse options of a client that choose code.

    Raises:
        ArgumentError: names the option, and what to do instead.
    """
    for name, value in options.items():
        if not _NAME.fullmatch(name):
            begin = re.sub(
                r"[^A-Za-z0-9._-].*", "…", name, flags=re.DOTALL
            )  # the rest may be a secret
            raise ArgumentError(
                f"{argument}: {begin!r} is no name of an option: it has letters, digits and . _ - only",
                argument=argument,
                value=begin,
            )
        if _CLASS.fullmatch(name) and str(value).strip() not in _CLASSES:
            raise _refused(argument, name, f"it is one of {', '.join(sorted(_CLASSES))}")
        if _ADDRESS.fullmatch(name) and not _is_web(value):
            raise ArgumentError(
                f"{argument}: {name!r} is no http or https address: the client would read a file of this machine",
                argument=argument,
                value=name,
            )
        if _CODE.match(name):
            raise _refused(argument, name, "set the machine up so, outside of the source")
        if _KERBEROS.match(name) and not _WORD.fullmatch(str(value)):
            # librdkafka puts it into the command line of kinit as it is.
            raise _refused(argument, name, "its value has letters, digits and . _ / @ : - only")
        if name.lower().endswith("sasl.jaas.config"):
            bare = _QUOTED.sub("x", str(value))
            modules = set(_MODULE.findall(bare))
            if not modules or not modules <= _MODULES or "JndiLoginModule" in bare:
                raise _refused(
                    argument, name, f"its module is one of {', '.join(sorted(_MODULES))}"
                )


def _is_web(value: object) -> bool:
    return str(value).strip().lower().startswith(("http://", "https://"))


def _refused(argument: str, name: str, mend: str) -> ArgumentError:
    return ArgumentError(
        f"{argument}: {name!r} could choose what program runs: {mend}",
        argument=argument,
        value=name,
    )
