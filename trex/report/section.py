"""Sections of a report and the extension point that finds them: ours, and those of other distributions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from traceback import extract_tb

from markupsafe import Markup

from trex.foundation.errors import InputError, TrexError
from trex.foundation.extensions import ExtensionPoint
from trex.foundation.words import quoted
from trex.pages.page import fragment
from trex.report.context import ReportContext

TEMPLATE = "<template>"  # what jinja calls a template that is no file


@dataclass(frozen=True)
class Section:
    """A section of a report, between the gallery and the conclusions.

    `template` is jinja2 source, rendered with only the names that `data` returns, everything escaped, and with the
    filters `percent`, `points` and `gloss`; an undefined name is an error. `data` returns None if the run has
    nothing to show; the section is then left out. Sections are sorted by `order`.
    """

    name: str
    template: str
    data: Callable[[ReportContext], Mapping[str, object] | None]
    order: int = 1000

    def html(self, context: ReportContext) -> Markup | None:
        """The HTML of the section for a run; InputError names the section if it fails."""
        try:
            values = self.data(context)
            return None if values is None else fragment(self.template, values)
        except (TrexError, OSError):
            raise
        except Exception as error:  # a section of another distribution may raise anything
            raise InputError(
                f"section {self.name!r} fails{self._place(error)}: {type(error).__name__}: {error}; the run is kept: "
                f"correct the section, then: trex report {quoted(context.folder.path)}"
            ) from error

    def _place(self, error: Exception) -> str:
        """The last line of the section that was run, in words; "" if it is unknown."""
        code = getattr(self.data, "__code__", None)
        names = {TEMPLATE: "its template"} | ({code.co_filename: Path(code.co_filename).name} if code else {})
        frames = [frame for frame in extract_tb(error.__traceback__) if frame.filename in names]
        return f" in {names[frames[-1].filename]}, line {frames[-1].lineno}" if frames else ""


def template_file(package: str, path: str) -> str:
    """The source of a template in a package, such as ("trex.pages", "templates/misses.html")."""
    return files(package).joinpath(path).read_text(encoding="utf-8")


def section_pages(context: ReportContext) -> Iterator[Markup]:
    """Every section with content, in order; then a note on installed ones that cannot be imported."""
    found, problems = SECTIONS.sound
    for section in sorted(found.values(), key=lambda section: section.order):
        html = section.html(context)
        if html is not None:
            yield html
    if problems:
        yield fragment(NOT_SHOWN, {"problems": problems})


NOT_SHOWN = """
<section aria-labelledby="not-shown-title">
<h2 id="not-shown-title">Not shown</h2>
<ul>{% for problem in problems %}<li>{{ problem }}</li>
{% endfor %}</ul>
</section>
"""
SECTIONS = ExtensionPoint("report section", "trex.report.sections", "SECTION", "trex.sections", Section)
