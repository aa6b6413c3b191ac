"""What a section of a report is, and the road by which sections are found: ours, and those of other distributions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files

from markupsafe import Markup

from trex.crosscheck.confirmation_page import Section as ConfirmedSection
from trex.crosscheck.confirmation_page import confirmations
from trex.explain.explanation import Explanation, read_explanations
from trex.foundation.errors import InputError, TrexError
from trex.foundation.extensions import Road
from trex.pages.page import fragment
from trex.runs.folder import RunFolder
from trex.runs.manifest import Manifest
from trex.runs.world_of import world_of
from trex.search.results import Results
from trex.worlds.description import Noun


@dataclass(frozen=True)
class ReportContext:
    """The run that a report is written about; what lies beside its draws is read once, when a section needs it."""

    folder: RunFolder
    findings: Results

    @property
    def manifest(self) -> Manifest:
        """What was searched for, in which world, with which model."""
        return self.folder.manifest

    @property
    def noun(self) -> Noun:
        """What the world's latents are called."""
        return world_of(self.manifest).noun

    @cached_property
    def explanations(self) -> Mapping[str, Explanation]:
        """What `trex explain` has written, by the explained picture."""
        return read_explanations(self.folder)

    @cached_property
    def confirmations(self) -> list[ConfirmedSection]:
        """What `trex confirm` has written, by preset."""
        return confirmations(self.folder)


@dataclass(frozen=True)
class Section:
    """A section of a report, between the gallery and what may be said.

    `template` is jinja2 source, rendered with just the names that `data` gives, everything escaped, and with the
    filters `percent`, `points` and `gloss`; a name that is not there is an error. `data` gives None if the run has
    nothing to show, and the section is left out. Sections stand by their `order`.
    """

    name: str
    template: str
    data: Callable[[ReportContext], Mapping[str, object] | None]
    order: int = 1000

    def html(self, context: ReportContext) -> Markup | None:
        """The section of a run; InputError names it if it fails."""
        try:
            values = self.data(context)
            return None if values is None else fragment(self.template, values)
        except (TrexError, OSError):
            raise
        except Exception as error:  # a section of another distribution may raise anything
            raise InputError(f"section {self.name!r} fails: {type(error).__name__}: {error}") from error


def template_file(package: str, path: str) -> str:
    """The source of a template that lies in a package, such as ("trex.pages", "templates/misses.html")."""
    return files(package).joinpath(path).read_text(encoding="utf-8")


def section_pages(context: ReportContext) -> Iterator[Markup]:
    """Every section that has something to show, in order; last, the installed ones that cannot be imported."""
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
SECTIONS = Road("report section", "trex.report.sections", "SECTION", "trex.sections", Section)
