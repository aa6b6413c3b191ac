"""The same page as one file without network, for annotators elsewhere; its answers are downloaded as CSV."""

from __future__ import annotations

import json
from pathlib import Path

from markupsafe import Markup

from trex.foundation.files import HTML, check_file_out, write_atomic
from trex.labelling.shown import Shown
from trex.pages.page import TEMPLATES, page
from trex.render.png_url import url_of_png
from trex.repair.votes_file import COLUMNS

SCRIPTS, STYLES = ("label.js", "label_export.js"), ("serve.css", "label.css")


def check_page_path(path: Path) -> None:
    """InputError if no page can be written there."""
    check_file_out(path, "--export", HTML)


def write_page(path: Path, shown: Shown) -> None:
    """Write the page with all pictures in it."""
    write_atomic(path, export_page(shown).encode())


def export_page(shown: Shown) -> str:
    """The page: names, pictures and classes, and the key of the orders."""
    pictures = [[name, url_of_png(png), shown.captions.get(name, "")] for name, png in shown.pictures.items()]
    material = {
        "key": shown.key,
        "columns": COLUMNS,
        "question": shown.survey.question,
        "pictures": pictures,
    }
    values: dict[str, object] = {
        "material": Markup(json.dumps(material).replace("<", "\\u003c")),
        "survey": shown.survey,
        "examples": {label: url_of_png(png) for label, png in shown.examples.items()},
        "pictures": len(pictures),
        "style": _joined(STYLES),
        "script": _joined(SCRIPTS),
    }
    return page("label_export.html", values)


def _joined(names: tuple[str, ...]) -> Markup:
    return Markup("\n".join((TEMPLATES / name).read_text(encoding="utf-8") for name in names))
