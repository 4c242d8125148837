"""Dags and task groups from a declaration: one YAML file for a warehouse.

``load_dags("warehouse.yaml")`` in a Dag file makes: the pipeline (tables as declared, sources, flows,
checks), the upkeep (what ``health`` calls due, and nothing else), and a Dag for each trigger.
``PaimonTaskGroup.from_file("warehouse.yaml")`` puts the pipeline into a Dag of your own.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from paimon_provider._compat import DAG, CronTriggerTimetable, Param, TaskGroup
from paimon_provider.arguments.timestamps import seconds_of
from paimon_provider.assets import watched_table
from paimon_provider.declared_file import read_head, read_whole
from table_core.declaration.cron import spread
from table_core.declaration.graph import chosen
from table_core.declaration.names import APPLY_TASK, UPKEEP_SUFFIX
from table_core.declaration.order import around_gate, audited_in, needs_of
from table_core.declaration.parameters import has_default
from table_core.declaration.steps import QueryStep
from table_core.errors import ArgumentError
from table_core.options.nearest import hint

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from paimon_provider._compat import BaseOperator
    from paimon_provider.declared_steps import Made
    from table_core.declaration.model import Declaration, TriggerDeclaration
    from table_core.declaration.order import Need
    from table_core.declaration.steps import Step

__all__ = ["Hooks", "PaimonTaskGroup", "load_dags"]

_NO_PAST_RUN: Final = timedelta(0)
"""The first run of a new Dag is the next that is scheduled.  With False, Airflow also runs the last one if less
than a tenth of the interval has passed since: 2.4 hours of a day."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hooks:
    """Where your own code changes what is generated.

    To add tasks, use what is returned: ``load_dags(...)["shop"].get_task("sales")``.
    """

    task_id: Callable[[Step], str] = field(default=lambda step: step.name)
    """The task's id; the step's name by default."""
    replace: Mapping[str, Callable[[Step, Mapping[str, Any]], BaseOperator]] = field(
        default_factory=dict
    )
    """By step: makes the task itself, from the step and the arguments of the usual operator."""
    arguments: Callable[[Step], Mapping[str, Any]] = field(default=lambda _: {})
    """More arguments of a step's operator, e.g. ``pool``."""


def load_dags(file: str | Path, *, hooks: Hooks | None = None, **dag: Any) -> dict[str, DAG]:
    """Make the Dags of a declaration; Airflow finds them when a Dag file calls this.

    Args:
        file: the YAML file; a relative path is from the folder of the Dag file.
        hooks: what to change.
        dag: further arguments of every Dag, e.g. ``tags``.

    Raises:
        ArgumentError: the declaration has faults; all of them, with file, line and column.
    """
    path = _beside(file, sys._getframe(1).f_globals.get("__file__"))  # noqa: SLF001 - the Dag file
    declaration = read_head(path)
    path = Path(file)  # as it was given: where a bundle of Dags lies makes no new version of a Dag
    hooks = _known(hooks or Hooks(), declaration)
    common: dict[str, Any] = {"catchup": False, "max_active_runs": 1, **dag}
    common["tags"] = [*common.get("tags", ()), "paimon"]
    common["default_args"] = {**_default_args(declaration), **(dag.get("default_args") or {})}
    dags = [_pipeline(declaration, path, hooks, common)]
    if declaration.upkeep is not None:
        dags.append(_upkeep(declaration, path, common))
    dags += [_triggered(declaration, trigger, hooks, common) for trigger in declaration.triggers]
    return {one.dag_id: one for one in dags}


class PaimonTaskGroup(TaskGroup):
    """The pipeline of a declaration, as a group in a Dag of your own.

    ``needs`` says what a part of it needs that the part does not make: the tables that are read, and the
    flows left out that write them.  The group's tooltip says it too.
    """

    needs: tuple[Need, ...] = ()

    @classmethod
    def from_file(
        cls,
        file: str | Path,
        *,
        group_id: str | None = None,
        flows: Sequence[str] | None = None,
        select: str | Sequence[str] | None = None,
        hooks: Hooks | None = None,
        **kwargs: Any,
    ) -> PaimonTaskGroup:
        """The group; ``flows`` takes some of the sources and flows only, in their order.

        ``select`` chooses them, and the checks, as ``table-core dags --select`` does: ``"+shop.sums tag:daily"``.
        What comes after something that was left out comes after what that comes after.  ``params`` of the
        declaration are added to those of the Dag, whose own win.

        Raises:
            ArgumentError: the declaration has faults, or nothing of that name.
        """
        path = _beside(file, sys._getframe(1).f_globals.get("__file__"))  # noqa: SLF001 - the Dag file
        if flows is not None and select is not None:
            raise ArgumentError("give either flows or select", argument="select", value=select)
        declaration = read_head(path) if select is None else read_whole(path)
        if select is not None:
            part = chosen(declaration, [select] if isinstance(select, str) else select)
            kept = tuple(one for one in declaration.checks if one.name in part.checks)
            declaration, flows = replace(declaration, checks=kept), sorted(part.steps)
        path = Path(file)
        kwargs["default_args"] = {
            **_default_args(declaration),
            **(kwargs.get("default_args") or {}),
        }
        group = cls(group_id=group_id or declaration.name, **kwargs)
        for name, param in _params(declaration).items():
            if name not in group.dag.params:
                group.dag.params[name] = param
        with group:
            _tasks(declaration, path, _known(hooks or Hooks(), declaration), flows)
        if flows is not None:
            group.needs = needs_of(declaration, flows)
            told = "; ".join(str(need) for need in group.needs)
            group.tooltip = "\n".join(
                [*([group.tooltip] if group.tooltip else []), f"Needs: {told or 'nothing else'}"]
            )
        return group


def _known(hooks: Hooks, declaration: Declaration) -> Hooks:
    """Refuse a replacement for a step that is not there: it would never be used."""
    unknown = sorted(set(hooks.replace) - {step.name for step in declaration.steps})
    if unknown:
        raise ArgumentError(
            f"Hooks(replace=…): {declaration.name} declares no source or flow "
            f"{', '.join(unknown)}; {hint(unknown[0], (s.name for s in declaration.steps))}",
            argument="replace",
            value=unknown,
        )
    return hooks


def _beside(file: str | Path, dag_file: str | None) -> Path:
    path = Path(file)
    if not path.is_absolute() and dag_file is not None:
        path = Path(dag_file).parent / path
    return path


def _pipeline(declaration: Declaration, path: Path, hooks: Hooks, common: dict[str, Any]) -> DAG:
    pipeline = declaration.pipeline
    with DAG(
        dag_id=declaration.name,
        schedule=_schedule(pipeline.get("schedule"), declaration),
        params=_params(declaration),
        **{**_at_once(pipeline), **_tagged(common, pipeline.get("tags"))},
    ) as dag:
        _tasks(declaration, path, hooks, None)
    return dag


def _tagged(common: dict[str, Any], tags: Sequence[str] | None) -> dict[str, Any]:
    return {**common, "tags": list(dict.fromkeys([*(tags or ()), *common["tags"]]))}


def _upkeep(declaration: Declaration, path: Path, common: dict[str, Any]) -> DAG:
    from paimon_provider.operators.declared import PaimonDueTablesOperator, PaimonUpkeepOperator

    rules = declaration.upkeep
    assert rules is not None
    connection = declaration.connection
    with DAG(
        dag_id=f"{declaration.name}_{UPKEEP_SUFFIX}",
        schedule=_schedule(rules.schedule, declaration),
        **_tagged(common, rules.tags),
    ) as dag:
        due = PaimonDueTablesOperator(task_id="due", file=str(path), paimon_conn_id=connection)
        PaimonUpkeepOperator.partial(
            task_id="upkeep",
            paimon_conn_id=connection,
            engine=rules.engine or "local",
            **_pooled(declaration),
            map_index_template="{{ task.table }}",
            max_active_tis_per_dagrun=rules.max_concurrent_jobs,
        ).expand_kwargs(due.output)
    return dag


def _triggered(
    declaration: Declaration, trigger: TriggerDeclaration, hooks: Hooks, common: dict[str, Any]
) -> DAG:
    where = {"paimon_conn_id": declaration.connection, "catalog": declaration.catalog}
    with DAG(
        dag_id=f"{declaration.name}_{trigger.name}",
        schedule=[watched_table(trigger.table, **where, **trigger.watch)],  # type: ignore[arg-type]  # checked by the grammar
        params=_params(declaration, asked=False) if trigger.flows else None,
        **_tagged(common, trigger.tags),
    ) as dag:
        if trigger.report is not None:
            from paimon_provider.operators.report import PaimonChangeReportOperator

            PaimonChangeReportOperator(
                task_id=trigger.name,
                table=trigger.table,
                label_column=trigger.report["label_column"],
                value_column=trigger.report["value_column"],
                paimon_conn_id=declaration.connection,
                catalog=declaration.catalog,
            )
        _steps(declaration, hooks, trigger.flows)
    return dag


def _tasks(declaration: Declaration, path: Path, hooks: Hooks, only: Sequence[str] | None) -> None:
    """The pipeline's tasks, in the Dag or group that is open."""
    from paimon_provider.declared_steps import check_task
    from paimon_provider.operators.declared import PaimonApplyOperator

    apply = PaimonApplyOperator(
        task_id=APPLY_TASK,
        file=str(path),
        paimon_conn_id=declaration.connection,
        drift=declaration.pipeline.get("drift") or "apply",
    )
    made = _steps(declaration, hooks, only)
    for one in made:
        if one.is_first:
            apply >> one.begin
    written = {one.step.table for one in made if audited_in(one.step, declaration.audited)}
    for check in declaration.checks:
        if check.table in written:
            continue  # it stands between the branch and main
        task = check_task(declaration, check)
        early, readers = around_gate(declaration.steps, check.table)
        writers = [one for one in made if check.table in one.step.tables_written]
        ends = [one.end for one in writers if not check.gate or one.step.name in early]
        for end in ends or [apply]:
            end >> task
        for one in made if check.gate else ():
            if one.step.name in readers:
                task >> one.begin


def _steps(declaration: Declaration, hooks: Hooks, only: Sequence[str] | None) -> list[Made]:
    from paimon_provider.declared_steps import made_steps

    steps = [step for step in declaration.steps if only is None or step.name in only]
    unknown = sorted(set(only or ()) - {step.name for step in steps})
    if unknown:
        raise ArgumentError(
            f"{declaration.name} declares no source or flow {', '.join(unknown)}",
            argument="flows",
            value=unknown,
        )
    return made_steps(declaration, steps, lambda step, to: _task(declaration, step, hooks, to))


def _task(declaration: Declaration, step: Step, hooks: Hooks, to: str) -> BaseOperator:
    """The task of ``step``, which writes to the table ``to``."""
    arguments: dict[str, Any] = {
        "task_id": hooks.task_id(step),
        "table": to,
        "paimon_conn_id": declaration.connection,
        "catalog": declaration.catalog,
        "events": step.events,
    }
    engine = step.engine or declaration.pipeline.get("engine")
    if engine is not None:
        arguments["engine"] = engine
    if step.spark_conf is not None:
        arguments["spark_conf"] = step.spark_conf
    arguments |= _pooled(declaration)
    if isinstance(
        step, QueryStep
    ):  # its positions are its own, whatever its views and its SQL are called
        arguments["flow_name"] = f"{declaration.name}.{step.name}"
    more = step.reading(lambda table: to if table == step.table else table).operator_arguments()
    if "retry_delay" in more:
        more["retry_delay"] = timedelta(seconds=seconds_of(more["retry_delay"], "retry_delay"))
    arguments |= {**more, **hooks.arguments(step)}
    if step.name in hooks.replace:
        return hooks.replace[step.name](step, arguments)
    module, _, class_name = step.operator.partition(".")
    from importlib import import_module

    cls = getattr(import_module(f"paimon_provider.operators.{module}"), class_name)
    task: BaseOperator = cls(**arguments)
    return task


def _schedule(declared: Any, declaration: Declaration) -> Any:
    if isinstance(declared, dict):
        where = {"paimon_conn_id": declaration.connection, "catalog": declaration.catalog}
        return [watched_table(table, **where) for table in declared["changes"]]  # type: ignore[arg-type]  # checked by the grammar
    if declared is None:
        return None
    cron = spread(str(declared), declaration.name)
    zone = declaration.pipeline.get("timezone") or "UTC"
    return CronTriggerTimetable(cron, timezone=zone, run_immediately=_NO_PAST_RUN)


def _pooled(declaration: Declaration) -> dict[str, Any]:
    return {} if declaration.pool is None else {"pool": declaration.pool["name"]}


def _default_args(declaration: Declaration) -> dict[str, Any]:
    pipeline = declaration.pipeline
    default_args: dict[str, Any] = {"retries": int(pipeline.get("retries", 3))}
    delay = pipeline.get("retry_delay")
    if delay is not None:
        default_args["retry_delay"] = timedelta(seconds=seconds_of(delay, "retry_delay"))
    return default_args


def _at_once(pipeline: Mapping[str, Any]) -> dict[str, Any]:
    most = pipeline.get("max_active_tasks")
    return {} if most is None else {"max_active_tasks": most}


def _params(declaration: Declaration, *, asked: bool = True) -> dict[str, Any]:
    """A mapping is JSON Schema with an optional ``default``; anything else a default.

    Without ``asked`` only those with a default: nobody is asked when a trigger starts a run.
    """
    params: dict[str, Any] = {}
    for name, value in (declaration.pipeline.get("params") or {}).items():
        if not asked and not has_default(value):
            continue
        if isinstance(value, dict):
            schema = {key: item for key, item in value.items() if key != "default"}
            default = {"default": value["default"]} if "default" in value else {}
            params[name] = Param(**default, **schema)
        else:
            params[name] = value
    return params
