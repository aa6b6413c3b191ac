"""Runs an experiment: one run folder for each cell, resumed where it was stopped."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from reproduce.experiments.experiment_file import Cell, Experiment, cells, experiment_path, read_experiment
from reproduce.experiments.test_set import TEST_SET, count_test_set, surest_picture
from trex.finding.find import find_query
from trex.finding.source import query_file
from trex.foundation.errors import InputError
from trex.inference.rng import stream
from trex.inference.statistics.importance import effective_size, normalized_weights, resample
from trex.inference.types import Draw, Floats
from trex.query.schema import Query, RenderSection
from trex.report.gallery import picture_url
from trex.runs.draw_log import read_draws
from trex.runs.folder import is_run, open_run
from trex.runs.manifest import Manifest
from trex.runs.place import RUNS
from trex.runs.record import BANK, CALIBRATION, Record
from trex.runs.trust import trusted_plan
from trex.search.progress import Watcher
from trex.search.render_speed import has_known_cost
from trex.search.results import Results, read_results
from trex.trials.baseline.baseline import Baseline
from trex.worlds.costs import CPU_S
from trex.worlds.latents import Latent, identity
from trex.worlds.looks import ladder

EXPERIMENTS = RUNS / "experiments"
HARDER = "-harder"  # suffix of the folder of a cell that was searched again
PICTURES = 12  # per cell
LEAST = 5  # independent draws that a mean or a violin takes at least
SHOWN_DRAWS = 1000  # from a weighted prior batch, resampled by weight
SHOW_STREAM = 2000  # a random stream that no search uses
OnProgress = Callable[[Cell, int, int], None]  # (cell, its number, number of cells)


@dataclass(frozen=True)
class CellResult:
    """The results of a cell's run.

    `draws` represent the level set, each with its weight: those of the chains after warmup, equally weighted, or
    the prior's (`is_weighted`). `probs` (n, answers named) are the model's probabilities for them.
    """

    cell: Cell
    manifest: Manifest
    results: Results
    draws: tuple[Draw[Latent], ...]
    log_weights: Floats  # (n,), up to a constant
    probs: Floats
    is_weighted: bool
    pictures: tuple[str, ...]  # data URLs, most confident first
    place: Path  # the run's folder
    test_set: Baseline | None = None  # the same query on labelled pictures
    test_picture: str = ""  # data URL of the one in the level set of which the model is surest
    cpu_s: float | None = None  # what the run's pictures cost, None if that is not documented

    @property
    def answers(self) -> tuple[str, ...]:
        """The answers that the target names, in the order of `probs`."""
        return self.manifest.query.answer or self.manifest.facts.labels

    @property
    def weights(self) -> Floats:
        """Weights (n,) that sum to 1."""
        return normalized_weights(self.log_weights) if self.draws else np.zeros(0)

    @property
    def effective_size(self) -> float:
        """What the draws are worth in independent ones: Kish's effective size of their weights.

        Of the states of chains, the least effective size of any summary, and no more than there are distinct states.
        """
        if not self.draws or self.is_weighted:
            return float(effective_size(self.log_weights)) if self.draws else 0.0
        sizes = [
            d.ess for d in self.results.conclusion.diagnoses if d.is_informative and math.isfinite(d.ess)
        ]
        return float(min([len({identity(draw.z) for draw in self.draws}), *sizes]))

    @property
    def means(self) -> tuple[float, ...]:
        """The mean probability of each answer over the level set; empty without draws."""
        return tuple((self.weights @ self.probs).tolist()) if self.draws else ()

    @property
    def deviations(self) -> tuple[float, ...]:
        """The standard deviation of each answer's probability over the level set."""
        squares = (self.probs - np.array(self.means)) ** 2
        return tuple(np.sqrt(self.weights @ squares).tolist()) if self.draws else ()

    @property
    def shown(self) -> tuple[int, ...]:
        """Indices of draws for figures, resampled so that they need no weights; none if nothing was found."""
        if not self.is_found:
            return ()
        if not self.is_weighted or not self.draws:
            return tuple(range(len(self.draws)))
        rng = stream(self.manifest.query.search.seed, SHOW_STREAM)
        return tuple(resample(rng, self.log_weights, SHOWN_DRAWS))

    @property
    def is_found(self) -> bool:
        """Whether any draw lies in the level set."""
        return bool(self.results.found)


@dataclass(frozen=True)
class Outcome:
    """The results of an experiment."""

    name: str  # the name or path given
    folder: Path
    experiment: Experiment
    results: tuple[CellResult, ...]
    dataset: Path | None = None  # labelled pictures on which the queries were counted too

    @property
    def found(self) -> int:
        """The number of cells with a hit."""
        return sum(result.is_found for result in self.results)


def run_experiment(
    name: str,
    only: Sequence[str],
    overrides: Sequence[str],
    out: Path | None,
    progress: Callable[[str], Watcher],
    on_progress: OnProgress,
    train: Callable[[str], None],
    dataset: Path | None = None,
) -> Outcome:
    """Run all cells (or those in `only`), in order; a finished cell is read, not run again.

    `progress` gives the display of a cell's search by the cell's name. A data folder counts each cell's query on its
    pictures too. Missing models are trained first; then all queries are checked; then the first is run.
    """
    path = experiment_path(name)
    experiment = read_experiment(path)
    chosen = [
        cell._replace(ways=tuple((*way, *overrides) for way in cell.ways))
        for cell in _chosen(experiment, only)
    ]
    query = path.parent / experiment.query
    folder = out or EXPERIMENTS / path.stem
    for words in dict.fromkeys([*experiment.train, *(w for cell in chosen for w in cell.section.train)]):
        train(words)
    resolved = {way: trusted_plan(query, way, overrides).query for cell in chosen for way in cell.ways}
    counted = None if dataset is None else count_test_set(query, chosen, dataset, folder / TEST_SET)
    results = []
    for number, cell in enumerate(chosen):
        on_progress(cell, number, len(chosen))
        result = _carry_out(cell, query, resolved, folder, progress)
        if counted is not None:
            picture = surest_picture(counted, number)
            result = replace(result, test_set=counted.baselines[number], test_picture=picture)
        results.append(result)
    return Outcome(name, folder, experiment, tuple(results), dataset)


def _carry_out(
    cell: Cell,
    query: Path,
    resolved: Mapping[tuple[str, ...], Query],
    folder: Path,
    progress: Callable[[str], Watcher],
) -> CellResult:
    """The result of the first way that finds anything, or else of the last."""
    for number, way in enumerate(cell.ways):
        place = folder / (cell.name + number * HARDER)
        if not _is_done(place, resolved[way]):
            find_query(query_file(query, way), place, progress(cell.name), lambda _: None)
        result = read_cell(cell, place)
        if result.is_found:
            break
    return result


def read_cell(cell: Cell, place: Path) -> CellResult:
    """The result of a cell from its finished run."""
    with open_run(place, for_writing=False) as folder:
        manifest = folder.manifest
        records = read_draws(folder.draws, manifest)
        results = read_results(manifest, records)
        cost = cpu_s_of(records, manifest.query) if has_known_cost(manifest.query) else None
        draws, log_weights, is_weighted = level_set(results, manifest.target.is_hit)
        urls = (picture_url(folder, found) for found in results.found[:PICTURES])
        pictures, probs = tuple(filter(None, urls)), _probs(manifest, draws)
        return CellResult(
            cell, manifest, results, draws, log_weights, probs, is_weighted, pictures, place, cpu_s=cost
        )


def _chosen(experiment: Experiment, only: Sequence[str]) -> tuple[Cell, ...]:
    every = cells(experiment)
    names = [cell.name for cell in every]
    strange = [name for name in only if name not in names]
    if strange:
        raise InputError(f"cell {strange[0]!r} is not in this experiment; its cells are {', '.join(names)}")
    return tuple(cell for cell in every if not only or cell.name in only)


def _is_done(place: Path, resolved: Query) -> bool:
    """Whether this folder holds a finished run of exactly this query."""
    if not is_run(place):
        return False
    with open_run(place, for_writing=False) as folder:
        return folder.is_finished and folder.manifest.query == resolved


def level_set(
    results: Results, is_hit: Callable[[Floats], bool]
) -> tuple[tuple[Draw[Latent], ...], Floats, bool]:
    """Draws that represent the level set, their log weights, and whether they come from the prior.

    Those of the chains that have reached it, after warmup, if they hold LEAST distinct states in it; otherwise those of
    the prior, if any of them is in it. A prior draw that a bank chose with probability p has 1 / p times its weight.
    """
    kept = [draw for draw in results.chains if not draw.is_warmup]
    arrived = {draw.chain for draw in kept if is_hit(draw.state.log_probs)}
    chain = tuple(draw for draw in kept if draw.chain in arrived)
    states = {identity(draw.z) for draw in chain if is_hit(draw.state.log_probs)}
    if chain and (len(states) >= LEAST or not any(is_hit(d.state.log_probs) for d in results.prior)):
        return chain, np.zeros(len(chain)), False
    log_weights = results.sample.log_weights
    if not np.max(log_weights, initial=-np.inf) > -np.inf:
        return (), np.zeros(0), True
    return results.prior, log_weights, True


def _probs(manifest: Manifest, draws: Sequence[Draw[Latent]]) -> Floats:
    labels = manifest.facts.labels
    named = [labels.index(answer) for answer in manifest.query.answer] or list(range(len(labels)))
    rows = [np.exp(draw.state.log_probs[named]) for draw in draws]
    return np.array(rows) if rows else np.zeros((0, len(named)))


def cpu_s_of(records: Sequence[Record], query: Query) -> float:
    """CPU seconds that the pictures of these records cost.

    Only for queries whose cost is documented (`render_speed.has_known_cost`).
    The look that leads the chains is the last one that the calibration tried. A picture that came from a bank or a
    cache counts as if it had been rendered.
    """
    looks, render = ladder(query.render), query.render
    rank = max((record.rank for record in records if record.phase == CALIBRATION), default=0)
    return sum(_cost(record, looks, rank, render) for record in records)


def _cost(record: Record, looks: Sequence[str], lead: int, render: RenderSection) -> float:
    if record.phase in (BANK, CALIBRATION):
        return CPU_S[looks[record.rank]]
    total = record.pictures(render) * CPU_S[render.preset]
    inner = record.inner_pictures
    return total + (inner * CPU_S[looks[lead]] if inner else 0.0)
