"""Commands on a declared warehouse: ``validate``, ``plan``, ``apply``, ``graph``, ``dags``, ``init``."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer
from rich.console import Console
from rich.markup import escape

from table_core.cli.catalog_file import open_warehouse
from table_core.cli.commands import Entry
from table_core.declaration.difference import WORDS
from table_core.declaration.document import faults_of, parse, warnings_of
from table_core.declaration.environment import TARGET
from table_core.declaration.grammar import json_schema
from table_core.declaration.located import decoded
from table_core.declaration.manifest import compiled, digest_of
from table_core.declaration.read_document import aimed, read
from table_core.errors import ArgumentError, NotFoundError
from table_core.jobs.action import Heading
from table_core.options.shown import shown
from table_core.storage.stores.whole_file import read_any, read_plain

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from table_core.declaration.compare import TablePlan
    from table_core.declaration.located import Diagnostic
    from table_core.declaration.model import Declaration

__all__ = ["ENTRIES"]

File = Annotated[Path, typer.Argument(help="The declaration: a YAML file.", metavar="FILE")]
AsJson = Annotated[bool, typer.Option("--json", help="One JSON document.")]
Warehouse = Annotated[
    str | None,
    typer.Option("--warehouse", "-w", envvar="TABLE_CORE_WAREHOUSE", help="Wins over the file's."),
]
Allow = Annotated[
    list[str] | None,
    typer.Option("--allow", help=f"Allow changes that remove something: {', '.join(WORDS)}."),
]
Target = Annotated[
    str | None, typer.Option("--target", help="One of the targets of the file.", envvar=TARGET)
]
Select = Annotated[
    list[str] | None,
    typer.Option(
        "--select",
        help="A part, as dbt chooses: shop.*, tag:daily, +shop.sums (and what it is made from), "
        "1+sums, shop.orders+; a blank means or, a comma means and.",
    ),
]
Detailed = Annotated[
    bool,
    typer.Option(
        "--detailed-exitcode",
        "-detailed-exitcode",
        help="Exit status 0: nothing to do, 2: changes, 1: refused or an error.",
    ),
]


def validate(
    file: File,
    compile_to: Annotated[
        Path | None, typer.Option("--compile", help="Write the manifest that Dags load.")
    ] = None,
    pools: Annotated[
        Path | None, typer.Option("--pools", help="Write the pool for `airflow pools import`.")
    ] = None,
    schema: Annotated[bool, typer.Option("--schema", help="Print the JSON Schema.")] = False,
    target: Target = None,
    as_json: AsJson = False,
) -> None:
    """Report every fault of a declaration as file:line:column."""
    if schema:
        typer.echo(json.dumps(json_schema(), indent=2))
        return
    body = _body(file)
    text = decoded(body, str(file))
    variables = _variables(target)
    _require_targets(text, file, target)
    diagnostics = faults_of(text, str(file), environment=variables, texts=_texts(file))
    warnings = (
        []
        if diagnostics
        else warnings_of(text, str(file), environment=variables, texts=_texts(file))
    )
    if as_json:
        document = {"faults": _as_json(diagnostics), "warnings": _as_json(warnings)}
        typer.echo(json.dumps(document))
    else:
        for diagnostic in diagnostics:
            typer.echo(str(diagnostic))
        for diagnostic in warnings:
            typer.echo(f"{diagnostic} (warning)", err=True)
    if diagnostics:
        raise typer.Exit(1)
    if compile_to is None and pools is None:
        return
    declaration = _parsed(body, file, target)
    if compile_to is not None:
        _write(compile_to, compiled(declaration, _digest(body, declaration, file, target)))
    if pools is not None:
        _write(pools, json.dumps(_pools(declaration), indent=2))


def _as_json(diagnostics: Sequence[Diagnostic]) -> list[dict[str, object]]:
    members = ("file", "line", "column", "message")
    return [{name: getattr(diagnostic, name) for name in members} for diagnostic in diagnostics]


def plan(
    file: File,
    warehouse: Warehouse = None,
    allow: Allow = None,
    select: Select = None,
    out: Annotated[
        Path | None, typer.Option("--out", help="Write the plan, for `apply` to carry out.")
    ] = None,
    detailed_exitcode: Detailed = False,
    target: Target = None,
    as_json: AsJson = False,
) -> None:
    """Show what apply would change in the warehouse.

    Exit status 1 if a part would be refused.
    """
    from table_core.declaration import applying
    from table_core.declaration.signed_plan import written

    body = _body(file)
    declaration = _chosen(_parsed(body, file, target), select)
    words, uri = _words(allow), _uri(declaration, warehouse, file)
    catalog = open_warehouse(uri)
    plans = applying.plan(declaration, catalog, allow=words)
    others = [] if select else applying.only_there(declaration, catalog)
    _show(plans, others, as_json=as_json)
    if any(one.refused for one in plans):
        raise typer.Exit(1)
    if out is not None:
        digest = _digest(body, declaration, file, target)
        _write(out, written(declaration, plans, warehouse=uri, allow=words, digest=digest))
    if detailed_exitcode and any(one.told for one in plans):
        raise typer.Exit(2)


def apply(
    file: Annotated[
        Path, typer.Argument(help="The declaration, or what `plan --out` wrote.", metavar="FILE")
    ],
    warehouse: Warehouse = None,
    allow: Allow = None,
    select: Select = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="As plan does.")] = False,
    target: Target = None,
    as_json: AsJson = False,
) -> None:
    """Change the warehouse to match the declaration. What removes something needs --allow."""
    from table_core.declaration import applying, signed_plan

    body = _body(file)
    text = decoded(body, str(file))
    if signed_plan.is_plan(text):
        declaration, document = signed_plan.opened(text)
        if allow or select:
            raise ArgumentError("a plan is as it was made: pass options to plan", argument="allow")
        words, uri = document["allow"], warehouse or document["warehouse"]
    elif dry_run:
        plan(file, warehouse, allow, select, target=target, as_json=as_json)
        return
    else:
        declaration, document = _chosen(_parsed(body, file, target), select), None
        words, uri = _words(allow), _uri(declaration, warehouse, file)
    catalog = open_warehouse(uri)
    plans = applying.plan(declaration, catalog, allow=words)
    if document is not None:
        signed_plan.require_same(document, plans)
    if not dry_run:
        plans = applying.apply(plans, catalog, exactly=document is not None)
    _show(plans, [], as_json=as_json)


def graph(
    file: File,
    mermaid: Annotated[bool, typer.Option("--mermaid", help="A flowchart for Markdown.")] = False,
    target: Target = None,
) -> None:
    """Show sources, tables, flows, checks and triggers, and how they are connected."""
    from table_core.declaration.graph import as_mermaid, as_text

    declaration = _parsed(_body(file), file, target)
    typer.echo(as_mermaid(declaration) if mermaid else as_text(declaration), nl=False)


def dags(file: File, select: Select = None, target: Target = None, as_json: AsJson = False) -> None:
    """Show the Dags that the declaration makes: their tasks, and which wait for which."""
    from table_core.declaration.dags import as_text, dags_of
    from table_core.declaration.graph import chosen

    declaration = _parsed(_body(file), file, target)
    plans = dags_of(declaration, chosen(declaration, select) if select else None)
    if as_json:
        typer.echo(json.dumps({"dags": [one.to_document() for one in plans]}))
    else:
        typer.echo(as_text(plans), nl=False)


def init(
    warehouse: Annotated[
        str, typer.Argument(help="The warehouse that is there, or a folder of Parquet.")
    ],
    name: Annotated[str, typer.Option("--name", help="The name of the Dags.")] = "warehouse",
    out: Annotated[Path | None, typer.Option("--out", help="Write to this new file.")] = None,
    parquet: Annotated[
        bool, typer.Option("--parquet", help="Declare tables for the Parquet files below.")
    ] = False,
    database: Annotated[str, typer.Option("--database", help="Of tables for Parquet.")] = "default",
    keys: Annotated[
        bool, typer.Option("--keys", help="Read the Parquet files to find key columns.")
    ] = False,
) -> None:
    """Write a first declaration of all tables of a warehouse, or of what Parquet files hold.

    For a warehouse, `plan` then finds nothing to do. For Parquet files, `apply` creates the tables.
    """
    from table_core.declaration.first import declaration_of

    if parquet:
        from table_core.cli.parquet_folder import tables_of_folder

        tables, told = tables_of_folder(warehouse, database, keys=keys)
        if not tables:
            raise NotFoundError(f"no Parquet below {warehouse}", name=warehouse, available=[])
        text = declaration_of(name, tables, None, told)
    else:
        catalog = open_warehouse(warehouse)
        names = [
            f"{base}.{table}" for base in catalog.databases() for table in catalog.tables(base)
        ]
        if not names:
            raise NotFoundError(
                f"no tables in {warehouse}; of Parquet files say --parquet",
                name=warehouse,
                available=[],
            )
        tables = {one: catalog.table(one).definition for one in names}
        text = declaration_of(name, tables, _told_uri(warehouse))
    if out is None:
        typer.echo(text, nl=False)
        return
    if out.exists():
        raise ArgumentError(f"{out} is there already", argument="out", value=str(out))
    _write(out, text)


def _told_uri(warehouse: str) -> str:
    return warehouse if ":" in warehouse.partition("/")[0] else str(Path(warehouse).absolute())


def _pools(declaration: Declaration) -> dict[str, Any]:
    """As ``airflow pools import`` reads them; jobs that are waited for in the triggerer count."""
    if declaration.pool is None:
        return {}
    about = f"Jobs on the warehouse {declaration.name}"
    slots = int(declaration.pool["slots"])
    return {
        declaration.pool["name"]: {"slots": slots, "description": about, "include_deferred": True}
    }


def _words(texts: Sequence[str] | None) -> list[str]:
    words = [word.strip() for one in texts or () for word in one.split(",") if word.strip()]
    unknown = [word for word in words if word not in WORDS]
    if unknown:
        known = "; ".join(f"{word}: {about}" for word, about in WORDS.items())
        raise ArgumentError(
            f"--allow {unknown[0]}: no such word; {known}", argument="allow", value=unknown
        )
    return words


def _uri(declaration: Declaration, warehouse: str | None, file: Path) -> str:
    """The warehouse; a path in the file is from the folder of the file."""
    if warehouse is not None:
        return warehouse
    uri = declaration.warehouse
    if uri is None:
        raise ArgumentError(
            "no warehouse: pass --warehouse, or declare it", argument="warehouse", value=None
        )
    return uri if ":" in uri.partition("/")[0] else str(file.absolute().parent / uri)


def _chosen(declaration: Declaration, select: Sequence[str] | None) -> Declaration:
    from table_core.declaration.graph import selected

    return selected(declaration, select) if select else declaration


def _variables(target: str | None) -> dict[str, str]:
    return {**os.environ, **({} if target is None else {TARGET: target})}


def _require_targets(text: str, file: Path, target: str | None) -> None:
    """Refuse a target that was asked for in words where the file has none; a variable may be meant for other files.

    Raises:
        ArgumentError: says what to add.
    """
    if target is None or target == os.environ.get(TARGET):
        return
    root = read(text, str(file), _variables(target), _texts(file)).root
    if root is not None and isinstance(root.value, dict) and "targets" not in root.value:
        raise ArgumentError(aimed(root, target)[1], argument="target", value=target)


def _parsed(body: bytes, file: Path, target: str | None) -> Declaration:
    text = decoded(body, str(file))
    _require_targets(text, file, target)
    return parse(text, str(file), environment=_variables(target), texts=_texts(file))


def _texts(file: Path) -> Callable[[str], str]:
    """Reads what is included, from the folder of the file."""
    return lambda name: decoded(_body(file.parent / name, read_plain), name)


def _digest(body: bytes, declaration: Declaration, file: Path, target: str | None) -> str:
    others = [_body(file.parent / name, read_plain) for name in declaration.include]
    return digest_of(body, _variables(target), others)


def _body(file: Path, read: Callable[[Path], bytes] = read_any) -> bytes:
    """``file``; what the command line names may be a pipe of who calls, what a file includes may not."""
    try:
        return read(file)
    except FileNotFoundError as error:
        raise NotFoundError(f"no file {file}", name=str(file), available=[]) from error
    except OSError as error:
        raise ArgumentError(
            f"{file} cannot be read: {error.strerror}", argument="file", value=str(file)
        ) from error


def _write(path: Path, text: str) -> None:
    """Write a file that the caller named.

    Raises:
        ArgumentError: there is no such folder, or no right to write there.
    """
    try:
        _replace(path, text)
    except OSError as error:
        raise ArgumentError(
            f"{path} cannot be written: {error.strerror}", argument="file", value=str(path)
        ) from error


def _replace(path: Path, text: str) -> None:
    """All or nothing: a Dag may read the file at any moment."""
    handle, name = tempfile.mkstemp(dir=path.absolute().parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="") as whole:
            whole.write(text)
        os.chmod(name, 0o644)
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise


def _show(plans: Sequence[TablePlan], others: Sequence[str], *, as_json: bool) -> None:
    if as_json:
        tables = [one.to_document() for one in plans]
        typer.echo(json.dumps({"tables": tables, "only_there": list(others)}))
        return
    console = Console(highlight=False, soft_wrap=True)
    colours = {"create": "green", "alter": "yellow", "refused": "bold red", "none": "dim"}
    for one in plans:
        console.print(f"[{colours[one.action]}]{one.action:8}[/] {escape(shown(one.table))}")
        lines = [
            *one.told,
            *(f"fixed for ever: {line}" for line in one.fixed),
            *(f"refused: {line}" for line in one.refused),
            *(f"kept: {line}" for line in one.kept),
        ]
        for line in lines:
            console.print(shown(f"           {line}"), markup=False)
    for name in others:
        console.print(shown(f"kept     {name}: only the warehouse has it"), markup=False)
    counts = {name: sum(one.action == name for one in plans) for name in colours}
    console.print(", ".join(f"{count} {name}" for name, count in counts.items()))


ENTRIES: Final[Sequence[Entry]] = (
    Entry(("validate",), Heading.DECLARED, validate, "shop.yaml"),
    Entry(("plan",), Heading.DECLARED, plan, "shop.yaml"),
    Entry(("apply",), Heading.DECLARED, apply, "shop.yaml --dry-run"),
    Entry(("graph",), Heading.DECLARED, graph, "shop.yaml"),
    Entry(("dags",), Heading.DECLARED, dags, "shop.yaml"),
    Entry(("init",), Heading.DECLARED, init, "warehouse --out first.yaml"),
)
