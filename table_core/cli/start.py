"""Where the ``table-core`` command begins: it says what to install where the core came without its extra."""

from __future__ import annotations

import sys

from table_core.errors import MissingPackageError

__all__ = ["main"]


def main() -> None:
    """Run the command line; the entry point of ``table-core``."""
    try:
        from table_core.cli.main import main as command
    except ModuleNotFoundError as error:
        if error.name not in {"rich", "typer"}:
            raise
        missing = MissingPackageError.of("the command line", "cli", error)
        sys.exit(f"{missing.kind}: {missing}")
    command()


if __name__ == "__main__":
    main()
