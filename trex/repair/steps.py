"""The first three steps, the same for both domains: mistakes are grown, clustered, and their clusters labelled.

A step is a function of the folder and the loaded models; it resumes, and one that is finished is not repeated.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from trex.foundation.errors import InputError
from trex.foundation.progress import Progress
from trex.inference.repair.mixture import GaussianMixture, adjusted_rand, fit_mixture
from trex.inference.rng import stream
from trex.repair.domain import Voters, domain_of
from trex.repair.files import Array, floats, read_arrays, write_arrays
from trex.repair.folder import PARTS, RepairFolder
from trex.repair.results import DistillResult
from trex.repair.settings import DecoderQuery, SceneQuery

MIXTURE = "mixture.safetensors"
COMMITTEE = Voters()
SEEDS = (0, 1)  # of the two fits that are compared, added to the query's
Folder = RepairFolder[DecoderQuery | SceneQuery]


def identify(folder: Folder, loaded: object, progress: Progress) -> None:
    """Grow mistakes; InputError if there are fewer pictures than the query asks for."""
    grow = domain_of(folder.query).grow(folder, loaded)
    place = folder.begin("identify")
    if place is not None:
        folder.finish("identify", grow(place, progress))


def distill(folder: Folder, loaded: object, progress: Progress) -> None:
    """Cluster the mistakes' codes, and see how far another seed gives the same; InputError for too few mistakes."""
    wanted = folder.query.distill
    folder.require("identify")
    place = folder.begin("distill")
    if place is None:
        return
    encoded = domain_of(folder.query).encode(folder, loaded)
    fits = []
    for number in SEEDS:
        path = place / PARTS / f"mixture-{number}.safetensors"
        progress("mixtures fitted", number, len(SEEDS))
        if not path.exists():
            seed = int(stream(folder.query.seed, number).integers(2**31))
            fit = fit_mixture(
                encoded.codes, wanted.components, wanted.iterations, seed, encoded.regularization
            )
            write_arrays(path, mixture_arrays(fit))
        fits.append(read_mixture(path))
    progress("mixtures fitted", len(SEEDS), len(SEEDS))
    mixture, second = fits
    assigned, other = (fit.responsibilities(encoded.codes).argmax(axis=1) for fit in fits)
    kept = mixture.kept(wanted.cutoff, assigned)
    if not len(kept):
        raise InputError(
            f"no component is heavier than distill.cutoff = {wanted.cutoff}; lower it, or distill.components"
        )
    weights = {int(k): float(mixture.weights[k]) for k in kept}
    write_arrays(place / MIXTURE, {**mixture_arrays(mixture), **encoded.arrays})
    components = encoded.describe(place, {k: np.flatnonzero(assigned == k) for k in weights}, weights)
    result = {
        "mistakes": len(encoded.codes),
        "components": components,
        "kept_weight": float(mixture.weights[kept].sum()),
        "near": mixture.near(wanted.cutoff),
        "converged": mixture.converged,
        "iterations": mixture.iterations,
        "bound": mixture.bound,
        "second_kept": len(second.kept(wanted.cutoff, other)),
        "rand_index": adjusted_rand(assigned, other),
        **encoded.facts,
    }
    folder.finish("distill", DistillResult.model_validate(result))


def draw(folder: Folder, loaded: object) -> Path:
    """The folder of the pictures to vote on, drawn if they are not there; of rendered scenes it is empty."""
    place = folder.begin("pictures")
    if place is not None:
        domain_of(folder.query).draw(folder, loaded, place)
        folder.finish("pictures")
    return folder.require("pictures")


def label(folder: Folder, loaded: object, progress: Progress, voters: Voters = COMMITTEE) -> None:
    """Label the components by votes, or by the truth; InputError, before anything is written, for unusable votes."""
    folder.require("distill")
    draw(folder, loaded)
    judging = domain_of(folder.query).judge(folder, loaded, voters)
    place = folder.begin("label", judging.given)
    if place is not None:
        folder.finish("label", judging.carry_out(place, progress))


def read_mixture(path: Path) -> GaussianMixture:
    return mixture_in(read_arrays(path))


def mixture_in(found: Mapping[str, Array]) -> GaussianMixture:
    converged, iterations, bound = floats(found["fit"])
    weights, means, covariances = (floats(found[name]) for name in ("weights", "means", "covariances"))
    return GaussianMixture(weights, means, covariances, bool(converged), int(iterations), float(bound))


def mixture_arrays(mixture: GaussianMixture) -> dict[str, Array]:
    return {
        "weights": mixture.weights,
        "means": mixture.means,
        "covariances": mixture.covariances,
        "fit": np.array([mixture.converged, mixture.iterations, mixture.bound], float),
    }
