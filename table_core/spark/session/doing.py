"""What a session is doing for a verb, as Spark's pages show it: ``write shop.orders``.

Whoever runs several jobs in one session tells them apart by that.  A group of the caller's stays, so that what it
cancels is ended with it, and his description stands behind ours.
"""

from __future__ import annotations

import logging
import re
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from inspect import signature
from typing import TYPE_CHECKING, Any, Final, ParamSpec, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["described", "doing", "of_verb", "session_is_there"]

_GROUP: Final = "spark.jobGroup.id"
_DESCRIPTION: Final = "spark.job.description"
_OPTION: Final = re.compile(r"spark\.paimon\.[\w.*-]+")
"""How Paimon's jar takes options of tables from a session."""
_log = logging.getLogger(__name__)
_named_before: set[tuple[str, str]] = set()
P = ParamSpec("P")
R = TypeVar("R")


class _Doing:
    """One verb; its session may start later."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._before: tuple[Any, dict[str, str | None]] | None = None

    def begin(self, session: Any) -> None:
        """Say it in ``session``, once; a Spark Connect server knows no properties of a thread."""
        context = getattr(session, "_sc", None)
        if context is None or self._before is not None:
            return
        _name_options(session, context)
        before = {key: context.getLocalProperty(key) for key in (_GROUP, _DESCRIPTION)}
        self._before = context, before
        if before[_GROUP] is None:
            context.setLocalProperty(_GROUP, self._what)
        theirs = before[_DESCRIPTION]
        text = self._what if theirs is None else f"{self._what}: {theirs}"
        context.setLocalProperty(_DESCRIPTION, text)

    def end(self) -> None:
        """Leave the properties of the thread as they were."""
        if self._before is None:
            return
        context, before = self._before
        if context._jsc is not None:  # noqa: SLF001 - has not been stopped
            for key, value in before.items():
                context.setLocalProperty(key, value)


_DOING: ContextVar[_Doing | None] = ContextVar("_DOING", default=None)


@contextmanager
def doing(work: Any, what: str) -> Iterator[None]:
    """Jobs of ``work``, a session, rows of one or what makes one, are called ``what``; inside another verb, as that."""
    if _DOING.get() is not None:
        yield
        return
    mine = _Doing(what)
    token = _DOING.set(mine)
    try:
        if not callable(work):
            session_is_there(getattr(work, "sparkSession", work))
        yield
    finally:
        _DOING.reset(token)
        mine.end()


@contextmanager
def described(context: Any, more: str) -> Iterator[None]:
    """Meanwhile the description of jobs ends with ``more``."""
    before = context.getLocalProperty(_DESCRIPTION)
    text = more if before is None else f"{before}, {more}"
    context.setLocalProperty(_DESCRIPTION, text)
    try:
        yield
    finally:
        context.setLocalProperty(_DESCRIPTION, before)


def session_is_there(session: Any) -> None:
    """The verb that is under way, if any, works in ``session``."""
    mine = _DOING.get()
    if mine is not None:
        mine.begin(session)


def of_verb(verb: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """For a function of a session, or of rows, and a table: its jobs are called ``verb`` and the table."""

    def of(function: Callable[P, R]) -> Callable[P, R]:
        first, second, *_ = signature(function).parameters

        @wraps(function)
        def named(*args: P.args, **more: P.kwargs) -> R:
            work = args[0] if args else more.get(first)
            handle = args[1] if len(args) > 1 else more.get(second)
            name = getattr(handle, "name", None)
            with doing(work, verb if name is None else f"{verb} {name}"):
                return function(*args, **more)

        return named

    return of


def _name_options(session: Any, context: Any) -> None:
    """Warn of options that the session was given for Paimon's jar: a verb here takes those of its table alone."""
    keys = str(session._jsparkSession.conf().getAllAsJava().keySet())  # noqa: SLF001 - one question, not one a setting
    for key in _OPTION.findall(keys):
        if (context.applicationId, key) not in _named_before:
            _named_before.add((context.applicationId, key))
            _log.warning(
                "%s is set in this session and has no effect here: give the option to the handle, "
                "catalog.table(name, options={...}), or to the format, .option(...)",
                key,
            )
