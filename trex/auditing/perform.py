"""A whole audit, from its options to its page: what the command and the Python API both do."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from trex.auditing.audit import Audit, OnProgress, audit
from trex.auditing.beside import Beside, beside, read_other
from trex.auditing.defaults import DECIDING, LOOK, PROBED, SURE, WORLD
from trex.auditing.joining import Helped, join
from trex.auditing.judging.fresh import check_fresh
from trex.auditing.judging.probe import check_probed
from trex.auditing.plan import Sizes, audit_settings, planned
from trex.auditing.reporting.document import document
from trex.auditing.reporting.junit import cases
from trex.auditing.reporting.page import write_report
from trex.auditing.reporting.searches import Lead, SearchFor, SearchTemplate, write_leads
from trex.auditing.reporting.words import beside_words, headline, leads_words, not_found_words, rate_words
from trex.auditing.work import Work
from trex.bank.named import bank_world, world_query
from trex.clevr_models.interface.options import ModelOptions
from trex.foundation.errors import InputError
from trex.foundation.junit import check_junit, write_junit
from trex.query.schema import SceneSection
from trex.query.shape_cards import named_card
from trex.query.toml_file import render_section
from trex.runs.place import RUNS
from trex.worlds.world import open_model

DEFAULT_SIZES = Sizes()
MAX_SEARCHED = 100


@dataclass(frozen=True)
class AuditOptions:
    """The options of `trex audit`, with its defaults; docs/AUDIT.md says what each does.

    `world` is a query's file or name, or clevr; `budget`, in CPU hours, sets `sizes` but for the questions; `look` and
    `deciding` are presets; `weigh` holds SYMPTOM=WEIGHT; `families` are kinds or families of questions, all if empty;
    `out` is runs/audit-MODEL if None; `model` has what a query's [model] has besides the name; `searched` is the number
    of searches for kinds of mistakes that no scene shows; `fresh` the number of further scenes by which the share of
    mistakes in confirmed families is measured.
    """

    world: Path = Path(WORLD)
    budget: float | None = None
    sizes: Sizes = DEFAULT_SIZES
    look: str = LOOK
    deciding: str = DECIDING
    sure: float = SURE
    seed: int = 0
    weigh: tuple[str, ...] = ()
    families: tuple[str, ...] = ()
    processes: int | None = None
    bank: Path | None = None
    out: Path | None = None
    junit: Path | None = None
    probed: int = PROBED
    fresh: int = 0
    beside: Path | None = None
    model: ModelOptions | None = None
    searched: int = 0


@dataclass(frozen=True)
class Performed:
    """A finished audit and its page, the leads to further mistakes, and another model's answers if asked for."""

    done: Audit
    page: Path
    leads: tuple[Lead, ...] = ()
    beside: Beside | None = None

    def lines(self) -> list[str]:
        """The families, and what was not found, for the terminal."""
        families = [f"  {one.words} {rate_words(one)}." for one in self.done.confirmed]
        compared = [beside_words(self.beside)] if self.beside else []
        return [
            headline(self.done),
            *families,
            not_found_words(self.done.looked_for),
            *([leads_words(self.leads)] if self.leads else []),
            *compared,
            f"page: {self.page}",
        ]

    def document(self) -> dict[str, object]:
        """All figures, as in `report.json`."""
        return document(self.done, self.leads, self.beside)


def perform(
    model: str,
    options: AuditOptions,
    on_progress: OnProgress,
    search: SearchFor,
    on_begin: Callable[[Path], None] = lambda folder: None,
) -> Performed:
    """Audit a model, or resume, and write the page and the JUnit file; `on_begin` receives the folder.

    `search` runs the query of a lead, or resumes its run.
    InputError before anything is rendered or written if an option is wrong; errors as from `audit`.
    """
    if options.junit is not None:
        check_junit(options.junit)
    scene = _scene(options)
    work = _work(model, options)
    other = None if options.beside is None else read_other(options.beside, work.settings)
    on_begin(work.folder)
    done = audit(work, on_progress)
    compared = None if other is None else beside(done.rest, other, done.confirmed, done.asker)
    template = SearchTemplate(work.settings, scene, model, options.model or ModelOptions())
    leads = write_leads(work.folder, done.leanings, template, options.searched, search)
    page = write_report(done, work.prior.vocabulary, leads, compared)
    if options.junit is not None:
        write_junit(options.junit, "trex audit", cases(done))
    return Performed(done, page, leads, compared)


def join_audit(model: str, options: AuditOptions, on_progress: OnProgress) -> Helped:
    """Help the audit that another program leads with the same options, in the same folder; errors as from `join`."""
    return join(_work(model, options), on_progress)


def _work(model: str, options: AuditOptions) -> Work:
    """What these options ask for, checked; nothing is rendered or written."""
    check_probed(options.probed)
    check_fresh(options.fresh)
    render_section(options.look, options.processes)
    prior = bank_world(options.world)
    sizes = options.sizes
    if options.budget is not None:
        sizes = planned(options.budget, sizes, options.look, options.deciding)
    opened = open_model(model, options.model)
    looks = (options.look, options.deciding)
    settings = audit_settings(
        opened, prior, sizes, looks, options.sure, options.seed, options.weigh, options.families
    )
    folder = options.out or RUNS / f"audit-{model.replace(':', '-').replace('/', '-')}"
    return Work(
        opened, settings, prior, folder, options.bank, options.processes, options.probed, options.fresh
    )


def _scene(options: AuditOptions) -> SceneSection:
    """[scene] of the audit's world, with absolute paths of shape cards; InputError if it cannot be searched."""
    query, folder = world_query(options.world)
    if not 0 <= options.searched <= MAX_SEARCHED:
        raise InputError(f"--searched {options.searched}: give 0 to {MAX_SEARCHED}")
    if options.searched and query.wrong:
        raise InputError(
            f"--searched: {options.world} has wrong = true, and a query has one such condition only"
        )
    return query.scene.model_copy(
        update={"introduce": tuple(named_card(which, folder) for which in query.scene.introduce)}
    )
