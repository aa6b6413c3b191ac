"""Diagnostics of NUTS: mixing of every coordinate, divergences, tree depths, acceptance, energy.

E-BFMI is Betancourt's ("A Conceptual Introduction to Hamiltonian Monte Carlo", 2017, section 6.1), and so is the
meaning of divergences (6.2): regions that trajectories cannot enter, so that the draws are biased. Stan warns of any;
here more than 1% contradict convergence, since edges of a level set are steep by design. Imports no torch.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Protocol

import numpy as np

from trex.foundation.errors import InputError
from trex.foundation.percent import percent, whole_percent
from trex.inference.nuts.options import NutsOptions
from trex.inference.statistics.diagnostics import MIN_DRAWS, Diagnosis, basic_summaries, diagnose_all
from trex.inference.statistics.verdict import MAX_R_HAT, MIN_ESS
from trex.inference.types import Draw, Floats, Target

MIN_BFMI = 0.3  # below it the momenta are too weak to move between levels of energy (Stan's threshold)
MAX_DIVERGENT = 0.01  # of the trajectories after warmup
ACCEPT_SLACK = (
    0.15  # if acceptance is lower than wanted by more, the step size from warmup does not suit the draws
)
FLAT_NATS = 20.0  # a chain whose best draw lies this far below the peak never reached the level set


class Trajectory(Protocol):
    """The figures of a trajectory; satisfied by `trex.inference.nuts.kernel.Tree` and by records on the disk."""

    @property
    def accept_prob(self) -> float:
        """Mean acceptance probability over the trajectory's points."""
        ...

    @property
    def is_divergent(self) -> bool:
        """Whether its energy error exceeded Pyro's 1000."""
        ...

    @property
    def depth(self) -> int:
        """The number of doublings."""
        ...

    @property
    def n_gradients(self) -> int:
        """The number of gradients computed."""
        ...

    @property
    def energy(self) -> float:
        """The Hamiltonian at its start."""
        ...


@dataclass(frozen=True)
class NutsDiagnosis:
    """The figures after warmup over all chains; `bfmi` is the lowest of any chain, NaN if it is meaningless."""

    diagnoses: tuple[Diagnosis, ...]
    n_chains: int
    n_draws: int  # of all chains
    divergent: int
    saturated: int
    accept: float
    wanted_accept: float
    max_depth: int
    gradients: float  # per draw
    bfmi: float
    outside: tuple[int, ...]  # chains that never came close to the level set

    @property
    def worries(self) -> tuple[str, ...]:
        """Reasons not to take the draws for a sample of the target; empty if there are none."""
        found = [
            *self._mixing(),
            self._outside(),
            self._divergences(),
            self._depths(),
            self._accepts(),
            self._energy(),
        ]
        return tuple(words for words in found if words)

    @property
    def doubts(self) -> tuple[str, ...]:
        """Reasons against convergence that the summaries of the draws cannot show."""
        share = self.divergent / self.n_draws
        too_many = f"{percent(share)} of the trajectories diverged ({whole_percent(MAX_DIVERGENT)} at most are allowed)"
        return (too_many,) if share > MAX_DIVERGENT else ()

    def sentences(self) -> tuple[str, ...]:
        """The diagnosis in sentences, for the report."""
        head = (
            f"NUTS: {self.n_draws} draws of {self.n_chains} chains after warmup, {self.gradients:.1f} gradients each, "
            f"mean acceptance {self.accept:.2f}, {self.divergent} divergences, {self.saturated} trees at the limit of "
            f"{self.max_depth} doublings{'' if math.isnan(self.bfmi) else f', lowest E-BFMI {self.bfmi:.2f}'}."
        )
        return (head, *(f"{words}." for words in self.worries))

    def _mixing(self) -> list[str]:
        bad = [
            d for d in self.diagnoses if d.is_informative and not (d.r_hat <= MAX_R_HAT and d.ess >= MIN_ESS)
        ]
        return [f"Not mixed: {d.words}" for d in bad]

    def _outside(self) -> str:
        which = ", ".join(str(c) for c in self.outside)
        return (
            f"Chains that never came near the level set (the target is flat there): {which}" if which else ""
        )

    def _divergences(self) -> str:
        share = self.divergent / self.n_draws
        return (
            f"{percent(share)} of the trajectories diverged: edges of the level set are steeper than the step size, "
            "and may be drawn too seldom; raise accept"
            if self.divergent
            else ""
        )

    def _depths(self) -> str:
        return (
            f"{percent(self.saturated / self.n_draws)} of the trees hit the limit of {self.max_depth} doublings: "
            "slower mixing, not wrong; raise max_depth"
            if self.saturated
            else ""
        )

    def _accepts(self) -> str:
        low = self.accept < self.wanted_accept - ACCEPT_SLACK
        return (
            f"Mean acceptance {self.accept:.2f} where {self.wanted_accept:.2f} was wanted; lengthen warmup"
            if low
            else ""
        )

    def _energy(self) -> str:
        return (
            f"E-BFMI {self.bfmi:.2f} is below {MIN_BFMI}: energies mix slowly" if self.bfmi < MIN_BFMI else ""
        )


def diagnose_nuts(
    draws: Sequence[Draw[Floats]], trees: Sequence[Trajectory], target: Target, options: NutsOptions
) -> NutsDiagnosis:
    """Diagnose draws and their trajectories, in the same order; InputError if none comes after warmup."""
    kept = [(d, t) for d, t in zip(draws, trees, strict=True) if not d.is_warmup]
    if not kept:
        raise InputError(f"none of {len(draws)} draws follows warmup; draw more, or shorten warmup")
    after, trajectories = [d for d, _ in kept], [t for _, t in kept]
    chains = sorted({d.chain for d in after})
    return NutsDiagnosis(
        diagnoses=diagnose_all(after, latent_summaries(target, after[0].z.size)),
        n_chains=len(chains),
        n_draws=len(kept),
        divergent=sum(t.is_divergent for t in trajectories),
        saturated=sum(t.depth >= options.max_depth for t in trajectories),
        accept=float(np.mean([t.accept_prob for t in trajectories])),
        wanted_accept=options.accept,
        max_depth=options.max_depth,
        gradients=float(np.mean([t.n_gradients for t in trajectories])),
        bfmi=min(bfmi([t.energy for d, t in kept if d.chain == c]) for c in chains),
        outside=tuple(c for c in chains if _is_outside([d for d in after if d.chain == c], target)),
    )


def latent_summaries(target: Target, d: int) -> dict[str, Callable[[Draw[Floats]], float]]:
    """Every coordinate of z, confidence and log weight."""
    coordinates = {f"z[{i}]": partial(_coordinate, i) for i in range(d)}
    return {**coordinates, **basic_summaries(target)}


def bfmi(energies: Sequence[float]) -> float:
    """Mean squared step of the energy over its variance; NaN for fewer than 4 draws or a constant energy."""
    array = np.array(energies, np.float64)
    if array.size < MIN_DRAWS or not np.isfinite(array).all() or np.ptp(array) == 0.0:
        return math.nan
    return float(np.mean(np.diff(array) ** 2) / np.var(array))


def _coordinate(i: int, draw: Draw[Floats]) -> float:
    return float(draw.z[i])


def _is_outside(draws: Sequence[Draw[Floats]], target: Target) -> bool:
    return max(d.evaluation.log_weight for d in draws) < target.log_peak - FLAT_NATS
