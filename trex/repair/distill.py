"""Step 2: components of the mistakes' codes (Defuse, "distill"), and how far another seed gives the same ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from trex.foundation.errors import InputError
from trex.inference.repair.mixture import Mixture, adjusted_rand, fit_mixture
from trex.inference.rng import stream
from trex.repair.arrays import Array, Ints, floats, read_arrays, write_arrays
from trex.repair.folder import PARTS, RepairFolder
from trex.repair.identify import GROWN
from trex.repair.loaded import Loaded, Progress
from trex.repair.mistakes import Mistakes, read_mistakes
from trex.repair.records import Record, write_record
from trex.repair.settings import RepairQuery

MIXTURE = "mixture.safetensors"
RESULT = "distill.json"
SEEDS = (0, 1)  # of the two fits that are compared, added to the query's
MAX_PAIRS = 3


class Component(Record):
    """A kept component: its number in the mixture, its weight, and what its members are.

    `pairs`: the commonest pairs of label and model's answer among its `members`, with their counts.
    """

    number: int
    weight: float
    members: int
    plain_wrong: int
    pairs: list[tuple[str, str, int]]


class DistillResult(Record):
    """The components, and how stable they are: `near` the cut-off, and as a second seed finds them."""

    classes: list[str]  # the names of the model's classes, in its order
    mistakes: int
    components: list[Component]
    kept_weight: float
    near: int
    converged: bool
    iterations: int
    bound: float
    second_kept: int
    rand_index: float


def read_mixture(path: Path) -> Mixture:
    """The mixture in a file."""
    return mixture_in(read_arrays(path))


def mixture_in(found: Mapping[str, Array]) -> Mixture:
    """The mixture in arrays by name."""
    converged, iterations, bound = floats(found["fit"])
    return Mixture(
        floats(found["weights"]),
        floats(found["means"]),
        floats(found["covariances"]),
        bool(converged),
        int(iterations),
        float(bound),
    )


def mixture_arrays(mixture: Mixture) -> dict[str, Array]:
    """A mixture as arrays by name."""
    return {
        "weights": mixture.weights,
        "means": mixture.means,
        "covariances": mixture.covariances,
        "fit": np.array([mixture.converged, mixture.iterations, mixture.bound], float),
    }


def distill(folder: RepairFolder, loaded: Loaded, progress: Progress) -> None:
    """Carry out the step, or resume it; InputError if there are too few mistakes."""
    wanted = folder.query.distill
    grown = read_mistakes(folder.require("identify") / GROWN)
    found = grown.at(clustered(folder.query, grown))
    place = folder.begin("distill")
    if place is None:
        return
    fits = []
    for number in SEEDS:
        path = place / PARTS / f"mixture-{number}.safetensors"
        progress("mixtures fitted", number, len(SEEDS))
        if not path.exists():
            seed = int(stream(folder.query.seed, number).integers(2**31))
            fit = fit_mixture(found.codes, wanted.components, wanted.iterations, seed)
            write_arrays(path, mixture_arrays(fit))
        fits.append(read_mixture(path))
    progress("mixtures fitted", len(SEEDS), len(SEEDS))
    mixture, second = fits
    assigned, other = (fit.responsibilities(found.codes).argmax(axis=1) for fit in fits)
    kept = mixture.kept(wanted.cutoff, assigned)
    if not len(kept):
        raise InputError(
            f"no component is heavier than distill.cutoff = {wanted.cutoff}; lower it, or distill.components"
        )
    result = DistillResult(
        classes=list(loaded.model.labels),
        mistakes=len(found.rows),
        components=[_component(int(k), mixture, found.at(assigned == k), loaded.model.labels) for k in kept],
        kept_weight=float(mixture.weights[kept].sum()),
        near=mixture.near(wanted.cutoff),
        converged=mixture.converged,
        iterations=mixture.iterations,
        bound=mixture.bound,
        second_kept=len(second.kept(wanted.cutoff, other)),
        rand_index=adjusted_rand(assigned, other),
    )
    write_arrays(place / MIXTURE, mixture_arrays(mixture))
    write_record(place / RESULT, result)
    folder.finish("distill")


def clustered(query: RepairQuery, grown: Mistakes) -> Ints:
    """The positions of the mistakes that components are made of: all, or those that need noise (`distill.of`)."""
    return np.flatnonzero(~grown.plain_wrong | (query.distill.of != "new"))


def _component(number: int, mixture: Mixture, members: Mistakes, names: tuple[str, ...]) -> Component:
    pairs = Counter(zip(members.labels.tolist(), members.answers.tolist(), strict=True))
    ordered = sorted(pairs.items(), key=lambda item: (-item[1], item[0]))[:MAX_PAIRS]
    return Component(
        number=number,
        weight=float(mixture.weights[number]),
        members=len(members.rows),
        plain_wrong=int(members.plain_wrong.sum()),
        pairs=[(names[label], names[answer], count) for (label, answer), count in ordered],
    )
