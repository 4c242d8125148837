"""What an action is: one verb, as every door to it knows it.

An ``Action`` is written once, in a module of ``table_core.jobs.actions``.  From it come the command, the
job and the check of its arguments, what an operator passes on, what a declaration's ``run`` takes,
and the reference page (docs/adr/0018-one-verb-one-registration.md).  Nothing here loads Arrow, Spark or
Airflow: the verb itself is imported when it runs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final

from table_core.errors import ArgumentError
from table_core.options.nearest import meant
from table_core.shapes import kinds

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from table_core.jobs.engine_choice import Touched
    from table_core.jobs.flow import Engine
    from table_core.shapes.shape import Shape
    from table_core.table.api.catalog import Catalog
    from table_core.table.api.table import Table
    from table_core.table.maintenance.health import Health
    from table_core.table.metadata.results import CommitAs, ResultDocument
    from table_core.table.metadata.sharing import Share

__all__ = [
    "COMMON",
    "Action",
    "Command",
    "FlowStep",
    "Heading",
    "Job",
    "Option",
    "Parameter",
    "RunBy",
    "Target",
]


class Target(StrEnum):
    """What an action is done to."""

    TABLE = "table"
    DATABASE = "database"


class Heading(StrEnum):
    """What a command is for: the groups of ``--help`` and of the reference page, in their order."""

    LOOK = "Look at tables and read them"
    ROWS = "Create tables and write rows"
    UPKEEP = "Keep tables in shape"
    HISTORY = "Tags, branches and older states"
    FEEDS = "Feeds and their positions"
    DECLARED = "A warehouse declared in a file"
    HERE = "This machine"


class RunBy(StrEnum):
    """What may carry an action out, beside the process that it is asked of."""

    PROCESS = "this process"
    """Nothing else: Spark is not even loaded."""
    TASKS = "Spark's tasks"
    """Tasks share in its pieces, by what every ``Engine`` has: ``sharing``, ``each``, ``query``, ``write``."""
    SPARK = "Spark's own operators"
    """A verb of ``table_core.spark`` of that name, by ``Engine.verb``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """How the command line takes a parameter, where its shape does not say all."""

    flag: str = ""
    """Other than ``--name``."""
    about: str = ""
    """Other than the parameter's."""
    default: Any = None
    """What a command does where nothing is given, if a job does something else."""
    argument: str = ""
    """Not an option but an argument, shown by this word."""
    utc: bool = False
    """A point in time is written without a zone, and is of UTC."""
    shown: bool = True
    """Off: nobody can give it, and it is ``default``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """One argument of an action."""

    name: str
    """In a job."""
    shape: Shape
    """What its value may be."""
    about: str
    """One sentence: the help of the command line and of the reference page."""
    default: Any = None
    """What the verb gets where nothing is given; None: nothing."""
    required: bool = False
    operator: str | None = ""
    """Its name in the operator, if it is another; None: no operator takes it."""
    required_by_operator: bool = False
    """Where a job may leave it out and an operator may not."""
    templated: bool = False
    """Whether the operator renders it: then a job may come by templates in it."""
    may_render_to_nothing: bool = False
    """Whether a template that renders to nothing leaves it out."""
    option: Option | None = Option()
    """None: not on the command line."""
    job: bool = True
    """Off: it is the operator's own, and no part of the job."""

    @property
    def in_operator(self) -> str | None:
        """Its name in the operator; None if no operator takes it."""
        return None if self.operator is None else self.operator or self.name


COMMON: Final = (
    Parameter(
        name="properties",
        shape=kinds.VALUES,
        about="Properties of the snapshot that the job commits.",
        operator=None,
        option=None,
    ),
    Parameter(
        name="expect",
        shape=kinds.VALUES,
        about="Properties that the newest snapshot must have. Otherwise the job fails with kind conflict.",
        operator=None,
        option=None,
    ),
    Parameter(
        name="watermark",
        shape=kinds.INTEGER,
        about="The watermark of the snapshot that the job commits.",
        operator=None,
        option=None,
    ),
)
"""What every job may say of its commit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """The command of an action, where it is not just its name and its result document."""

    path: tuple[str, ...] = ()
    """A group and a name, e.g. ``("tag", "create")``; by default the action's name alone."""
    about: str = ""
    """Other than the action's."""
    shows: tuple[str, ...] = ()
    """Of the result only these of its details, as one record."""
    heading: Heading = Heading.UPKEEP
    commits: bool = False
    """Whether it has the options that say who commits."""
    example: str = ""
    """What may stand behind the command, about ``shop.orders`` of the reference page."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowStep:
    """What a flow of a declaration must know to ``run`` an action."""

    operator: str
    """Module and class below the provider's ``operators``."""
    changes_rows: bool = False
    """Whether a reader that stands after it in the file must wait for it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One action that is asked for: on what, with which arguments, by which engine."""

    action: str
    catalog: Catalog
    target: str
    """``database.table``, or a database."""
    args: Mapping[str, Any] = field(repr=False)
    """What was given and is not None, and the defaults of the rest; a source has its password there."""
    commit: CommitAs
    engine: Engine
    options: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Of the job: its storage, its session, its limits."""
    storage_options: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Of the catalog and its store."""
    store_options: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Of the store alone, for files that are no table: what a catalog is told is nothing for them."""

    @property
    def table(self) -> Table:
        """A handle on the target."""
        return self.catalog.table(self.target)

    @property
    def share(self) -> Share:
        """What has groups of many pieces done, by tasks or here."""
        return self.engine.sharing(self.action, self.target)

    def verb(self, name: str, handle: Table | Catalog) -> Callable[..., ResultDocument]:
        """``name`` of ``handle`` as the engine does it; it commits as this job."""
        method = self.engine.verb(name, handle)
        return lambda *positional, **args: method(*positional, commit=self.commit, **args)


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """One verb, on a table or on a database."""

    name: str
    about: str
    """One sentence."""
    run: Callable[[Job], ResultDocument | Health]
    parameters: tuple[Parameter, ...] = ()
    target: Target = Target.TABLE
    run_by: RunBy = RunBy.PROCESS
    touches: Callable[[Job], Touched | None] | None = None
    """What it would read and write, by metadata alone; of what Spark's tasks may do.  None: nothing they could."""
    command: Command | None = Command()
    """None: there is no such command, or one that is more than the action."""
    step: FlowStep | None = None
    """None: no flow of a declaration runs it by ``run``."""
    exactly_one: tuple[str, ...] = ()
    """Parameters of which a job has one and no more."""
    only_with: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Parameters that mean something only beside one of others; ``source.sql`` is the member ``sql`` of ``source``."""

    def parameter(self, name: str) -> Parameter:
        """The parameter that a job calls so."""
        return next(p for p in self.parameters if p.name == name)

    def require_together(
        self, args: Mapping[str, Any], spelled: Mapping[str, str] | None = None
    ) -> None:
        """Refuse arguments that are sound one by one, and not together; ``spelled`` has their names in an operator.

        Raises:
            ArgumentError: names what is too much, or what is missing.
        """
        names = {p.name: p.name for p in self.parameters} if spelled is None else spelled
        ways = [name for name in self.exactly_one if _is_given(args, name)]
        if self.exactly_one and len(ways) != 1:
            there_are = ", ".join(names[name] for name in self.exactly_one if name in names)
            raise ArgumentError(
                f"give one of {there_are}; found {' and '.join(names[name] for name in ways) or 'none'}",
                argument=names[ways[-1] if ways else self.exactly_one[0]],
            )
        for name, others in self.only_with.items():
            if _is_given(args, name) and not any(_is_given(args, other) for other in others):
                raise ArgumentError(
                    f"{names[name]} goes with {' or '.join(o for o in others if o.partition('.')[0] in names)} only: "
                    "leave it out",
                    argument=names[name],
                    value=args[name],
                )

    def checked(self, args: Mapping[str, Any]) -> dict[str, Any]:
        """What a job gets of ``args``: without None, each checked, with the defaults of the rest.

        Raises:
            ArgumentError: an argument is unknown, missing, or not of its shape.
        """
        known = {p.name: p for p in (*self.parameters, *COMMON) if p.job}
        arguments = {name: value for name, value in args.items() if value is not None}
        for name in args:
            if name not in known:
                raise ArgumentError(
                    f"{self.name} has no argument {name!r}{meant(name, known)}; there are "
                    f"{', '.join(known)}",
                    argument=name,
                    value=args[name],
                )
        for name, parameter in known.items():
            if parameter.required and name not in arguments:
                raise ArgumentError(
                    f"{self.name} needs the argument {name!r}: {parameter.about}", argument=name
                )
            if name in arguments:
                parameter.shape.require(arguments[name], name)
        self.require_together(arguments)
        defaults = {p.name: p.default for p in known.values() if p.default is not None}
        return {**defaults, **arguments}


def _is_given(args: Mapping[str, Any], path: str) -> bool:
    """Whether there is a value; of a member of what is a template still, nobody knows."""
    name, _, member = path.partition(".")
    value = args.get(name)
    return bool(value.get(member) if member and isinstance(value, Mapping) else value)
