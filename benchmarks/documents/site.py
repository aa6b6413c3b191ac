"""A hook of mkdocs: the notebook as a page, formulas as MathML, the repository's address, names that break at dots.

mkdocs loads it by its path (`hooks` in mkdocs.yml). Formulas stand in the Markdown as `$...$`, or `$$...$$` for one
of its own line, as GitHub reads them.
"""

from __future__ import annotations

import html
import json
import re
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

CODE = re.compile(r"(^ *```.*?^ *```|`[^`\n]*`)", re.M | re.S)
FORMULA = re.compile(r"\$\$(.+?)\$\$|(?<![\w$\\])\$(?![\s$])([^$\n]+?)(?<!\s)\$(?![\w$])", re.S)
MARK = "formula-{}-here"
DOTTED_NAME = re.compile(r'(<span class="doc doc-object-name[^>]*>)([\w.]+)(?=</span>)')


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """The link to the repository, if the package names one."""
    project = tomllib.loads((Path(config.config_file_path).parent / "pyproject.toml").read_text("utf-8"))[
        "project"
    ]
    addresses = {name.lower(): address for name, address in project.get("urls", {}).items()}
    config.repo_url = next((addresses[name] for name in ("repository", "source") if name in addresses), None)
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """A page in place of each notebook."""
    for file in [file for file in files if file.src_uri.endswith(".ipynb")]:
        text = markdown_of(json.loads(file.content_string))
        files.append(type(file).generated(config, file.src_uri.removesuffix("ipynb") + "md", content=text))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """The page with a mark for each formula, which Markdown leaves as it is."""
    found: list[str] = []
    page.meta["formulas"] = found

    def mark(match: re.Match[str]) -> str:
        found.append(mathml(match[1] or match[2], is_block=match[1] is not None))
        return MARK.format(len(found) - 1)

    parts = CODE.split(markdown)
    return "".join(part if place % 2 else FORMULA.sub(mark, part) for place, part in enumerate(parts))


def on_page_content(content: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """The formulas in place of their marks, and headings of Python names that a phone breaks after a dot."""
    for place, formula in enumerate(page.meta.get("formulas", [])):
        content = content.replace(MARK.format(place), formula)
    return with_breaks(content)


def with_breaks(content: str) -> str:
    """A page whose headings of dotted names may break after each dot, and not within a word.

    >>> with_breaks('<span class="doc doc-object-name">trex.find</span>')
    '<span class="doc doc-object-name">trex.<wbr>find</span>'
    """
    return DOTTED_NAME.sub(lambda match: match[1] + match[2].replace(".", ".<wbr>"), content)


def mathml(tex: str, *, is_block: bool) -> str:
    """A formula as MathML, which browsers draw without a script."""
    from latex2mathml.converter import convert

    formula: str = convert(tex.strip(), display="block" if is_block else "inline")
    return formula


def markdown_of(notebook: dict[str, Any]) -> str:
    """A notebook as Markdown: its cells, and below each what it shows."""
    parts = []
    for cell in notebook["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(source)
            continue
        parts += [f"```python\n{source}\n```", *(shown(output) for output in cell.get("outputs", []))]
    return "\n\n".join(part for part in parts if part)


def shown(output: dict[str, Any]) -> str:
    """An output of a cell: a picture, HTML, or text."""
    if output["output_type"] == "stream":
        return f"```text\n{''.join(output['text']).rstrip()}\n```" if output["name"] == "stdout" else ""
    data = output.get("data", {})
    for kind in ("image/png", "image/jpeg"):
        if kind in data:
            url = f"data:{kind};base64,{''.join(''.join(data[kind]).split())}"
            return f'<p class="output"><img alt="The picture that the cell shows" src="{url}"></p>'
    if "text/html" in data:
        lines = "".join(data["text/html"]).splitlines()
        return f'<div class="output">{" ".join(line.strip() for line in lines if line.strip())}</div>'
    return f'<pre class="output">{html.escape("".join(data.get("text/plain", "")))}</pre>'
