"""A whole audit, from its options to its page: what the command and the Python API both do."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from trex.auditing.audit import Audit, audit
from trex.auditing.beside import Beside, beside, read_other
from trex.auditing.judging.findings import Finding
from trex.auditing.judging.not_found import LookedFor
from trex.auditing.options import AuditOptions
from trex.auditing.plan import audit_settings, planned
from trex.auditing.reporting.document import cases, document
from trex.auditing.reporting.page import write_report
from trex.auditing.reporting.searches import Lead, SearchTemplate, write_leads
from trex.auditing.reporting.words import beside_words, headline, leads_words, not_found_words, rate_words
from trex.auditing.units import Crew
from trex.auditing.work import Work
from trex.bank.named import bank_world, world_query
from trex.foundation.errors import InputError
from trex.foundation.junit import check_junit, write_junit
from trex.foundation.progress import Progress
from trex.query.schema import SceneSection
from trex.query.shape_cards import named_card
from trex.runs.place import RUNS
from trex.worlds.world import open_model


@dataclass(frozen=True)
class AuditResult:
    """A finished audit, its page, the leads to further mistakes, and another model's answers if one is compared."""

    done: Audit
    page: Path
    leads: tuple[Lead, ...] = ()
    beside: Beside | None = None

    @property
    def path(self) -> Path:
        """The folder with the page, all answers and the pictures."""
        return self.done.folder

    @property
    def headline(self) -> str:
        """What was found, in one sentence."""
        return headline(self.done)

    @property
    def families(self) -> tuple[Finding, ...]:
        """The confirmed failure families, the most harmful first."""
        return self.done.confirmed

    @property
    def rejected(self) -> tuple[Finding, ...]:
        """The rules that the held-out scenes did not confirm."""
        return tuple(each for each in self.done.findings if not each.is_confirmed)

    @property
    def looked_for(self) -> LookedFor:
        """The kinds of confident mistakes that were looked for, and bounds on those that no held-out scene shows."""
        return self.done.looked_for

    def __str__(self) -> str:
        """The families, and what was not found, for the terminal."""
        families = [f"  {one.words} {rate_words(one)}." for one in self.done.confirmed]
        compared = [beside_words(self.beside)] if self.beside else []
        lines = [
            self.headline,
            *families,
            not_found_words(self.done.looked_for),
            *([leads_words(self.leads)] if self.leads else []),
            *compared,
            f"page: {self.page}",
        ]
        return "\n".join(lines)

    def document(self) -> dict[str, object]:
        """All figures, as in `report.json`, and the path of the page."""
        return document(self.done, self.leads, self.beside) | {"page": str(self.page)}


def perform(
    options: AuditOptions,
    progress: Progress,
    on_begin: Callable[[Path], None] = lambda folder: None,
    *,
    work: Work | None = None,
    crew: Crew | None = None,
) -> AuditResult:
    """Audit a model, or resume, and write the page and the JUnit file; `on_begin` receives the folder.

    A farm gives the `work` of the options, and who does it.
    InputError before anything is rendered or written if an option is wrong; errors as from `audit`.
    """
    if options.junit is not None:
        check_junit(options.junit)
    scene = _scene(options)
    work = work or work_of(options)
    other = None if options.beside is None else read_other(options.beside, work.settings)
    on_begin(work.folder)
    done = audit(work, progress, crew)
    compared = None if other is None else beside(done.held_out, other, done.confirmed, done.asker)
    template = SearchTemplate(work.settings, scene, options.model, options.asked)
    leads = write_leads(work.folder, done.hints, template, options.searched, progress)
    page = write_report(done, work.prior.vocabulary, leads, compared)
    if options.junit is not None:
        write_junit(options.junit, "trex audit", cases(done))
    return AuditResult(done, page, leads, compared)


def work_of(options: AuditOptions) -> Work:
    """What these options ask for, checked; nothing is rendered or written."""
    prior = bank_world(options.world)
    if options.budget is not None:
        options = planned(options.budget, options)
    model = open_model(options.model, options.asked)
    settings = audit_settings(model, prior, options)
    folder = options.out or RUNS / f"audit-{options.model.replace(':', '-').replace('/', '-')}"
    return Work(
        model, settings, prior, folder, options.bank, options.processes, options.probed, options.fresh
    )


def _scene(options: AuditOptions) -> SceneSection:
    """[scene] of the audit's world, with absolute paths of shape cards; InputError if it cannot be searched."""
    query, folder = world_query(options.world)
    if options.searched and query.wrong:
        raise InputError(
            f"--searched: {options.world} has wrong = true, and a query has one such condition only"
        )
    return query.scene.model_copy(
        update={"introduce": tuple(named_card(which, folder) for which in query.scene.introduce)}
    )
