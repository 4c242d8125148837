"""Rules that rows must keep."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from table_core.jobs.action import Action, Job, Parameter
from table_core.jobs.common_parameters import SQL_PARAMETERS
from table_core.shapes import kinds

if TYPE_CHECKING:
    from table_core.table.metadata.results import ResultDocument

__all__ = ["ACTIONS"]


def _check(job: Job) -> ResultDocument:
    from table_core.jobs.embedded import EmbeddedEngine, SqlLimits
    from table_core.table.api.checks import check

    def query(sql: str, rows: Any) -> Any:
        engine = EmbeddedEngine(limits=SqlLimits.of(job.options))
        return engine.query_tables(sql, {"rows": rows}, job.args.get("parameters"))

    against = job.args.get("against")
    return check(
        job.table,
        job.args["rules"],
        against=None if against is None else job.catalog.table(against),
        query=query,
        fail=job.args["fail"],
    )


ACTIONS: Final = (
    Action(
        name="check",
        about="Fail if rows break a rule, and report how many and which.",
        run=_check,
        parameters=(
            Parameter(
                name="rules",
                shape=kinds.VALUES,
                about="The rules, by name: not_null, unique, range, rows, change, sql, freshness.",
                required=True,
                templated=True,
            ),
            SQL_PARAMETERS,
            Parameter(
                name="against",
                shape=kinds.TABLE,
                about="The table to compare the row count with.",
                templated=True,
            ),
            Parameter(
                name="fail",
                shape=kinds.FLAG,
                default=True,
                about="Whether a broken rule is an error. If not, it is only reported.",
            ),
        ),
        command=None,
    ),
)
