"""Renders pages from templates: escapes everything, and raises an error for an undefined name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from urllib.parse import quote

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template
from markupsafe import Markup

from trex.foundation.words import capitalized, percent, percent_span
from trex.pages.glossary import gloss
from trex.pages.wording import points

TEMPLATES = Path(__file__).parent / "templates"


def page(template: str | Path, values: dict[str, object], **filters: Callable[..., str]) -> str:
    """A template filled with values; has the filters of wording and glossary besides the given ones.

    The template is one of ours, by name, or another by its path; that may extend ours.
    """
    path = TEMPLATES / template
    return _environment(tuple(filters.items()), path.parent).get_template(path.name).render(values)


def fragment(source: str, values: Mapping[str, object]) -> Markup:
    """Part of a page from a template's source, escaped like every page."""
    return Markup(_compiled(source).render(values))


def link_below(page: Path, target: Path) -> str:
    """The relative link from a page to a file in or below its folder; "" if it is elsewhere or missing."""
    here, there = page.absolute().parent.resolve(), target.resolve()
    if not target.is_file() or not there.is_relative_to(here):
        return ""
    return quote(there.relative_to(here).as_posix())


@cache
def _compiled(source: str) -> Template:
    return _environment((), TEMPLATES).from_string(source)


@cache
def _environment(filters: tuple[tuple[str, Callable[..., str]], ...], folder: Path) -> Environment:
    """The jinja2 environment, cached with its compiled templates."""
    environment = Environment(
        loader=FileSystemLoader([folder, TEMPLATES]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "percent": percent,
        "points": points,
        "gloss": gloss,
        "capitalized": capitalized,
        **dict(filters),
    }
    environment.globals["interval"] = percent_span
    return environment
