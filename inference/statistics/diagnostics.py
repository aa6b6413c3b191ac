"""ESS and rank-normalized split R-hat of permutation-invariant summaries, and their meaning in words.

Objects of a scene are exchangeable, so an object slot is never diagnosed: only scalars of the whole latent
(confidence, counts by attribute, spread). Vehtari et al., "Rank-normalization, folding, and localization", 2021; by
ArviZ's array functions.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from trex.foundation.errors import InputError
from trex.inference.types import PRIOR_CHAIN, Draw, Floats, Target, Z

MIN_DRAWS = 4  # two halves of two draws


class Diagnosis(NamedTuple):
    """One summary: ess and r_hat are NaN if they are meaningless; `words` says why."""

    name: str
    ess: float
    r_hat: float
    words: str
    is_informative: bool  # False if the summary is constant


def basic_summaries(target: Target) -> dict[str, Callable[[Draw[Z]], float]]:
    """Confidence and log weight. They alone over-report the ESS: add counts by attribute and distances."""
    return {
        "confidence": lambda draw: target.confidence(draw.state.log_probs),
        "log weight": lambda draw: draw.state.log_weight,
    }


def by_chain(draws: Sequence[Draw[Z]]) -> list[list[Draw[Z]]]:
    """The draws after warmup, chain by chain, cut to the length of the shortest; prior draws are left out."""
    chains: dict[int, list[Draw[Z]]] = defaultdict(list)
    for draw in draws:
        if draw.chain != PRIOR_CHAIN and not draw.is_warmup:
            chains[draw.chain].append(draw)
    shortest = min((len(chain) for chain in chains.values()), default=0)
    return [chains[c][:shortest] for c in sorted(chains)]


def collect(
    draws: Sequence[Draw[Z]], summaries: Mapping[str, Callable[[Draw[Z]], float]]
) -> dict[str, Floats]:
    """Each summary as an array (chains, draws), warmup left out."""
    chains = by_chain(draws)
    return {
        name: np.array([[f(draw) for draw in chain] for chain in chains], float)
        for name, f in summaries.items()
    }


def diagnose(name: str, values: Floats) -> Diagnosis:
    """The diagnosis of one summary, (chains, draws)."""
    if values.ndim != 2 or values.shape[0] == 0:
        raise InputError(f"summary {name!r} has shape {values.shape}; expected (chains, draws)")
    n_chains, n_draws = values.shape
    if n_draws < MIN_DRAWS:
        words = f"{name}: {n_draws} draws a chain are too few for R-hat and ESS ({MIN_DRAWS} at least)"
        return Diagnosis(name, math.nan, math.nan, words, True)
    if np.all(values == values[0, 0]):
        words = f"{name}: {values[0, 0]:g} in every draw of every chain, which says nothing about mixing"
        return Diagnosis(name, math.nan, math.nan, words, False)
    if n_chains > 1 and np.all(values == values[:, :1]):
        words = f"{name}: every chain is stuck at its own value, so the chains have not mixed at all"
        return Diagnosis(name, 0.0, math.inf, words, True)
    from arviz_stats.base import array_stats  # takes half a second, which `trex queue add` does not need

    ess = float(array_stats.ess(values, chain_axis=0, draw_axis=1, method="bulk"))
    if n_chains == 1:
        words = (
            f"{name}: ESS {ess:.0f}; a single chain has no R-hat, so nothing shows whether it has converged"
        )
        return Diagnosis(name, ess, math.nan, words, True)
    r_hat = float(array_stats.rhat(values, chain_axis=0, draw_axis=1, method="rank"))
    return Diagnosis(name, ess, r_hat, f"{name}: R-hat {r_hat:.3f}, ESS {ess:.0f}", True)


def diagnose_all(
    draws: Sequence[Draw[Z]], summaries: Mapping[str, Callable[[Draw[Z]], float]]
) -> tuple[Diagnosis, ...]:
    """The diagnosis of every summary; empty if no chain has a draw after warmup."""
    if not by_chain(draws):
        return ()
    return tuple(diagnose(name, values) for name, values in collect(draws, summaries).items())
