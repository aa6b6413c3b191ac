"""Step 2: the mistakes' codes clustered by a mixture, and how far another seed gives the same (Defuse, "distill")."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np

from trex.foundation.errors import InputError
from trex.foundation.progress import Progress
from trex.inference.repair.mixture import GaussianMixture, adjusted_rand, fit_mixture
from trex.inference.rng import stream
from trex.repair.decoders.identify import GROWN, Mistakes, clustered, read_mistakes
from trex.repair.decoders.loaded import Folder, Loaded
from trex.repair.domain import Work
from trex.repair.files import Array, floats, read_arrays, write_arrays
from trex.repair.folder import PARTS
from trex.repair.results import Component, DistillResult

MIXTURE = "mixture.safetensors"
SEEDS = (0, 1)  # of the two fits that are compared, added to the query's
MAX_PAIRS = 3


def cluster(folder: Folder, loaded: Loaded) -> Work:
    """The step; InputError for too few mistakes, or if no component is heavy enough."""
    wanted = folder.query.distill

    def carry_out(place: Path, progress: Progress) -> DistillResult:
        grown = read_mistakes(folder.require("identify") / GROWN)
        found, names = grown.at(clustered(folder.query, grown)), loaded.model.labels
        fits = []
        for number in SEEDS:
            path = place / PARTS / f"mixture-{number}.safetensors"
            progress("mixtures fitted", number, len(SEEDS))
            if not path.exists():
                seed = int(stream(folder.query.seed, number).integers(2**31))
                write_mixture(path, fit_mixture(found.codes, wanted.components, wanted.iterations, seed))
            fits.append(read_mixture(path))
        progress("mixtures fitted", len(SEEDS), len(SEEDS))
        mixture, second = fits
        assigned, other = (fit.responsibilities(found.codes).argmax(axis=1) for fit in fits)
        kept = mixture.kept(wanted.cutoff, assigned)
        if not len(kept):
            raise InputError(
                f"no component is heavier than distill.cutoff = {wanted.cutoff}; lower it, or distill.components"
            )
        write_mixture(place / MIXTURE, mixture)
        components = [
            _component(int(k), float(mixture.weights[k]), found.at(assigned == k), names) for k in kept
        ]
        return DistillResult(
            mistakes=len(found.codes),
            classes=names,
            components=components,
            kept_weight=float(mixture.weights[kept].sum()),
            near=mixture.near(wanted.cutoff),
            converged=mixture.converged,
            iterations=mixture.iterations,
            bound=mixture.bound,
            second_kept=len(second.kept(wanted.cutoff, other)),
            rand_index=adjusted_rand(assigned, other),
        )

    return carry_out


def _component(number: int, weight: float, members: Mistakes, names: tuple[str, ...]) -> Component:
    pairs = Counter(zip(members.labels.tolist(), members.answers.tolist(), strict=True))
    ordered = sorted(pairs.items(), key=lambda item: (-item[1], item[0]))[:MAX_PAIRS]
    return Component(
        number=number,
        weight=weight,
        members=len(members.rows),
        pairs=[(names[label], names[answer], count) for (label, answer), count in ordered],
        plain_wrong=int(members.plain_wrong.sum()),
    )


def read_mixture(path: Path) -> GaussianMixture:
    found = read_arrays(path)
    converged, iterations, bound = floats(found["fit"])
    weights, means, covariances = (floats(found[name]) for name in ("weights", "means", "covariances"))
    return GaussianMixture(weights, means, covariances, bool(converged), int(iterations), float(bound))


def write_mixture(path: Path, mixture: GaussianMixture) -> None:
    fit = np.array([mixture.converged, mixture.iterations, mixture.bound], float)
    arrays: dict[str, Array] = {
        "weights": mixture.weights,
        "means": mixture.means,
        "covariances": mixture.covariances,
        "fit": fit,
    }
    write_arrays(path, arrays)
