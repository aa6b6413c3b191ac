"""`report.html`: the results of a run on one self-contained page."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from pathlib import Path

from trex.foundation.files import write_atomic
from trex.foundation.words import span
from trex.pages.glossary import WORDS
from trex.pages.page import TEMPLATES, page
from trex.report import gallery
from trex.report.context import ReportContext
from trex.report.section import section_pages
from trex.runs.folder import REPORT, RunFolder
from trex.search.results import Results


def write_report(
    folder: RunFolder,
    results: Results,
    files: Mapping[str, str],
    *,
    reloads: bool = False,
    out: Path | None = None,
) -> Path:
    """Write the report of a run, in its folder or to `out`; return its path.

    `files` maps further files with the hits to their descriptions. With `reloads`, the page reloads itself, as it will
    be written again.
    """
    context = ReportContext(folder, results, files, is_growing=reloads and not folder.is_finished)
    script = (TEMPLATES / "report.js").read_text(encoding="utf-8")
    values: dict[str, object] = {
        "run": context,
        "reloads": reloads,
        "sections": section_pages(context),
        "gallery": gallery,
        "glossary": WORDS,
        "script": script,
        "script_hash": base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
    }
    path = out or folder.path / REPORT
    write_atomic(path, page("report.html", values, span=span).encode())
    return path
