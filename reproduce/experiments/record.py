"""An experiment's outcome as a small JSON file: what the page of the whole publication is made of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from reproduce.experiments.experiment import CellResult, Outcome
from reproduce.experiments.experiment_file import cells
from reproduce.experiments.table import command
from trex.artifacts.card import Card, read_card
from trex.foundation.codec import Codec
from trex.foundation.errors import InputError
from trex.inference.statistics.proportion import Proportion
from trex.pages.wording import rate_words
from trex.runs.manifest import Manifest
from trex.trials.baseline.baseline import Baseline, MarkCounts
from trex.worlds.registry import SHIPPED

RECORD = "experiment.json"
REMEDY = "run `python -m reproduce experiment` again: finished cells are only read"


@dataclass(frozen=True)
class ModelAccuracy:
    """Number of pictures of a split that a model gets right, and their total."""

    model: str
    split: str
    right: int
    of: int

    @property
    def rate(self) -> Proportion:
        """The accuracy."""
        return Proportion(self.right, self.of)

    @property
    def words(self) -> str:
        """The accuracy in words."""
        return f"{self.model} is right on {rate_words(self.rate)} pictures of the {self.split} split"


@dataclass(frozen=True)
class TestSetCounts:
    """How many of so many labelled pictures lie in the level set, and how many of these contradict the label.

    `marks`: what people found of the mistakes, None if nobody has looked.
    """

    examined: int
    hits: int
    mistakes: int
    marks: MarkCounts | None = None


@dataclass(frozen=True)
class CellRecord:
    """A finished cell; means and deviations of the named answers' probabilities over the level set."""

    name: str
    answers: tuple[str, ...]
    published: tuple[float, ...]
    published_sd: tuple[float, ...]
    means: tuple[float, ...]  # empty if nothing lies in the level set
    deviations: tuple[float, ...]
    is_found: bool
    ending: str
    hits: int  # among so many draws of the prior
    draws: int
    low: float  # of the rate in the prior, 95%
    high: float
    effective_size: float  # of the draws that the means are taken over
    distinct: int  # distinct scenes or pictures found
    families: int
    renders: int
    test_set: TestSetCounts | None = None  # if the query was counted on labelled pictures too
    cheap: int | None = None  # pictures at cheaper looks; None in records that did not keep it, as the next
    caveat: str = ""  # why the means cannot be compared
    cpu_s: float | None = None  # documented CPU seconds of all pictures, as if none had come from a bank


@dataclass(frozen=True)
class OutcomeRecord:
    """A finished experiment; `planned` cells, of which `cells` were carried out."""

    experiment: str
    title: str
    source: str
    models: tuple[str, ...]
    looks: tuple[str, ...]
    planned: int
    found_published: int | None
    command: str
    cells: tuple[CellRecord, ...]
    accuracies: tuple[ModelAccuracy, ...] = ()  # of the models whose weights have a card with one

    @property
    def found(self) -> int:
        """The number of cells with a hit."""
        return sum(cell.is_found for cell in self.cells)


CODEC = Codec(OutcomeRecord)


def record_of(outcome: Outcome, overrides: Sequence[str]) -> OutcomeRecord:
    """The record of an outcome."""
    manifests = [result.manifest for result in outcome.results]
    return OutcomeRecord(
        experiment=Path(outcome.name).name,
        title=outcome.experiment.title,
        source=outcome.experiment.source,
        models=tuple(dict.fromkeys(manifest.query.model.name for manifest in manifests)),
        looks=tuple(dict.fromkeys(manifest.query.render.preset for manifest in manifests)),
        planned=len(cells(outcome.experiment)),
        found_published=outcome.experiment.found_published,
        command=command(outcome, overrides, is_published=True),
        cells=tuple(map(_cell, outcome.results)),
        accuracies=accuracies(outcome),
    )


def accuracies(outcome: Outcome) -> tuple[ModelAccuracy, ...]:
    """The accuracy of each model of the cells that has one on its card."""
    return tuple(dict.fromkeys(filter(None, (accuracy_of(result.manifest) for result in outcome.results))))


def accuracy_of(manifest: Manifest) -> ModelAccuracy | None:
    """The accuracy on the card of the weights that a run used.

    None for a model without such a card, or if the weights at hand are not those of the run.
    """
    from trex.mnist_models.load import weights_path

    name = manifest.query.model.name
    try:
        weights = weights_path(manifest.facts.model if name == SHIPPED else name)
        card = read_card(weights)
    except InputError:
        return None
    found = _recorded_accuracy(card)
    if found is None or manifest.made.model != f"{weights.stem} {str(card['sha256'])[:16]}":
        return None
    return ModelAccuracy(manifest.facts.model, *found)


def _recorded_accuracy(card: Card) -> tuple[str, int, int] | None:
    """The split on which training measured the accuracy, how many pictures were right, and of how many."""
    figures = card.get("figures")
    if not isinstance(figures, dict):
        return None
    split, right, n = (figures.get(key) for key in ("split", "right", "n"))
    if not (isinstance(split, str) and isinstance(right, int) and isinstance(n, int) and 0 <= right <= n > 0):
        return None
    return split, right, n


def read_outcome(folder: Path) -> OutcomeRecord | None:
    """The record in an experiment's folder, None if it has none; RunError if it is damaged."""
    return CODEC.read(folder / RECORD, REMEDY, inside=folder)


def _cell(result: CellResult) -> CellRecord:
    results, section = result.results, result.cell.section
    how = results.how_often
    return CellRecord(
        name=section.name,
        answers=result.answers,
        published=section.published,
        published_sd=section.published_sd,
        means=result.means if result.is_found else (),
        deviations=result.deviations if result.is_found else (),
        is_found=result.is_found,
        ending=results.ending,
        hits=how.hits,
        draws=how.n,
        low=how.rate_interval.low,
        high=how.rate_interval.high,
        effective_size=result.effective_size,
        distinct=len(results.found),
        families=results.families.count,
        renders=results.renders,
        test_set=None if result.test_set is None else _test_set(result.test_set),
        cheap=result.results.cheap,
        cpu_s=None if result.cpu_s is None else round(result.cpu_s, 1),
    )


def _test_set(counted: Baseline) -> TestSetCounts:
    marks = counted.marks if counted.marks.is_any else None
    return TestSetCounts(counted.examined, counted.hits.count, counted.mistakes.count, marks)
