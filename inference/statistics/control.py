"""The positive control: the same sampler with the same budget on a level set whose prior mass is known.

A search without hits means something only if the same search finds a level set that exists.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic

import numpy as np

from trex.foundation.errors import InputError
from trex.foundation.percent import percent
from trex.inference.statistics.importance import reweigh
from trex.inference.statistics.proportion import Interval, clopper_pearson
from trex.inference.targets.distance_target import distance, distance_target
from trex.inference.targets.gaussian import GaussianTarget
from trex.inference.types import Draw, Z

Search = Callable[[GaussianTarget, Sequence[Draw[Z]]], Sequence[Draw[Z]]]


@dataclass(frozen=True)
class Control(Generic[Z]):
    """An easier target of the same kind, its known mass, and prior draws outside it to start from."""

    target: GaussianTarget
    mass: float
    mass_interval: Interval
    outside: tuple[Draw[Z], ...]


@dataclass(frozen=True)
class ControlResult:
    """The outcome of a search for the control."""

    is_passed: bool
    n_chains_hit: int
    n_chains: int
    sentence: str


def control(draws: Sequence[Draw[Z]], target: GaussianTarget, mass: float = 0.02) -> Control[Z]:
    """The control: the `mass` of these prior draws that is closest to the target.

    The radius is an order statistic of the batch, so the exact interval of a rate holds for its mass. Draws inside
    are not returned as starts: a chain that starts in the level set proves nothing.
    """
    distances = np.array([distance(target, np.exp(draw.evaluation.log_probs)) for draw in draws])
    rank = max(1, round(mass * len(draws)))
    easier = distance_target(target, float(np.sort(distances)[rank - 1]))
    weighed = reweigh(draws, easier)
    outside = tuple(draw for draw in weighed if not easier.is_hit(draw.evaluation.log_probs))
    if not outside:
        raise InputError(
            f"all {len(draws)} prior draws are as close as the closest {mass:.2g}; nothing to control"
        )
    hits = len(draws) - len(outside)
    return Control(easier, hits / len(draws), clopper_pearson(hits, len(draws)), outside)


def run_control(search: Search[Z], easier: Control[Z]) -> ControlResult:
    """Run `search(target, prior draws to start from)`, the search that found nothing, on the control."""
    found = search(easier.target, easier.outside)
    chains = {draw.chain for draw in found if draw.chain >= 0}
    hit = {
        draw.chain for draw in found if draw.chain >= 0 and easier.target.is_hit(draw.evaluation.log_probs)
    }
    mass, low, high = (percent(share) for share in (easier.mass, *easier.mass_interval))
    verdict = "so it finds what is there" if hit else "so that it found nothing before says nothing"
    sentence = (
        f"Positive control: on a level set of prior mass {mass} (95 %: {low} to {high}) the same search "
        f"with the same budget, started outside it, hit with {len(hit)} of {len(chains)} chains, {verdict}."
    )
    return ControlResult(bool(hit), len(hit), len(chains), sentence)
