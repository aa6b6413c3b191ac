"""What a verdict means: one number that is wrong, or is none, is enough to withhold CONVERGED.

The chains here hit independently in four of five draws, so that nothing but the summary in question can contradict.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

import numpy as np
import pytest

from tests.references.draws import scored
from trex.inference.statistics.diagnostics import diagnose
from trex.inference.statistics.how_often import HowOften, how_often
from trex.inference.statistics.two_phase import everyone
from trex.inference.statistics.verdict import MAX_R_HAT, MIN_ESS, Conclusion, Ending, conclude
from trex.inference.targets import high_confidence
from trex.inference.types import PRIOR_CHAIN, Draw, Floats

TARGET = high_confidence(("a", "b"), "a")
CHAINS, N = 4, 1000
RNG = np.random.default_rng(20_264)
CONFIDENCES = np.where(RNG.random((CHAINS, N)) < 0.8, RNG.uniform(0.92, 0.99, (CHAINS, N)), 0.6)
MIXED = RNG.normal(size=(CHAINS, N))
# Down and up again, once in all and nearly alike in every chain: each half of each has about the same values.
SLOW = (
    np.abs(np.linspace(-1.0, 1.0, N))
    + 0.04 * np.arange(CHAINS)[:, None]
    + 1e-3 * RNG.normal(size=(CHAINS, N))
)
WIDER = MIXED * np.array([[1.0], [1.0], [1.0], [20.0]])  # the same mean


def draw(chain: int, index: int, confidence: float) -> Draw[int]:
    return Draw(scored(TARGET, [confidence, 1.0 - confidence], index), chain=chain, index=index)


DRAWS = [draw(c, i, float(CONFIDENCES[c, i])) for c in range(CHAINS) for i in range(N)]


def prior(hits: int = 0) -> tuple[list[Draw[int]], HowOften]:
    draws = [draw(PRIOR_CHAIN, i, 0.95 if i < hits else 0.2) for i in range(1000)]
    return draws, how_often(draws, everyone(1000), TARGET)


def concluded(draws: Sequence[Draw[int]] = DRAWS, **summaries: Floats) -> Conclusion:
    """The verdict on these draws, with summaries that are given as (chains, draws)."""
    functions = {
        name: lambda item, values=values: float(values[item.chain, item.index])
        for name, values in summaries.items()
    }
    return conclude(draws, TARGET, functions, prior()[1], renders=5000)


def test_chains_that_nothing_contradicts_have_converged() -> None:
    """The negative control of all others here."""
    assert concluded(mixed=MIXED, other=MIXED[::-1]).ending is Ending.CONVERGED


def test_agreement_without_enough_draws_is_not_convergence() -> None:
    """Planted bug: R-hat or effective size, whichever is good."""
    known = diagnose("slow", SLOW)
    assert known.r_hat <= MAX_R_HAT and known.ess < MIN_ESS
    found = concluded(mixed=MIXED, slow=SLOW)
    assert found.ending is Ending.FOUND and any("slow" in words for words in found.sentences)


def test_enough_draws_without_agreement_are_not_convergence() -> None:
    """The same planted bug, from the other side."""
    known = diagnose("wider", WIDER)
    assert known.r_hat > MAX_R_HAT and known.ess >= MIN_ESS
    found = concluded(mixed=MIXED, wider=WIDER)
    assert found.ending is Ending.FOUND and any("wider" in words for words in found.sentences)


@pytest.mark.parametrize("place", [0, -1])
def test_a_summary_without_a_number_is_not_convergence(place: int) -> None:
    """Planted bug: compared the other way round, no R-hat was too large and no effective size too small."""
    undefined = MIXED.copy()
    undefined[place, place] = math.nan
    known = diagnose("undefined", undefined)
    assert math.isnan(known.r_hat) and math.isnan(known.ess) and known.is_informative
    found = concluded(mixed=MIXED, undefined=undefined)
    assert found.ending is Ending.FOUND and any("undefined" in words for words in found.sentences)


def test_a_summary_that_never_changes_withholds_nothing() -> None:
    """The number of cubes where they are revoked. Planted bug: its R-hat, which is none, was too large."""
    assert concluded(mixed=MIXED, cubes=np.zeros((CHAINS, N))).ending is Ending.CONVERGED


def test_the_order_of_the_summaries_does_not_matter() -> None:
    """Planted bugs: the first summary alone decides, or the last one."""
    for names in (("slow", "mixed"), ("mixed", "slow")):
        values = {"slow": SLOW, "mixed": MIXED}
        assert concluded(**{name: values[name] for name in names}).ending is Ending.FOUND


def test_what_is_said_of_converged_chains_is_the_worst_of_their_summaries() -> None:
    """Planted bug: the best one, which hides how little a slower summary is worth."""
    slower = MIXED.copy()
    for k in range(1, N):
        slower[:, k] = 0.8 * slower[:, k - 1] + 0.6 * MIXED[:, k]
    good, bad = diagnose("good", MIXED), diagnose("slower", slower)
    assert MIN_ESS < bad.ess < good.ess / 4 and good.r_hat < bad.r_hat <= MAX_R_HAT
    for values in ({"good": MIXED, "slower": slower}, {"slower": slower, "good": MIXED}):
        found = concluded(**values)
        assert found.ending is Ending.CONVERGED
        text = " ".join(found.sentences)
        assert re.search(rf"R-hat {bad.r_hat:.3f} \(slower\)", text)
        assert re.search(rf"ESS {bad.ess:.0f} \(slower\)", text)


def test_a_prior_draw_that_the_rate_leaves_out_is_found_all_the_same() -> None:
    """Planted bug: the hits of a common target's first draws, which decided, were none when the others had none."""
    first = [draw(PRIOR_CHAIN, 0, 0.97)]
    counted, how = prior()
    missed = [draw(c, i, 0.6) for c in range(CHAINS) for i in range(50)]
    assert conclude([*counted, *missed], TARGET, {}, how, renders=9).ending is Ending.NOT_FOUND
    found = conclude([*first, *counted, *missed], TARGET, {}, how, renders=9)
    assert found.ending is Ending.FOUND and found.n_hits == 1


def test_the_best_confidence_is_that_of_any_draw() -> None:
    """Planted bugs: that of the chains alone, or of the prior draws alone."""
    _, how = prior(hits=1)
    low = [draw(c, i, 0.6) for c in range(CHAINS) for i in range(50)]
    assert conclude(low, TARGET, {}, how, renders=9).best == pytest.approx(0.95)
    assert conclude(DRAWS, TARGET, {}, how, renders=9).best == pytest.approx(CONFIDENCES.max())
