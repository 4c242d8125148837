"""What MkDocs is told beyond ``mkdocs.yml``: pages from the top folder, linked sources, a full menu, ``llms.txt``.

Pages link code and tests of this repository, which have no place below ``docs``.  The site carries a copy of each
file that a page links, below ``source/``.  So every link works offline, and a link to nothing fails the build.
"""

from __future__ import annotations

import re
from pathlib import Path, PurePosixPath
from posixpath import relpath
from textwrap import indent
from typing import TYPE_CHECKING, Any

import yaml
from mkdocs.structure.files import File, Files

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
TOP = {
    "README.md": "index.md",
    "ARCHITECTURE.md": "project/architecture.md",
    "CONTRIBUTING.md": "project/contributing.md",
    "CODE_OF_CONDUCT.md": "project/code-of-conduct.md",
    "SECURITY.md": "project/security-policy.md",
    "CHANGELOG.md": "project/changelog.md",
}
"""Documents of the top folder, and where the site has them; the README's place is the landing page."""
SYNONYMS: dict[str, list[str]] = yaml.safe_load((DOCS / "site" / "synonyms.yml").read_text())
"""By page: words that people search for, beside those of its title."""
LINK = re.compile(r"(\]\()([^)#\s]+)(#[^)\s]*)?(\))")
TABS = re.compile(r"(?:^\*\*[^*\n]+\*\*\n\n```\w+\n.*?^```\n\n?){2,}", re.DOTALL | re.MULTILINE)
"""Blocks of code in a row, each below its name in bold."""
TAB = re.compile(r"^\*\*([^*\n]+)\*\*\n\n(```\w+\n.*?^```)\n", re.DOTALL | re.MULTILINE)
CODE = re.compile(r"(^ *```.*?^ *```|`[^`\n]*`)", re.DOTALL | re.MULTILINE)


def place(target: Path) -> str:
    """Where the site has a file or folder of the repository."""
    if target.is_relative_to(DOCS):
        inside = target.relative_to(DOCS).as_posix()
        return f"{inside}/index.md" if target.is_dir() else inside
    name = target.relative_to(ROOT).as_posix()
    if name in TOP:
        return TOP[name]
    return f"source/{name}.txt" if target.suffix == ".md" else f"source/{name}"


def origin(uri: str) -> Path:
    """The file of the repository that a page of the site is made from."""
    tops = {where: name for name, where in TOP.items() if name != "README.md"}
    return ROOT / tops[uri] if uri in tops else DOCS / uri


def local_links(text: str) -> list[str]:
    """The targets of links to files, outside code."""
    plain = CODE.sub("", text)
    found = [target for _, target, _, _ in LINK.findall(plain)]
    return [target for target in found if not target.startswith(("http:", "https:", "mailto:"))]


def rewritten(text: str, uri: str) -> str:
    """The page ``uri`` with links as the site needs them."""
    folder = origin(uri).parent

    def link(found: re.Match[str]) -> str:
        opening, target, anchor, closing = found.groups()
        if target.startswith(("http:", "https:", "mailto:")):
            return found[0]
        where = place((folder / target).resolve())
        near = relpath(where, PurePosixPath(uri).parent.as_posix() or ".")
        return f"{opening}{near}{anchor or ''}{closing}"

    parts = CODE.split(text)
    return "".join(part if n % 2 else LINK.sub(link, part) for n, part in enumerate(parts))


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the documents of the top folder, and each source that a page links."""
    pages = [DOCS / file.src_uri for file in files.documentation_pages()]
    for name, where in TOP.items():
        if name != "README.md":
            files.append(File.generated(config, where, abs_src_path=str(ROOT / name)))
            pages.append(ROOT / name)
    linked = {
        (page.parent / target).resolve()
        for page in pages
        for target in local_links(page.read_text())
    }
    for path in sorted(linked):
        if path.is_file() and not files.get_file_from_path(place(path)):
            files.append(File.generated(config, place(path), abs_src_path=str(path)))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    page.meta["tags"] = SYNONYMS.get(
        page.file.src_uri, []
    )  # the search reads them, nobody sees them
    return tabbed(rewritten(markdown, page.file.src_uri))


def tabbed(text: str) -> str:
    """``text`` with tabs for what stands as a row of named blocks in the repository: ``**Python**``, code, ``**SQL**``, code."""

    def row(found: re.Match[str]) -> str:
        tabs = [f'=== "{name}"\n\n{indent(code, "    ")}\n' for name, code in TAB.findall(found[0])]
        return "\n".join(tabs) + "\n"

    return TABS.sub(row, text)


def on_post_build(config: MkDocsConfig) -> None:
    """Write ``llms.txt``: each page of the menu with its first sentence, for language models."""
    parts = [f"# {config.site_name}\n\n> {config.site_description}\n"]
    for section in config.nav:
        ((title, inner),) = section.items()
        lines = [f"## {title}\n"]
        for uri in named(inner):
            text = origin(uri).read_text()
            heading = re.findall(r"^# (.+)$", text, re.MULTILINE)[0]
            lines.append(f"- [{heading}]({uri.replace('.md', '.html')}): {first_sentence(text)}")
        parts.append("\n".join(lines) + "\n")
    (Path(config.site_dir) / "llms.txt").write_text("\n".join(parts))


def first_sentence(text: str) -> str:
    """What a page begins with, as plain text."""
    text = re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)
    text = next((p for p in text.split("\n\n") if p.strip() and p.strip()[0] not in "#|-!<"), "")
    plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", " ".join(text.split()))
    return re.split(r"(?<=[.!?])\s", plain)[0]


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Replace ``folder/*`` of the menu by the pages of that folder that it does not name."""
    known = set(named(config.nav))
    config.nav = expanded(config.nav, known)
    return config


def named(entry: Any) -> list[str]:
    if isinstance(entry, str):
        return [entry]
    inner = entry.values() if isinstance(entry, dict) else entry
    return [name for one in inner for name in named(one)]


def expanded(entry: Any, known: set[str]) -> Any:
    if isinstance(entry, dict):
        return {title: expanded(inner, known) for title, inner in entry.items()}
    if isinstance(entry, str):
        return entry
    found: list[Any] = []
    for one in entry:
        if isinstance(one, str) and one.endswith("*"):
            pages = sorted(path.relative_to(DOCS).as_posix() for path in DOCS.glob(f"{one}.md"))
            found += [page for page in pages if page not in known]
        else:
            found.append(expanded(one, known))
    return found
