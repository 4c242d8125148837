"""Run many protocol generators in one thread, one effect at a time, under a schedule.

Something else chooses every step: Hypothesis, a seeded ``random.Random``, or a list that once failed.  A
step is a word:

    a           the actor ``a`` gets its effect performed and moves on
    a!before    its effect fails and did nothing
    a!after     its effect fails and happened all the same
    a!crash     its process dies before the effect; ``Actor.restart`` says what comes next
    a!again     its effect is performed twice, as a store's client does that repeats a request
    a!twin      its process is taken for dead and restarted, and then both go on

What a failure looks like to the actor is up to the world (``World.fail``): a thrown error, or a reply
that says "unknown".
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias

from table_core.errors import TableError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

__all__ = ["Actor", "Choose", "Ended", "Steps", "World", "scripted", "simulate"]

Steps: TypeAlias = Generator[Any, Any, Any]
Choose: TypeAlias = "Callable[[Sequence[str], Mapping[str, Any]], str]"
"""Picks one of the options; also told which effect each process asks for."""
FAULTS: Final = ("before", "after", "again", "crash", "twin")


class World(Protocol):
    """The fake that effects are performed on."""

    def perform(self, effect: Any) -> Any:
        """Do it, reply."""
        ...

    def fail(self, effect: Any) -> Any:
        """What the actor learns when ``effect`` fails: a reply, or a ``TableError`` to throw."""
        ...

    def spontaneous(self) -> Iterable[str]:
        """Names of what the world could do by itself now, as landing a late write."""
        ...

    def act(self, name: str) -> None:
        """Do one of these."""
        ...

    def check(self) -> None:
        """Assert what must hold after every step."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Actor:
    """A process.  ``start`` begins its protocol; ``restart`` begins it again after a crash (None: it
    stays dead)."""  # noqa: D205, D209 - two short facts

    name: str
    start: Callable[[], Steps]
    restart: Callable[[], Steps] | None = None
    faults: tuple[str, ...] = FAULTS


@dataclass(frozen=True, slots=True)
class Ended:
    """How a process ended: with a result, an error, or (both None) dead."""

    name: str
    result: Any = None
    error: TableError | None = None


@dataclass(slots=True)
class _Process:
    actor: Actor
    steps: Steps
    asked: Any


def scripted(words: Iterable[str]) -> Choose:
    """A schedule from a list, then in order of the options.

    Besides steps, a word may be ``a>Create``: move ``a`` until it asks for a ``Create``; or ``a>``: until
    it has ended.  A word that is no option now is skipped.
    """
    waiting = list(words)[::-1]

    def choose(options: Sequence[str], asked: Mapping[str, Any]) -> str:
        while waiting:
            name, arrow, target = waiting[-1].partition(">")
            reached = name not in asked or type(asked[name]).__name__ == target
            if arrow and not reached:
                return name
            word = waiting.pop()
            if not arrow and word in options:
                return word
        return options[0]

    return choose


def simulate(
    actors: Iterable[Actor], world: World, choose: Choose, *, faults_max: int = 3
) -> list[Ended]:
    """Run until every process has ended; at most ``faults_max`` faults, so that it does end."""
    ended: list[Ended] = []
    running: dict[str, _Process] = {}
    for actor in actors:
        _begin(running, ended, actor, actor.name, actor.start)
    faults = 0
    while running:
        options = [*running, *world.spontaneous()]
        if faults < faults_max:
            options += [f"{n}!{f}" for n, p in running.items() for f in _faults(n, p)]
        name, _, fault = choose(options, {n: p.asked for n, p in running.items()}).partition("!")
        faults += bool(fault)
        if name in running:
            _move(running, ended, world, name, fault)
        else:
            world.act(name)
        world.check()
    return ended


def _faults(name: str, process: _Process) -> Iterable[str]:
    """A twin has no twin."""
    twinless = name != process.actor.name or process.actor.restart is None
    return (f for f in process.actor.faults if f != "twin" or not twinless)


def _begin(
    running: dict[str, _Process],
    ended: list[Ended],
    actor: Actor,
    name: str,
    start: Callable[[], Steps],
) -> None:
    steps = start()
    _resume(running, ended, _Process(actor, steps, None), name, lambda: next(steps))


def _resume(
    running: dict[str, _Process],
    ended: list[Ended],
    process: _Process,
    name: str,
    move: Callable[[], Any],
) -> None:
    try:
        process.asked = move()
    except StopIteration as stop:
        running.pop(name, None)
        ended.append(Ended(name, result=stop.value))
    except TableError as error:
        running.pop(name, None)
        ended.append(Ended(name, error=error))
    else:
        running[name] = process


def _move(
    running: dict[str, _Process], ended: list[Ended], world: World, name: str, fault: str
) -> None:
    process = running[name]
    actor = process.actor
    if fault == "twin":
        assert actor.restart is not None
        _begin(running, ended, actor, f"{name}~", actor.restart)
        return
    if fault == "crash":
        process.steps.close()
        del running[name]
        if actor.restart is None:
            ended.append(Ended(name))
        else:
            _begin(running, ended, actor, name, actor.restart)
        return
    reply: Any = None
    error: TableError | None = None
    try:
        if fault != "before":
            reply = world.perform(process.asked)
        if fault == "again":
            reply = world.perform(process.asked)
        elif fault:
            reply = world.fail(process.asked)
    except TableError as thrown:
        error = thrown
    if error is None and isinstance(reply, TableError):
        error = reply
    steps = process.steps
    if error is None:
        _resume(running, ended, process, name, lambda: steps.send(reply))
    else:
        thrown_in = error
        _resume(running, ended, process, name, lambda: steps.throw(thrown_in))
