"""What a setting of Spark may be: its name, its value, and how both are written to a file.

A setting is a line of a file that Spark reads.  A line break in a value, or a ``=`` in a name, would be
another setting: one that starts a program, perhaps.  So names have a grammar and values no control
characters, checked where a setting enters; and the file is written so that it says what was given.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from table_core.errors import ArgumentError

__all__ = [
    "chooses_code",
    "properties_text",
    "require_printable",
    "require_settings",
]

_CONTROL: Final = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff]")
"""C0, DEL, C1 (with NEL), line and paragraph separator, lone surrogates, the byte order mark."""
_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9._/*-]{0,255}")
_CODE: Final = re.compile(
    r"""(?ix) ^(
      spark\.(jars|files|archives|plugins|pyspark|python|r|home|master|remote|submit|executorEnv)(\.|$)
    | spark\.(hadoop|kubernetes|yarn|hive|eventLog|metrics|authenticate|ssl)(\.|$)
    | spark\.(ui\.(filters|proxy|reverse|custom)|ui\.view|acls|admin|modify)
    | spark\.(extraListeners|redaction|history|deploy|worker|local\.dir|serializer|closure)
    | spark\.(driver|executor)\.(extra|default|userClass|resource|log|host|bindAddress)
    | spark\.sql\.(catalog|extensions|hive|warehouse|variable|paimon\.warehouse)
    | spark\.(kerberos|security|rpc)\b | spark\.sql\.(artifact|defaultCatalog)\b
    | spark\.sql\.(redaction|sources\.default|runSQLOnFiles|ansi\.doubleQuoted) | spark\.storage\.replication
    | spark\.(network\.crypto|app\.(id|attempt)|unsafe|launcher|resources|barrier)\b
    | spark\.(io|shuffle\.(manager|sort\.io)|kryo|checkpoint|connect|api)\b
    | (?!spark\.)
    | .*(class|classes|classpath|javaoptions|librarypath|listeners?|plugins?|impl|script|command
        |factory|provider|registrator|extensions|env|secret|passw(or)?d|token|dir|uri|url|path|file
        |tracker|codec|serializer|location|keytab|principal)$
    )"""
)
"""Settings that choose code, a place or an identity, by their names."""
_ESCAPES: Final = {
    "\\": "\\\\",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
    "\f": "\\f",
}
_QUOTED: Final = re.compile(r"[\\\x00-\x1f\x7f-\x9f\u2028\u2029]")


def require_printable(text: object, argument: str) -> None:
    """Refuse what is no text, or text that could be more than one line to somebody.

    Raises:
        ArgumentError: it holds a control character; the message says which and where.
    """
    if not isinstance(text, str):
        raise ArgumentError(f"{argument} is no text but {type(text).__name__}", argument=argument)
    control = _CONTROL.search(text)
    if control is not None:
        raise ArgumentError(
            f"{argument} holds the control character U+{ord(control[0]):04X} at position {control.start()}: "
            "leave it out",
            argument=argument,
            value=None,
        )


def require_settings(settings: Mapping[str, str], argument: str = "spark_conf") -> None:
    """Refuse settings whose names are none, or whose values are no single line.

    Raises:
        ArgumentError: names the first of them.
    """
    if not isinstance(settings, Mapping):
        raise ArgumentError(f"{argument} is no mapping of settings to texts", argument=argument)
    for name, value in settings.items():
        if not _NAME.fullmatch(str(name)):
            raise ArgumentError(
                f"{argument}: {name!r} is no name of a setting: letters, digits, '.', '-', '_', '/'",
                argument=argument,
                value=None,
            )
        require_printable(value, f"{argument}[{name!r}]")


def chooses_code(name: str, value: str = "") -> bool:
    """Whether the setting can start a program, load a class, or lead to another place or identity.

    So can a ``value`` that takes in a variable: ``${env:NAME}``.
    """
    return _CODE.search(name.strip()) is not None or "${" in value


def properties_text(settings: Mapping[str, str]) -> str:
    """``settings`` as a Java properties file that gives back exactly these.

    Raises:
        ArgumentError: a name is none.
    """
    require_settings(dict.fromkeys(settings, ""))
    return "".join(f"{name}={_escaped(value)}\n" for name, value in settings.items())


def _escaped(value: str) -> str:
    text = _QUOTED.sub(_one, value)
    return f"\\{text}" if text.startswith(" ") else text


def _one(match: re.Match[str]) -> str:
    return _ESCAPES.get(match[0]) or f"\\u{ord(match[0]):04x}"
