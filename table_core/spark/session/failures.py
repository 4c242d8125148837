"""Errors on their way from a Spark task, through the JVM, to whoever called.

Spark keeps only the text of what a Python worker raised.  So a task writes its ``TableError`` as a
document behind a mark into that text, and the driver rebuilds it.  What Spark itself found
wrong is told apart by class: SQL that does not analyse is ``invalid``, a lost worker is not.
"""

from __future__ import annotations

import json
import os
import re
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from py4j.protocol import Py4JError
from pyspark import errors as spark

from table_core.errors import (
    ArgumentError,
    CorruptFileError,
    DataError,
    FilesExpiredError,
    JobFailedError,
    TableError,
    error_from_document,
    error_to_document,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = [
    "MARK",
    "SPARK_ERRORS",
    "TaskFailedError",
    "carried",
    "explained",
    "explained_start",
    "other_python",
    "translated",
]

SPARK_ERRORS: Final = (spark.PySparkException, Py4JError)
MARK: Final = "TABLE_ERROR="
"""What a ``TableError`` as a document follows, in whatever text it travels."""
_TAIL_MAX: Final = 8_000
_UNREAD: Final = re.compile(
    r"\[(FAILED_READ_FILE|PATH_NOT_FOUND)(?P<why>[.A-Z_]*)\].*?(?P<path>(?:file|hdfs):[^\s,]*[^\s,.])"
)
"""How Spark says that its own scan failed at a file."""
_FRAMES: Final = re.compile(
    r"^\s+(?:at [\w.$/<>]+\([^)]*\)|\.\.\. \d+ more)\s*?(?:\n|\Z)", re.MULTILINE
)
"""Where in Java an error was: nobody who runs a verb can do anything about it."""
_PLAN: Final = re.compile(r"[\s;]*;\n'?[A-Z]\w*\b[^\n]*(?:\n[ :]*[+:]- [^\n]*)+\s*\Z")
"""The plan that Spark appends to what it says of a query: of nodes, and of columns that are ours."""
_CALL: Final = re.compile(r"^An error occurred while calling \S+?\.\n: ")
_NO_MODULE: Final = re.compile(
    r"ModuleNotFoundError: No module named '((?:table_core|pyarrow|pyspark)\b[\w.]*)'"
)
"""How a Python worker says that it runs another Python than the driver."""
_CAUSE: Final = re.compile(r"^Caused by: (.+)$", re.MULTILINE)
_MEMORY: Final = re.compile(
    r"(?:java\.lang\.)?OutOfMemoryError[^\n]*|Not enough memory to build and broadcast[^\n]*"
    r"|Cannot broadcast the table[^\n]*|\bexited with code 52\b"
)
"""How Spark says that a JVM had too little memory: by 52 an executor says so itself, when it ends."""
_SETTING: Final = re.compile(
    r"Could not parse Master URL|IllegalArgumentException|NumberFormatException"
    r"|ClassNotFoundException|NoSuchElementException|Cannot load main class"
)
"""How Spark says that it does not understand a setting."""
_SQL_ERRORS: Final = (spark.AnalysisException, spark.ParseException, spark.IllegalArgumentException)
_VALUE_ERRORS: Final = (
    spark.ArithmeticException,
    spark.ArrayIndexOutOfBoundsException,
    spark.DateTimeException,
    spark.NumberFormatException,
)


class TaskFailedError(Exception):
    """A ``TableError`` in a task, as text that survives the JVM: for ``explained``, and last for whoever reads it.

    Where Spark runs a query without a verb of ours, as it does for a format, nobody else says it in words.
    """

    def __init__(self, error: TableError) -> None:
        super().__init__(f"{MARK}{json.dumps(error_to_document(error))}\n{error}")


@contextmanager
def carried() -> Iterator[None]:
    """Inside a task: let a ``TableError`` reach the driver as what it is."""
    try:
        yield
    except TableError as error:
        raise TaskFailedError(error) from error


@contextmanager
def translated() -> Iterator[None]:
    """On the driver: raise what Spark raises as a ``TableError``."""
    try:
        yield
    except SPARK_ERRORS as error:
        raise explained(error) from error


def explained(error: Exception) -> TableError:
    """What went wrong, as the error that a caller can act upon."""
    text = str(error)
    task_error = _carried_in(text)
    if task_error is not None:
        return task_error
    head = _plain(text)
    missing = _NO_MODULE.search(head)
    if missing is not None:
        return other_python(missing[1])
    unread = _UNREAD.search(text)
    if unread is not None:
        return _of_file(unread["path"], unread[1] + unread["why"], head)
    if isinstance(error, _VALUE_ERRORS) or _is_about_data(error):
        return DataError(f"Spark cannot compute a value: {head}", column=None, row=None, value=None)
    if isinstance(error, _SQL_ERRORS):
        return ArgumentError(f"Spark refuses the query: {head}", argument="sql", value=None)
    short = _MEMORY.search(text)
    if short is not None:
        return _of_memory(short[0].strip(), head)
    told = "\n".join((*_cause(head), head[:_TAIL_MAX]))
    return JobFailedError(f"Spark failed: {told}", exit_code=None, log_tail=head[-_TAIL_MAX:])


def _of_memory(short: str, head: str) -> ArgumentError:
    """The error of a query that the memory of this session is too little for: another run ends as this one did."""
    return ArgumentError(
        f"Spark has too little memory for this query ({short}). Give spark.executor.memory and spark.driver.memory more, "
        "or let joins broadcast nothing, by spark.sql.autoBroadcastJoinThreshold=-1, or give it more and smaller tasks, by "
        f"spark.sql.shuffle.partitions: {head[:_TAIL_MAX]}",
        argument="spark_conf",
        value=None,
    )


def other_python(module: str) -> ArgumentError:
    """The error of Python workers that have no ``module``."""
    return ArgumentError(
        f"the Python of Spark's workers has no module {module!r}. Start the session with PYSPARK_PYTHON={sys.executable} "
        "(or spark.pyspark.python), as open_session does; on a cluster name a Python there that has paimon-table-core",
        argument="PYSPARK_PYTHON",
        value=os.environ.get("PYSPARK_PYTHON"),
    )


def _plain(text: str) -> str:
    """What Spark says, without the places in Java and the plan of the query."""
    head = text.partition("JVM stacktrace:")[0].strip()
    return _PLAN.sub("", _FRAMES.sub("", _CALL.sub("", head)).strip())


def _cause(head: str) -> list[str]:
    """What was at the bottom of it, if Java tells it further down than a message goes."""
    causes = _CAUSE.findall(head)
    return causes[-1:] if causes and causes[-1] not in head[:_TAIL_MAX] else []


def explained_start(error: Exception) -> TableError:
    """What went wrong when a session was to start: what it was told, or a failure."""
    text = str(error)
    if isinstance(error, spark.IllegalArgumentException) or _SETTING.search(text):
        head = _plain(text)
        return ArgumentError(
            f"Spark does not start with these settings: {head[:_TAIL_MAX]}",
            argument="spark_conf",
            value=None,
        )
    return explained(error)


def _carried_in(text: str) -> TableError | None:
    """The error that a task wrote into ``text``; a plan that is shown there may have half of one."""
    at = text.find(MARK)
    if at < 0:
        return None
    try:
        document, _ = json.JSONDecoder().raw_decode(text, at + len(MARK))
    except json.JSONDecodeError:
        return None
    return error_from_document(document)


def _of_file(path: str, why: str, head: str) -> TableError:
    """What it means that Spark's own scan could not read the file at ``path``."""
    if "NOT_EXIST" in why or "NOT_FOUND" in why:
        return FilesExpiredError.of(path)
    problem = head[:_TAIL_MAX]
    return CorruptFileError(f"Spark cannot read {path}: {problem}", path=path, problems=[problem])


def _is_about_data(error: Exception) -> bool:
    """Whether Spark itself says so: SQL states of class 21 (cardinality) and 22 (data)."""
    if not isinstance(error, spark.SparkRuntimeException):
        return False
    return (error.getSqlState() or "")[:2] in {"21", "22"}
