"""A whole audit, from its options to its page: what the command and the Python API both do."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from trex.auditing.audit import Audit, Tell, audit
from trex.auditing.beside import Beside, beside, read_other
from trex.auditing.judging.probe import check_probed
from trex.auditing.plan import Sizes, audit_settings, planned
from trex.auditing.telling.document import document
from trex.auditing.telling.junit import cases
from trex.auditing.telling.page import write_report
from trex.auditing.telling.words import beside_words, headline, not_found_words, rate_words
from trex.bank.named import bank_world
from trex.clevr_models.interface.options import ModelOptions
from trex.foundation.junit import check_junit, write_junit
from trex.worlds.world import open_model

PROBED = 8  # scenes of each family in each way
DEFAULT_SIZES = Sizes()


@dataclass(frozen=True)
class AuditOptions:
    """The options of `trex audit`, with its defaults; docs/AUDIT.md says what each does.

    `world` is a query's file or name, or clevr; `budget`, in CPU hours, sets `sizes` but for the questions; `look` and
    `deciding` are presets; `weigh` holds SYMPTOM=WEIGHT; `out` is runs/audit-MODEL if None; `model` has what a query's
    [model] has besides the name.
    """

    world: Path = Path("clevr")
    budget: float | None = None
    sizes: Sizes = DEFAULT_SIZES
    look: str = "fast"
    deciding: str = "reference"
    sure: float = 0.9
    seed: int = 0
    weigh: tuple[str, ...] = ()
    processes: int | None = None
    bank: Path | None = None
    out: Path | None = None
    junit: Path | None = None
    probed: int = PROBED
    beside: Path | None = None
    model: ModelOptions | None = None


@dataclass(frozen=True)
class Performed:
    """A finished audit and its page, with another model's answers beside it if asked for."""

    done: Audit
    page: Path
    beside: Beside | None = None

    def lines(self) -> list[str]:
        """The families, and what was not found, for the terminal."""
        families = [f"  {one.words} {rate_words(one)}." for one in self.done.confirmed]
        compared = [beside_words(self.beside)] if self.beside else []
        return [
            headline(self.done),
            *families,
            not_found_words(self.done.looked_for),
            *compared,
            f"page: {self.page}",
        ]

    def document(self) -> dict[str, object]:
        """All figures, as in `report.json`."""
        return document(self.done, self.beside)


def perform(
    model: str,
    options: AuditOptions,
    tell: Tell,
    on_begin: Callable[[Path], None] = lambda folder: None,
) -> Performed:
    """Audit a model, or resume, and write the page and the JUnit file; `on_begin` receives the folder.

    InputError before anything is rendered or written if an option is wrong; errors as from `audit`.
    """
    if options.junit is not None:
        check_junit(options.junit)
    check_probed(options.probed)
    prior = bank_world(options.world)
    sizes = options.sizes
    if options.budget is not None:
        sizes = planned(options.budget, sizes, options.look, options.deciding, options.probed)
    opened = open_model(model, options.model)
    looks = (options.look, options.deciding)
    settings = audit_settings(opened, prior, sizes, looks, options.sure, options.seed, options.weigh)
    other = None if options.beside is None else read_other(options.beside, settings)
    folder = options.out or Path("runs") / f"audit-{model.replace(':', '-').replace('/', '-')}"
    on_begin(folder)
    done = audit(opened, settings, prior, folder, options.bank, options.processes, tell, options.probed)
    compared = None if other is None else beside(done.rest, other, done.confirmed, done.asker)
    page = write_report(done, prior.vocabulary, compared)
    if options.junit is not None:
        write_junit(options.junit, "trex audit", cases(done))
    return Performed(done, page, compared)
