"""The three possible endings of a search, by fixed rules, in words."""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from trex.foundation.percent import percent
from trex.foundation.words import counted
from trex.inference.statistics.diagnostics import Diagnosis, by_chain, diagnose_all
from trex.inference.statistics.how_often import HowOften
from trex.inference.types import Draw, Target, Z

MAX_R_HAT = 1.05
MIN_ESS = 25.0
MIN_CHAINS_HIT = 4


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
    hits = sum(target.is_hit(draw.evaluation.log_probs) for draw in chain_draws)
    known = sum(target.is_hit(draw.evaluation.log_probs) for draw in draws if draw.chain < 0)
    before = max(prior.hits, known)  # the rate may leave out the first draws
    best = max([prior.best, *(target.confidence(draw.evaluation.log_probs) for draw in chain_draws)])
    n_chains_hit = sum(any(target.is_hit(d.evaluation.log_probs) for d in chain) for chain in by_chain(draws))
    diagnoses = diagnose_all(draws, summaries)
    if hits + before == 0:
        ending, words = Ending.NOT_FOUND, _not_found(prior, renders, best)
    elif prior.is_common and prior.ess >= MIN_ESS:
        ending, words = Ending.CONVERGED, _common(prior)
    elif reasons := [*_reasons(diagnoses, n_chains_hit, len(by_chain(draws))), *doubts]:
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


def _converged(diagnoses: Sequence[Diagnosis], n_chains_hit: int) -> tuple[str, ...]:
    informative = [d for d in diagnoses if d.is_informative]
    worst_r_hat = max(informative, key=lambda d: d.r_hat)
    worst_ess = min(informative, key=lambda d: d.ess)
    return (
        f"CONVERGED: {n_chains_hit} chains hit the level set and agree, so the draws represent all of it.",
        f"Worst R-hat {worst_r_hat.r_hat:.3f} ({worst_r_hat.name}), worst ESS {worst_ess.ess:.0f} ({worst_ess.name}).",
    )


def _common(prior: HowOften) -> tuple[str, ...]:
    return (
        "CONVERGED: the target is common; independent prior draws, weighted, represent all of the level set (effective "
        f"size {prior.ess:.0f}).",
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
        f"None of {prior.drawn} hit, so it happens in less than {prior.said.ceiling} of all "
        "prior draws (95 %; the chain's draws say nothing about this).",
    )
