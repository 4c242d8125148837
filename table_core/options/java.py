"""Java as Spark looks for it: in ``JAVA_HOME``, else on the path."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from table_core.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["require_java"]

_WAY_OUT: Final = (
    "install Java 17 or 21 and set JAVA_HOME, or do without Spark: engine='local', or a Spark Connect "
    "server (spark_backend 'connect')"
)


def require_java(environment: Mapping[str, str], which: Callable[[str, str], str | None]) -> None:
    """Require that Spark finds a JVM in ``environment``.

    ``found(name, path)`` gives the program ``name`` in the folders of ``path``, as ``shutil.which``.

    Raises:
        ArgumentError: there is none.
    """
    home = environment.get("JAVA_HOME")
    if home:
        if which("java", f"{home.rstrip('/')}/bin") is None:
            raise ArgumentError(
                f"JAVA_HOME is {home!r}, and there is no bin/java in it: {_WAY_OUT}",
                argument="JAVA_HOME",
                value=home,
            )
        return
    if which("java", environment.get("PATH", "")) is None:
        raise ArgumentError(
            f"Spark needs Java, and there is none on the path: {_WAY_OUT}",
            argument="JAVA_HOME",
            value=None,
        )
