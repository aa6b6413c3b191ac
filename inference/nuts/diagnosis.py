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
from typing import Any

import numpy as np

from trex.foundation.errors import InputError
from trex.foundation.words import percent, whole_percent
from trex.inference.nuts.options import ACCEPT, DEPTH, DIVERGENT, ENERGY, FIGURES, GRADIENTS, NutsOptions
from trex.inference.statistics.diagnostics import MIN_DRAWS, Diagnosis, basic_summaries, diagnose_all
from trex.inference.statistics.verdict import MAX_R_HAT, MIN_ESS
from trex.inference.types import Draw, Floats, Target

MIN_BFMI = 0.3  # below it the momenta are too weak to move between levels of energy (Stan's threshold)
MAX_DIVERGENT = 0.01  # of the trajectories after warmup
ACCEPT_SLACK = (
    0.15  # if acceptance is lower than wanted by more, the step size from warmup does not suit the draws
)
FLAT_NATS = 20.0  # a chain whose best draw lies this far below the peak never reached the level set


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


def diagnose_nuts(draws: Sequence[Draw[Any]], target: Target, options: NutsOptions) -> NutsDiagnosis:
    """Diagnose draws by NUTS, which have vectors and figures; InputError if none comes after warmup."""
    after = [draw for draw in draws if not draw.is_warmup]
    if not after:
        raise InputError(f"none of {len(draws)} draws follows warmup; draw more, or shorten warmup")
    chains = [[draw for draw in after if draw.chain == chain] for chain in sorted({d.chain for d in after})]
    figures = {name: np.array([draw.figures[name] for draw in after], np.float64) for name in FIGURES}
    return NutsDiagnosis(
        diagnoses=diagnose_all(after, latent_summaries(target, after[0].z.size)),
        n_chains=len(chains),
        n_draws=len(after),
        divergent=int(figures[DIVERGENT].sum()),
        saturated=int((figures[DEPTH] >= options.max_depth).sum()),
        accept=float(figures[ACCEPT].mean()),
        wanted_accept=options.accept,
        max_depth=options.max_depth,
        gradients=float(figures[GRADIENTS].mean()),
        bfmi=min(bfmi([draw.figures[ENERGY] for draw in chain]) for chain in chains),
        outside=tuple(chain[0].chain for chain in chains if _is_outside(chain, target)),
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
    return max(d.state.log_weight for d in draws) < target.log_peak - FLAT_NATS
