"""Writes operators.md from the docstrings: ``python docs/operators_page.py``."""

from __future__ import annotations

import importlib
import inspect
import re
from pathlib import Path
from typing import Any

from generated import foot

from paimon_provider import get_provider_info as info

PAGE = Path(__file__).parent / "operators.md"
HEAD = """\
# Operators

Every operator with its parameters, all of them keywords. Those of the base class, which comes first, belong to every class after it. **T** marks a
templated parameter. [Airflow](airflow-guide.md) shows how to combine operators with [sensors](sensors.md) and [triggers](triggers.md).
"""
PARAMETER = re.compile(r":param (\w+):\s*(.*?)(?=\n\s*:param |\Z)", re.DOTALL)


def classes(module_name: str) -> list[type]:
    module = importlib.import_module(f"paimon_provider.{module_name}")
    return [
        getattr(module, name) for name in module.__all__ if inspect.isclass(getattr(module, name))
    ]


def described(cls: Any) -> str:
    text = inspect.getdoc(cls) or ""
    intro = text.partition(":param")[0].strip()
    intro = re.sub(r"^(.*)::\n\n((?:    .*\n|\n)+)", _code, intro + "\n", flags=re.MULTILINE)
    lines = [f"## {cls.__name__}\n", f"`{cls.__module__}`\n", _markdown(intro).strip(), ""]
    signature: dict[str, inspect.Parameter] = {}
    for base in reversed(cls.__mro__):
        if base.__module__.startswith("paimon_provider"):
            signature |= inspect.signature(base.__init__).parameters
    rows = []
    for name, about in PARAMETER.findall(text):
        default = signature[name].default if name in signature else inspect.Parameter.empty
        shown = "" if default is inspect.Parameter.empty else f"`{default!r}`"
        templated = "T" if name in getattr(cls, "template_fields", ()) else ""
        told = _markdown(" ".join(about.split())).replace("(templated)", "").replace("|", "\\|")
        rows.append(
            f"| `{name}` | {_type(signature.get(name))} | {shown} | {templated} | {told.strip()} |"
        )
    if rows:
        lines += [
            "| parameter | type | default | | meaning |",
            "|---|---|---|---|---|",
            *rows,
            "",
        ]
    return "\n".join(lines)


def _type(parameter: inspect.Parameter | None) -> str:
    """The annotation, without the None that the default says already."""
    if parameter is None or parameter.annotation is inspect.Parameter.empty:
        return ""
    text = str(parameter.annotation).removesuffix(" | None")
    return f"`{text}`".replace(" | ", " or ")


def _code(found: re.Match[str]) -> str:
    body = inspect.cleandoc("\n" + found[2])
    return f"{found[1]}:\n\n```py\n{body}\n```\n"


def _markdown(text: str) -> str:
    text = re.sub(r":class:`(\w+)`", r"`\1`", text)
    return re.sub(r"(?<!`)``(?!`)", "`", text)


def page() -> str:
    parts = [HEAD]
    from paimon_provider.operators.base import PaimonTableOperator

    parts.append(described(PaimonTableOperator))
    parts += [described(c) for name in info.OPERATORS for c in classes(f"operators.{name}")]
    return "\n".join(parts).rstrip() + "\n" + foot("operators_page.py", "the docstrings")


if __name__ == "__main__":
    PAGE.write_text(page())
