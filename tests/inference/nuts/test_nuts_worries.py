"""What contradicts convergence of NUTS: shares of trajectories, the worst chain, and numbers that are none."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from tests.references.draws import scored
from trex.foundation.errors import InputError
from trex.inference.nuts.diagnosis import NutsDiagnosis, bfmi, diagnose_nuts
from trex.inference.nuts.options import ACCEPT, DEPTH, DIVERGENT, ENERGY, GRADIENTS, NutsOptions
from trex.inference.statistics.diagnostics import Diagnosis
from trex.inference.targets import high_confidence
from trex.inference.types import Draw, Floats

TARGET = high_confidence(("a", "b"), "a")
RNG = np.random.default_rng(20_268)
SOUND = NutsDiagnosis((), 4, 400, 0, 0, 0.8, 0.8, 10, 7.0, 0.9, ())


def draws(confidences: Floats, energies: Floats, **change: float) -> list[Draw[Floats]]:
    """(chains, draws) each; every tenth draw has other figures."""
    sound = {ACCEPT: 0.8, DIVERGENT: False, DEPTH: 3, GRADIENTS: 7}
    return [
        Draw(
            scored(TARGET, [p, 1.0 - p], RNG.normal(size=2)),
            figures={**sound, ENERGY: energies[chain, index], **(change if index % 10 == 0 else {})},
            chain=chain,
            index=index,
        )
        for (chain, index), p in np.ndenumerate(confidences)
    ]


def diagnosed(confidences: Floats, energies: Floats, **change: float) -> NutsDiagnosis:
    return diagnose_nuts(draws(confidences, energies, **change), TARGET, NutsOptions(warmup=30, path=5))


def sure(n: int = 200) -> Floats:
    return RNG.uniform(0.9, 0.99, (4, n))


def test_nothing_to_worry_of_is_said_where_nothing_is() -> None:
    found = diagnosed(sure(), RNG.normal(size=(4, 200)))
    assert found.worries == found.doubts == () and len(found.sentences()) == 1
    assert {d.name for d in found.diagnoses} >= {"z[0]", "z[1]", "confidence", "log weight"}
    assert (found.n_chains, found.n_draws, found.gradients) == (4, 800, 7.0)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({DIVERGENT: True}, "10.0% of the trajectories diverged"),
        ({DEPTH: 10}, "10.0% of the trees hit the limit of 10"),
        ({ACCEPT: -2.0}, "Mean acceptance 0.52"),
    ],
)
def test_every_worry_is_said(change: dict[str, float], words: str) -> None:
    found = diagnosed(sure(), RNG.normal(size=(4, 200)), **change)
    assert words in " ".join(found.worries)
    assert (found.doubts != ()) == (DIVERGENT in change)


def test_without_a_draw_after_warmup_there_is_no_diagnosis() -> None:
    with pytest.raises(InputError, match="follows warmup"):
        diagnose_nuts([], TARGET, NutsOptions())


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
    assert diagnosed(sure(), energies).bfmi > 1.0
    found = diagnosed(sure(), slow)
    assert found.bfmi < 0.3 and any("energies mix slowly" in words for words in found.worries)


def test_bfmi_does_not_depend_on_where_energies_are_counted_from() -> None:
    """Planted bug: the mean square in place of the variance."""
    energies = RNG.normal(size=500)
    assert bfmi((energies + 1000.0).tolist()) == pytest.approx(bfmi(energies.tolist()), rel=1e-9)
    assert bfmi(energies.tolist()) == pytest.approx(2.0, rel=0.2)  # independent draws
    for nothing in ([1.0, 2.0, math.nan, 3.0, 4.0], [1.0] * 10, [1.0, 2.0]):
        assert math.isnan(bfmi(nothing))


def test_a_chain_is_outside_if_no_draw_of_it_came_near() -> None:
    """Planted bug: if any draw did not."""
    confidences = sure(100)
    confidences[1, ::2] = 0.01
    confidences[3] = 0.01
    found = diagnosed(confidences, RNG.normal(size=(4, 100)))
    assert found.outside == (3,)
    assert any(
        "never came near the level set (the target is flat there): 3" in words for words in found.worries
    )


def test_a_coordinate_without_a_number_is_a_worry() -> None:
    """Planted bug: compared the other way round, NaN passed."""
    unknown = Diagnosis("z[0]", math.nan, math.nan, "z[0]: no number", True)
    assert replace(SOUND, diagnoses=(unknown,)).worries == ("Not mixed: z[0]: no number",)
    assert replace(SOUND, diagnoses=(unknown._replace(is_informative=False),)).worries == ()
