"""The packages: versions that must be equal, and the extras of this distribution."""

from __future__ import annotations

import re
import sys
from importlib.metadata import PackageNotFoundError, requires, version
from typing import TYPE_CHECKING, Final

from table_core.cli.doctor.finding import Finding, State

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["package_findings"]

_CORE: Final = "paimon-table-core"
_PAIRS: Final = (
    (
        "spark packages",
        ("pyspark", "pyspark-client"),
        "share one folder, and Python functions break",
        "pip install --force-reinstall --no-deps pyspark=={0} pyspark-client=={0}",
    ),
    (
        "release",
        (_CORE, "airflow-provider-paimon"),
        "are two halves of one release",
        "pip install --upgrade airflow-provider-paimon=={0} paimon-table-core=={0}",
    ),
)
"""Distributions that must have one version: why, and what makes them so."""
_REQUIREMENT: Final = re.compile(
    r"""(?P<name>[A-Za-z0-9._-]+)(?:\[[^\]]*\])?\s*(?:(?P<sign>>=|==)\s*(?P<version>[0-9.]+))?
        .*;\s*.*extra\s*==\s*["'](?P<extra>[\w-]+)["']""",
    re.VERBOSE,
)
_OF_TESTS: Final = frozenset({"test", "testing"})
_SCHEMES: Final = {
    "s3": "s3",
    "s3a": "s3",
    "s3n": "s3",
    "gs": "gcs",
    "gcs": "gcs",
    "abfs": "azure",
    "abfss": "azure",
    "az": "azure",
}


def package_findings(warehouse: str | None) -> Iterator[Finding]:
    """Python, pairs of versions, and extras. The extra that the ``warehouse`` needs is required."""
    yield Finding("python", State.OK, f"Python {sys.version.partition(' ')[0]} at {sys.executable}")
    for check, pair, why, remedy in _PAIRS:
        yield _pair(check, pair, why, remedy)
    scheme = (warehouse or "").partition("://")[0].lower()
    needed = {"cli", _SCHEMES.get(scheme, "cli")}
    for extra, wanted in sorted(_extras().items()):
        yield _extra(extra, wanted, must=extra in needed)


def _pair(check: str, pair: tuple[str, str], why: str, remedy: str) -> Finding:
    versions = {name: installed for name in pair if (installed := _version(name)) is not None}
    text = ", ".join(f"{name} {number}" for name, number in versions.items())
    if len(versions) < len(pair):
        return Finding(check, State.SKIPPED, f"not both are installed: {text or 'none'}")
    if len(set(versions.values())) == 1:
        return Finding(check, State.OK, text)
    return Finding(
        check,
        State.FAULT,
        f"{text}: they {why}, so they must be equal",
        f"{remedy.format(versions[pair[0]])}",
    )


def _extras() -> dict[str, list[tuple[str, str, str]]]:
    """By extra: name, sign and version of what it installs."""
    by_extra: dict[str, list[tuple[str, str, str]]] = {}
    for line in requires(_CORE) or ():
        told = _REQUIREMENT.match(line)
        if told is not None and told["extra"] not in _OF_TESTS and told["name"] != _CORE:
            one = (told["name"], told["sign"] or "", told["version"] or "")
            by_extra.setdefault(told["extra"], []).append(one)
    return by_extra


def _extra(extra: str, wanted: list[tuple[str, str, str]], *, must: bool) -> Finding:
    check, remedy = f"extra {extra}", f'pip install "{_CORE}[{extra}]"'
    there = {name: installed for name, *_ in wanted if (installed := _version(name)) is not None}
    old = [
        f"{name} {there[name]} is not {sign} {least}"
        for name, sign, least in wanted
        if name in there and sign and not _fits(there[name], sign, least)
    ]
    absent = [name for name, *_ in wanted if name not in there]
    if old:
        return Finding(check, State.FAULT, "; ".join(old), f"{remedy} --upgrade")
    if absent and must:
        return Finding(check, State.FAULT, f"the warehouse needs {', '.join(absent)}", remedy)
    if absent:
        return Finding(check, State.SKIPPED, f"{', '.join(absent)} not installed", remedy)
    return Finding(check, State.OK, ", ".join(f"{name} {v}" for name, v in there.items()))


def _fits(installed: str, sign: str, least: str) -> bool:
    return installed == least if sign == "==" else _numbers(installed) >= _numbers(least)


def _numbers(text: str) -> list[int]:
    return [int(part) for part in re.findall(r"\d+", text)]


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None
