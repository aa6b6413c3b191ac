"""Pages from the templates: escaped, an unknown name is an error."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from urllib.parse import quote

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template
from markupsafe import Markup

from trex.pages.glossary import gloss
from trex.pages.wording import percent, percent_interval, points

TEMPLATES = Path(__file__).parent / "templates"


def page(template: str, values: dict[str, object], **filters: Callable[..., str]) -> str:
    """A template filled with values; it may use the filters of wording and glossary, and those given."""
    return _environment(tuple(filters.items())).get_template(template).render(values)


def fragment(source: str, values: Mapping[str, object]) -> Markup:
    """A part of a page from a template's source, escaped as every page."""
    return Markup(_compiled(source).render(values))


def link_below(page: Path, target: Path) -> str:
    """The relative link from a page to a file in or below its folder; "" if it lies elsewhere or is not there."""
    here, there = page.absolute().parent.resolve(), target.resolve()
    if not target.is_file() or not there.is_relative_to(here):
        return ""
    return quote(there.relative_to(here).as_posix())


@cache
def _compiled(source: str) -> Template:
    return _environment(()).from_string(source)


@cache
def _environment(filters: tuple[tuple[str, Callable[..., str]], ...]) -> Environment:
    """Keeps the templates that it has compiled."""
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"percent": percent, "points": points, "gloss": gloss, **dict(filters)}
    environment.globals["interval"] = percent_interval
    return environment
