"""The three possible endings of a search, by fixed rules, in words."""

from __future__ import annotations

import enum
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from trex.foundation.words import counted, percent
from trex.inference.statistics.diagnostics import Diagnosis, by_chain, diagnose, diagnose_all
from trex.inference.statistics.how_often import HowOften
from trex.inference.statistics.proportion import clopper_pearson
from trex.inference.statistics.unvisited import unvisited
from trex.inference.types import PRIOR_CHAIN, Draw, Floats, Target, Z

MAX_R_HAT = 1.05
MIN_ESS = 25.0
MIN_CHAINS_HIT = 4
CLEARLY = 0.999  # level of the interval of the chains' share of hits: chains that ignore the classifier fail for sure


class Ending(enum.Enum):
    """The claims that the draws support."""

    CONVERGED = "CONVERGED"
    FOUND = "FOUND"
    NOT_FOUND = "NOT FOUND"


@dataclass(frozen=True)
class Conclusion:
    """The ending and its basis; `best` is the best confidence of any draw, prior draws included."""

    ending: Ending
    sentences: tuple[str, ...]
    diagnoses: tuple[Diagnosis, ...]
    n_chains_hit: int
    n_hits: int
    best: float
    renders: int


def conclude(
    draws: Sequence[Draw[Z]],
    target: Target,
    summaries: Mapping[str, Callable[[Draw[Z]], float]],
    prior: HowOften,
    renders: int,
    examples: str = "",
    doubts: Sequence[str] = (),
) -> Conclusion:
    """The ending of a search, from chain draws, the prior batch's summary, and the number of pictures of both.

    `examples` counts what was found in words ("9 distinct scenes of about 3 kinds"), since draws repeat each other;
    `doubts` are a sampler's own reasons against convergence.
    """
    chain_draws = [draw for draw in draws if draw.chain >= 0]
    hits = sum(target.is_hit(draw.state.log_probs) for draw in chain_draws)
    known = sum(target.is_hit(draw.state.log_probs) for draw in draws if draw.chain < 0)
    before = max(prior.hits, known)  # the rate may leave out the first draws
    best = max([prior.best, *(target.confidence(draw.state.log_probs) for draw in chain_draws)])
    chains = by_chain(draws)
    is_hit = np.array([[target.is_hit(d.state.log_probs) for d in chain] for chain in chains], dtype=bool)
    n_chains_hit = sum(bool(row.any()) for row in is_hit)
    diagnoses = diagnose_all(draws, summaries)
    if hits + before == 0:
        ending, words = Ending.NOT_FOUND, _not_found(prior, renders, best)
    elif prior.is_common and prior.ess >= MIN_ESS:
        ending, words = Ending.CONVERGED, _common(prior)
    elif reasons := [
        *_reasons(diagnoses, n_chains_hit, len(chains)),
        *_too_few_hits(is_hit, diagnoses, prior),
        *_missed(draws, chains, is_hit, target, summaries),
        *doubts,
    ]:
        ending, words = Ending.FOUND, _found(examples or _draws(hits + before), reasons)
    else:
        ending, words = Ending.CONVERGED, _converged(diagnoses, n_chains_hit)
    return Conclusion(ending, words, diagnoses, n_chains_hit, hits + before, best, renders)


def _reasons(diagnoses: Sequence[Diagnosis], n_chains_hit: int, n_chains: int) -> list[str]:
    """Why the draws are not a sample of the level set; empty if nothing contradicts that."""
    reasons = []
    if n_chains_hit < MIN_CHAINS_HIT:
        reasons.append(
            f"{counted(n_chains_hit, 'chain')} hit the level set after warmup ({MIN_CHAINS_HIT} are needed)"
        )
    elif n_chains_hit < n_chains:
        reasons.append(f"{n_chains - n_chains_hit} of {n_chains} chains never hit the level set after warmup")
    informative = [d for d in diagnoses if d.is_informative]
    if not informative:
        reasons.append("no summary ever changed, so nothing tells whether the chains have mixed")
    for d in informative:
        if not (d.r_hat <= MAX_R_HAT and d.ess >= MIN_ESS):  # NaN fails
            reasons.append(
                f"{d.words} (R-hat of at most {MAX_R_HAT} and ESS of at least {MIN_ESS:.0f} are needed)"
            )
    return reasons


def _too_few_hits(is_hit: NDArray[np.bool_], diagnoses: Sequence[Diagnosis], prior: HowOften) -> list[str]:
    """Why the chains' hits do not show that the classifier led them; `is_hit` is (chains, draws).

    Chains that ignore the classifier hit as often as the prior does, and mix well. Those led by it are in the set for
    much of the time, and enter it more than once.
    """
    if not is_hit.any():
        return []
    size = _hit_size(is_hit, diagnoses)
    if not size >= MIN_ESS:  # NaN fails
        return [f"the chains' draws in the level set have an ESS of {size:.0f} ({MIN_ESS:.0f} are needed)"]
    share, n = float(is_hit.mean()), int(min(size, is_hit.size))
    low, high = clopper_pearson(share * n, n, CLEARLY).low, prior.rate_interval.high
    if low > high:
        return []
    return [
        f"{percent(share)} of the chains' draws are in the level set (ESS {n}; {percent(CLEARLY)} confidence: "
        f"{percent(low)} or more), which is not clearly more than among prior draws (up to {percent(high)})"
    ]


def _hit_size(is_hit: NDArray[np.bool_], diagnoses: Sequence[Diagnosis]) -> float:
    """The effective size of the hit indicator; where every draw hits, of the summary that mixes worst."""
    if is_hit.all():
        return min((d.ess for d in diagnoses if d.is_informative), default=math.nan)
    return diagnose("in the level set", is_hit.astype(float)).ess


def _missed(
    draws: Sequence[Draw[Z]],
    chains: Sequence[Sequence[Draw[Z]]],
    is_hit: NDArray[np.bool_],
    target: Target,
    summaries: Mapping[str, Callable[[Draw[Z]], float]],
) -> list[str]:
    """The hits of the prior sample to which no chain draw is similar, as a reason; chains are (chains, draws)."""
    prior = [draw for draw in draws if draw.chain == PRIOR_CHAIN]
    hits = [draw for draw in prior if target.is_hit(draw.state.log_probs)]
    if not hits or is_hit.any(axis=-1).sum() < 2:
        return []

    def values(of: Sequence[Draw[Z]]) -> Floats:
        return np.array([[summary(draw) for summary in summaries.values()] for draw in of], float)

    found = [
        values([d for d, hit in zip(chain, row, strict=True) if hit])
        for chain, row in zip(chains, is_hit, strict=True)
        if row.any()
    ]
    n = unvisited(values(hits), found, values(prior).std(axis=0))
    if not n:
        return []
    which = "the only hit" if len(hits) == n == 1 else f"{n} of {counted(len(hits), 'hit')}"
    return [
        f"no chain draw is similar to {which} of the prior sample, so the chains miss part of the level set"
    ]


def _converged(diagnoses: Sequence[Diagnosis], n_chains_hit: int) -> tuple[str, ...]:
    informative = [d for d in diagnoses if d.is_informative]
    worst_r_hat = max(informative, key=lambda d: d.r_hat)
    worst_ess = min(informative, key=lambda d: d.ess)
    return (
        f"CONVERGED: {n_chains_hit} chains hit the level set and agree, and nothing contradicts that their draws "
        "represent it.",
        f"Worst R-hat {worst_r_hat.r_hat:.3f} ({worst_r_hat.name}), worst ESS {worst_ess.ess:.0f} ({worst_ess.name}).",
    )


def _common(prior: HowOften) -> tuple[str, ...]:
    return (
        "CONVERGED: the target is common; independent prior draws, weighted, represent the level set (effective size "
        f"{prior.ess:.0f}).",
    )


def _draws(n: int) -> str:
    return f"{n} {'draw' if n == 1 else 'draws'}"


def _found(examples: str, reasons: Sequence[str]) -> tuple[str, ...]:
    return (
        f"FOUND: {examples} in the level set. Valid as examples, not as a distribution.",
        *(f"Not converged: {reason}." for reason in reasons),
    )


def _not_found(prior: HowOften, renders: int, best: float) -> tuple[str, ...]:
    return (
        f"NOT FOUND: no draw is in the level set after {renders} renders; the best confidence was {percent(best)}.",
        f"None of {prior.drawn} hit, so it happens in less than {prior.rate.ceiling} of all "
        "prior draws (95%; the chain's draws say nothing about this).",
    )
