"""A page of HTML as a test reads it: what it refers to, what it shows and what it says."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path

VOID = {"meta", "link", "img", "br", "input"}


class Page(HTMLParser):
    """Collects what a page refers to, checks that its tags are closed, and keeps its text."""

    def __init__(self) -> None:
        super().__init__()
        self.references: list[str] = []
        self.images: list[dict[str, str | None]] = []
        self.open: list[str] = []
        self.scripts = 0
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = ("src", "href", "xlink:href", "action", "srcset", "data", "poster")
        self.references += [value for name, value in attrs if name in names and value]
        if tag == "img":
            self.images += [dict(attrs)] if dict(attrs).get("src") else []
        assert tag not in ("iframe", "object", "form")
        self.scripts += tag == "script"
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def read_page(path: Path) -> Page:
    """The page in a file."""
    page = Page()
    page.feed(path.read_text(encoding="utf-8"))
    return page
