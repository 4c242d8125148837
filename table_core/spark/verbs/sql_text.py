"""SQL that a user gives to Spark: one query over the views that it was given, and nothing else.

Spark's SQL reads any file (``parquet.`/path```), calls any Java method, starts any program and takes
variables of the driver into its text.  Here the text is parsed by sqlglot and everything that is not
a query over the views is refused; what sqlglot does not understand is refused too, since nobody
can say what it does (docs/adr/0014-what-comes-from-outside.md).  It is a wall of the second kind: two
parsers read the same text.  The first is that the driver and its executors have no right to
anything else.
"""

from __future__ import annotations

import logging
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

from table_core.errors import ArgumentError
from table_core.options.budgets import require_bounded
from table_core.sql.sql_parameters import named

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

__all__ = ["CLOSED", "expression_of", "query_of"]

CLOSED: Final = {
    "spark.sql.variable.substitute": "false",
    "spark.sql.runSQLOnFiles": "false",
}
"""Settings of a session that runs SQL of users: no ``${env:NAME}`` of the driver in the text, and no
table that is a path, even if the text got past this module."""
_CODE: Final = frozenset(
    {
        *("reflect", "java_method", "try_reflect", "identifier", "call_function", "call_udf"),
        *("xpath", "xpath_boolean", "xpath_double", "xpath_float", "xpath_int", "xpath_long"),
        *("xpath_number", "xpath_short", "xpath_string"),
    }
)
"""Functions that call Java, that make a name of a text after everything was checked, or that ask the
address of a DTD which a row names (``from_xml`` does not)."""
_PLACE_AFTER: Final = {
    "from_avro": 2,
    "schema_of_avro": 1,
    "from_xml": 2,
    "schema_of_xml": 1,
    "from_protobuf": 0,
    "to_protobuf": 0,
}
"""Functions that open a file which an argument, or an option, names: how many arguments name none."""
_ROW_MAKERS: Final = frozenset(
    {
        *("range", "explode", "explode_outer", "posexplode", "posexplode_outer", "inline"),
        *("inline_outer", "stack", "json_tuple", "sequence", "variant_explode"),
        "variant_explode_outer",
    }
)
"""Functions that may stand where a table does."""
_LIMIT: Final = 1_000_000
"""Characters of one text of SQL."""


def query_of(
    sql: str, views: Iterable[str], parameters: Mapping[str, Any] | None = None
) -> tuple[str, dict[str, Any]]:
    """``sql`` as Spark takes it, with ``:name`` for each ``$name``, and the values of these.

    Raises:
        ArgumentError: it is not one query, reads something else than ``views``, calls Java or a
            program, or cannot be understood.
    """
    _require_text(sql)
    tree, tokens = _parsed(sql)
    faults = list(dict.fromkeys(_faults(tree, {view.casefold() for view in views})))
    if faults:
        raise _refused(sql, "; ".join(faults))
    places = _places(sql, tokens)
    arguments = named(parameters, {name for _, name in places})
    for start, _ in reversed(places):
        sql = f"{sql[:start]}:{sql[start + 1 :]}"
    return sql, arguments


def expression_of(sql: str) -> str:
    """``sql`` itself, if it is an expression over columns: no subquery of a table, no call of Java.

    Raises:
        ArgumentError: it is more, or cannot be understood.
    """
    _require_text(sql)
    faults = list(dict.fromkeys(_faults(_parsed(f"SELECT {sql}")[0], set())))
    if faults:
        raise _refused(sql, "; ".join(faults))
    return sql


def _require_text(sql: object) -> None:
    if not isinstance(sql, str) or not sql.strip():
        raise ArgumentError(f"SQL must be a query, not {sql!r}", argument="sql")
    if len(sql) > _LIMIT:
        raise ArgumentError(f"SQL has {len(sql):,} characters, over {_LIMIT:,}", argument="sql")
    require_bounded(sql)
    odd = {c for c in sql if (ord(c) < 32 and c not in "\t\n\r") or 0xD800 <= ord(c) <= 0xDFFF}
    if odd:
        raise _refused(sql, f"it holds the control characters {sorted(map(ascii, odd))}")
    if "\\\n" in sql or "\\\r" in sql:
        # To Spark a comment goes on there, to sqlglot it ends: they would read two queries.
        raise _refused(sql, "a line ends with a backslash")


def _parsed(sql: str) -> tuple[Any, list[Any]]:
    from sqlglot.dialects.spark import Spark
    from sqlglot.errors import SqlglotError

    logger = logging.getLogger("sqlglot")
    before, logger.disabled = logger.disabled, True  # it warns of what is refused below
    try:
        dialect = Spark()
        tokens = dialect.tokenize(sql)
        trees = [tree for tree in dialect.parser().parse(tokens, sql) if tree is not None]
    except (SqlglotError, RecursionError, ValueError) as error:
        told = str(error).partition("\n")[0] or type(error).__name__
        raise _refused(sql, f"it cannot be understood: {told}") from error
    finally:
        logger.disabled = before
    if len(trees) != 1:
        raise _refused(sql, f"it holds {len(trees)} statements")
    return trees[0], tokens


def _faults(tree: Any, views: set[str]) -> Iterator[str]:
    from sqlglot import exp

    if not isinstance(tree, exp.Query | exp.Values):
        yield f"it is a statement of kind {type(tree).__name__}"
        return
    for node in tree.walk():
        if isinstance(node, exp.Table):
            yield from _table_faults(node, views)
        elif isinstance(node, exp.Lateral) and isinstance(node.this, exp.Func):
            yield from _row_maker_faults(node.this)
        elif isinstance(node, exp.Hint) and node.find(exp.Query) is not None:
            yield "a hint holds a query"
        elif isinstance(node, exp.QueryTransform):
            yield "TRANSFORM … USING starts a program"
        elif isinstance(node, exp.Func):
            name = _name_of(node)
            if name.casefold() in _CODE:
                yield f"it calls {name}"
            most = _PLACE_AFTER.get(name.casefold())
            if most is not None and len(node.expressions) > most:
                yield f"it calls {name}, whose arguments can name a file"
        elif isinstance(
            node, exp.DDL | exp.DML | exp.Command | exp.Into | exp.Set
        ) and not isinstance(node, exp.Query):
            yield f"it holds {type(node).__name__}"


def _table_faults(table: Any, known: set[str]) -> Iterator[str]:
    from sqlglot import exp

    if table.find_ancestor(exp.Hint) is not None:
        return
    if not isinstance(table.this, exp.Identifier):
        yield from _row_maker_faults(table.this)
    elif (
        table.args.get("db")
        or table.args.get("catalog")
        or (table.name.casefold() not in known and not _is_of_the_query(table))
    ):
        named = ".".join(part.name for part in table.parts)
        yield f"it reads {named!r}, which is none of its sources ({', '.join(sorted(known))})"


def _row_maker_faults(function: Any) -> Iterator[str]:
    name = _name_of(function)
    if name.casefold() not in _ROW_MAKERS:
        yield f"it reads from the function {name}"


def _is_of_the_query(table: Any) -> bool:
    """Whether ``table`` is a CTE that is visible where it stands.

    Elsewhere Spark takes the same name for a table of its catalog: also inside of the CTE itself, and in
    those before it.
    """
    from sqlglot import exp

    name = table.name.casefold()
    inside, node = None, table
    while node is not None:
        if isinstance(node, exp.CTE):
            inside = node
        with_ = node.args.get("with_")
        if isinstance(with_, exp.With):
            for cte in with_.expressions:
                if cte is inside and not with_.recursive:
                    break  # neither itself nor what follows it is known in there
                if cte.alias.casefold() == name:
                    return True
                if cte is inside:
                    break
        node = node.parent
    return False


def _name_of(function: Any) -> str:
    from sqlglot import exp

    if isinstance(function, exp.Anonymous):
        return str(function.name)
    return str(function.sql_name() if isinstance(function, exp.Func) else type(function).__name__)


def _places(sql: str, tokens: list[Any]) -> list[tuple[int, str]]:
    """Where each ``$name`` begins, and its name."""
    places = []
    for token, after in pairwise(tokens):
        if token.text == "$" and sql[token.start] == "$" and after.start == token.end + 1:
            places.append((token.start, str(after.text)))
    return places


def _refused(sql: str, why: str) -> ArgumentError:
    return ArgumentError(
        f"SQL must be one query over its sources: {why}.  Bind values that come from outside with "
        "$name and parameters",
        argument="sql",
        value=sql[:2000],
    )
