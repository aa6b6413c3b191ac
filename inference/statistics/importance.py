"""The prior batch that starts every search: how often the level set occurs, and whether it is common."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from trex.foundation.errors import InputError
from trex.inference.rng import PRIOR_STREAM, stream
from trex.inference.scoring import Scorer
from trex.inference.types import Draw, Floats, Picture, Prior, State, Target, Z


def prior_draw(seed: int, index: int, prior: Prior[Z], purpose: int = PRIOR_STREAM) -> tuple[Z, float]:
    """The index-th draw of the prior and its log density: a function of (seed, index) alone, so any order resumes.

    Draws for different purposes (streams of `trex.inference.rng`) are independent, whatever the seeds.
    """
    z = prior.sample(stream(seed, purpose, index))
    log_prior = prior.log_density(z)
    assert log_prior > -math.inf, f"{prior!r} sampled a point outside its own support: {z!r}"
    return z, log_prior


def prior_draws(
    seed: int, indices: Sequence[int], prior: Prior[Z], scorer: Scorer[Z], target: Target
) -> list[Draw[Z]]:
    """These prior draws, scored in one render batch and weighed."""
    points = [prior_draw(seed, index, prior) for index in indices]
    return independent_draws(indices, points, scorer, target)


def independent_draws(
    indices: Sequence[int],
    points: Sequence[tuple[Z, float]],
    scorer: Scorer[Z],
    target: Target,
    pictures: Sequence[Picture] | None = None,
) -> list[Draw[Z]]:
    """Draws of these points (latent, log prior), scored in one render batch and weighed.

    `pictures` are what `scorer.render` gave for them, if they are rendered already.
    """
    zs = [z for z, _ in points]
    scored = scorer.score(zs) if pictures is None else scorer.score_rendered(zs, pictures)
    rows = zip(indices, points, scored, strict=True)
    return [
        Draw(State(z, log_prior, target.log_weight(s.log_probs), s.log_probs, s.picture), index=i)
        for i, (z, log_prior), s in rows
    ]


def reweigh(draws: Sequence[Draw[Z]], target: Target) -> list[Draw[Z]]:
    """The same prior draws weighed for another target; renders nothing."""
    weights = [target.log_weight(draw.state.log_probs) for draw in draws]
    return [
        replace(draw, state=replace(draw.state, log_weight=weight))
        for draw, weight in zip(draws, weights, strict=True)
    ]


def normalized_weights(log_weights: Floats) -> Floats:
    """(n,) -> (n,) weights that sum to 1."""
    if log_weights.size == 0 or not np.max(log_weights) > -math.inf:
        raise InputError("every draw has weight zero; use a larger width or more prior draws")
    raw = np.exp(log_weights - np.max(log_weights))
    weights: Floats = raw / raw.sum()
    return weights


def effective_size(log_weights: Floats) -> float:
    """Kish's effective sample size, (sum w)^2 / sum w^2, from 1 to n.

    Parameters
    ----------
    log_weights : float array (n,)
        Natural logs of the weights, up to a common constant; InputError if all are -inf.

    Examples
    --------
    >>> import numpy as np
    >>> from trex.inference.statistics.importance import effective_size
    >>> effective_size(np.log([0.5, 0.5]))
    2.0
    """
    weights = normalized_weights(log_weights)
    return float(1.0 / np.dot(weights, weights))


def resample(rng: np.random.Generator, log_weights: Floats, n: int) -> list[int]:
    """n indices by systematic resampling: index i appears floor or ceil of n * weight_i times.

    Parameters
    ----------
    rng : numpy.random.Generator
        The source of randomness: one number of it places all indices.
    log_weights : float array
        Natural logs of the weights, up to a common constant; InputError if all are -inf.
    n : int
        How many indices are wanted; it may differ from the number of weights.

    Examples
    --------
    >>> import numpy as np
    >>> from trex.inference.statistics.importance import resample
    >>> resample(np.random.default_rng(0), np.log([0.25, 0.75]), 4)
    [0, 1, 1, 1]
    """
    edges = np.cumsum(normalized_weights(log_weights))
    places = (rng.random() + np.arange(n)) / n
    picked = np.searchsorted(edges, places, side="right")
    return [int(i) for i in np.minimum(picked, log_weights.size - 1)]


def mean_weight(log_relative: Floats) -> tuple[float, float]:
    """(mean, relative standard error) of exp(log_relative), without underflow in the error."""
    top = float(np.max(log_relative))
    scaled = np.exp(log_relative - top)  # in [0, 1], one of them 1
    mean, n = float(scaled.mean()), scaled.size
    spread = float(scaled.std(ddof=1)) / math.sqrt(n) / mean if n > 1 else math.inf
    return mean * math.exp(top), spread
