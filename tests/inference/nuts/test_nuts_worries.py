"""What contradicts convergence of NUTS: shares of trajectories, the worst chain, and numbers that are none."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import pytest

from trex.inference.nuts.diagnosis import NutsDiagnosis, bfmi, diagnose_nuts
from trex.inference.nuts.options import NutsOptions
from trex.inference.statistics.diagnostics import Diagnosis
from trex.inference.targets import high_confidence
from trex.inference.types import Draw, Evaluation, Floats

TARGET = high_confidence(("a", "b"), "a")
RNG = np.random.default_rng(20_268)
SOUND = NutsDiagnosis((), 4, 400, 0, 0, 0.8, 0.8, 10, 7.0, 0.9, ())


@dataclass(frozen=True)
class Tree:
    """One trajectory."""

    energy: float
    accept_prob: float = 0.8
    is_divergent: bool = False
    depth: int = 3
    n_gradients: int = 7


def draws(confidences: Floats) -> list[Draw[Floats]]:
    """(chains, draws): a draw for each."""
    found = []
    for chain, row in enumerate(confidences):
        for index, p in enumerate(row):
            log_probs = np.log([p, 1.0 - p])
            scored = Evaluation(0.0, TARGET.log_weight(log_probs), log_probs, None)
            found.append(Draw(chain, index, RNG.normal(size=2), scored, True, False))
    return found


def diagnosed(confidences: Floats, energies: Floats) -> NutsDiagnosis:
    trees = [Tree(float(energy)) for energy in energies.ravel()]
    return diagnose_nuts(draws(confidences), trees, TARGET, NutsOptions(warmup=30, path=5))


@pytest.mark.parametrize(
    ("divergent", "of", "is_doubt"), [(4, 400, False), (5, 400, True), (50, 10_000, False), (2, 100, True)]
)
def test_the_share_of_divergences_decides_and_not_their_number(
    divergent: int, of: int, is_doubt: bool
) -> None:
    """Planted bug: a hundred divergences, of however many trajectories."""
    assert bool(replace(SOUND, divergent=divergent, n_draws=of).doubts) is is_doubt


def test_one_chain_whose_energies_mix_slowly_is_enough() -> None:
    """Planted bug: the best chain's number."""
    energies = RNG.normal(size=(4, 200))
    slow = energies.copy()
    slow[2] = np.cumsum(energies[2])
    assert diagnosed(RNG.uniform(0.9, 0.99, (4, 200)), energies).bfmi > 1.0
    found = diagnosed(RNG.uniform(0.9, 0.99, (4, 200)), slow)
    assert found.bfmi < 0.3 and any("energies mix slowly" in words for words in found.worries)


def test_bfmi_does_not_depend_on_where_energies_are_counted_from() -> None:
    """Planted bug: the mean square in place of the variance."""
    energies = RNG.normal(size=500)
    assert bfmi((energies + 1000.0).tolist()) == pytest.approx(bfmi(energies.tolist()), rel=1e-9)
    assert bfmi(energies.tolist()) == pytest.approx(2.0, rel=0.2)  # independent draws
    assert math.isnan(bfmi([1.0, 2.0, math.nan, 3.0, 4.0]))


def test_a_chain_is_outside_if_no_draw_of_it_came_near() -> None:
    """Planted bug: if any draw did not."""
    confidences = RNG.uniform(0.9, 0.99, (4, 100))
    confidences[1, ::2] = 0.01
    confidences[3] = 0.01
    assert diagnosed(confidences, RNG.normal(size=(4, 100))).outside == (3,)


def test_a_coordinate_without_a_number_is_a_worry() -> None:
    """Planted bug: compared the other way round, NaN passed."""
    unknown = Diagnosis("z[0]", math.nan, math.nan, "z[0]: no number", True)
    assert replace(SOUND, diagnoses=(unknown,)).worries == ("Not mixed: z[0]: no number",)
    assert replace(SOUND, diagnoses=(unknown._replace(is_informative=False),)).worries == ()
