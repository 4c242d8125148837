"""The first sync of a database looks at its server before the first row."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from table_core.cdc.model.finding import Level
from table_core.cdc.sync.doctor import source_doctor
from table_core.cdc.sync.readers import source_from_spec
from table_core.errors import ArgumentError
from table_core.jobs.touched_by_sync import was_read

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from table_core.cdc.model.finding import Finding
    from table_core.jobs.action import Job

__all__ = ["look_first", "require_ready", "told_findings"]

_SERVERS: Final = ("mysql", "postgres")
_FAILS: Final[Mapping[str, Sequence[Level]]] = {
    "error": (Level.ERROR,),
    "warning": (Level.ERROR, Level.WARNING),
    "never": (),
}


def look_first(job: Job) -> None:
    """Tell what is in the way of a sync of a server that has read nothing yet.

    Raises:
        ArgumentError: something is that it would fail of; has each finding with effect and remedy.
    """
    if str(job.args["source"].get("kind", "files")) not in _SERVERS or was_read(job):
        return
    findings = source_doctor(
        source_from_spec(job.args["source"]),
        job.args.get("including") or ".*",
        job.args.get("excluding") or "",
    )
    told_findings(job, findings)
    require_ready(findings, "error")


def require_ready(findings: Iterable[Finding], fail_on: str) -> None:
    """Refuse a source of which something was found that is as bad as ``fail_on``, or worse.

    Raises:
        ArgumentError: has each of these findings with effect and remedy.
    """
    bad = [one for one in findings if one.level in _FAILS[fail_on]]
    if bad:
        raise ArgumentError(
            "the source is not ready for a sync: "
            + "; ".join(f"{one.what}: {one.status}, so {one.effect}: {one.remedy}" for one in bad),
            argument="source",
            value=[one.what for one in bad],
        )


def told_findings(job: Job, findings: Iterable[Finding]) -> None:
    """Tell each finding that is not well as progress of the job."""
    for one in findings:
        if one.level is not Level.OK:
            job.engine.progress("source", **one.to_record())
