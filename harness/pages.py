"""Pages from the templates: escaped, an unknown name is an error."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from harness.wording import percent

TEMPLATES = Path(__file__).parent / "templates"


def page(template: str, values: dict[str, object], **filters: Callable[..., str]) -> str:
    """A template filled with values; it may use `percent` and the filters given."""
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"percent": percent, **filters}
    return environment.get_template(template).render(values)
