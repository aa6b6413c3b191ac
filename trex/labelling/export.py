"""The same page as one file without network, for annotators elsewhere; its answers are downloaded as CSV."""

from __future__ import annotations

import base64
import json
from pathlib import Path

from markupsafe import Markup

from trex.foundation.errors import InputError
from trex.foundation.files import write_atomic
from trex.labelling.shown import Shown
from trex.pages.page import TEMPLATES, page
from trex.repair.votes_file import COLUMNS

SCRIPTS, STYLES = ("label.js", "label_export.js"), ("serve.css", "label.css")


def check_page_path(path: Path) -> None:
    """InputError if no page can be written there."""
    if path.is_dir() or not path.parent.is_dir():
        raise InputError(
            f"--export {path} cannot be written; give the path of a file in a folder that exists"
        )


def write_page(path: Path, shown: Shown) -> None:
    """Write the page with all pictures in it."""
    write_atomic(path, export_page(shown).encode())


def export_page(shown: Shown) -> str:
    """The page: names, pictures and classes, and the key of the orders."""
    pictures = [[name, _data_url(png), shown.captions.get(name, "")] for name, png in shown.pictures.items()]
    material = {
        "key": shown.key,
        "columns": COLUMNS,
        "question": shown.survey.question,
        "pictures": pictures,
    }
    values: dict[str, object] = {
        "material": Markup(json.dumps(material).replace("<", "\\u003c")),
        "survey": shown.survey,
        "examples": {label: _data_url(png) for label, png in shown.examples.items()},
        "pictures": len(pictures),
        "style": _joined(STYLES),
        "script": _joined(SCRIPTS),
    }
    return page("label_export.html", values)


def _data_url(png: bytes) -> str:
    return f"data:image/png;base64,{base64.b64encode(png).decode('ascii')}"


def _joined(names: tuple[str, ...]) -> Markup:
    return Markup("\n".join((TEMPLATES / name).read_text(encoding="utf-8") for name in names))
