"""Words, pictures and long sentences of README.md and docs/, page by page.

python -m benchmarks.documents.measure [ROOT]

Tables that `docs/tables.py` makes from the code are left out.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

LONG = 30  # words; a sentence has fewer than this, or as many
PICTURE = re.compile(r"!\[[^\]]*\]\([^)]+\)|<img\b|<svg\b")
_FENCE = re.compile(r"^ *(```|~~~).*?^ *\1[`~]*$", re.M | re.S)
_COMMENT = re.compile(r"<!--.*?-->", re.S)
_HEADING = re.compile(r"^#+ .*$", re.M)
_BLOCK = re.compile(r"^\s*(?:[-*+] |\d+\. |!!! |\|)", re.M)  # each begins a block of its own
_GENERATED = re.compile(r"<!-- table: [\w-]+ -->.*?<!-- end -->", re.S)
_MARKER = re.compile(r"^\s*(?:[-*+]|\d+\.) ")
_LEFT_OUT = re.compile(r"^\s*(?:\||!!! |::: |    )")  # tables, and indented code
_CODE = re.compile(r"`[^`]+`")
_LINK = re.compile(r"!?\[([^\]]*)\](?:\([^)]*\)|\[[^\]]*\])")
_END = re.compile(r"(?<!\be\.g)(?<!\bi\.e)(?<!\bvs)(?<!\bet al)[.!?][\"')\]*_`]*\s+(?=[\"'(\[*_`]*[A-Z0-9`])")


@dataclass(frozen=True)
class Page:
    """What was counted on one page."""

    name: str
    words: int  # code and tables included
    read: int  # of these, outside of code and comments
    pictures: int
    sentences: int
    long: int  # sentences of more than LONG words

    @property
    def share(self) -> float:
        """The share of sentences that are long, 0 to 1."""
        return self.long / self.sentences if self.sentences else 0.0


def text_of(path: Path) -> str:
    """A page as Markdown; of a notebook, its cells, the code fenced."""
    text = path.read_text(encoding="utf-8")
    if path.suffix != ".ipynb":
        return text
    parts = []
    for cell in json.loads(text)["cells"]:
        source = "".join(cell["source"])
        parts.append(source if cell["cell_type"] == "markdown" else f"```python\n{source}\n```")
    return "\n\n".join(parts)


def drawn_by(path: Path) -> int:
    """How many cells of a notebook show a picture as output."""
    if path.suffix != ".ipynb":
        return 0
    outputs = (
        output
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]
        for output in cell.get("outputs", [])
    )
    return sum(any(kind.startswith("image/") for kind in output.get("data", {})) for output in outputs)


def blocks(markdown: str) -> Iterator[str]:
    """The paragraphs and list items of prose, without code, tables, headings and comments."""
    prose = _HEADING.sub("\n", _COMMENT.sub("", _FENCE.sub("\n\n", markdown)))
    for part in re.split(r"\n\s*\n", _BLOCK.sub(lambda found: "\n\n" + found[0].lstrip("\n"), prose)):
        if part.strip() and not _LEFT_OUT.match(part.lstrip("\n")):
            yield " ".join(_MARKER.sub("", part).split())


def sentences(markdown: str) -> Iterator[str]:
    """The sentences of the prose, links as their text; not the one or two words that open a list's items."""
    for block in blocks(markdown):
        plain = re.sub(r"<[^>]+>", " ", _LINK.sub(r"\1", _CODE.sub(_unbroken, block)))
        yield from (part for part in _END.split(plain) if length(part) > 2)


def _unbroken(code: re.Match[str]) -> str:
    return re.sub(r"[.!?]", "_", code[0])


def length(sentence: str) -> int:
    """Its words: whatever stands between spaces and holds a letter or digit."""
    return sum(bool(re.search(r"\w", word)) for word in sentence.split())


def measure(path: Path, name: str) -> Page:
    """The counts of one page."""
    text = _GENERATED.sub("", text_of(path))
    lengths = [length(sentence) for sentence in sentences(text)]
    pictures = len(PICTURE.findall(_FENCE.sub("", text))) + drawn_by(path)
    read = len(_COMMENT.sub("", _FENCE.sub("", text)).split())
    return Page(name, len(text.split()), read, pictures, len(lengths), sum(n > LONG for n in lengths))


def pages(root: Path) -> list[Page]:
    """README.md and every page below docs/."""
    found = [
        root / "README.md",
        *sorted((root / "docs").rglob("*.md")),
        *sorted((root / "docs").rglob("*.ipynb")),
    ]
    return [measure(path, path.relative_to(root).as_posix()) for path in found]


def main(root: Path) -> None:
    """Print one line a page, and all together."""
    counted = pages(root)
    total = Page(
        f"{len(counted)} pages",
        sum(page.words for page in counted),
        sum(page.read for page in counted),
        sum(page.pictures for page in counted),
        sum(page.sentences for page in counted),
        sum(page.long for page in counted),
    )
    print(
        f"{'page':<40} {'words':>6} {'no code':>7} {'pictures':>8} {'sentences':>9} {'over ' + str(LONG):>8}"
    )
    for page in [*counted, total]:
        print(
            f"{page.name:<40} {page.words:>6} {page.read:>7} {page.pictures:>8} {page.sentences:>9} {page.share:>8.1%}"
        )


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path())
