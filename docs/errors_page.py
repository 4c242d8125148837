"""Writes errors.md from the classes of errors: ``python docs/errors_page.py``."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

from generated import foot

from table_core import errors

PAGE = Path(__file__).with_name("errors.md")
HEAD = """\
# Errors

Every error that `table_core` raises on purpose is a `TableError`. A wrong setting has [a page of its own](wrong-settings.md).

- Its **class** says what broke.
- Its **`kind`** says what to do. Programs should look at the kind.
- Its **`facts`** carry the evidence: paths, names, values.
- Its **message** is for people and may change.

Pickling keeps all four.

| kind | what to do |
|---|---|
| `conflict` | another writer won: read again and try again |
| `unavailable` | storage, network or a process failed: the same call may work later |
| `invalid` | the call, the data or the change is wrong: repeating it cannot help |
| `corrupt` | stored bytes contradict the format: stop, and overwrite nothing |
| `unsupported` | this release refuses the feature and names it: use another reader or writer, or change the table |
| `not-found` | there is no such thing: the facts list what exists |
| `unknown-outcome` | a write may have landed: look at the table before you do anything else |
"""
ADVICE = {
    "AccessDeniedError": (
        "the store refuses to let us read or write",
        'give the process the right to `facts["path"]`, or other credentials in `storage_options`',
    ),
    "AlreadyExistsError": (
        "a database, table, tag or branch of that name exists",
        "choose another name, or pass `if_not_exists=True` if the call has it",
    ),
    "ArgumentError": (
        "an argument of the call is wrong",
        'correct `facts["argument"]`',
    ),
    "CommitConflictError": (
        "another commit removed or wrote the same files",
        "prepare the change again from the new state; a writer that only adds rows never meets it",
    ),
    "CorruptFileError": (
        "a stored file is truncated, altered or of another format",
        'restore `facts["path"]` from a backup or an earlier snapshot; change nothing else',
    ),
    "DataError": (
        "a value does not fit its column",
        'correct `facts["column"]` in the row that the facts name, or change the column\'s type',
    ),
    "EventError": (
        "a change event cannot be read",
        "look at the line or offset in the facts; correct the event, or skip it by the source's settings",
    ),
    "FilesExpiredError": (
        "snapshots were expired while they were read",
        "read a newer snapshot; raise `snapshot.time-retained`, or hold the state with a tag or a consumer",
    ),
    "ForeignOverwriteError": (
        "another program replaced a snapshot that was committed, or the table was rolled back and written again",
        'after a rollback, open the table again; else stop all writers, `facts["theirs"]` committed without a lock; [what to do](stores.md#writers-that-take-no-lock)',
    ),
    "GaveUpError": (
        "every attempt to commit lost a race; nothing is visible",
        "try again later, or let fewer writers commit at once; `commit.max-retries` allows more attempts",
    ),
    "JobFailedError": (
        "the process of a job ended without a result",
        'read `facts["log_tail"]`; run the job again',
    ),
    "MissingPackageError": (
        "a package that the call needs is not installed",
        "install the extra that the message names",
    ),
    "NotFoundError": (
        "no such database, table, column, snapshot, tag or branch",
        'choose one of `facts["available"]`',
    ),
    "OptionError": (
        "a table option is unknown, or its value does not parse",
        'correct `facts["option"]`; [the options](options.md)',
    ),
    "OutcomeUnknownError": (
        "the store failed during the commit, and the evidence is gone",
        "read the table; repeat the commit only if its rows are missing",
    ),
    "PositionDivergedError": (
        "what a reader has read was rolled back, recreated, replaced or changed, or the target of a Spark stream was rolled back. It is a subclass of `OutcomeUnknownError`",
        'read `facts["reason"]`, then set or reset its [position](exactly-once.md#positions)',
    ),
    "PredicateError": (
        "a condition does not parse, names an unknown column, or compares unsuitable types",
        "correct `where`; [conditions](conditions.md)",
    ),
    "SchemaError": (
        "a schema or a schema change breaks a rule",
        'correct all of `facts["problems"]`',
    ),
    "SourceDivergedError": (
        "the source of a sync was recreated, reset or replaced. It is a subclass of `PositionDivergedError`",
        "choose a way out: [set or reset the position, or drop the table](cdc-changes.md#when-the-source-is-another-one)",
    ),
    "SqlError": (
        "a SQL statement does not parse, or names what is not there",
        "correct the statement where the facts point; [SQL](sql.md)",
    ),
    "StorageUnavailableError": (
        "the store did not answer, is full or failed",
        "try again later; free space if the reason says so",
    ),
    "UnsupportedFeatureError": (
        'the table or the call needs `facts["feature"]`, which this release does not do',
        "use Paimon on Spark or Flink, or change the table",
    ),
}
"""By class: the cause, and what to do."""
FACTS = re.compile(r"Facts: (.*?)\.(?=\s|$)", re.DOTALL)


def classes() -> list[type[errors.TableError]]:
    members = [getattr(errors, name) for name in errors.__all__]
    kinds = [one for one in members if inspect.isclass(one) and issubclass(one, errors.TableError)]
    return sorted((c for c in kinds if c is not errors.TableError), key=lambda cls: cls.__name__)


def facts(cls: type) -> str:
    """What its docstring says of its facts, as Markdown."""
    found = FACTS.search(" ".join((inspect.getdoc(cls) or "").split()))
    return found[1].replace("``", "`").replace("|", "\\|") if found else ""


def page() -> str:
    lines = ["| class | kind | cause | facts | what to do |", "|---|---|---|---|---|"]
    for cls in classes():
        cause, remedy = ADVICE[cls.__name__]
        lines.append(
            f"| `{cls.__name__}` | `{cls.kind.value}` | {cause} | {facts(cls)} | {remedy} |"
        )
    return "\n".join([HEAD, *lines]) + "\n" + foot("errors_page.py", "`table_core/errors.py`")


if __name__ == "__main__":
    PAGE.write_text(page())
