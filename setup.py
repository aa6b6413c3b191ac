"""The description on the package page: README.md without relative links. All else is in pyproject.toml."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from setuptools import setup

HERE = Path(__file__).parent
OUTSIDE = r"(?!https?:|mailto:)"
IMAGE = re.compile(rf"!\[([^\]]*)\]\({OUTSIDE}([^)\s]+)\)")
LINK = re.compile(rf"(?<!!)\[((?:[^\[\]]|!?\[[^\]]*\](?:\([^)]*\))?)*)\]\({OUTSIDE}([^)\s]+)\)")
HTML_IMAGE = re.compile(rf'<(?:img|source)\b[^>]*?\bsrc(?:set)?="{OUTSIDE}([^"]+)"[^>]*>')
HTML_LINK = re.compile(rf'<a\b[^>]*?\bhref="{OUTSIDE}([^"]+)"[^>]*>(.*?)</a>', re.DOTALL)

FENCE = re.compile(r"(^```.*?^```$)", re.MULTILINE | re.DOTALL)


def description(text: str, repository: str, version: str) -> str:
    """The text with its relative links and pictures at the repository's address, or without them if it is ""."""
    parts = FENCE.split(text)  # code at the odd places
    parts[::2] = [prose(part, repository, version) for part in parts[::2]]
    return "".join(parts)


def prose(text: str, repository: str, version: str) -> str:
    """The same, for text that contains no block of code."""
    if repository:
        pages, files = (f"{repository}/{kind}/v{version}/" for kind in ("blob", "raw"))
        text = re.sub(IMAGE, lambda found: f"![{found[1]}]({files}{found[2]})", text)
        text = re.sub(
            HTML_IMAGE, lambda found: found[0].replace(f'"{found[1]}"', f'"{files}{found[1]}"'), text
        )
        text = re.sub(
            HTML_LINK, lambda found: found[0].replace(f'"{found[1]}"', f'"{absolute(found[1], pages)}"'), text
        )
        return re.sub(LINK, lambda found: f"[{found[1]}]({absolute(found[2], pages)})", text)
    text = re.sub(HTML_IMAGE, "", re.sub(IMAGE, "", text))
    return re.sub(LINK, r"\1", re.sub(HTML_LINK, r"\2", text))


def absolute(link: str, pages: str) -> str:
    """The address of a link of the README; one to a heading of its own is one to the README."""
    return pages + ("README.md" if link.startswith("#") else "") + link


def readme(folder: Path = HERE) -> str:
    """The description of the tree in this folder."""
    project = tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    text = (folder / "README.md").read_text(encoding="utf-8")
    return description(text, project["urls"].get("Repository", "").rstrip("/"), project["version"])


if __name__ == "__main__":
    setup(long_description=readme(), long_description_content_type="text/markdown")
