"""Starts a Spark session that suits a job, or joins the one that is there.

Configuration goes into a file that only this user can read, never onto a command line: it may hold
credentials of the store.  What ``spark-submit`` or the caller has set wins over the defaults here.
"""

from __future__ import annotations

import os
import shlex
import shutil
import sys
import tempfile
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from pyspark import SparkConf, SparkContext
from pyspark.sql import SparkSession

from table_core.options.java import require_java
from table_core.options.spark_master import require_master, require_memory
from table_core.options.spark_settings import properties_text, require_settings
from table_core.spark._compat import require_equal_versions
from table_core.spark.session import class_archive, python_daemon
from table_core.spark.session.doing import session_is_there
from table_core.spark.session.failures import SPARK_ERRORS, explained_start
from table_core.spark.session.workers_python import has_package

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

__all__ = [
    "SQL_DEFAULTS",
    "context_of",
    "of_query",
    "open_session",
    "parallelism",
    "query_of",
    "started",
]

SQL_DEFAULTS: Final[Mapping[str, str]] = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.python.filterPushdown.enabled": "true",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "65536",
}
"""What every job needs of a session, classic or over Connect."""
_CLASSIC: Final[Mapping[str, str]] = {
    "spark.app.name": "table-core",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    # Of an event that listeners took a second over, Spark logs all the job's properties, which are the
    # session's configuration, and takes no secret out of them.
    "spark.scheduler.listenerbus.logSlowEvent": "false",
}
_LOCAL: Final[Mapping[str, str]] = {
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.sql.shuffle.partitions": "8",
}
_DAEMON: Final = "spark.python.daemon.module"
_QUERY: Final = "sql.streaming.queryId"
"""The local property in which Spark keeps the id of a query."""
_TASKS_OVER_CONNECT: Final = 16
_SUBMIT_ARGUMENTS: Final = "PYSPARK_SUBMIT_ARGS"
_OF_PYSPARK: Final = (
    *(_SUBMIT_ARGUMENTS, "PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON", "SPARK_HOME"),
    "SPARK_LOCAL_IP",
)


def open_session(
    conf: Mapping[str, str] | None = None,
    remote: str | None = None,
    environment: Mapping[str, str] | None = None,
) -> SparkSession:
    """A session with ``conf`` on top of what ``spark-submit`` gave; ``local[*]`` without either.

    ``remote`` is the URL of a Spark Connect server; then only SQL configuration applies.
    A session that is there already is joined: of its settings only those in ``conf`` change.
    ``environment``: all that a JVM which starts now, and its Python workers, have in theirs; without it
    they have that of this process.

    Raises:
        ArgumentError: there is no Java, or Spark does not understand its configuration.
        JobFailedError: Spark does not start, for another reason.
    """
    settings = dict(conf or {})
    require_equal_versions()
    require_settings(settings)
    if remote is not None:
        require_master("connect", remote)
        defaults = {} if _is_there_over_connect() else SQL_DEFAULTS
        session = SparkSession.builder.remote(remote).getOrCreate()
        sql = {key: value for key, value in settings.items() if key.startswith("spark.sql.")}
        for key, value in {**defaults, **sql}.items():
            session.conf.set(key, value)
        return session
    python = os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    if not _has_jvm():
        require_java(os.environ, lambda name, path: shutil.which(name, path=path))
    require_memory(settings)
    with _launch_settings(settings), _only(environment), class_archive.used():
        # Starts the JVM without arguments of ours, and so shows what it was told by others.
        SparkContext._ensure_initialized()  # noqa: SLF001
    known = SparkConf()
    defaults = {**SQL_DEFAULTS, **_CLASSIC, "spark.pyspark.python": python}
    if str(settings.get("spark.master") or known.get("spark.master", "local")).startswith("local"):
        defaults |= _LOCAL
        if has_package(python):
            defaults[_DAEMON] = python_daemon.MODULE
    if _is_there():
        defaults = {}
    builder = SparkSession.builder
    for key, value in defaults.items():
        if not known.contains(key):
            builder = builder.config(key, value)
    for key, value in settings.items():
        builder = builder.config(key, value)
    try:
        return builder.getOrCreate()
    except SPARK_ERRORS as error:
        raise explained_start(error) from error


def started(session: SparkSession | Callable[[], SparkSession]) -> SparkSession:
    """The session, or the one that is made now."""
    there = session() if callable(session) else session
    session_is_there(there)
    return there


def context_of(session: SparkSession) -> SparkContext | None:
    """The context of a classic session; None over Connect, where ``sparkContext`` raises."""
    return getattr(session, "_sc", None)


def query_of(session: SparkSession) -> str | None:
    """The id of the streaming query whose micro-batch runs in this thread: that of its checkpoint."""
    context = context_of(session)
    return None if context is None else context.getLocalProperty(_QUERY)


def of_query(work: object) -> dict[str, str]:
    """What a commit of ``work``, a session or rows of it, asks for inside ``foreachBatch`` beside its verb.

    A new checkpoint counts from 0 again.  Its batch of a number that has landed is then another request, not a replay.
    """
    session = work if isinstance(work, SparkSession) else getattr(work, "sparkSession", None)
    query = None if session is None else query_of(session)
    return {} if query is None else {"query": query}


def parallelism(session: SparkSession) -> int:
    """How many tasks run at once."""
    context = context_of(session)
    if context is not None:
        return max(1, int(context.defaultParallelism))
    asked = session.conf.get("spark.default.parallelism", None)
    return max(1, int(asked)) if asked else _TASKS_OVER_CONNECT


def _is_there() -> bool:
    """Whether this process has a classic session, which Spark's builder would join and change."""
    session = SparkSession._instantiatedSession  # noqa: SLF001 - the one that the builder looks at
    return session is not None and session._sc._jsc is not None  # noqa: SLF001


def _is_there_over_connect() -> bool:
    """Whether this process has a session of Spark Connect, which the builder would join."""
    from pyspark.sql.connect.session import SparkSession as Remote  # needs grpc

    return (Remote.getActiveSession() or Remote._get_default_session()) is not None  # noqa: SLF001


def _has_jvm() -> bool:
    """Whether there is a JVM already that Spark will use."""
    return SparkContext._gateway is not None or "PYSPARK_GATEWAY_PORT" in os.environ  # noqa: SLF001


@contextmanager
def _only(environment: Mapping[str, str] | None) -> Iterator[None]:
    """Let a JVM that starts meanwhile have ``environment``, and what pyspark tells it."""
    if environment is None or _has_jvm():
        yield
        return
    before = dict(os.environ)
    told: dict[str, str] = {name: before[name] for name in _OF_PYSPARK if name in before}
    os.environ.clear()
    os.environ.update({**told, **environment})
    if _SUBMIT_ARGUMENTS in told:  # has the settings of this session
        os.environ[_SUBMIT_ARGUMENTS] = told[_SUBMIT_ARGUMENTS]
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


@contextmanager
def _launch_settings(settings: Mapping[str, str]) -> Iterator[None]:
    """Tell a JVM that is about to start what it can learn only then, e.g. its memory."""
    arguments = os.environ.get(_SUBMIT_ARGUMENTS)
    if _has_jvm() or arguments is not None:
        yield
        return
    master = settings.get("spark.master", "local[*]")
    if master.startswith("local"):
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    wanted = {**_CLASSIC, "spark.master": master, **settings}
    with tempfile.NamedTemporaryFile("w", prefix="spark-", suffix=".properties") as file:
        file.write(properties_text(wanted))
        file.flush()
        os.environ[_SUBMIT_ARGUMENTS] = (
            f"--load-spark-defaults --properties-file {shlex.quote(file.name)} pyspark-shell"
        )
        try:
            yield
        finally:
            del os.environ[_SUBMIT_ARGUMENTS]
